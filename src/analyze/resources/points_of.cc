#include "analyze/resources/points_of.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace genscope::analysis {
namespace {

void append_points(const Trace& trace, const SampleSeries& series, std::int64_t offset_ns,
                   Points& points) {
  points.at_ns.reserve(points.at_ns.size() + series.rows.size());
  points.value.reserve(points.value.size() + series.rows.size());
  for (const std::uint32_t i : series.rows) {
    points.at_ns.push_back(add(trace.counters.at_ns[i], offset_ns));
    points.value.push_back(trace.counters.value[i]);
  }
}

}  // namespace

Points points_in(const Trace& trace, const SampleSeries& series, std::int64_t offset_ns) {
  Points points;
  append_points(trace, series, offset_ns, points);
  return points;
}

Points points_of(const Run& run, const Clocks& clocks, std::string_view entity,
                 std::string_view metric) {
  Points points;
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    const Samples& samples = run.traces[t].samples;
    for (const SampleSeries& series : samples.series) {
      const Entity& of = samples.entities[series.entity];
      const bool wanted =
          of.id == entity || (of.kind == EntityKind::allocator && of.name == entity);
      if (!wanted || series.metric->id != metric) continue;
      append_points(run.traces[t], series, clocks.offset_ns[t], points);
    }
  }
  // Each trace has them in the order of time, two of them may overlap.
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
