#include "analyze/verdict/verdict.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "analyze/testing/noisy_runs.h"
#include "testing/random.h"

namespace genscope {
namespace {

using testing::bell;
using testing::noisy_runs;
using Values = std::vector<double>;

Measured measured(Values values) { return {std::move(values), {}, {}, {}}; }

TEST(Judge, FollowsTheDirection) {
  testing::Random random(1);
  const Values slow = noisy_runs(random, 10, 110), fast = noisy_runs(random, 10, 100);
  JudgeOptions options;
  EXPECT_EQ(judge(fast, slow, options).verdict, Verdict::regressed);
  EXPECT_EQ(judge(slow, fast, options).verdict, Verdict::improved);
  options.direction = Direction::higher_is_better;
  EXPECT_EQ(judge(fast, slow, options).verdict, Verdict::improved);
  EXPECT_EQ(judge(slow, fast, options).verdict, Verdict::regressed);
}

TEST(Judge, TurnsWithItsSides) {
  testing::Random random(2);
  for (int round = 0; round < 50; ++round) {
    const Values x = noisy_runs(random, 4 + random.below(10), 100, 0.02);
    const Values y =
        noisy_runs(random, 4 + random.below(10), 100 + static_cast<double>(random.below(8)), 0.02);
    const Judgement there = judge(x, y), back = judge(y, x);
    EXPECT_NEAR(*there.ratio * *back.ratio, 1, 1e-12);
    EXPECT_NEAR(there.interval->low * back.interval->high, 1, 1e-12);
    EXPECT_EQ(there.verdict == Verdict::regressed, back.verdict == Verdict::improved);
    EXPECT_EQ(there.verdict == Verdict::unchanged, back.verdict == Verdict::unchanged);
    Values larger_x = x, larger_y = y;
    for (double& v : larger_x) v *= 1e-9;
    for (double& v : larger_y) v *= 1e-9;
    EXPECT_EQ(judge(larger_x, larger_y).verdict, there.verdict) << "units do not matter";
  }
}

TEST(Judge, TakesTheLargestFloorAndSaysWhose) {
  testing::Random random(3);
  const Values x = noisy_runs(random, 12, 100, 0.002), y = noisy_runs(random, 12, 103, 0.002);
  JudgeOptions options;
  EXPECT_EQ(judge(x, y, options).verdict, Verdict::regressed);
  options.noise = 0.05;
  Judgement j = judge(x, y, options);
  EXPECT_EQ(j.verdict, Verdict::unchanged);
  EXPECT_EQ(j.floor, 0.05);
  EXPECT_EQ(j.floor_source, FloorSource::noise);
  EXPECT_NE(j.reason.find("the noise floor of 5 %"), std::string::npos) << j.reason;
  options.abs_floor = 8;  // of 100
  j = judge(x, y, options);
  EXPECT_EQ(j.floor_source, FloorSource::absolute);
  EXPECT_NEAR(j.floor, 0.08, 0.001);
  options.resolution = 20;
  EXPECT_EQ(judge(x, y, options).floor_source, FloorSource::resolution);
  options.noise = 0.001;
  options.abs_floor = options.resolution = 1e-9;
  EXPECT_EQ(judge(x, y, options).floor_source, FloorSource::effect);
}

TEST(Judge, OfOneRunEachGivesNoVerdictAndSaysWhatCpuTimeExplains) {
  Measured before = measured({10}), after = measured({12});
  before.cpu_time = {8};
  after.cpu_time = {9};
  const Judgement j = judge(before, after);
  EXPECT_EQ(j.verdict, Verdict::insufficient);
  EXPECT_FALSE(j.interval || j.mde || j.p_value);
  EXPECT_EQ(j.reason,
            "no verdict: one run each; these runs differ by 20 %, of which CPU time explains 50 %; "
            "record three of each, or `genscope bench ab`");
  after.cpu_time = {11};
  EXPECT_NE(judge(before, after).reason.find("all of which CPU time explains"), std::string::npos);
  after.cpu_time = {7};
  EXPECT_NE(judge(before, after).reason.find("CPU time explains nothing"), std::string::npos);
  EXPECT_EQ(judge(Values{10}, Values{10}).verdict, Verdict::insufficient);
}

TEST(Judge, NeedsFourOfEachAndSaysSo) {
  const Values three{100, 101, 102}, slower{130, 131, 132}, four{100, 101, 102, 103};
  const Judgement few = judge(three, slower);
  EXPECT_EQ(few.verdict, Verdict::insufficient);
  EXPECT_NEAR(*few.ratio, 1.297, 0.01);
  EXPECT_NE(few.reason.find("needs 4 of each"), std::string::npos) << few.reason;
  EXPECT_EQ(judge(four, Values{130, 131, 132, 133}).verdict, Verdict::regressed);
  EXPECT_EQ(judge(Values{}, three).reason, "no verdict: the first side has no runs");
  EXPECT_EQ(judge(Values{}, Values{}).reason, "no verdict: no runs");
  EXPECT_EQ(judge(Values{1}, Values(60, 2.0)).verdict, Verdict::regressed) << "1 against 60 can";
}

TEST(Judge, OfThreeEachByStudentIfAsked) {
  JudgeOptions options;
  options.few_by_student = true;
  const Judgement j = judge(Values{100, 101, 102}, Values{130, 131, 132}, options);
  EXPECT_EQ(j.verdict, Verdict::regressed);
  EXPECT_EQ(j.method, JudgeMethod::student);
  EXPECT_EQ(judge(Values{100, 110, 120}, Values{105, 115, 130}, options).verdict,
            Verdict::inconclusive);
  EXPECT_EQ(judge(Values{100, 100, 100}, Values{130, 130, 130}, options).verdict,
            Verdict::insufficient)
      << "nothing varies, so that three tell no spread";
  EXPECT_EQ(judge(Values{100}, Values{130}, options).verdict, Verdict::insufficient);

  testing::Random random(4);
  int called = 0, found = 0;
  constexpr int kRounds = 1000;
  for (int round = 0; round < kRounds; ++round) {
    const Values x = noisy_runs(random, 3, 100, 0.05), same = noisy_runs(random, 3, 100, 0.05);
    const Verdict alike = judge(x, same, options).verdict;
    called += alike == Verdict::regressed || alike == Verdict::improved ? 1 : 0;
    const Values slower = noisy_runs(random, 3, 120, 0.03), base = noisy_runs(random, 3, 100, 0.03);
    found += judge(base, slower, options).verdict == Verdict::regressed ? 1 : 0;
  }
  EXPECT_LE(called, kRounds * 4 / 100);
  EXPECT_GE(found, kRounds * 90 / 100);
}

TEST(Judge, RefusesWhatCannotBeCompared) {
  const Values some{1, 2, 3, 4, 5};
  JudgeOptions options;
  options.incomparable = {"steps 28 -> 30", "LoRA removed"};
  const Judgement j = judge(some, some, options);
  EXPECT_EQ(j.verdict, Verdict::incomparable);
  EXPECT_EQ(j.reason, "not comparable: steps 28 -> 30, LoRA removed");
  EXPECT_FALSE(j.ratio);
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(judge(some, Values{1, 2, bad, 3}).verdict, Verdict::incomparable);
  }
  options = {};
  options.confidence = 1;
  EXPECT_EQ(judge(some, some, options).verdict, Verdict::incomparable);
}

TEST(Judge, OfZerosGoesByDifferences) {
  const Values none(6, 0.0);
  Judgement j = judge(none, none);
  EXPECT_EQ(j.verdict, Verdict::unchanged);
  EXPECT_FALSE(j.ratio);
  j = judge(none, Values{5, 6, 5, 6, 5, 6});
  EXPECT_EQ(j.verdict, Verdict::regressed);
  EXPECT_EQ(j.difference, 5.5);
  EXPECT_EQ(j.difference_interval->low, 5);
  JudgeOptions options;
  options.abs_floor = 100;
  EXPECT_EQ(judge(none, Values{5, 6, 5, 6, 5, 6}, options).verdict, Verdict::unchanged);
}

TEST(Judge, OfConstantHugeAndTinyValues) {
  const Values hundred(8, 100.0), more(8, 120.0);
  const Judgement same = judge(hundred, hundred);
  EXPECT_EQ(same.verdict, Verdict::unchanged);
  EXPECT_NEAR(*same.mde, same.floor, 1e-12);
  EXPECT_EQ(judge(hundred, more).verdict, Verdict::regressed);
  const double tiny = std::numeric_limits<double>::denorm_min(),
               huge = std::numeric_limits<double>::max();
  EXPECT_EQ(judge(Values(8, huge), Values(8, huge)).verdict, Verdict::unchanged);
  EXPECT_EQ(judge(Values(8, tiny), Values(8, 2 * tiny)).verdict, Verdict::regressed);
  EXPECT_EQ(judge(Values(8, huge), Values(8, tiny)).verdict, Verdict::improved);
}

TEST(Judge, GoesByPairsWhereTheSidesMoveTogether) {
  testing::Random random(5);
  Values x, y;
  for (int i = 0; i < 10; ++i) {  // warmer by 40 % from the first pair to the last
    const double drift = 1 + 0.04 * i;
    x.push_back(100 * drift * (1 + 0.005 * bell(random)));
    y.push_back(105 * drift * (1 + 0.005 * bell(random)));
  }
  JudgeOptions options;
  EXPECT_EQ(judge(x, y, options).verdict, Verdict::inconclusive);
  EXPECT_TRUE(judge(x, y, options).drift_unprotected);
  options.paired = true;
  const Judgement j = judge(x, y, options);
  EXPECT_EQ(j.verdict, Verdict::regressed);
  EXPECT_EQ(j.method, JudgeMethod::paired_sign);
  EXPECT_EQ(j.pairs, 10u);
  EXPECT_FALSE(j.drift_unprotected);
  EXPECT_NEAR(*j.ratio, 1.05, 0.01);
  EXPECT_LT(*j.p_floor, 0.05);
  y.pop_back();
  const Judgement odd = judge(x, y, options);
  EXPECT_EQ(odd.pairs, 0u);
  EXPECT_EQ(odd.method, JudgeMethod::hodges_lehmann);
  EXPECT_FALSE(odd.notes.empty());
}

TEST(Judge, FewPairsThatMoveTogetherFallBackToAllRatios) {
  JudgeOptions options;
  options.paired = true;
  const Judgement j = judge(Values{100, 101, 102, 103}, Values{130, 131, 132, 133}, options);
  EXPECT_EQ(j.method, JudgeMethod::hodges_lehmann);
  EXPECT_EQ(j.verdict, Verdict::regressed);
}

// The interval lies beyond the floor exactly where p_floor is below 1 - confidence.
TEST(Judge, PValueAndIntervalAgree) {
  testing::Random random(6);
  for (int round = 0; round < 300; ++round) {
    const std::size_t n = 6 + random.below(8);
    const Values x = noisy_runs(random, n, 100, 0.02);
    const Values y = noisy_runs(random, n, 100 + static_cast<double>(random.below(10)), 0.02);
    JudgeOptions options;
    options.paired = random.one_in(2);
    const Judgement j = judge(x, y, options);
    const bool moved = j.verdict == Verdict::regressed || j.verdict == Verdict::improved;
    EXPECT_EQ(moved, *j.p_floor < 0.05) << j.reason << " p " << *j.p_floor;
  }
}

TEST(Judge, UnchangedSaysWhatItWouldHaveSeen) {
  testing::Random random(7);
  const Values x = noisy_runs(random, 20, 100, 0.005), y = noisy_runs(random, 20, 100, 0.005);
  const Judgement j = judge(x, y);
  ASSERT_EQ(j.verdict, Verdict::unchanged);
  ASSERT_TRUE(j.mde);
  EXPECT_GT(*j.mde, j.floor);
  EXPECT_NE(j.reason.find("would have been seen"), std::string::npos) << j.reason;
  // And so it is: of changes as large as that, about the power is found.
  int found = 0;
  constexpr int kRounds = 300;
  for (int round = 0; round < kRounds; ++round) {
    const Values base = noisy_runs(random, 20, 100, 0.005);
    const Values slower = noisy_runs(random, 20, 100 * (1 + *j.mde), 0.005);
    found += judge(base, slower).verdict == Verdict::regressed ? 1 : 0;
  }
  EXPECT_NEAR(found / static_cast<double>(kRounds), 0.8, 0.17);
}

TEST(Judge, TellsAClockFromTheWork) {
  testing::Random random(8);
  Measured before = measured(noisy_runs(random, 10, 100)),
           after = measured(noisy_runs(random, 10, 115));
  before.cycles = noisy_runs(random, 10, 1e9, 0.001);
  after.cycles = noisy_runs(random, 10, 1e9, 0.001);
  Judgement j = judge(before, after);
  EXPECT_EQ(j.verdict, Verdict::clock_shift) << j.reason;
  EXPECT_NEAR(*j.cycles_ratio, 1, 0.01);
  after.cycles = noisy_runs(random, 10, 1.15e9, 0.001);
  EXPECT_EQ(judge(before, after).verdict, Verdict::regressed) << "the cycles moved too";
  after.cycles = noisy_runs(random, 10, 1.02e9, 0.1);
  EXPECT_EQ(judge(before, after).verdict, Verdict::inconclusive) << "they do not decide";
  after.cycles.pop_back();
  EXPECT_EQ(judge(before, after).verdict, Verdict::regressed) << "not one for each run: unknown";
}

TEST(Judge, TellsASlowerMachineFromTheWork) {
  testing::Random random(9);
  Measured before = measured(noisy_runs(random, 8, 100)),
           after = measured(noisy_runs(random, 8, 140));
  before.own_time = noisy_runs(random, 8, 95, 0.002);
  after.own_time = noisy_runs(random, 8, 95, 0.002);
  const Judgement j = judge(before, after);
  EXPECT_EQ(j.verdict, Verdict::slower_machine);
  EXPECT_TRUE(j.reason.starts_with("same work, slower machine on the second side")) << j.reason;
  EXPECT_TRUE(
      judge(after, before).reason.starts_with("same work, slower machine on the first side"));
  // Images a second: the figure falls where the time rises.
  Measured rate_before = before, rate_after = after;
  for (double& v : rate_before.values) v = 1 / v;
  for (double& v : rate_after.values) v = 1 / v;
  JudgeOptions higher;
  higher.direction = Direction::higher_is_better;
  EXPECT_EQ(judge(rate_before, rate_after, higher).verdict, Verdict::slower_machine);
  after.own_time = noisy_runs(random, 8, 130, 0.002);
  EXPECT_EQ(judge(before, after).verdict, Verdict::regressed);
  after.values = before.values;
  EXPECT_EQ(judge(before, after).verdict, judge(before.values, after.values).verdict)
      << "what did not move needs no excuse";
}

TEST(NoiseFloor, IsTheNinetyFifthOfTheHundred) {
  Values ratios;
  for (int i = 1; i <= 20; ++i)
    ratios.push_back(i % 2 == 0 ? 1 + i / 1000.0 : 1 / (1 + i / 1000.0));
  EXPECT_NEAR(*noise_floor(ratios), 0.019, 0.001);
  EXPECT_FALSE(noise_floor(Values(9, 1.0))) << "ten pairs are the least";
  EXPECT_FALSE(noise_floor(Values(10, 0.0)));
  EXPECT_EQ(noise_floor(Values(10, 1.0)), 0);
}

TEST(Gates, SayWhenSoFewRunsCouldNotHaveShownAnything) {
  // Four runs a side: the smallest p is 2 / 70, which two gates make 0.057.
  const std::vector<double> before = {1, 1.01, 1.02, 1.03}, after = {2, 2.01, 2.02, 2.03};
  std::vector<Judgement> gates(2, judge(before, after));
  ASSERT_EQ(gates[0].verdict, Verdict::regressed);
  correct_gates(gates);
  EXPECT_EQ(gates[0].verdict, Verdict::inconclusive);
  ASSERT_FALSE(gates[0].notes.empty());
  EXPECT_NE(gates[0].notes.back().find("With 4 runs of each side and 2 gates no change"),
            std::string::npos)
      << gates[0].notes.back();
  EXPECT_NE(gates[0].notes.back().find("takes 5 at least"), std::string::npos);
  const std::vector<double> b5 = {1, 1.01, 1.02, 1.03, 1.04}, a5 = {2, 2.01, 2.02, 2.03, 2.04};
  std::vector<Judgement> enough(2, judge(b5, a5));
  correct_gates(enough);
  EXPECT_EQ(enough[0].verdict, Verdict::regressed) << "what the note says is enough";
}

TEST(Gates, AreCorrectedByHolm) {
  testing::Random random(10);
  std::vector<Judgement> gates;
  gates.push_back(judge(noisy_runs(random, 10, 100), noisy_runs(random, 10, 130)));  // beyond doubt
  JudgeOptions no_floor;
  no_floor.min_effect = 0;
  while (gates.size() < 2) {  // just beyond it
    const Judgement j = judge(noisy_runs(random, 10, 100), noisy_runs(random, 10, 101), no_floor);
    if (j.verdict == Verdict::regressed && *j.p_floor > 0.02) gates.push_back(j);
  }
  std::vector<Judgement> alone{gates[1]};
  correct_gates(alone);
  EXPECT_EQ(alone[0].verdict, Verdict::regressed) << "one gate stays as it is";
  for (int i = 0; i < 10; ++i)
    gates.push_back(judge(noisy_runs(random, 10, 100), noisy_runs(random, 10, 100)));
  gates.push_back(judge(Values{1}, Values{2}));
  correct_gates(gates);
  EXPECT_EQ(gates[0].verdict, Verdict::regressed);
  EXPECT_EQ(gates[1].verdict, Verdict::inconclusive);
  EXPECT_NE(gates[1].reason.find("among 12 gates"), std::string::npos) << gates[1].reason;
  EXPECT_GT(*gates[1].p_adjusted, *gates[1].p_floor);
  EXPECT_TRUE(gates[1].q);
  EXPECT_FALSE(gates.back().p_adjusted) << "no verdict, no p-value";
}

TEST(Names, OfVerdictsAreThoseOfTheJson) {
  EXPECT_EQ(name(Verdict::slower_machine), "slower_machine");
  EXPECT_EQ(name(Verdict::clock_shift), "clock_shift");
  EXPECT_EQ(name(JudgeMethod::paired_sign), "paired_sign");
  EXPECT_EQ(name(FloorSource::noise), "noise");
}

TEST(Judge, DecidesByOwnTimeWhatABusyMachineLeavesOpen) {
  testing::Random random(7);
  Measured before, after;
  before.values = noisy_runs(random, 12, 100, 0.3);
  after.values = noisy_runs(random, 12, 105, 0.3);
  before.own_time = noisy_runs(random, 12, 80, 0.002);
  after.own_time = noisy_runs(random, 12, 84, 0.002);
  JudgeOptions options;
  options.interleaved = true;
  EXPECT_EQ(judge(before, after, options).verdict, Verdict::inconclusive);
  options.decide_by_own_time = true;
  const Judgement j = judge(before, after, options);
  EXPECT_EQ(j.verdict, Verdict::regressed);
  EXPECT_TRUE(j.by_own_time);
  ASSERT_TRUE(j.own_time_interval);
  EXPECT_GT(j.own_time_interval->low, 1.04);
  EXPECT_THAT(j.reason, ::testing::StartsWith("without the time that others took"));
  EXPECT_TRUE(decide_stop(j).precise);
  // Time that says it by itself keeps its own figures.
  after.values = noisy_runs(random, 12, 400, 0.1);
  after.own_time = noisy_runs(random, 12, 300, 0.002);
  EXPECT_FALSE(judge(before, after, options).by_own_time);
}

}  // namespace
}  // namespace genscope
