// Events per second over the last 1, 5 and 15 minutes: one count for each of the last 900 seconds.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace genscope::monitor {

class Rates {
 public:
  static constexpr std::int64_t kSeconds = 900;

  // `second` counts from the monitor's begin and never goes back by more than kSeconds.
  void add(std::int64_t second) noexcept {
    Slot& slot = slots_[static_cast<std::size_t>(second % kSeconds)];
    if (slot.second > second) return;  // so late that its second is no longer kept
    if (slot.second < second) slot = {second, 0};
    slot.count++;
  }
  // Over the `length` seconds before `now` (in seconds), or over all there were if those are fewer;
  // nothing in the first second.
  std::optional<double> per_second(double now, std::int64_t length) const noexcept {
    if (now < 1) return std::nullopt;
    const auto current = static_cast<std::int64_t>(now);
    // The current second has just begun, so as many whole ones before it as are wanted count.
    const std::int64_t first = std::max<std::int64_t>(0, current - length + 1);
    std::uint64_t events = 0;
    for (const Slot& slot : slots_) {
      if (slot.second >= first && slot.second <= current) events += slot.count;
    }
    return static_cast<double>(events) / (now - static_cast<double>(first));
  }

 private:
  struct Slot {
    std::int64_t second = -1;
    std::uint64_t count = 0;
  };
  std::array<Slot, kSeconds> slots_{};
};

}  // namespace genscope::monitor
