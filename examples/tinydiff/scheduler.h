// From pure noise to clean latents in a given number of steps. Both schedulers take the network's
// prediction of the clean latents; what they do with it differs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tensor.h"

namespace tinydiff {

class Scheduler {
 public:
  virtual ~Scheduler() = default;

  virtual int steps() const = 0;
  // How noisy the sample is before step i, from 1 (only noise) towards 0: what the network is told.
  virtual double noise_level(int i) const = 0;
  // Moves `sample` from noise level i to i + 1; after the last step it is clean.
  virtual void step(int i, const Tensor& clean, Tensor& sample) const = 0;
};

// Flow matching: sample = (1 - sigma) clean + sigma noise, so that the velocity d sample / d sigma
// is noise - clean = (sample - clean) / sigma, integrated by Euler's method. Sigmas run from 1 to
// 0, shifted towards noise by s t / (1 + (s - 1) t) as for larger pictures in Stable Diffusion 3.
class FlowEuler final : public Scheduler {
 public:
  explicit FlowEuler(int steps, double shift = 3.0);

  int steps() const override { return static_cast<int>(sigmas_.size()) - 1; }
  double noise_level(int i) const override { return sigma(i); }
  void step(int i, const Tensor& clean, Tensor& sample) const override;

  double sigma(int i) const { return sigmas_[static_cast<std::size_t>(i)]; }
  // One Euler step along a given velocity.
  void advance(int i, const Tensor& velocity, Tensor& sample) const;

 private:
  std::vector<double> sigmas_;  // steps + 1 values; the last is 0
};

// DDIM without added noise (eta 0): sample = sqrt(a) clean + sqrt(1 - a) noise, with a the product
// of 1 - beta over 1000 training steps of a scaled-linear beta schedule, visited at even distances.
class Ddim final : public Scheduler {
 public:
  explicit Ddim(int steps);

  int steps() const override { return static_cast<int>(times_.size()); }
  double noise_level(int i) const override;
  void step(int i, const Tensor& clean, Tensor& sample) const override;

  // The product a before step i; 1 for i == steps().
  double alpha(int i) const { return alphas_[static_cast<std::size_t>(i)]; }

 private:
  std::vector<int> times_;      // training steps, falling
  std::vector<double> alphas_;  // steps + 1 values; the last is 1
};

// FlowEuler for "mmdit", Ddim for "unet".
std::unique_ptr<Scheduler> make_scheduler(const std::string& arch, int steps);

}  // namespace tinydiff
