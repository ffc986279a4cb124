// The stage table: one row per name and kind over the whole run.
#pragma once

#include <vector>

#include <genscope/analyze.h>

#include "analyze/durations.h"
#include "analyze/row_sums.h"
#include "analyze/rows.h"

namespace genscope::analysis {

// First pass: sums per row over all traces.
std::vector<RowSums> sum_rows(const Run& run, const RowTable& rows);

// The table, sorted as Analysis::stages says; rows without spans are left out.
std::vector<StageRow> stage_table(const Run& run, const RowTable& rows,
                                  const std::vector<RowSums>& sums, const Durations& durations,
                                  std::int64_t wall_ns);

}  // namespace genscope::analysis
