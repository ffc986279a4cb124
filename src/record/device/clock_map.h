// ClockMap: from the clock of a device to CLOCK_MONOTONIC, by moments that both have seen.
//
// Between two anchors the device's clock runs evenly, a little faster or slower than ours: time is
// mapped along the line through the first anchor and the last. Device times count from the first.
#pragma once

#include <cstdint>

namespace genscope::record::device {

class ClockMap {
 public:
  // `device_ns`: since the first anchor, 0 for that; ascending.
  void add(std::int64_t host_ns, std::int64_t device_ns) noexcept {
    if (anchors_++ == 0) first_host_ns_ = host_ns;
    last_host_ns_ = host_ns;
    last_device_ns_ = device_ns;
  }
  bool known() const noexcept { return anchors_ > 0; }
  std::int64_t last_device_ns() const noexcept { return last_device_ns_; }

  // Nanoseconds of ours in one of the device's. 1 until the anchors are far enough apart to tell,
  // or when they say what no two clocks do.
  double rate() const noexcept {
    constexpr std::int64_t kFarApartNs = 100'000'000;
    constexpr double kMostDrift = 0.01;
    if (last_device_ns_ < kFarApartNs) return 1;
    const double rate =
        static_cast<double>(last_host_ns_ - first_host_ns_) / static_cast<double>(last_device_ns_);
    return rate > 1 - kMostDrift && rate < 1 + kMostDrift ? rate : 1;
  }

  // `after_ns`: on the device's clock, since the last anchor; negative: before it.
  std::int64_t host_ns(double after_ns) const noexcept {
    return last_host_ns_ + static_cast<std::int64_t>(after_ns * rate());
  }

 private:
  std::uint64_t anchors_ = 0;
  std::int64_t first_host_ns_ = 0, last_host_ns_ = 0, last_device_ns_ = 0;
};

}  // namespace genscope::record::device
