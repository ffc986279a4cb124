// What a batch costs, learned from those that ran.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace genscope::optimize {

// Least squares of seconds = a + c * cost over recent batches; old ones fade by `keep` each.
class BatchModel {
 public:
  explicit BatchModel(double keep = 0.98) noexcept : keep_(keep) {}
  void add(double cost, double seconds) noexcept;
  // None before batches of two different costs were seen (one suffices for that cost itself).
  std::optional<double> seconds(double cost) const noexcept;
  // How many times as fast `b` requests of cost `unit` are as one batch.
  std::optional<double> gain(std::size_t b, double unit = 1) const noexcept;
  std::uint64_t count() const noexcept { return count_; }

 private:
  bool line(double& a, double& c) const noexcept;
  double keep_;
  double w_ = 0, x_ = 0, xx_ = 0, y_ = 0, xy_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace genscope::optimize
