// Small charts as SVG text, without a script: dots, intervals, lines. Colours are classes, which
// the page's style sheet defines for light and dark.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/output/output.h"

namespace genscope::bench::page {

// Figures of one side, with their median and its interval.
struct Strip {
  std::string label;  // "A", "B"
  std::string css;    // "a" or "b"
  std::vector<double> values;
  std::optional<double> median;
  std::optional<stats::Interval> interval;
};
// The strips one above the other over one axis of that metric.
std::string strip_chart(std::string_view metric, const std::vector<Strip>& strips);

// The interval of a change on an axis around 0 %, with the floor as a band: `reach` is the change
// at its ends, so that all rows of a table share one axis.
std::string change_bar(const Comparison& comparison, double reach);

}  // namespace genscope::bench::page
