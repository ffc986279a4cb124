// Units in a fair order until the interval is narrow enough.
//
// Warm-up: an iteration is warm-up while it is faster than the one before it by more than
// 3 %, and the first one always is; at most warmup_max. All are kept in warmup_s.
//
// Failures: a unit that failed is kept, does not count, and is run again in its place, so that the
// n-th good unit of A and the n-th of B always ran next to each other. Who fails kFailuresFirst
// times before ever succeeding, or kFailuresInRow times in a row later, ends the cell.
//
// Several cells in turns are several measurers, each asked for its next unit in a fair order; each
// counts its own time alone, so that budgets and estimates do not see the others.
//
// Cost: judging is O(n log n), and for few units an exact distribution of up to some 10 ms; so it
// is done after blocks that add a tenth to the units, not after each one.
#include "bench/run/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "analyze/inference/inference.h"
#include "analyze/statistics/statistics.h"
#include "analyze/verdict/verdict.h"
#include "base/clock.h"
#include "bench/run/schedule.h"
#include "bench/run/steady.h"

namespace genscope::bench {
namespace {

constexpr std::size_t kFailuresFirst = 2, kFailuresInRow = 3;
constexpr std::size_t kQuickLeast = 10, kQuickMost = 400;  // units, see MeasureOptions::quick_s
constexpr std::int64_t kProgressNs = 100'000'000;

std::optional<double> latency_of(const Sample& sample) {
  const auto found = sample.metrics.find("latency_s");
  if (sample.failure || found == sample.metrics.end()) return std::nullopt;
  return found->second;
}

class Measurer {
 public:
  Measurer(const MeasureClock& clock, std::string id, const Params& params,
           std::span<const Side> sides, const MeasureOptions& options, const OnProgress& progress)
      : clock_(clock),
        sides_(sides),
        options_(options),
        progress_(progress),
        states_(sides.size()),
        schedule_(options.order, sides.size(), options.seed) {
    cell_.id = std::move(id);
    cell_.params = params;
    for (std::size_t i = 0; i < sides.size(); ++i) {
      states_[i].params = params;
      for (const auto& own : sides[i].params) set_param(states_[i].params, own);
    }
    judge_ = options.judge;
    judge_.paired = sides.size() > 1 && options.order != Order::blocks;
    judge_.interleaved = judge_.paired;
    judge_.decide_by_own_time = true;
  }

  // Whole: begin(), step() until it says no, end().
  Cell run() {
    if (begin()) {
      if (options_.order == Order::blocks) {
        resume();
        run_blocks();
      } else {
        while (step()) {
        }
      }
    }
    return end();
  }

  // Warm-up; false: there is nothing to go on with.
  bool begin() {
    resume();
    const bool fine = !sides_.empty() && warm_up_sides();
    pause();
    warm_ns_ = busy_ns_;
    return fine;
  }

  // The next block of units; false: it was the last.
  bool step() {
    resume();
    bool go_on = true;
    for (const std::size_t side : schedule_.next()) {
      go_on = go_on && run_good_unit(side);
    }
    go_on = go_on && !finished();
    pause();
    return go_on;
  }

  Cell end() {
    finish();
    return std::move(cell_);
  }

 private:
  struct State {
    Params params;
    std::size_t good = 0;  // units that count
    std::size_t failures_in_row = 0;
    bool ever_good = false;
    std::vector<double> warmup_s;  // of before the first unit, until that takes them
  };

  // Time that others take between two steps is not this cell's.
  void resume() { resumed_ns_ = clock_.monotonic_ns(); }
  void pause() {
    busy_ns_ = clocked_ns();
    resumed_ns_.reset();
  }
  std::int64_t clocked_ns() const {
    return busy_ns_ + (resumed_ns_ ? clock_.monotonic_ns() - *resumed_ns_ : 0);
  }

  static void set_param(Params& params, const std::pair<std::string, std::string>& own) {
    const auto found = std::find_if(params.begin(), params.end(),
                                    [&](const auto& one) { return one.first == own.first; });
    if (found == params.end()) {
      params.push_back(own);
    } else {
      found->second = own.second;
    }
  }

