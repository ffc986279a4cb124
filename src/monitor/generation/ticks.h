// Where a monitor's time comes from: the CPU's tick counter where it can be trusted, which the
// recorder's spans read anyway, else a clock in nanoseconds.
#pragma once

#include <cstdint>

#include <genscope/internal/hot.h>

namespace genscope::monitor {

using Clock = std::int64_t (*)() noexcept;

class Ticks {
 public:
  // `clock` as in the options: null chooses. Throws std::bad_alloc.
  explicit Ticks(Clock clock);

  std::int64_t now() const noexcept {
    return clock_ == nullptr ? static_cast<std::int64_t>(internal::fast_ticks()) : clock_();
  }
  // Whether now() is what the recorder stamps its spans with.
  bool shared_with_recorder() const noexcept { return clock_ == nullptr; }
  double seconds(std::int64_t ticks) const noexcept {
    return static_cast<double>(ticks) * seconds_per_tick_;
  }
  double ticks(double seconds) const noexcept { return seconds / seconds_per_tick_; }

 private:
  Clock clock_;
  double seconds_per_tick_;
};

}  // namespace genscope::monitor
