// What a return code means, and what a call on one device has taught us so far: whether to make it
// again, and when. One for each call, and one for each field of a field call.
#pragma once

#include <cstdint>

#include <genscope/trace.h>

#include "probe/nvidia/nvml_abi.h"

namespace genscope::probe::nvml {

inline constexpr std::int64_t kSecond = 1'000'000'000;
inline constexpr std::int64_t kPermissionRetryNs = 60 * kSecond;
inline constexpr int kMissesUntilStale = 3;
inline constexpr int kFailuresUntilDegraded = 5;
inline constexpr int kDegradedFactor = 10;

// Whether this driver or device will never answer; for choosing between ways to ask.
constexpr bool unsupported(Return code) noexcept {
  return code == kNotSupported || code == kDeprecated || code == kFunctionNotFound ||
         code == kArgumentVersionMismatch;
}
// Whether an older version of the call may do.
constexpr bool older_version_may_do(Return code) noexcept {
  return code == kFunctionNotFound || code == kArgumentVersionMismatch;
}
constexpr bool device_gone(Return code) noexcept {
  return code == kGpuIsLost || code == kResetRequired || code == kGpuNotFound;
}

struct Verdict {
  enum class Kind : std::uint8_t {
    value,        // the answer holds values
    keep,         // nothing new; the last reading stands
    say,          // no value: status and reason
    lost,         // the device has gone
    reinitialize  // the library has lost its state
  } kind = Kind::value;
  SampleStatus status = SampleStatus::ok;
  const char* reason = nullptr;
  bool degraded = false;  // this answer made the call degraded
};

class CallState {
 public:
  // Whether to make the call in this tick. Counts the ticks that a degraded call sits out.
  bool due(std::int64_t now_ns) noexcept {
    if (dead_ || now_ns < not_before_ns_) return false;
    if (sit_out_ > 0) {
      sit_out_--;
      return false;
    }
    return true;
  }
  bool dead() const noexcept { return dead_; }
  // What the answer means for the readings; remembers it.
  Verdict judge(Return code, std::int64_t now_ns) noexcept;

 private:
  Verdict fail(Return code) noexcept;

  std::int64_t not_before_ns_ = 0;
  std::uint8_t misses_ = 0;
  std::uint8_t failures_ = 0;
  std::uint8_t sit_out_ = 0;
  bool dead_ = false;      // not supported, until the device is enumerated again
  bool answered_ = false;  // gave a value once
};

}  // namespace genscope::probe::nvml
