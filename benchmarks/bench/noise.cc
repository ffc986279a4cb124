#include "noise.h"

#include <cmath>
#include <numbers>

namespace bench {

double Simulator::uniform() noexcept {
  std::uint64_t z = state_ += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

double Simulator::normal() noexcept {
  if (has_kept_) {
    has_kept_ = false;
    return kept_;
  }
  const double radius = std::sqrt(-2 * std::log1p(-uniform()));
  const double angle = 2 * std::numbers::pi * uniform();
  kept_ = radius * std::sin(angle);
  has_kept_ = true;
  return radius * std::cos(angle);
}

Session Simulator::session(const Noise& noise, std::size_t runs, bool in_turns, double effect) {
  constexpr double kCarried = 0.9;
  Session session;
  const std::size_t slots = 2 * runs;
  double wander = noise.wander * normal();
  for (std::size_t slot = 0; slot < slots; ++slot) {
    const bool after = in_turns ? slot % 4 == 1 || slot % 4 == 2 : slot >= runs;
    double log = noise.run * normal() + wander;
    log += noise.drift * static_cast<double>(slot) / static_cast<double>(slots - 1);
    if (uniform() < noise.stall_chance) log += 0.1 + 0.2 * uniform();
    if (after) log += std::log1p(effect);
    (after ? session.after : session.before).push_back(std::exp(log));
    wander = kCarried * wander + noise.wander * std::sqrt(1 - kCarried * kCarried) * normal();
  }
  return session;
}

}  // namespace bench