  Request request_of(std::size_t side, std::size_t iteration, bool warmup) const {
    Request request;
    request.iteration = iteration;
    request.unit = static_cast<std::uint32_t>(states_[side].good);
    request.warmup = warmup;
    request.params = states_[side].params;
    request.timeout_s = options_.timeout_s;
    // The unit's number is the same on both sides of a pair; so are prompt and seed.
    const std::size_t at = states_[side].good * options_.iterations_max + iteration;
    const std::size_t prompts = std::max<std::size_t>(1, options_.prompts.size());
    if (!options_.prompts.empty()) request.prompt = options_.prompts[at % prompts];
    if (!options_.seeds.empty())
      request.seed = options_.seeds[at / prompts % options_.seeds.size()];
    return request;
  }

  // Whether to go on after this result.
  bool note(std::size_t side, const std::optional<Failure>& failure) {
    State& state = states_[side];
    if (!failure) {
      state.failures_in_row = 0;
      state.ever_good = true;
      return true;
    }
    if (failure->kind == FailureClass::cancelled || cancelled()) {
      cell_.status = "cancelled";
      cell_.failure = failure;
      return false;
    }
    if (++state.failures_in_row < (state.ever_good ? kFailuresInRow : kFailuresFirst)) return true;
    fail(side, *failure);
    return false;
  }

  void fail(std::size_t side, Failure failure) {
    if (sides_.size() > 1)
      failure.detail = fmt::format("{}: {}", sides_[side].slot, failure.detail);
    cell_.status = "failed";
    cell_.failure = std::move(failure);
  }

  // Warm-up iterations of a side, one after the other; false ends the cell.
  bool warm_up(std::size_t side, std::vector<double>& times) {
    std::optional<double> before;
    for (std::size_t i = 0; i < options_.warmup_max;) {
      const Sample sample = sides_[side].subject->measure(request_of(side, i, true));
      if (!note(side, sample.failure)) return false;
      if (sample.failure) continue;
      ++i;
      const std::optional<double> took = latency_of(sample);
      if (!took) continue;
      times.push_back(*took);
      if (before && !still_warming(*before, *took)) break;
      before = took;
    }
    return true;
  }

  bool warm_up_sides() {
    for (std::size_t side = 0; side < sides_.size(); ++side) {
      Subject& subject = *sides_[side].subject;
      if (subject.starts_afresh() || options_.warmup_max == 0) continue;
      if (auto failure = subject.begin(states_[side].params)) {
        fail(side, *std::move(failure));
        return false;
      }
      const bool fine = warm_up(side, states_[side].warmup_s);
      subject.end();
      if (!fine) return false;
    }
    return true;
  }

  bool run_samples(std::size_t side, Unit& unit) {
    std::vector<double> times;
    const std::size_t most =
        std::max<std::size_t>(1, std::max(options_.iterations_min, options_.iterations_max));
    for (std::size_t i = 0; i < most && !enough_iterations(times, options_.iterations_min); ++i) {
      unit.samples.push_back(sides_[side].subject->measure(request_of(side, i, false)));
      if (!note(side, unit.samples.back().failure)) return false;
      if (const auto took = latency_of(unit.samples.back())) times.push_back(*took);
    }
    return true;
  }

  // One unit, good or not; false ends the cell.
  bool run_unit(std::size_t side) {
    State& state = states_[side];
    Subject& subject = *sides_[side].subject;
    Unit unit;
    unit.process = static_cast<std::uint32_t>(state.good);
    unit.order_index = static_cast<std::uint32_t>(cell_.units.size());
    unit.slot = sides_[side].slot;
    unit.started_unix_ns = clock_.unix_ns();
    unit.warmup_s = std::move(state.warmup_s);
    state.warmup_s.clear();
    bool go_on = true;
    unit.failure = subject.begin(state.params);
    if (unit.failure) {
      go_on = note(side, unit.failure);
    } else {
      if (subject.starts_afresh()) go_on = warm_up(side, unit.warmup_s);
      go_on = go_on && run_samples(side, unit);
      subject.end();
    }
    const bool good = !unit.failure && std::any_of(unit.samples.begin(), unit.samples.end(),
                                                   [](const Sample& s) { return !s.failure; });
    if (good) ++state.good;
    cell_.units.push_back(std::move(unit));
    last_good_ = good;
    return go_on && !cancelled();
  }

