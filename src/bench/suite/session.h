// A run of a suite: which unit comes next, what is kept of it.
//
//   pilot    a unit of every cell, then up to processes.min of each, the cells taking turns, so
//            that a machine that drifts does so for all
//   refine   rounds over the cells that are open; those first whose verdict is. What is left of the
//            budget goes there
//
// Cells close by the width of their interval (cell_state.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bench/suite/cell_state.h"
#include "bench/suite/dominance.h"
#include "bench/suite/journal.h"
#include "bench/suite/load_subject.h"
#include "bench/suite/suite.h"

namespace genscope::bench {

class SuiteSession {
 public:
  // All outlive it. `baseline` may be null.
  SuiteSession(const Suite& suite, const SuiteOptions& options, const OnSuiteProgress& progress,
               const BenchResult* baseline, OomMemory& memory);

  // Cells in the order of the plan; those that are skipped are closed.
  void plan(std::vector<PlannedCell> cells);
  // What an earlier session measured.
  void replay_unit(JournalUnit&& unit);
  void replay_cell(Cell&& outcome);
  void replay_load(LoadResultSummary&& summary);
  // Until all cells are closed, the budget is used up, or somebody stops it.
  void measure(Subject& subject, Journal& journal);
  // The same with loads.
  void measure(LoadSubject& subject, Journal& journal);

  bool interrupted() const noexcept { return interrupted_; }
  const std::vector<std::string>& notes() const noexcept { return notes_; }
  std::vector<Cell> take_cells();
  // Of the units that count, in the order of the cells. Before take_cells().
  std::vector<LoadResultSummary> take_loads();

 private:
  double now_s() const;
  double left_s() const;  // of the budget
  bool fits(const CellState& state) const;
  bool run_next(std::size_t place);  // false: stop
  void keep_load(CellState& state);
  void run_round(const std::vector<std::size_t>& places, std::size_t least);
  void run_blocks();
  void fail(CellState& state, const Failure& failure);
  void skip(CellState& state, std::string why);
  void skip_dominated();
  void read(CellState& state);  // the units that the journal has of it
  void journal(const Status& written);
  const Cell* before(const CellState& state) const;
  std::vector<std::size_t> open_first(const std::vector<std::size_t>& order);
  bool all_closed() const;
  bool tell(const CellState& state);

  const Suite& suite_;
  const SuiteOptions& options_;
  const OnSuiteProgress& progress_;
  OomMemory& memory_;
  std::unordered_map<std::string, const Cell*> baseline_;
  std::vector<CellState> cells_;
  std::unordered_map<std::string_view, std::size_t> places_;  // by id, in cells_
  Subject* subject_ = nullptr;
  LoadSubject* load_ = nullptr;
  Journal* journal_ = nullptr;
  std::optional<double> budget_s_;
  double began_s_ = 0;
  std::uint32_t order_index_ = 0;
  std::size_t units_ = 0;
  bool stopped_ = false, interrupted_ = false, out_of_budget_ = false;
  std::vector<std::string> notes_;
};

}  // namespace genscope::bench
