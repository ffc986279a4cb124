// One cell while a suite runs.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "bench/suite/journal.h"
#include "bench/suite/suite.h"

namespace genscope::bench {

struct CellState {
  Cell cell;
  std::vector<std::string> unread;                   // units of the journal, before those of `cell`
  std::vector<double> latencies;                     // of the units that have one, read or not
  std::size_t good = 0, failed = 0;                  // units
  std::map<std::uint32_t, LoadResultSummary> loads;  // by unit
  double spent_s = 0;
  bool closed = false;  // no unit will follow
  bool warmed = false;  // in this session
  // What the units so far say; renewed after each of them.
  bool precise = false;
  std::size_t more = 0;  // units that are wanted yet, as the width says

  std::size_t units() const noexcept { return unread.size() + cell.units.size(); }
};

// `good`, `closed` and `more` from the units so far. Closed by the width of the interval, by the
// greatest number of units or by the cell's time; never by a verdict.
void look_at(CellState& state, const Suite& suite);
// After a unit that was measured or is in the journal.
void count_unit(CellState& state, const UnitHead& head);
// `unread` into `cell`; how many of them cannot be read, and are left out.
std::size_t read_units(CellState& state);

// Whether a target or the comparison with the baseline is not decided yet. `before`: the same cell
// of the baseline, or null. The units are to be read.
bool verdict_is_open(const CellState& state, const Suite& suite, const Cell* before);

}  // namespace genscope::bench
