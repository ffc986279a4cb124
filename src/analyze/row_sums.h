// RowSums: what one pass over the spans can add up for a row of the stage table.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include <genscope/trace.h>

#include "analyze/rows.h"
#include "analyze/time.h"

namespace genscope::analysis {

// Whether a duration needs more than 32 bits.
inline bool is_long(std::int64_t duration_ns) noexcept {
  return duration_ns > std::int64_t{std::numeric_limits<std::uint32_t>::max()};
}

struct RowSums {
  std::uint64_t count = 0;       // finished
  std::uint64_t long_count = 0;  // of these, is_long()
  std::uint64_t failed = 0;
  std::uint64_t unfinished = 0;
  std::int64_t sum_ns = 0;  // of finished spans
  std::int64_t min_ns = kLatest;
  std::int64_t max_ns = 0;
  std::int64_t total_ns = 0;
  std::int64_t self_ns = 0;
};

// Adds the spans of run.traces[trace]; `sums` has an entry per row. Definitions of total and self
// are at StageRow in genscope/analyze.h. Relies on:
//   1. a parent's index is below its children's;
//   2. spans of a track are in the order of their begins;
//   3. stack spans of a track nest, so the stack children of a span are disjoint and the part of
//      them within it can be summed.
// Detached spans keep none of 3: theirs is a union, and costs a sort of the children concerned.
void add_spans(const Trace& trace, const std::vector<std::uint32_t>& row_of,
               std::vector<RowSums>& sums);

}  // namespace genscope::analysis
