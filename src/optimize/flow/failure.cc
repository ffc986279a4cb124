#include <array>
#include <cstring>

#include <genscope/optimize/retry.h>

#include "base/clock.h"

namespace genscope::optimize {
namespace {

constexpr std::array<const char*, 10> kFailureNames = {
    "transient",  "timeout",   "throttled",  "lost_worker",   "out_of_memory",
    "validation", "cancelled", "nan_output", "deterministic", "rejected"};

}  // namespace

std::int64_t flow_now_ns() noexcept { return base::monotonic_ns(); }

const char* name(Failure failure) noexcept {
  const auto index = static_cast<std::size_t>(failure);
  return index < kFailureNames.size() ? kFailureNames[index] : "unknown";
}

std::optional<Failure> failure_named(std::string_view text) noexcept {
  for (std::size_t i = 0; i < kFailureNames.size(); ++i) {
    if (text == kFailureNames[i]) return static_cast<Failure>(i);
  }
  return std::nullopt;
}

Failed failed(const Error& error) {
  return {error.code == ErrorCode::io ? Failure::transient : Failure::validation, error.message,
          std::nullopt};
}

}  // namespace genscope::optimize
