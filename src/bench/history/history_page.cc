#include "bench/history/history_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyze/statistics/statistics.h"
#include "bench/history/rows.h"
#include "bench/result/timestamp.h"
#include "report/format.h"

namespace genscope::bench {
namespace {

constexpr std::size_t kMostOfResult = 24;  // charts on the page of a result

// The means that Hunter found; without a change, the median of all but spikes.
std::vector<HistoryLevel> levels_of(const HistoryAnalysis& found) {
  std::vector<HistoryLevel> levels;
  if (found.changes.empty()) {
    std::vector<double> values;
    for (const SeriesPoint& point : found.points) {
      if (!point.spike) values.push_back(point.value);
    }
    if (const auto middle = stats::quantile(values, 0.5)) {
      levels.push_back({0, found.points.size(), *middle});
    }
    return levels;
  }
  levels.push_back({0, found.changes.front().index, found.changes.front().before});
  for (std::size_t i = 0; i < found.changes.size(); ++i) {
    const bool last = i + 1 == found.changes.size();
    levels.push_back({found.changes[i].index,
                      last ? found.points.size() : found.changes[i + 1].index,
                      found.changes[i].after});
  }
  return levels;
}

// Drops the first `cut` points, and what was about them alone.
void cut_front(HistorySeries& series, std::size_t cut) {
  if (cut == 0) return;
  series.points.erase(series.points.begin(),
                      series.points.begin() + static_cast<std::ptrdiff_t>(cut));
  std::erase_if(series.changes, [&](const HistoryStep& step) { return step.index <= cut; });
  std::erase_if(series.levels, [&](const HistoryLevel& level) { return level.end <= cut; });
  for (HistoryStep& step : series.changes) step.index -= cut;
  for (HistoryLevel& level : series.levels) {
    level.begin = level.begin > cut ? level.begin - cut : 0;
    level.end -= cut;
  }
}

std::vector<std::string> metrics_of_page(const BenchResult& result, const std::string& first) {
  std::vector<std::string> metrics = {first};
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(metrics, name) == metrics.end()) metrics.push_back(name);
  };
  for (const Comparison& c : result.comparisons) {
    if (c.gate) add(c.metric);
  }
  for (const char* const name :
       {"latency_s", "cpu_s", "rss_peak_bytes", "energy_j", "vram_peak_bytes"}) {
    add(name);
  }
  return metrics;
}

}  // namespace

HistorySeries drawn_series(const ShownSeries& shown) {
  HistorySeries series;
  series.cell = shown.series.cell;
  series.metric = shown.series.metric;
  series.limit = shown.limit;
  series.remarks = history_sentences(shown);
  for (const SeriesPoint& point : shown.analysis.points) {
    HistoryPoint drawn;
    drawn.id = point.run;
    drawn.started = timestamp(point.started_us * 1000);
    drawn.commit = point.commit;
    drawn.value = point.value;
    drawn.lo = point.lo;
    drawn.hi = point.hi;
    drawn.spike = point.spike;
    drawn.accepted = point.accepted;
    series.points.push_back(std::move(drawn));
  }
  for (const HistoryChange& change : shown.analysis.changes) {
    series.changes.push_back({change.index, change.before, change.after, change.worse,
                              change.confirmed, change.accepted});
  }
  series.levels = levels_of(shown.analysis);
  if (series.points.size() > kMostDrawn) {
    series.remarks.push_back(
        fmt::format("The newest {} of {} results are drawn.", kMostDrawn, series.points.size()));
    cut_front(series, series.points.size() - kMostDrawn);
  }
  return series;
}

ShownSeries shown_series(Series series, double magnitude, std::optional<double> limit) {
  ShownSeries shown{std::move(series), {}, {}};
  shown.limit = limit ? limit : limit_of(shown.series);
  shown.analysis =
      analyze_history(shown.series.points, {shown.series.direction, magnitude, shown.limit});
  return shown;
}

std::vector<HistorySeries> history_of_result(const BenchResult& result, const std::string& metric) {
  std::vector<HistorySeries> all;
  const Result<Folder> folder = open_folder();
  if (!folder) return all;
  for (const std::string& name : metrics_of_page(result, metric)) {
    SeriesFilter filter;
    filter.metric = name;
    filter.suite = result.suite;
    if (result.suite.empty()) filter.subject = subject_of(result);
    filter.environment_class = result.environment.klass;
    filter.workload_hash = result.workload_hash;
    const Result<std::vector<Series>> found = collect_series(*folder, filter);
    if (!found) continue;
    for (const Series& one : *found) {
      const bool mine =
          std::ranges::any_of(result.cells, [&](const Cell& cell) { return cell.id == one.cell; });
      if (!mine || one.points.size() < kLeastForLevel || all.size() >= kMostOfResult) continue;
      all.push_back(drawn_series(shown_series(one)));
      for (HistoryPoint& point : all.back().points) point.shown = point.id == result.id;
    }
  }
  return all;
}

HistoryPageOptions history_head(const std::vector<ShownSeries>& all) {
  HistoryPageOptions head;
  head.title = "History";
  if (all.empty()) return head;
  const Series& first = all.front().series;
  const std::string what = first.suite.empty() ? first.subject : first.suite;
  if (!what.empty()) head.title = "History of " + what;
  std::int64_t from = 0, to = 0;
  for (const ShownSeries& one : all) {
    for (const SeriesPoint& point : one.analysis.points) {
      from = from == 0 ? point.started_us : std::min(from, point.started_us);
      to = std::max(to, point.started_us);
    }
  }
  head.facts.push_back(fmt::format("{} to {}", report::utc_time(from * 1000).substr(0, 10),
                                   report::utc_time(to * 1000).substr(0, 10)));
  if (!first.environment_class.empty()) head.facts.push_back(first.environment_class);
  return head;
}

}  // namespace genscope::bench
