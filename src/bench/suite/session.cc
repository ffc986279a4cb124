// Cells run in turns, one unit at a time: first until each has the least number of units, then
// those whose verdict is open before those whose interval is merely wide. Each unit is a line of
// the journal before the next begins, so a run can be killed at any moment; replaying the lines
// gives the same state, and units are read whole only when a cell is looked at again.
//
// The budget is checked before a unit, with the mean time of the cell's units so far: one that
// would end beyond it is not begun.
#include "bench/suite/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/clock.h"
#include "bench/run/schedule.h"
#include "bench/suite/unit_runner.h"

namespace genscope::bench {
namespace {

// With a success rate to be found, failures count and the cell goes on, unless nothing ever works.
constexpr std::size_t kHopeless = 3;

bool runs_out_of_memory(FailureClass kind) {
  return kind == FailureClass::oom_gpu || kind == FailureClass::oom_host;
}

Cell outcome_of(const Cell& cell) {
  Cell out;
  out.id = cell.id;
  out.params = cell.params;
  out.status = cell.status;
  out.failure = cell.failure;
  return out;
}

}  // namespace

SuiteSession::SuiteSession(const Suite& suite, const SuiteOptions& options,
                           const OnSuiteProgress& progress, const BenchResult* baseline,
                           OomMemory& memory)
    : suite_(suite), options_(options), progress_(progress), memory_(memory) {
  budget_s_ = options.budget_s ? options.budget_s : suite.stop.budget_s;
  if (baseline == nullptr) return;
  for (const Cell& cell : baseline->cells) baseline_.emplace(cell.id, &cell);
}

void SuiteSession::plan(std::vector<PlannedCell> cells) {
  cells_.reserve(cells.size());  // places_ refers to them
  for (PlannedCell& planned : cells) {
    CellState& state = cells_.emplace_back();
    state.cell.id = std::move(planned.id);
    state.cell.params = std::move(planned.params);
    places_.emplace(state.cell.id, cells_.size() - 1);
    if (planned.skipped.empty()) continue;
    skip(state, std::move(planned.skipped));
  }
}

void SuiteSession::replay_unit(JournalUnit&& unit) {
  const auto place = places_.find(unit.head.cell);
  if (place == places_.end()) return;
  CellState& state = cells_[place->second];
  order_index_ = std::max(order_index_, unit.head.order_index + 1);
  state.spent_s += unit.head.seconds;
  count_unit(state, unit.head);
  state.unread.push_back(std::move(unit.cell));
  ++units_;
}

void SuiteSession::read(CellState& state) {
  const std::size_t lost = read_units(state);
  if (lost == 0) return;
  notes_.push_back(fmt::format("{}: {} unit{} of the journal cannot be read and {} left out.",
                               state.cell.id, lost, lost == 1 ? "" : "s",
                               lost == 1 ? "is" : "are"));
}

void SuiteSession::replay_cell(Cell&& outcome) {
  const auto place = places_.find(outcome.id);
  if (place == places_.end()) return;
  CellState& state = cells_[place->second];
  state.cell.status = outcome.status;
  state.cell.failure = std::move(outcome.failure);
  state.closed = true;
  if (is_oom(state.cell)) memory_.note(state.cell);
}

void SuiteSession::replay_load(LoadResultSummary&& summary) {
  const auto place = places_.find(summary.cell);
  if (place == places_.end()) return;
  CellState& state = cells_[place->second];
  if (summary.achieved_per_s > 0) {
    state.spent_s +=
        static_cast<double>(summary.requests - summary.failed) / summary.achieved_per_s;
  }
  state.loads.insert_or_assign(summary.unit, std::move(summary));
}

double SuiteSession::now_s() const {
  const std::int64_t ns = options_.monotonic_ns ? options_.monotonic_ns() : base::monotonic_ns();
  return static_cast<double>(ns) * 1e-9;
}

double SuiteSession::left_s() const {
  if (!budget_s_) return std::numeric_limits<double>::infinity();
  return *budget_s_ - (now_s() - began_s_);
}

// A unit that would end beyond the budget is not begun.
bool SuiteSession::fits(const CellState& state) const {
  const double left = left_s();
  if (left <= 0) return false;
  const std::size_t units = state.good + state.failed;
  return units == 0 || state.spent_s / static_cast<double>(units) <= left;
}

const Cell* SuiteSession::before(const CellState& state) const {
  const auto known = baseline_.find(state.cell.id);
  return known == baseline_.end() ? nullptr : known->second;
}

void SuiteSession::journal(const Status& written) {
  if (written.ok()) return;
  const std::string note = fmt::format("This run cannot be resumed: {}.", written.error().message);
  if (std::find(notes_.begin(), notes_.end(), note) == notes_.end()) notes_.push_back(note);
}

void SuiteSession::skip(CellState& state, std::string why) {
  state.cell.status = "skipped";
  state.cell.failure = Failure{FailureClass::skipped, std::move(why)};
  state.closed = true;
}

void SuiteSession::skip_dominated() {
  for (CellState& state : cells_) {
    if (state.closed || state.good > 0) continue;
    std::string why = memory_.dominated(state.cell.params);
    if (why.empty()) continue;
    skip(state, std::move(why));
    journal(journal_->cell(outcome_of(state.cell)));
  }
}

void SuiteSession::fail(CellState& state, const Failure& failure) {
  const bool oom = runs_out_of_memory(failure.kind);
  const bool hopeless = state.good == 0 && state.failed >= kHopeless;
  if (suite_.prompts.min_success && !oom && !hopeless) return;
  state.cell.failure = failure;
  // Where the suite looks for the edge of memory, finding it is no failure.
  state.cell.status = oom && suite_.matrix.has_oom ? "skipped" : "failed";
  state.closed = true;
  journal(journal_->cell(outcome_of(state.cell)));
  if (!oom || !suite_.matrix.has_oom) return;
  memory_.note(state.cell);
  if (suite_.matrix.oom_remember) {
    const Status kept = memory_.remember(state.cell);
    if (!kept) notes_.push_back(kept.error().message + ".");
  }
  skip_dominated();
}

bool SuiteSession::run_next(std::size_t place) {
  CellState& state = cells_[place];
  read(state);
  UnitPlan plan;
  plan.params = &state.cell.params;
  plan.process = static_cast<std::uint32_t>(state.cell.units.size());
  plan.order_index = order_index_++;
  plan.warm_up = !state.warmed;
  plan.timeout_s = suite_.timeout.iteration_s;
  if (suite_.timeout.cell_s) {
    const double left = std::max(1e-3, *suite_.timeout.cell_s - state.spent_s);
    plan.timeout_s = plan.timeout_s ? std::min(*plan.timeout_s, left) : left;
  }
  const double began = now_s();
  Unit unit = run_unit(suite_, *subject_, plan);
  state.spent_s += now_s() - began;
  if (cancelled()) {
    interrupted_ = stopped_ = true;  // what it was doing is not known to be whole
    return false;
  }
  state.warmed = true;
  keep_load(state);
  Cell line = outcome_of(state.cell);
  line.units.push_back(unit);
  journal(journal_->unit(line));
  const std::optional<Failure> failure = failure_of_unit(unit);
  count_unit(state, head_of(line));
  state.cell.units.push_back(std::move(unit));
  ++units_;
  if (failure) fail(state, *failure);
  if (!state.closed) look_at(state, suite_);
  return tell(state);
}

// Before the line of its unit: a load without one does not count, and is made again.
void SuiteSession::keep_load(CellState& state) {
  std::optional<LoadOutcome> outcome = load_ != nullptr ? load_->take() : std::nullopt;
  if (!outcome) return;
  outcome->summary.cell = state.cell.id;
  journal(journal_->load(outcome->summary));
  state.loads.insert_or_assign(outcome->summary.unit, std::move(outcome->summary));
}

// One unit of each of these that has fewer than `least`, or is open.
void SuiteSession::run_round(const std::vector<std::size_t>& places, std::size_t least) {
  bool any_fits = false;
  for (const std::size_t place : places) {
    const CellState& state = cells_[place];
    if (state.closed || (least > 0 && state.good + state.failed >= least)) continue;
    if (!fits(state)) {
      out_of_budget_ = true;
      continue;
    }
    any_fits = true;
    if (!run_next(place)) {
      stopped_ = true;
      return;
    }
  }
  if (out_of_budget_ && !any_fits) stopped_ = true;
}

bool SuiteSession::all_closed() const {
  return std::all_of(cells_.begin(), cells_.end(),
                     [](const CellState& state) { return state.closed; });
}

std::vector<std::size_t> SuiteSession::open_first(const std::vector<std::size_t>& order) {
  std::vector<std::size_t> first, later;
  for (const std::size_t place : order) {
    CellState& state = cells_[place];
    if (state.closed) continue;
    read(state);
    (verdict_is_open(state, suite_, before(state)) ? first : later).push_back(place);
  }
  first.insert(first.end(), later.begin(), later.end());
  return first;
}

void SuiteSession::run_blocks() {
  for (std::size_t place = 0; place < cells_.size() && !stopped_; ++place) {
    while (!cells_[place].closed && !stopped_ && fits(cells_[place])) {
      if (!run_next(place)) stopped_ = true;
    }
  }
}

void SuiteSession::measure(Subject& subject, Journal& journal_file) {
  subject_ = &subject;
  journal_ = &journal_file;
  began_s_ = now_s();
  for (CellState& state : cells_) {
    if (!state.closed && state.good > 0) look_at(state, suite_);
  }
  skip_dominated();
  // A server that is to stay warm would be restarted at each turn.
  if (suite_.order == Order::blocks || suite_.runner.warm_server) {
    run_blocks();
  } else {
    Schedule schedule(suite_.order, cells_.size(), options_.seed);
    for (std::size_t least = 1; least <= suite_.processes.min && !stopped_; ++least) {
      run_round(schedule.next(), least);
    }
    while (!stopped_ && !all_closed()) run_round(open_first(schedule.next()), 0);
  }
  journal_->sync();
}

void SuiteSession::measure(LoadSubject& subject, Journal& journal_file) {
  load_ = &subject;
  measure(static_cast<Subject&>(subject), journal_file);
}

bool SuiteSession::tell(const CellState& state) {
  if (!progress_) return true;
  SuiteProgress told;
  told.cell = state.cell.id;
  told.units_done = units_;
  double seconds = 0;
  bool known = true;
  for (const CellState& one : cells_) {
    const bool left_out = one.cell.status == "skipped" && one.units() == 0;
    told.cells += left_out ? 0 : 1;
    if (one.closed) {
      told.cells_done += left_out ? 0 : 1;
      continue;
    }
    ++told.open;
    const std::size_t units = one.good + one.failed;
    if (units == 0) {
      known = false;
    } else {
      seconds += static_cast<double>(one.more) * one.spent_s / static_cast<double>(units);
    }
  }
  if (known) told.eta_s = std::min(seconds, std::max(0.0, left_s()));
  if (!known && budget_s_) told.eta_s = std::max(0.0, left_s());
  if (progress_(told)) return true;
  interrupted_ = true;
  return false;
}

std::vector<LoadResultSummary> SuiteSession::take_loads() {
  std::vector<LoadResultSummary> out;
  for (CellState& state : cells_) {
    for (auto& [unit, load] : state.loads) {
      if (unit < state.units()) out.push_back(std::move(load));
    }
  }
  return out;
}

std::vector<Cell> SuiteSession::take_cells() {
  std::vector<Cell> out;
  for (CellState& state : cells_) {
    read(state);
    if (!state.closed && state.cell.units.empty() && !interrupted_) {
      skip(state, fmt::format("the budget of {:g} s was used up", budget_s_.value_or(0)));
    }
    if (interrupted_ && !state.closed) state.cell.status = "cancelled";
    out.push_back(std::move(state.cell));
  }
  return out;
}

}  // namespace genscope::bench