  // A unit that counts, after as many as fail before it.
  bool run_good_unit(std::size_t side) {
    do {
      if (!run_unit(side)) return false;
    } while (!last_good_);
    return tell_progress();
  }

  std::size_t units() const {  // of the side with the fewest
    std::size_t least = SIZE_MAX;
    for (const State& state : states_) least = std::min(least, state.good);
    return least;
  }

  bool quick() const { return spent_s() < options_.quick_s; }
  std::size_t least_units() const {
    return std::max<std::size_t>(quick() ? kQuickLeast : 1, options_.units_min);
  }
  std::size_t most_units() const {
    return std::max({least_units(), options_.units_max, quick() ? kQuickMost : 0});
  }

  double spent_s() const { return static_cast<double>(clocked_ns()) * 1e-9; }
  // Of one unit of every side.
  double round_s() const {
    const std::size_t done = units();
    return done == 0
               ? 0
               : static_cast<double>(clocked_ns() - warm_ns_) * 1e-9 / static_cast<double>(done);
  }

  bool over_budget(double rounds) const {
    return options_.budget_s && units() >= least_units() &&
           spent_s() + rounds * round_s() > *options_.budget_s;
  }

  // Looks at the width; O(n log n) and more, so not after each block.
  void look() {
    const StopOptions stop{
        .half_width = options_.half_width, .least = least_units(), .most = most_units()};
    looked_at_ = units();
    if (sides_.size() == 1) {
      const std::vector<double> values = unit_values(cell_, sides_[0].slot, "latency_s");
      median_ = stats::median_interval(values, judge_.confidence);
      decision_ = decide_stop(values, stop, judge_.confidence);
      return;
    }
    decision_.emplace().stop = true;
    for (std::size_t side = 1; side < sides_.size(); ++side) {
      const Judgement judgement = judge(measured(cell_, sides_[0].slot, "latency_s"),
                                        measured(cell_, sides_[side].slot, "latency_s"), judge_);
      if (side == 1) judgement_ = judgement;
      StopDecision one = decide_stop(judgement, stop);
      if (!one.stop) decision_ = std::move(one);
    }
  }

  bool time_to_look() const {
    const std::size_t done = units();
    return done >= most_units() || (done >= least_units() &&
                                    done >= looked_at_ + std::max<std::size_t>(1, looked_at_ / 10));
  }

  bool finished() {
    if (units() >= most_units() || over_budget(1)) return true;
    if (!time_to_look()) return false;
    look();
    return decision_ && decision_->stop;
  }

  // Each side whole. The first side's width decides how many units all have.
  void run_blocks() {
    std::size_t wanted = most_units();
    for (std::size_t side = 0; side < sides_.size(); ++side) {
      const StopOptions stop{
          .half_width = options_.half_width, .least = least_units(), .most = wanted};
      while (states_[side].good < wanted) {
        if (!run_good_unit(side)) return;
        if (side > 0 || states_[side].good < least_units()) continue;
        const auto values = unit_values(cell_, sides_[side].slot, "latency_s");
        const bool late = options_.budget_s &&
                          spent_s() * static_cast<double>(sides_.size()) > *options_.budget_s;
        if (late || decide_stop(values, stop, judge_.confidence).stop) break;
      }
      wanted = states_[0].good;
    }
  }

  std::optional<double> eta() const {
    const std::size_t done = units();
    if (done == 0) return std::nullopt;
    double rounds = static_cast<double>(least_units() > done ? least_units() - done : 0);
    if (decision_ && decision_->more && !decision_->stop) {
      const std::size_t then = looked_at_ + *decision_->more;
      rounds = std::max(rounds, static_cast<double>(then > done ? then - done : 0));
    } else if (!decision_) {
      rounds = std::max(rounds, 1.0);
    }
    double left = rounds * round_s();
    if (options_.budget_s && done >= least_units())
      left = std::min(left, std::max(0.0, *options_.budget_s - spent_s()));
    return left;
  }

