#include "trace/metrics.h"

namespace genscope {

std::string trace::throttle_words(double reading) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (!(reading >= 0 && reading <= kExact)) return "";
  const auto bits = static_cast<std::uint64_t>(reading);
  std::string words;
  for (const ThrottleReason& reason : kThrottleReasons) {
    if ((bits & reason.bits) != 0) words.append(words.empty() ? "" : ", ").append(reason.name);
  }
  return words;
}

std::span<const Metric> all_metrics() noexcept { return trace::kMetrics; }

const Metric* find_metric(std::string_view id) noexcept {
  for (const Metric& row : trace::kMetrics) {
    if (row.id == id) return &row;
  }
  return nullptr;
}

std::string_view name(SampleStatus status) noexcept {
  constexpr std::string_view kNames[] = {
      "ok",     "stale", "pending",   "not_supported", "not_permitted",
      "absent", "lost",  "suspended", "implausible",   "error"};
  static_assert(std::size(kNames) == kSampleStatuses);
  const auto index = static_cast<std::size_t>(status);
  return index < kSampleStatuses ? kNames[index] : "error";
}

std::string_view name(MetricKind kind) noexcept {
  constexpr std::string_view kNames[] = {"gauge", "counter", "bits"};
  static_assert(std::size(kNames) == kMetricKinds);
  const auto index = static_cast<std::size_t>(kind);
  return index < kMetricKinds ? kNames[index] : "gauge";
}

std::string_view name(EntityKind kind) noexcept {
  constexpr std::string_view kNames[] = {"machine",     "process_tree", "cgroup",
                                         "cpu_package", "gpu",          "gpu_instance",
                                         "sampler",     "other",        "allocator"};
  static_assert(std::size(kNames) == kEntityKinds);
  const auto index = static_cast<std::size_t>(kind);
  return index < kEntityKinds ? kNames[index] : "other";
}

}  // namespace genscope
