// Ends: the first and the last of values that are met in any order of time.
#pragma once

#include <cstdint>
#include <optional>

namespace genscope::analysis {

class Ends {
 public:
  // Of equal times the first met is the first, and the last met is the last.
  void add(std::int64_t at_ns, double value) {
    if (!first_ || at_ns < first_at_) {
      first_at_ = at_ns;
      first_ = value;
    }
    if (!last_ || at_ns >= last_at_) {
      last_at_ = at_ns;
      last_ = value;
    }
  }
  std::optional<double> first() const noexcept { return first_; }
  std::optional<double> last() const noexcept { return last_; }

 private:
  std::int64_t first_at_ = 0, last_at_ = 0;
  std::optional<double> first_, last_;
};

}  // namespace genscope::analysis
