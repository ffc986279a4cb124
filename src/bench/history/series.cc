// Levels are found by what was measured to work best on synthetic histories (docs/statistics.md): a
// Hampel filter takes single spikes out, Hunter finds the changes, Potts confirms them. Potts needs
// three points a level, so that a change in the newest two cannot be confirmed yet, and is told as
// possible.
//
// A trend is asked for in the last level only: over a step every series has one.
#include "bench/history/series.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyze/history/change_points.h"
#include "analyze/statistics/statistics.h"
#include "base/suggest.h"

namespace genscope::bench {
namespace {

constexpr double kWeekUs = 7.0 * 24 * 3600 * 1e6;
constexpr double kDayUs = 24.0 * 3600 * 1e6;
constexpr std::size_t kNear = 2;  // points by which two methods may differ
constexpr std::size_t kLeastForTrend = 6;
constexpr double kExpected = 0.995;  // two-sided 99 %: one alarm in a hundred unchanged results
constexpr double kTenYearsUs = 3650 * kDayUs;

std::vector<double> point_values(const std::vector<SeriesPoint>& points) {
  std::vector<double> values;
  for (const SeriesPoint& point : points) values.push_back(point.value);
  return values;
}

bool is_near(std::size_t a, std::size_t b) { return (a > b ? a - b : b - a) <= kNear; }

void find_changes(HistoryAnalysis& out, const HistoryOptions& options) {
  const std::vector<double> values = point_values(out.points);
  for (const std::size_t place : stats::hampel_outliers(values, 3, 4)) {
    out.points[place].spike = true;
  }
  const std::vector<double> smooth = stats::hampel_filter(values, 3, 4);
  const std::vector<stats::PottsSegment> levels = stats::potts(smooth);
  for (const stats::LevelChange& one : stats::hunter(smooth, {.magnitude = options.magnitude})) {
    HistoryChange change;
    change.index = one.index;
    change.before = one.before;
    change.after = one.after;
    change.p_value = one.p_value;
    change.worse = (one.after > one.before) == (options.direction == Direction::lower_is_better);
    change.confirmed = std::ranges::any_of(levels, [&](const stats::PottsSegment& level) {
      return level.begin > 0 && is_near(level.begin, one.index);
    });
    for (std::size_t i = 0; i < out.points.size(); ++i) {
      if (out.points[i].accepted && is_near(i, one.index)) change.accepted = true;
    }
    out.changes.push_back(change);
  }
}

void find_last_level(HistoryAnalysis& out) {
  for (const HistoryChange& change : out.changes) {
    if (change.confirmed || change.accepted) {
      out.level_begin = std::max(out.level_begin, change.index);
    }
  }
  for (std::size_t i = 0; i < out.points.size(); ++i) {
    if (out.points[i].accepted) out.level_begin = std::max(out.level_begin, i);
  }
}

void find_trend(HistoryAnalysis& out, const HistoryOptions& options) {
  const std::vector<SeriesPoint> level(
      out.points.begin() + static_cast<std::ptrdiff_t>(out.level_begin), out.points.end());
  if (level.size() < kLeastForTrend) {
    out.notes.push_back(fmt::format("a trend needs {} results of one level; there are {}",
                                    kLeastForTrend, level.size()));
    return;
  }
  const auto first = static_cast<double>(level.front().started_us);
  const double span = static_cast<double>(level.back().started_us) - first;
  if (span < kDayUs) {
    out.notes.push_back("the last level spans less than a day: too short for a trend by the week");
    return;
  }
  std::vector<double> weeks, values;
  for (const SeriesPoint& point : level) {
    weeks.push_back((static_cast<double>(point.started_us) - first) / kWeekUs);
    values.push_back(point.value);
  }
  const std::optional<stats::Trend> line = stats::trend(weeks, values);
  const double middle = stats::quantile(values, 0.5).value_or(0);
  if (!line || middle == 0) return;
  const double scale = std::abs(middle);
  HistoryTrend trend{line->slope / scale, line->low / scale, line->high / scale, line->p_value,
                     false};
  trend.real = line->p_value < 0.05 && (line->low > 0 || line->high < 0);
  out.trend = trend;
  if (!trend.real || !options.limit || out.breached || line->slope == 0) return;
  const double at = (*options.limit - line->intercept) / line->slope * kWeekUs;  // after `first`
  if (at > span && at < kTenYearsUs) out.breach_us = static_cast<std::int64_t>(first + at);
}

void judge_newest(HistoryAnalysis& out, const HistoryOptions& options) {
  const std::size_t last = out.points.size() - 1;
  std::vector<double> level;
  for (std::size_t i = out.level_begin; i < last; ++i) level.push_back(out.points[i].value);
  if (level.size() < kLeastForLevel) {
    out.notes.push_back(
        fmt::format("the newest result is judged against {} others of its level; "
                    "there are {}",
                    kLeastForLevel, level.size()));
    return;
  }
  const std::optional<stats::Bounds> bounds = stats::robust_bounds(level, kExpected);
  const double middle = stats::quantile(level, 0.5).value_or(0);
  if (!bounds) return;
  const double margin = std::abs(middle) * options.magnitude;
  HistoryNewest newest{out.points[last].value, std::min(bounds->low, middle - margin),
                       std::max(bounds->high, middle + margin), "fits"};
  const bool above = newest.value > newest.high, below = newest.value < newest.low;
  const bool lower = options.direction == Direction::lower_is_better;
  if (above || below) newest.verdict = above == lower ? "worse" : "better";
  out.newest = newest;
}

bool is_beyond(double value, const HistoryOptions& options) {
  if (!options.limit) return false;
  return options.direction == Direction::lower_is_better ? value > *options.limit
                                                         : value < *options.limit;
}

SeriesPoint point_of(const store::history::PointRow& row, const std::vector<AcceptedRow>& accepted,
                     const std::string& metric) {
  SeriesPoint point{row.run, row.commit_sha, row.started_us, row.median,
                    row.lo,  row.hi,         false,          false};
  point.accepted = std::ranges::any_of(accepted, [&](const AcceptedRow& one) {
    return one.run == row.run && one.cell == row.cell && one.metric == metric;
  });
  return point;
}

Error no_such_metric(const Folder& folder, const std::string& metric) {
  const Result<std::vector<std::string>> known = folder.index.metric_names();
  const std::string meant = known ? base::nearest(metric, *known) : "";
  return {ErrorCode::not_found,
          fmt::format("no result has '{}'{}", metric,
                      meant.empty() ? "" : fmt::format("; did you mean '{}'?", meant))};
}

// One series of the rows of a cell, which are in the order of time.
Series series_of(const std::vector<store::history::PointRow>& rows, const Folder& folder,
                 const SeriesFilter& filter) {
  store::history::PointRow newest = rows.back();
  if (filter.environment_class) newest.environment_class = *filter.environment_class;
  if (filter.workload_hash) newest.workload_hash = *filter.workload_hash;
  const std::string& metric = filter.metric;
  Series series{
      newest.suite,
      newest.subject,
      newest.cell,
      metric,
      newest.unit,
      newest.environment_class,
      newest.workload_hash,
      newest.direction == "higher" ? Direction::higher_is_better : Direction::lower_is_better,
      {},
      0,
      0};
  for (const store::history::PointRow& row : rows) {
    if (row.environment_class != newest.environment_class) {
      ++series.other_machine;
    } else if (row.workload_hash != newest.workload_hash) {
      ++series.other_work;
    } else {
      series.points.push_back(point_of(row, folder.decisions.accepted, metric));
    }
  }
  return series;
}

}  // namespace

HistoryAnalysis analyze_history(std::vector<SeriesPoint> points, const HistoryOptions& options) {
  HistoryAnalysis out;
  if (points.size() > kMostPoints) {
    out.notes.push_back(
        fmt::format("only the newest {} of {} results are looked at", kMostPoints, points.size()));
    points.erase(points.begin(), points.end() - static_cast<std::ptrdiff_t>(kMostPoints));
  }
  out.points = std::move(points);
  if (out.points.empty()) return out;
  out.breached = is_beyond(out.points.back().value, options);
  find_changes(out, options);
  find_last_level(out);
  find_trend(out, options);
  judge_newest(out, options);
  return out;
}

Result<std::vector<Series>> collect_series(const Folder& folder, const SeriesFilter& filter) {
  store::history::SeriesQuery query;
  query.metric = filter.metric;
  query.cell = filter.cell;
  query.suite = filter.suite;
  query.subject = filter.subject;
  if (!filter.suite && !filter.subject) {
    const Result<std::vector<store::history::RunRow>> newest = folder.index.runs(1, std::nullopt);
    if (!newest) return newest.error();
    if (newest->empty()) {
      return Error{ErrorCode::not_found,
                   fmt::format("there are no results in {}/bench; `genscope bench CMD` makes one",
                               folder.runs)};
    }
    query.suite = newest->front().suite;
    if (query.suite->empty()) query.subject = newest->front().subject;
  }
  const Result<std::vector<store::history::PointRow>> rows = folder.index.series(query);
  if (!rows) return rows.error();
  if (rows->empty()) return no_such_metric(folder, filter.metric);
  std::map<std::string, std::vector<store::history::PointRow>> by_cell;
  for (const store::history::PointRow& row : *rows) by_cell[row.cell].push_back(row);
  std::vector<Series> all;
  for (const auto& [cell, of_cell] : by_cell) {
    all.push_back(series_of(of_cell, folder, filter));
  }
  return all;
}

Result<std::vector<std::string>> metrics_in(const Folder& folder) {
  Result<std::vector<std::string>> names = folder.index.metric_names();
  if (!names) return names.error();
  const auto place = [](const std::string& name) {
    return name == "latency_s" ? 0 : name.starts_with("stage.") ? 2 : 1;
  };
  std::ranges::stable_sort(*names, {}, place);
  return *names;
}

std::optional<double> limit_of(const Series& series) {
  if (series.points.empty()) return std::nullopt;
  const Result<BenchResult> newest = read_result(result_path(series.points.back().run));
  if (!newest) return std::nullopt;
  for (const TargetResult& target : newest->targets) {
    if (target.metric != series.metric || target.stat != "median") continue;
    if (!target.cell.empty() && target.cell != series.cell) continue;
    return series.direction == Direction::lower_is_better ? target.limit_max : target.limit_min;
  }
  return std::nullopt;
}

}  // namespace genscope::bench
