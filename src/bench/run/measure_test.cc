#include "bench/run/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include <genscope/bench.h>

#include "bench/run/schedule.h"
#include "testing/random.h"

namespace genscope::bench {
namespace {

// A machine whose clock moves only while something runs.
class FakeMachine {
 public:
  MeasureClock clock() {
    return {[this] { return now_ns; }, [this] { return now_ns + 1'000'000'000'000; }};
  }
  // Takes `base` seconds, up to `spread` more.
  std::unique_ptr<Subject> subject(char name, double base, double spread = 0) {
    return callable_subject([this, name, base, spread](const Request& request) {
      log += name;
      seeds.push_back(request.seed.value_or(-1));
      Sample sample;
      if (failing > 0 && name == 'B') {
        --failing;
        sample.failure = Failure{FailureClass::exit_nonzero, "no"};
        return sample;
      }
      double took = base + spread * static_cast<double>(random.below(1000)) / 1000;
      if (slow_first > 0 && request.warmup) {
        took *= 1 + slow_first;
        slow_first /= 4;
      }
      now_ns += static_cast<std::int64_t>(took * 1e9);
      sample.metrics["latency_s"] = took;
      return sample;
    });
  }
  std::int64_t now_ns = 0;
  std::string log;
  std::vector<std::int64_t> seeds;
  double slow_first = 0;
  int failing = 0;
  genscope::testing::Random random{1};
};

Cell measure_two(FakeMachine& machine, Subject& a, Subject& b, const MeasureOptions& options,
                 const OnProgress& progress = {}) {
  const Side sides[] = {{'A', &a, {}}, {'B', &b, {}}};
  return measure_by(machine.clock(), "cell", {}, sides, options, progress);
}

TEST(MeasureInTurns, RunsRoundsAndWhoFailsDropsOut) {
  FakeMachine machine;
  machine.failing = 1000;  // all of B
  const auto a = machine.subject('A', 1), b = machine.subject('B', 2), c = machine.subject('C', 3);
  const Part parts[] = {{"one", {}, a.get()}, {"two", {}, b.get()}, {"three", {}, c.get()}};
  MeasureOptions options;
  options.order = Order::latin;
  options.warmup_max = 0;
  options.units_min = options.units_max = 4;
  const std::vector<Cell> cells = measure_in_turns_by(machine.clock(), parts, options, {});
  ASSERT_EQ(cells.size(), 3U);
  EXPECT_EQ(machine.log, "ABBCCACAAC") << "B fails twice and is gone";
  EXPECT_EQ(cells[0].status, "ok");
  EXPECT_EQ(cells[1].status, "failed");
  EXPECT_EQ(cells[0].id, "one");
  for (const std::size_t i : {0U, 2U}) {
    EXPECT_EQ(unit_values(cells[i], 'A', "latency_s").size(), 4U);
    EXPECT_EQ(cells[i].stats.at('A').at("latency_s").n_units, 4U);
  }
}

TEST(MeasureInTurns, OthersTimeIsNotTheCellsBudget) {
  FakeMachine machine;
  const auto quick = machine.subject('A', 0.1, 0.1), slow = machine.subject('B', 10, 10);
  const Part parts[] = {{"quick", {}, quick.get()}, {"slow", {}, slow.get()}};
  MeasureOptions options;
  options.warmup_max = 0;
  options.units_min = 4;
  options.units_max = 20;
  options.half_width = 1e-9;  // never narrow enough
  options.budget_s = 20;
  const std::vector<Cell> cells = measure_in_turns_by(machine.clock(), parts, options, {});
  EXPECT_EQ(unit_values(cells[0], 'A', "latency_s").size(), 20U);
  EXPECT_LT(unit_values(cells[1], 'A', "latency_s").size(), 20U);
}

TEST(Schedule, AbbaBlocksMirror) {
  Schedule schedule(Order::abba, 2, 3);
  bool a_first = false, b_first = false;
  for (int i = 0; i < 20; ++i) {
    const auto block = schedule.next();
    ASSERT_EQ(block.size(), 4u);
    EXPECT_EQ(block[0], block[3]);
    EXPECT_EQ(block[1], block[2]);
    EXPECT_NE(block[0], block[1]);
    (block[0] == 0 ? a_first : b_first) = true;
  }
  EXPECT_TRUE(a_first && b_first);
  Schedule latin(Order::latin, 3, 3);
  EXPECT_EQ(latin.next(), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(latin.next(), (std::vector<std::size_t>{1, 2, 0}));
}

TEST(Measure, StopsWhenTheIntervalIsNarrow) {
  FakeMachine machine;
  const auto a = machine.subject('A', 1, 0.001), b = machine.subject('B', 1.1, 0.001);
  MeasureOptions options;
  options.warmup_max = 0;
  const Cell cell = measure_two(machine, *a, *b, options);
  EXPECT_EQ(cell.status, "ok");
  EXPECT_EQ(machine.log.size(), 8u);
  EXPECT_EQ(unit_values(cell, 'A', "latency_s").size(), 4u);
  EXPECT_EQ(cell.stats.at('B').at("latency_s").n_units, 4u);
}

TEST(Measure, GoesOnWhileItIsWideAndEndsAtTheMost) {
  FakeMachine machine;
  const auto a = machine.subject('A', 1, 1), b = machine.subject('B', 1, 1);
  MeasureOptions options;
  options.units_max = 10;
  options.warmup_max = 0;
  EXPECT_EQ(unit_values(measure_two(machine, *a, *b, options), 'B', "latency_s").size(), 10u);
}

TEST(Measure, EndsWithTheBudgetButNotBeforeTheLeast) {
  FakeMachine machine;
  const auto a = machine.subject('A', 1, 1), b = machine.subject('B', 1, 1);
  MeasureOptions options;
  options.warmup_max = 0;
  options.budget_s = 40;
  const Cell cell = measure_two(machine, *a, *b, options);
  const std::size_t units = unit_values(cell, 'A', "latency_s").size();
  EXPECT_GE(units, 8u);
  EXPECT_LE(units, 16u);
  FakeMachine other;
  const auto c = other.subject('A', 1, 1), d = other.subject('B', 1, 1);
  options.budget_s = 1;
  EXPECT_EQ(unit_values(measure_two(other, *c, *d, options), 'A', "latency_s").size(), 4u);
}

TEST(Measure, WarmUpEndsWhenItGetsNoFasterAndIsKept) {
  FakeMachine machine;
  machine.slow_first = 1;
  const auto a = machine.subject('A', 1);
  MeasureOptions options;
  options.warmup_max = 10;
  const Side side{'A', a.get(), {}};
  const Cell cell = measure_by(machine.clock(), "", {}, {&side, 1}, options, {});
  // 2, 1.25, 1.0625, 1.0156: the last step is below 3 %... of what came before it.
  EXPECT_GE(cell.units[0].warmup_s.size(), 4u);
  EXPECT_LE(cell.units[0].warmup_s.size(), 6u);
  EXPECT_EQ(cell.units[0].warmup_s[0], 2);
  EXPECT_TRUE(cell.units[1].warmup_s.empty());
  EXPECT_EQ(cell.stats.at('A').at("latency_s").max, 1);
}

TEST(Measure, RepeatsAUnitThatFailedInItsPlace) {
  FakeMachine machine;
  const auto a = machine.subject('A', 1, 0.001), b = machine.subject('B', 1, 0.001);
  MeasureOptions options;
  options.warmup_max = 0;
  machine.failing = 1;
  const Cell cell = measure_two(machine, *a, *b, options);
  EXPECT_EQ(cell.status, "ok");
  EXPECT_EQ(cell.units.size(), 9u);
  EXPECT_EQ(unit_values(cell, 'A', "latency_s").size(), 4u);
  EXPECT_EQ(unit_values(cell, 'B', "latency_s").size(), 4u);
}

TEST(Measure, EndsWhenItOnlyFails) {
  FakeMachine machine;
  const auto a = machine.subject('A', 1), b = machine.subject('B', 1);
  machine.failing = 1000;
  const Cell cell = measure_two(machine, *a, *b, {});
  EXPECT_EQ(cell.status, "failed");
  ASSERT_TRUE(cell.failure);
  EXPECT_EQ(cell.failure->detail, "B: no");
  EXPECT_EQ(std::count(machine.log.begin(), machine.log.end(), 'B'), 2);
}

TEST(Measure, PairsHaveTheSameSeed) {
  FakeMachine machine;
  const auto a = machine.subject('A', 1, 0.001), b = machine.subject('B', 1, 0.001);
  MeasureOptions options;
  options.warmup_max = 0;
  options.seeds = {5, 6, 7};
  const Cell cell = measure_two(machine, *a, *b, options);
  std::map<char, std::vector<std::int64_t>> by_slot;
  for (const Unit& unit : cell.units) by_slot[unit.slot].push_back(*unit.samples[0].seed);
  EXPECT_EQ(by_slot['A'], by_slot['B']);
  EXPECT_EQ(by_slot['A'], (std::vector<std::int64_t>{5, 6, 7, 5}));
}

TEST(Measure, ProgressMayStopIt) {
  FakeMachine machine;
  const auto a = machine.subject('A', 1, 1), b = machine.subject('B', 1, 1);
  std::size_t told = 0;
  const Cell cell = measure_two(machine, *a, *b, {}, [&](const Progress& p) {
    EXPECT_EQ(p.units_done, told + 1);
    return ++told < 3;
  });
  EXPECT_EQ(told, 3u);
  EXPECT_EQ(cell.status, "ok");
}

TEST(Measure, BlocksRunOneSideAfterTheOther) {
  FakeMachine machine;
  const auto a = machine.subject('A', 1, 0.001), b = machine.subject('B', 1, 0.001);
  MeasureOptions options;
  options.warmup_max = 0;
  options.order = Order::blocks;
  measure_two(machine, *a, *b, options);
  EXPECT_EQ(machine.log.find("BA"), std::string::npos);
}

TEST(Measure, IterationsWithinAUnitAreReplicates) {
  FakeMachine machine;
  const auto a = machine.subject('A', 1, 0.001);
  MeasureOptions options;
  options.warmup_max = 0;
  options.iterations_min = options.iterations_max = 5;
  options.units_max = 6;
  const Side side{'A', a.get(), {}};
  const Cell cell = measure_by(machine.clock(), "", {}, {&side, 1}, options, {});
  EXPECT_EQ(cell.units[0].samples.size(), 5u);
  EXPECT_EQ(cell.stats.at('A').at("latency_s").n_samples, 5 * cell.units.size());
}

}  // namespace
}  // namespace genscope::bench
