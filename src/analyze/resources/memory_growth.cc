// The slope of the readings over the steady steps, where memory should stay; without enough of
// these, over the run after its first quarter. Theil-Sen over at most 256 points: its interval
// holds whatever the outliers, and a single large allocation does not bend the line.
//
// A leak is said only where all of it agrees: the interval is above zero, so is that of the last
// half alone (what fills once and stays is none), the growth is large enough to matter, and there
// were enough readings for long enough. The changes between readings, placed in the middle between
// them, then tell in which stage most of the growth falls.
#include "analyze/resources/memory_growth.h"

#include <algorithm>
#include <string_view>

#include "analyze/statistics/statistics.h"

namespace genscope::analysis {
namespace {

// Neighbouring readings of memory are far from independent, which an interval of the slope takes
// them to be: of more readings than this, medians of equal parts stand for all.
constexpr std::size_t kMostPoints = 256;
// A stage stands out when so much of the growth falls in it.
constexpr double kStandsOut = 0.5;

struct Places {
  std::size_t first = 0, last = 0;
  std::size_t size() const noexcept { return last - first; }
};

Places within(const Points& points, Interval time) {
  const auto place = [&](std::int64_t ns) {
    return static_cast<std::size_t>(std::lower_bound(points.at_ns.begin(), points.at_ns.end(), ns) -
                                    points.at_ns.begin());
  };
  return {place(time.begin), std::max(place(time.begin), place(time.end))};
}

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::optional<stats::Trend> slope_of(const Points& points, Places places) {
  std::vector<double> x, y, part;
  const std::size_t parts = std::min(places.size(), kMostPoints);
  for (std::size_t k = 0; k < parts; ++k) {
    const std::size_t first = places.first + places.size() * k / parts;
    const std::size_t last = places.first + places.size() * (k + 1) / parts;
    const std::size_t middle = first + (last - first) / 2;
    x.push_back(seconds(subtract(points.at_ns[middle], points.at_ns[places.first])));
    part.assign(points.value.begin() + static_cast<std::ptrdiff_t>(first),
                points.value.begin() + static_cast<std::ptrdiff_t>(last));
    y.push_back(median(part));
  }
  return stats::trend(x, y);
}

// Memory that fills and then stays is no leak: the last half grows, too.
bool still_grows(const Points& points, Places places) {
  places.first += places.size() / 2;
  const auto line = places.size() < kMinSamples ? std::nullopt : slope_of(points, places);
  return line && line->low > 0;
}

// What changed from one reading to the next, in the middle between them.
Points changes(const Points& points, Places places) {
  Points out;
  for (std::size_t i = places.first + 1; i < places.last; ++i) {
    out.at_ns.push_back(points.at_ns[i - 1] + subtract(points.at_ns[i], points.at_ns[i - 1]) / 2);
    out.value.push_back(points.value[i] - points.value[i - 1]);
  }
  return out;
}

// Of the stages that hold most of the growth the shortest: those around it hold it too.
std::string_view stage_of(const Points& growth, std::uint32_t host, const MeteredRows& rows) {
  double all = 0;
  for (const double value : growth.value) all += value;
  if (all <= 0) return "";
  const MeteredRow* best = nullptr;
  for (const MeteredRow& row : rows.rows) {
    if (&row == rows.steps) continue;
    double here = 0;
    visit_within(row.of_host[host], growth.at_ns, [&](std::size_t i) { here += growth.value[i]; });
    if (here < kStandsOut * all) continue;
    if (best == nullptr || row.total_ns() < best->total_ns()) best = &row;
  }
  return best == nullptr ? "" : best->name;
}

MemoryGrowth growth_of(std::string what, const Points& points, std::uint32_t host,
                       const MeteredRows& rows, Interval steady, Interval whole) {
  MemoryGrowth growth;
  growth.what = std::move(what);
  Places places = within(points, steady);
  growth.stretch = "steady steps";
  if (places.size() < kMinSamples) {
    places = within(points, {whole.begin + whole.length() / 4, add(whole.end, 1)});
    growth.stretch = "after the first quarter";
  }
  growth.samples = places.size();
  const std::optional<stats::Trend> line =
      places.size() < kMinSamples ? std::nullopt : slope_of(points, places);
  if (!line) {
    growth.reason = "insufficient samples";
    return growth;
  }
  growth.bytes_per_second = Slope{line->slope, line->low, line->high};
  const double length =
      seconds(subtract(points.at_ns[places.last - 1], points.at_ns[places.first]));
  if (line->intercept > 0) growth.growth_ratio = line->slope * length / line->intercept;
  growth.leak = line->low > 0 && growth.growth_ratio.value_or(0) > kLeakGrowth &&
                growth.samples >= kLeakSamples && length >= kLeakSeconds &&
                still_grows(points, places);
  if (line->low > 0) growth.stage = stage_of(changes(points, places), host, rows);
  return growth;
}

}  // namespace

std::vector<MemoryGrowth> memory_growth(const Readings& readings, const MeteredRows& rows,
                                        Interval steady, Interval whole) {
  std::vector<MemoryGrowth> all;
  for (std::uint32_t h = 0; h < readings.hosts.size(); ++h) {
    const Points& rss = readings.hosts[h].rss_bytes;
    if (rss.at_ns.empty()) continue;
    all.push_back(growth_of("host", rss, h, rows, steady, whole));
  }
  for (const std::uint32_t g : readings.used) {
    const EntityReadings& gpu = readings.gpus[g];
    if (gpu.memory().at_ns.empty()) continue;
    all.push_back(growth_of(gpu.entity->entity.id, gpu.memory(), gpu.host, rows, steady, whole));
  }
  return all;
}

}  // namespace genscope::analysis
