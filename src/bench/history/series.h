// One figure over time: the results of the same work on the same kind of machine, where its level
// changed, whether it creeps, and whether the newest value fits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <genscope/bench.h>

#include "bench/history/folder.h"

namespace genscope::bench {

struct SeriesPoint {
  std::string run, commit;
  std::int64_t started_us = 0;
  double value = 0;
  std::optional<double> lo, hi;  // of the median
  bool spike = false;            // one value far from its neighbours; it moves no level
  bool accepted = false;         // the user said that a new level begins here
};

struct HistoryChange {
  std::size_t index = 0;         // the first point of the new level
  double before = 0, after = 0;  // means of the levels
  double p_value = 1;
  bool worse = false;
  bool confirmed = false;  // a second method puts a change there too
  bool accepted = false;
};

struct HistoryTrend {
  double per_week = 0;       // relative to the level's median: 0.01 is 1 % a week
  double low = 0, high = 0;  // its interval, 95 %
  double p_value = 1;
  bool real = false;  // the interval excludes 0
};

struct HistoryNewest {
  double value = 0;
  double low = 0, high = 0;  // where it is expected
  std::string verdict;       // fits, worse, better
};

struct HistoryOptions {
  Direction direction = Direction::lower_is_better;
  double magnitude = 0.02;      // smallest relative change of level that counts
  std::optional<double> limit;  // what it must not exceed (or, higher is better, fall below)
};

struct HistoryAnalysis {
  std::vector<SeriesPoint> points;
  std::vector<HistoryChange> changes;
  std::size_t level_begin = 0;  // of the last level: since the last change, confirmed or accepted
  std::optional<HistoryTrend> trend;      // of the last level
  std::optional<HistoryNewest> newest;    // against the last level without it
  std::optional<std::int64_t> breach_us;  // when the trend reaches the limit
  bool breached = false;                  // the newest is beyond it
  std::vector<std::string> notes;         // what could not be said and why, in sentences
};
// In the order of time. O(n^2) for Potts; a series is cut to its newest kMostPoints.
HistoryAnalysis analyze_history(std::vector<SeriesPoint> points, const HistoryOptions& options);
inline constexpr std::size_t kMostPoints = 2000;
inline constexpr std::size_t kLeastForLevel = 4;  // points that a judgement of the newest needs

// The index's answer for one cell.
struct Series {
  std::string suite, subject, cell, metric, unit, environment_class, workload_hash;
  Direction direction = Direction::lower_is_better;
  std::vector<SeriesPoint> points;
  std::size_t other_machine = 0, other_work = 0;  // points left out
};

struct SeriesFilter {
  std::string metric = "latency_s";
  std::optional<std::string> suite, cell;
  std::optional<std::string> subject;  // of results without a suite
  // Only points of this kind of machine and work; absent: of the newest one's.
  std::optional<std::string> environment_class, workload_hash;
};
// Of the suite or subject asked for, else of what was measured last; one for each cell.
Result<std::vector<Series>> collect_series(const Folder& folder, const SeriesFilter& filter);

// All that the index has a series of, latency_s first; those of stages last.
Result<std::vector<std::string>> metrics_in(const Folder& folder);

// The limit that the newest result has as a target for this figure.
std::optional<double> limit_of(const Series& series);

}  // namespace genscope::bench
