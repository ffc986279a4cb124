#include "analyze/resources/points_of.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

namespace genscope::analysis {

Points points_of(const Run& run, const Clocks& clocks, std::string_view entity,
                 std::string_view metric) {
  Points points;
  const std::string wanted = std::string(entity) + "/" + std::string(metric);
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    const Trace& trace = run.traces[t];
    const auto name = std::find_if(trace.names.begin(), trace.names.end(), [&](const Name& one) {
      return one.kind == SpanKind::none && one.text == wanted;
    });
    if (name == trace.names.end()) continue;
    const auto id = static_cast<std::uint32_t>(name - trace.names.begin());
    for (std::size_t i = 0; i < trace.counters.size(); ++i) {
      if (trace.counters.name[i] != id || !std::isfinite(trace.counters.value[i])) continue;
      points.at_ns.push_back(add(trace.counters.at_ns[i], clocks.offset_ns[t]));
      points.value.push_back(trace.counters.value[i]);
    }
  }
  if (std::is_sorted(points.at_ns.begin(), points.at_ns.end())) return points;
  std::vector<std::size_t> order(points.at_ns.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return points.at_ns[a] < points.at_ns[b]; });
  Points sorted;
  for (const std::size_t i : order) {
    sorted.at_ns.push_back(points.at_ns[i]);
    sorted.value.push_back(points.value[i]);
  }
  return sorted;
}

PointRange range_within(const Points& points, Interval time) {
  const auto first = std::lower_bound(points.at_ns.begin(), points.at_ns.end(), time.begin);
  const auto last = std::upper_bound(first, points.at_ns.end(), time.end);
  return {static_cast<std::size_t>(first - points.at_ns.begin()),
          static_cast<std::size_t>(last - points.at_ns.begin())};
}

}  // namespace genscope::analysis
