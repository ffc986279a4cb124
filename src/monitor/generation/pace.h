// What a step takes, from the last few: the mean of a window without its slowest. The first step
// of a generation is in no window, for it compiles, allocates and fills caches; with the slowest
// left out as well, a slow second step or a hiccup does not decide.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace genscope::monitor {

class Pace {
 public:
  static constexpr std::size_t kWindow = 8;

  void add(std::int64_t took) noexcept {
    if (first_) {
      first_ = false;
      return;
    }
    std::int64_t& slot = window_[next_];
    sum_ += took - slot;
    slot = took;
    next_ = (next_ + 1) % kWindow;
    if (count_ < kWindow) count_++;
  }
  // Whether typical() means something: two steps after the first.
  bool known() const noexcept { return count_ >= 2; }
  double typical() const noexcept {
    const std::int64_t slowest = *std::max_element(window_.begin(), window_.end());
    return static_cast<double>(sum_ - slowest) * kShare[count_];
  }
  // The mean with the slowest, which is not less, and needs no search.
  double at_most() const noexcept { return static_cast<double>(sum_) * kShare[count_ + 1]; }

 private:
  // One over the steps that are left; a division less for each step.
  static constexpr std::array<double, kWindow + 2> kShare = {
      0, 0, 1, 1.0 / 2, 1.0 / 3, 1.0 / 4, 1.0 / 5, 1.0 / 6, 1.0 / 7, 1.0 / 8};

  std::array<std::int64_t, kWindow> window_{};
  std::int64_t sum_ = 0;
  std::size_t next_ = 0, count_ = 0;
  bool first_ = true;
};

}  // namespace genscope::monitor
