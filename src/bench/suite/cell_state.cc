#include "bench/suite/cell_state.h"

#include <algorithm>
#include <iterator>

#include "analyze/inference/inference.h"
#include "analyze/verdict/verdict.h"
#include "bench/result/cell_json.h"

namespace genscope::bench {
namespace {

bool target_is_open(const Cell& cell, const SuiteTarget& target) {
  if (!target.speedup_vs.empty() || target.stat != "median") return false;
  const std::vector<double> values = unit_values(cell, 'A', target.metric);
  const auto interval = stats::median_interval(values);
  if (!interval) return !values.empty();
  const double limit = target.max ? *target.max : target.min.value_or(0);
  return interval->low <= limit && limit <= interval->high;
}

}  // namespace

void count_unit(CellState& state, const UnitHead& head) {
  ++(head.good ? state.good : state.failed);
  if (head.latency_s) state.latencies.push_back(*head.latency_s);
}

std::size_t read_units(CellState& state) {
  std::vector<Unit> units;
  std::size_t lost = 0;
  for (const std::string& text : state.unread) {
    Result<Cell> one = cell_from_json(text, "journal.jsonl");
    if (one && !one->units.empty()) {
      units.push_back(std::move(one->units.front()));
    } else {
      ++lost;
    }
  }
  state.unread = {};
  units.insert(units.end(), std::make_move_iterator(state.cell.units.begin()),
               std::make_move_iterator(state.cell.units.end()));
  state.cell.units = std::move(units);
  return lost;
}

void look_at(CellState& state, const Suite& suite) {
  const StopOptions stop{.half_width = suite.stop.rel_half_width,
                         .least = suite.processes.min,
                         .most = suite.processes.max};
  const StopDecision decision = decide_stop(state.latencies, stop, suite.stop.confidence);
  state.precise = decision.precise;
  state.more = state.good < suite.processes.min ? suite.processes.min - state.good : 0;
  if (!decision.stop) {
    const std::size_t room = suite.processes.max - std::min(suite.processes.max, state.good);
    const std::size_t wanted = static_cast<std::size_t>(decision.more.value_or(1));
    state.more = std::min(room, std::max({state.more, wanted, std::size_t{1}}));
  }
  const bool full = state.good + state.failed >= suite.processes.max;
  const bool late = suite.timeout.cell_s && state.spent_s >= *suite.timeout.cell_s;
  if (decision.stop || full || late) state.closed = true;
  if (late && state.good == 0 && state.cell.status == "ok") {
    state.cell.status = "failed";
    state.cell.failure = Failure{FailureClass::timeout, "the cell's time is used up"};
  }
}

bool verdict_is_open(const CellState& state, const Suite& suite, const Cell* before) {
  for (const SuiteTarget& target : suite.targets) {
    if (target_is_open(state.cell, target)) return true;
  }
  if (before == nullptr) return false;
  for (const SuiteMetric& metric : suite.metrics) {
    if (!metric.gate) continue;
    JudgeOptions options;
    options.min_effect = metric.min_effect;
    options.abs_floor = metric.abs_floor;
    options.direction = metric.direction;
    options.confidence = suite.stop.confidence;
    const Verdict verdict = judge(unit_values(*before, 'A', metric.name),
                                  unit_values(state.cell, 'A', metric.name), options)
                                .verdict;
    if (verdict == Verdict::inconclusive || verdict == Verdict::insufficient) return true;
  }
  return false;
}

}  // namespace genscope::bench
