#include "scheduler.h"

#include <cmath>

namespace tinydiff {
namespace {

constexpr int kTrainingSteps = 1000;
constexpr double kBetaFirst = 0.00085;
constexpr double kBetaLast = 0.012;

}  // namespace

FlowEuler::FlowEuler(int steps, double shift) {
  for (int i = 0; i <= steps; ++i) {
    const double t = 1.0 - static_cast<double>(i) / steps;
    sigmas_.push_back(shift * t / (1.0 + (shift - 1.0) * t));
  }
}

void FlowEuler::advance(int i, const Tensor& velocity, Tensor& sample) const {
  const auto distance = static_cast<float>(sigma(i + 1) - sigma(i));
  sample += distance * velocity;
}

void FlowEuler::step(int i, const Tensor& clean, Tensor& sample) const {
  const Tensor velocity = (sample - clean) / static_cast<float>(sigma(i));
  advance(i, velocity, sample);
}

Ddim::Ddim(int steps) {
  std::vector<double> products;
  double product = 1.0;
  for (int t = 0; t < kTrainingSteps; ++t) {
    const double part = static_cast<double>(t) / (kTrainingSteps - 1);
    const double root =
        std::sqrt(kBetaFirst) + (std::sqrt(kBetaLast) - std::sqrt(kBetaFirst)) * part;
    product *= 1.0 - root * root;
    products.push_back(product);
  }
  for (int i = 0; i < steps; ++i) {
    const double t = kTrainingSteps * (1.0 - static_cast<double>(i) / steps);
    times_.push_back(static_cast<int>(std::lround(t)) - 1);
    alphas_.push_back(products[static_cast<std::size_t>(times_.back())]);
  }
  alphas_.push_back(1.0);
}

double Ddim::noise_level(int i) const {
  return (times_[static_cast<std::size_t>(i)] + 1) / static_cast<double>(kTrainingSteps);
}

void Ddim::step(int i, const Tensor& clean, Tensor& sample) const {
  const auto signal = static_cast<float>(std::sqrt(alpha(i)));
  const auto inverse_noise = static_cast<float>(1.0 / std::sqrt(1.0 - alpha(i)));
  const auto next_signal = static_cast<float>(std::sqrt(alpha(i + 1)));
  const auto next_noise = static_cast<float>(std::sqrt(1.0 - alpha(i + 1)));
  const Tensor noise = (sample - signal * clean) * inverse_noise;
  sample = next_signal * clean + next_noise * noise;
}

std::unique_ptr<Scheduler> make_scheduler(const std::string& arch, int steps) {
  if (arch == "unet") return std::make_unique<Ddim>(steps);
  return std::make_unique<FlowEuler>(steps);
}

}  // namespace tinydiff
