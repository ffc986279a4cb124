// How many requests may run at once, found while they run.
#pragma once

#include <cstddef>

#include <genscope/optimize/admission.h>

namespace genscope::optimize {

// Gradient of the time for a unit of cost: recent over long-run. The limit grows while it is used
// and times stay, shrinks as they rise, and drops to 0.9 times on each failure for overload.
class AdaptiveLimit {
 public:
  explicit AdaptiveLimit(LimitOptions options = {}) noexcept;
  void finished(double seconds_per_cost, std::size_t running) noexcept;
  void overloaded() noexcept;  // a drop or a timeout
  double value() const noexcept { return limit_; }

 private:
  LimitOptions options_;
  double limit_;
  double long_ = 0, sum_ = 0;
  std::size_t samples_ = 0, most_running_ = 0;
  int congested_ = 0, looking_ = 0;
  double before_look_ = 0;
};

}  // namespace genscope::optimize
