#include "probe/nvidia/call_state.h"

namespace genscope::probe::nvml {

using Kind = Verdict::Kind;

Verdict CallState::judge(Return code, std::int64_t now_ns) noexcept {
  if (code == kInvalidArgument && !answered_) {
    code = kNotSupported;  // a question that this driver does not know
  }
  switch (code) {
    case kSuccess:
      misses_ = failures_ = 0;
      answered_ = true;
      return {};
    case kNotSupported:
    case kDeprecated:
      dead_ = true;
      return {Kind::say, SampleStatus::not_supported, "this GPU does not have it"};
    case kFunctionNotFound:
    case kArgumentVersionMismatch:
      dead_ = true;
      return {Kind::say, SampleStatus::not_supported, "this driver is too old or too new for it"};
    case kNoPermission:
      not_before_ns_ = now_ns + kPermissionRetryNs;
      return {Kind::say, SampleStatus::not_permitted,
              "the driver wants more rights: ask the administrator, or run as root"};
    case kNotFound:
    case kTimeout:
    case kNoData:
    case kNotReady:
      if (!answered_) return {Kind::say, SampleStatus::pending, "the driver has no data yet"};
      if (misses_ < kMissesUntilStale) misses_++;
      if (misses_ < kMissesUntilStale) return {Kind::keep};
      return {Kind::say, SampleStatus::stale, "the driver has no new data"};
    case kGpuIsLost:
    case kResetRequired:
    case kGpuNotFound:
      return {Kind::lost, SampleStatus::lost, "the GPU has fallen off the bus or needs a reset"};
    case kUninitialized:
    case kInvalidArgument:
      return {Kind::reinitialize, SampleStatus::error, "the NVIDIA library has lost its state"};
    default:
      return fail(code);
  }
}

Verdict CallState::fail(Return code) noexcept {
  Verdict verdict{Kind::say, SampleStatus::error, "the driver failed"};
  if (code == kUnknown) verdict.reason = "the driver failed for a reason it does not tell";
  if (code == kInsufficientSize) verdict.reason = "the driver has more entries than we read";
  if (failures_ < kFailuresUntilDegraded) {
    failures_++;
    verdict.degraded = failures_ == kFailuresUntilDegraded;
  }
  if (failures_ == kFailuresUntilDegraded) sit_out_ = kDegradedFactor - 1;
  return verdict;
}

}  // namespace genscope::probe::nvml
