// The rows of a comparison: figures that both sides have, or one of them.
#pragma once

#include <cstddef>
#include <string>

#include <genscope/analyze.h>

#include "analyze/compare/judge.h"
#include "analyze/compare/run_record.h"

namespace genscope::analysis {

// So many rows of spans, those with the most time; the others are counted. A row of 50 spans
// against 50 costs some 25 million additions (statistics/statistics.h), so this also bounds the
// time.
inline constexpr std::size_t kMostRows = 200;

// Fills rows and rows_left_out, judged.
void add_rows(const Records& before, const Records& after, const Judging& judging,
              Comparison& result);

// How many names and kinds of spans the sides have, and how many both.
struct Common {
  std::size_t before = 0, after = 0, both = 0;
};
Common common_rows(const Records& before, const Records& after);

}  // namespace genscope::analysis
