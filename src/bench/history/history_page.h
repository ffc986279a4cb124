// Histories for the page: of a result, and of its own.
#pragma once

#include <string>
#include <vector>

#include "bench/history/history_text.h"
#include "bench/output/output.h"

namespace genscope::bench {

// What the chart shows of it: at most kMostDrawn newest points.
HistorySeries drawn_series(const ShownSeries& shown);
inline constexpr std::size_t kMostDrawn = 400;

// With changes, trend and target.
ShownSeries shown_series(Series series, double magnitude = HistoryOptions{}.magnitude,
                         std::optional<double> limit = std::nullopt);

// The past of a result's cells: `metric` first, then its gates, CPU time, memory and energy; those
// that the index has at least kLeastForLevel results of. Empty if nothing was kept.
std::vector<HistorySeries> history_of_result(const BenchResult& result, const std::string& metric);

// "latency_s of python gen.py" without the metric: the page has several.
HistoryPageOptions history_head(const std::vector<ShownSeries>& all);

}  // namespace genscope::bench
