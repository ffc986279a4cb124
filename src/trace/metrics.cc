#include "trace/metrics.h"

namespace genscope {

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

std::string_view name(EntityKind kind) noexcept {
  constexpr std::string_view kNames[] = {"machine", "process_tree", "cgroup",  "cpu_package",
                                         "gpu",     "gpu_instance", "sampler", "other"};
  static_assert(std::size(kNames) == kEntityKinds);
  const auto index = static_cast<std::size_t>(kind);
  return index < kEntityKinds ? kNames[index] : "other";
}

}  // namespace genscope
