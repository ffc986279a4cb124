// A figure over time: on the page of a result, and on a page of its own.
#pragma once

#include <string>

#include "bench/output/output.h"

namespace genscope::bench::page {

// Medians with their intervals in the order of time, levels as steps, a mark where a change begins,
// spikes and accepted points apart. Empty without points.
std::string history_chart(const HistorySeries& series);

// The charts side by side, each with what is to be said about it; `table` adds the points as a
// table, folded.
std::string history_charts(const std::vector<HistorySeries>& all, bool table);

}  // namespace genscope::bench::page
