// Counters of a run: NAME/what. Without a session they do nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <genscope/record.h>

namespace genscope::optimize {

class FlowCounter {
 public:
  FlowCounter(std::string_view name, std::string_view what)
      : name_(std::string(name) + "/" + std::string(what)) {}
  void set(double value) const noexcept { counter(name_, value); }

 private:
  std::string name_;
};

// Says when about a second has passed; the first time at once.
class FlowPace {
 public:
  bool due(std::int64_t now_ns) noexcept {
    if (last_ns_ && now_ns < *last_ns_ + 1'000'000'000) return false;
    last_ns_ = now_ns;
    return true;
  }

 private:
  std::optional<std::int64_t> last_ns_;
};

inline std::int64_t seconds_to_ns(double seconds) noexcept {
  constexpr double kMost = 9e18;
  const double ns = seconds * 1e9;
  if (!(ns > 0)) return 0;
  return ns < kMost ? static_cast<std::int64_t>(ns) : static_cast<std::int64_t>(kMost);
}
inline double ns_to_seconds(std::int64_t ns) noexcept { return static_cast<double>(ns) * 1e-9; }
// Never past the end of time.
inline std::int64_t later(std::int64_t now_ns, std::int64_t by_ns) noexcept {
  std::int64_t sum = 0;
  return __builtin_add_overflow(now_ns, by_ns, &sum) ? INT64_MAX : sum;
}

}  // namespace genscope::optimize
