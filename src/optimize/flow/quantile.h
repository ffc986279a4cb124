#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace genscope::optimize {

// A quantile of recent times in constant memory: a histogram of logarithmic buckets, 3 % wide,
// whose counts are halved every `forget_every` samples, so that old times fade.
class StreamingQuantile {
 public:
  explicit StreamingQuantile(std::size_t forget_every = 1000);
  void add(double seconds) noexcept;
  // None with fewer than 20 samples, or fewer than the quantile needs: 1 / (1 - q).
  std::optional<double> at(double q) const noexcept;
  std::uint64_t count() const noexcept { return total_; }

 private:
  std::vector<std::uint32_t> buckets_;
  std::uint64_t total_ = 0;
  std::uint64_t since_halved_ = 0;
  std::size_t forget_every_;
};

}  // namespace genscope::optimize