  bool tell_progress() {
    if (!progress_) return true;
    const std::int64_t now = clock_.monotonic_ns();
    if (told_ns_ && now - *told_ns_ < kProgressNs) return true;
    told_ns_ = now;
    Progress p;
    p.cell = &cell_;
    p.sides = sides_.size();
    for (const State& state : states_) p.units_done += state.good;
    const std::size_t more = decision_ && decision_->more ? looked_at_ + *decision_->more : 0;
    p.units_expected = std::max(
        p.units_done, sides_.size() * std::max(least_units(), std::min(more, most_units())));
    p.eta_s = eta();
    p.judgement = judgement_;
    p.median = median_;
    return progress_(p);
  }

  void finish() {
    if (cancelled() && cell_.status == "ok") cell_.status = "cancelled";
    for (std::size_t side = 0; side < sides_.size(); ++side) {
      for (const auto& [metric, why] : sides_[side].subject->absent()) cell_.absent[metric] = why;
      // Warm-up that no unit took: it was all there is.
      if (!states_[side].warmup_s.empty()) {
        Unit unit;
        unit.slot = sides_[side].slot;
        unit.order_index = static_cast<std::uint32_t>(cell_.units.size());
        unit.started_unix_ns = clock_.unix_ns();
        unit.warmup_s = std::move(states_[side].warmup_s);
        unit.failure = cell_.failure;
        cell_.units.push_back(std::move(unit));
      }
    }
    summarize(cell_, judge_.confidence);
    for (const Side& side : sides_) {  // what some samples have is not absent
      for (const auto& [metric, stats] : cell_.stats[side.slot]) cell_.absent.erase(metric);
    }
  }

  const MeasureClock& clock_;
  std::span<const Side> sides_;
  const MeasureOptions& options_;
  const OnProgress& progress_;
  JudgeOptions judge_;
  Cell cell_;
  std::vector<State> states_;
  bool last_good_ = false;
  Schedule schedule_;
  std::int64_t busy_ns_ = 0, warm_ns_ = 0;  // in all, and of it for warm-up
  std::optional<std::int64_t> resumed_ns_;  // while it runs
  std::size_t looked_at_ = 0;               // units at the last look
  std::optional<StopDecision> decision_;
  std::optional<Judgement> judgement_;
  std::optional<stats::Interval> median_;
  std::optional<std::int64_t> told_ns_;
};

}  // namespace

Cell measure_by(const MeasureClock& clock, std::string id, const Params& params,
                std::span<const Side> sides, const MeasureOptions& options,
                const OnProgress& progress) {
  return Measurer(clock, std::move(id), params, sides, options, progress).run();
}

std::vector<Cell> measure_in_turns_by(const MeasureClock& clock, std::span<const Part> parts,
                                      const MeasureOptions& options, const OnProgress& progress) {
  std::vector<Side> sides;
  for (const Part& part : parts) sides.push_back({'A', part.subject, {}});
  std::vector<std::unique_ptr<Measurer>> measurers;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    measurers.push_back(std::make_unique<Measurer>(clock, parts[i].id, parts[i].params,
                                                   std::span(&sides[i], 1), options, progress));
  }
  std::vector<Cell> cells;
  if (options.order == Order::blocks) {
    for (const auto& one : measurers) {
      if (!cancelled()) cells.push_back(one->run());
    }
    return cells;
  }
  std::vector<bool> open;
  for (const auto& one : measurers) open.push_back(!cancelled() && one->begin());
  Schedule schedule(options.order, parts.size(), options.seed);
  while (!cancelled() && std::find(open.begin(), open.end(), true) != open.end()) {
    for (const std::size_t i : schedule.next()) open[i] = open[i] && measurers[i]->step();
  }
  for (const auto& one : measurers) cells.push_back(one->end());
  return cells;
}

std::vector<Cell> measure_in_turns(std::span<const Part> parts, const MeasureOptions& options,
                                   const OnProgress& progress) {
  return measure_in_turns_by({base::monotonic_ns, base::realtime_ns}, parts, options, progress);
}

Cell measure(std::string id, const Params& params, std::span<const Side> sides,
             const MeasureOptions& options, const OnProgress& progress) {
  return measure_by({base::monotonic_ns, base::realtime_ns}, std::move(id), params, sides, options,
                    progress);
}

}  // namespace genscope::bench
