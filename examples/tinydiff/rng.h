// Seeded random numbers with one stream per purpose. The sequence depends on the seed and the
// stream only, not on the standard library, so that a seed means the same picture everywhere.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "tensor.h"

namespace tinydiff {

class Rng {
 public:
  explicit Rng(std::uint64_t seed, std::uint64_t stream = 0)
      : state_(mix(seed ^ mix(stream + 0x9e3779b97f4a7c15ULL))) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    return mix(state_);
  }

  // Uniform in (0, 1]: never zero, because normal() takes its logarithm.
  double uniform() { return (static_cast<double>(next() >> 11) + 1.0) * 0x1.0p-53; }

  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

 private:
  // The finalizer of SplitMix64 (Steele, Lea, Flood, 2014).
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

// Makes the weights of a model in the order in which its layers are constructed, and counts them.
class WeightSource {
 public:
  explicit WeightSource(std::uint64_t seed) : rng_(seed) {}

  // Uniform values of the given standard deviation. Two values come from one 64-bit draw: creating
  // millions of weights is the load time of this program, and a uniform value serves as well here.
  Tensor matrix(Index rows, Index cols, double deviation) {
    Tensor t(rows, cols);
    const float scale = static_cast<float>(deviation * std::sqrt(12.0) * 0x1.0p-32);
    float* const out = t.data();
    const Index size = t.size();
    for (Index i = 0; i < size; i += 2) {
      const std::uint64_t bits = rng_.next();
      const auto low = static_cast<std::int32_t>(bits);
      const auto high = static_cast<std::int32_t>(bits >> 32);
      out[i] = scale * static_cast<float>(low);
      if (i + 1 < size) out[i + 1] = scale * static_cast<float>(high);
    }
    parameters_ += size;
    return t;
  }

  Tensor constant(Index rows, Index cols, float value) {
    parameters_ += rows * cols;
    return Tensor::Constant(rows, cols, value);
  }

  std::int64_t parameters() const { return parameters_; }

 private:
  Rng rng_;
  std::int64_t parameters_ = 0;
};

}  // namespace tinydiff
