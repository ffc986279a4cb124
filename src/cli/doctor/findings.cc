#include "cli/doctor/findings.h"

#include <algorithm>

namespace genscope::cli::doctor {

double core_ratio(const ProbeReport& report) {
  const SamplerOptions defaults;
  const std::int64_t periods[] = {defaults.fast_ns, defaults.normal_ns, defaults.slow_ns};
  double sum = 0;
  for (std::size_t tier = 0; tier < std::size(periods); ++tier) {
    sum += static_cast<double>(report.tier_cpu_ns[tier]) / static_cast<double>(periods[tier]);
  }
  return sum;
}

double children_core_ratio(const Snapshot& snapshot) {
  double sum = 0;
  for (const Snapshot::Series& series : snapshot.series) {
    if (series.metric == nullptr || series.metric->id != "probe_cpu_ns") continue;
    if (series.entity >= snapshot.entities.size()) continue;
    const Entity& entity = snapshot.entities[series.entity];
    const bool child = entity.kind == EntityKind::sampler && entity.id.ends_with("-gpu");
    if (child && series.rate.status == SampleStatus::ok) sum += series.rate.value / 1e9;
  }
  return sum;
}

std::vector<Gap> gaps(const Snapshot& snapshot) {
  std::vector<Gap> found;
  for (const Snapshot::Series& series : snapshot.series) {
    if (series.metric == nullptr || series.reading.status == SampleStatus::ok) continue;
    const bool pending = series.reading.status == SampleStatus::pending;
    if (pending && series.tier == Tier::on_demand) continue;  // nobody asked for it
    const std::string reason = series.reading.reason == nullptr ? "" : series.reading.reason;
    const auto same = [&](const Gap& gap) {
      return gap.entity == series.entity && gap.status == series.reading.status &&
             gap.reason == reason;
    };
    auto place = std::find_if(found.begin(), found.end(), same);
    if (place == found.end()) {
      place = found.insert(found.end(), {series.entity, series.reading.status, reason, {}});
    }
    place->metrics.emplace_back(series.metric->id);
  }
  return found;
}

}  // namespace genscope::cli::doctor
