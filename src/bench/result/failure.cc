// Names of failures, as they stand in results.
#include <array>

#include <genscope/bench.h>

namespace genscope::bench {
namespace {

constexpr std::array<std::string_view, 14> kFailureNames = {
    "timeout",    "crash",        "exit_nonzero", "oom_gpu",    "oom_host",
    "nan_output", "blank_output", "bad_output",   "http_error", "startup_failed",
    "throttled",  "foreign_load", "skipped",      "cancelled"};

}  // namespace

std::string_view name(FailureClass kind) noexcept {
  const auto i = static_cast<std::size_t>(kind);
  return i < kFailureNames.size() ? kFailureNames[i] : "unknown";
}

std::optional<FailureClass> failure_class(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kFailureNames.size(); ++i) {
    if (kFailureNames[i] == name) return static_cast<FailureClass>(i);
  }
  return std::nullopt;
}

}  // namespace genscope::bench
