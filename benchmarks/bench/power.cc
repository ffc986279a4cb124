// bench_power: how often each way to decide "slower" is right, by simulation: 10 against 10 runs,
// 4000 sessions without a change and 2000 with one of +5 %. The column of bars is what the design
// was measured to do when the rule was chosen (docs/statistics.md); this program shows that the
// product's own functions do it, within 2 points. Deterministic: no clock, one seed a row.
#include <cmath>
#include <cstdio>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "analyze/inference/inference.h"
#include "analyze/statistics/statistics.h"
#include "analyze/verdict/verdict.h"
#include "harness/table.h"
#include "noise.h"

namespace {

using namespace bench;
using namespace genscope;

constexpr std::size_t kRuns = 10;
constexpr double kEffect = 0.05, kPoints = 2;

double mean_ratio(const Session& s) {
  const auto sum = [](const std::vector<double>& v) {
    return std::accumulate(v.begin(), v.end(), 0.0);
  };
  return sum(s.after) / sum(s.before);
}

Judgement judged(const Session& s, bool paired) {
  JudgeOptions options;  // a floor of 1 %
  options.paired = paired;
  return judge(s.before, s.after, options);
}

using Rule = std::function<bool(const Session&)>;  // is it called slower?

bool over_2_percent(const Session& s) { return mean_ratio(s) > 1.02; }
bool over_10_percent(const Session& s) { return mean_ratio(s) > 1.10; }
bool by_u_test(const Session& s) {
  const auto shift = stats::shift(s.before, s.after);
  return shift->p_value < 0.05 && shift->estimate > 0;
}
bool by_interval(const Session& s) { return judged(s, false).verdict == Verdict::regressed; }
bool by_signs(const Session& s) {
  const auto ratio = stats::paired_ratio(s.before, s.after);
  return ratio->interval && ratio->interval->low > 1.01;
}
bool by_signed_ranks(const Session& s) {
  std::vector<double> x = s.before, y = s.after;
  for (double& v : x) v = std::log(v);
  for (double& v : y) v = std::log(v);
  // Of before - after: slower is below 0.
  return stats::paired_tests(x, y)->signed_rank->interval.high < -std::log(1.01);
}
bool by_our_rule(const Session& s) { return judged(s, true).verdict == Verdict::regressed; }

struct Cell {
  std::string rule;
  Rule flags;
  std::optional<double> none, slower;  // percent expected without and with the change
};

struct Machine {
  std::string name;
  Noise noise;
  bool in_turns;
  std::vector<Cell> cells;
};

// The deviation of independent runs under drift, wandering and stalls is not part of the record of
// the design; 1, 0.7 and 1.1 % are what its figures fit.
std::vector<Machine> machines() {
  const Noise plain{0.015}, drift4{0.01, 0.04}, drift15{0.01, 0.15}, wander{0.007, 0, 0.02},
      stalls{0.0115, 0, 0, 0.1}, both{0.0105, 0.15, 0, 0.1};
  const auto all = [](double f0, double f5, double ten, double u0, double u5, double h0,
                      double h5) {
    return std::vector<Cell>{{"mean over 2 %", over_2_percent, f0, f5},
                             {"mean over 10 %", over_10_percent, {}, ten},
                             {"U test", by_u_test, u0, u5},
                             {"interval over 1 %", by_interval, h0, h5}};
  };
  const auto with = [](std::vector<Cell> cells, double sign, double r0, double r5) {
    cells.push_back({"pairs' signs over 1 %", by_signs, {}, sign});
    cells.push_back({"our rule", by_our_rule, r0, r5});
    return cells;
  };
  std::vector<Cell> stalled = with(all(25, 84, 7, 2, 93, 0, 93), 73, 0, 92);
  stalled.push_back({"signed ranks over 1 %", by_signed_ranks, {}, 44});
  return {
      {"independent 1.5 %, blocks", plain, false, all(.2, 100, 0, 2, 100, .1, 100)},
      {"independent 1.5 %, ABBA", plain, true, with(all(.2, 100, 0, 2, 100, .1, 100), 96, 0, 100)},
      {"drift 4 %, blocks", drift4, false, all(60, 100, 0, 97, 100, 44, 100)},
      {"drift 4 %, ABBA", drift4, true, with(all(0, 100, 0, .1, 100, 0, 100), 100, 0, 100)},
      {"drift 15 %, ABBA", drift15, true, with(all(0, 100, 0, 0, 38, 0, 2), 99.5, 0, 99.5)},
      {"wandering 2 %, blocks", wander, false, all(12, 96, .2, 23, 98, 9, 92)},
      {"wandering 2 %, ABBA", wander, true, with(all(0, 100, 0, .3, 100, 0, 100), 100, 0, 100)},
      {"stalls in 10 %, ABBA", stalls, true, stalled},
      {"drift 15 % and stalls, ABBA",
       both,
       true,
       {{"interval over 1 %", by_interval, 0, 11},
        {"pairs' signs over 1 %", by_signs, {}, 73},
        {"our rule", by_our_rule, 0, 63}}},
  };
}

void add_row(Table& table, const std::string& name, double percent, double expected,
             const std::string& note) {
  char bar[32];
  std::snprintf(bar, sizeof bar, "%g +- %g", expected, kPoints);
  table.add({name, percent, "%", "", 0, bar, std::fabs(percent - expected) <= kPoints, note});
}

void run_machine(const Machine& machine, std::size_t seed, const Options& options, Table& table) {
  for (const double effect : {0.0, kEffect}) {
    const std::size_t sessions = (effect > 0 ? 2000u : 4000u) / (options.quick ? 10 : 1);
    Simulator simulator(seed);
    std::vector<std::size_t> flagged(machine.cells.size(), 0);
    for (std::size_t i = 0; i < sessions; ++i) {
      const Session session = simulator.session(machine.noise, kRuns, machine.in_turns, effect);
      for (std::size_t c = 0; c < machine.cells.size(); ++c) {
        const Cell& cell = machine.cells[c];
        const bool asked = effect > 0 ? cell.slower.has_value() : cell.none.has_value();
        if (asked && cell.flags(session)) ++flagged[c];
      }
    }
    for (std::size_t c = 0; c < machine.cells.size(); ++c) {
      const Cell& cell = machine.cells[c];
      const std::optional<double> expected = effect > 0 ? cell.slower : cell.none;
      if (!expected) continue;
      const double percent = 100 * static_cast<double>(flagged[c]) / static_cast<double>(sessions);
      add_row(table, machine.name + ": " + cell.rule + (effect > 0 ? ", +5 %" : ", no change"),
              percent, *expected, "called slower");
    }
  }
}

// Who looks at p after each run from 5 to 40 and stops when it is small; and who stops when the
// interval is narrow.
void run_stopping(const Options& options, Table& table) {
  const std::size_t divide = options.quick ? 10 : 1, looks = 4000 / divide, stops = 1000 / divide;
  Simulator simulator(77);
  std::size_t called = 0, held = 0;
  for (std::size_t i = 0; i < looks; ++i) {
    const Session s = simulator.session({0.015}, 40, true, 0);
    bool peeked = false;
    for (std::size_t n = 5; n <= 40 && !peeked; ++n) {
      const std::span<const double> x(s.before.data(), n), y(s.after.data(), n);
      peeked = stats::welch_test(x, y)->p_value < 0.05;
    }
    called += peeked ? 1 : 0;
    if (i >= stops) continue;
    StopOptions stop;
    stop.half_width = 0.01;
    stop.share_of_effect = 0;
    for (std::size_t n = 5; n <= 40; ++n) {
      const std::span<const double> x(s.before.data(), n), y(s.after.data(), n);
      const Judgement j = judge(x, y);
      if (!decide_stop(j, stop).stop) continue;
      held += j.interval->low <= 1 && j.interval->high >= 1 ? 1 : 0;
      break;
    }
  }
  const auto share = [](std::size_t n, std::size_t of) {
    return 100 * static_cast<double>(n) / static_cast<double>(of);
  };
  table.add({"stop when p < 0.05, looking from run 5 to 40", share(called, looks), "%", "", 0, "",
             true, "unchanged, called changed; 22 with another test"});
  add_row(table, "stop when the interval is narrow", share(held, stops), 94.9, "hold the truth");
}

// 36 unchanged cells: how many suites have a false alarm.
void run_suites(const Options& options, Table& table) {
  constexpr std::size_t kCells = 36;
  const std::size_t suites = options.quick ? 100 : 2000;
  Simulator simulator(78);
  std::size_t alone = 0, corrected = 0;
  for (std::size_t i = 0; i < suites; ++i) {
    std::vector<Judgement> gates;
    JudgeOptions no_floor;
    no_floor.min_effect = 0;
    for (std::size_t c = 0; c < kCells; ++c) {
      const Session s = simulator.session({0.015}, kRuns, true, 0);
      gates.push_back(judge(s.before, s.after, no_floor));
    }
    const auto any_moved = [&] {
      for (const Judgement& gate : gates) {
        if (gate.verdict == Verdict::regressed || gate.verdict == Verdict::improved) return true;
      }
      return false;
    };
    alone += any_moved() ? 1 : 0;
    correct_gates(gates);
    corrected += any_moved() ? 1 : 0;
  }
  const auto share = [&](std::size_t n) {
    return 100 * static_cast<double>(n) / static_cast<double>(suites);
  };
  add_row(table, "36 unchanged cells, none corrected", share(alone), 78, "suites with an alarm");
  add_row(table, "36 unchanged cells, Holm", share(corrected), 4, "suites with an alarm");
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  Table table;
  std::size_t seed = 1;
  for (const Machine& machine : machines()) {
    ++seed;
    if (machine.name.find(options.only) == std::string::npos) continue;
    run_machine(machine, seed, options, table);
  }
  if (options.only.empty()) {
    run_stopping(options, table);
    run_suites(options, table);
  }
  return table.finish(options.json) == 0 ? 0 : 1;
}
