// Durations: those of all finished spans of a run, grouped by row of the stage table.
//
// Nearly every span is shorter than 4.29 s, so a duration takes 4 bytes; the long ones are kept
// apart. Within a row the short ones sort before the long ones, and ranks run through both.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <genscope/trace.h>

#include "analyze/percentile.h"
#include "analyze/row_sums.h"
#include "analyze/rows.h"

namespace genscope::analysis {

// The durations of one row, or of neighbouring rows, by rank.
class DurationSet {
 public:
  DurationSet(std::span<const std::uint32_t> shorts, std::vector<std::int64_t> longs);

  std::size_t size() const noexcept { return shorts_ + longs_.size(); }
  // The value at `rank` < size() of the sorted durations.
  std::int64_t at(std::size_t rank);
  std::int64_t percentile(unsigned percent) { return at(nearest_rank(size(), percent)); }

 private:
  std::size_t shorts_;
  Selector selector_;
  std::vector<std::int64_t> longs_;  // sorted
};

class Durations {
 public:
  // `sums`: per row. One pass, 4 bytes a span, freed with this object.
  Durations(const Run& run, const RowTable& rows, std::span<const RowSums> sums);

  // Of one row, or of rows [first, last).
  DurationSet of(std::size_t row) const { return of(row, row + 1); }
  DurationSet of(std::size_t first, std::size_t last) const;

 private:
  struct Long {
    std::uint32_t row;
    std::int64_t duration_ns;
  };
  std::unique_ptr<std::uint32_t[]> shorts_;
  std::vector<std::size_t> starts_;  // per row, and the end
  std::vector<Long> longs_;          // by row, then by duration
};

}  // namespace genscope::analysis
