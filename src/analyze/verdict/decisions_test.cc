// What is made of judgements: stopping, attribution, scores.
#include "analyze/verdict/verdict.h"

#include <gtest/gtest.h>

#include <cmath>

#include "analyze/testing/noisy_runs.h"
#include "testing/random.h"

namespace genscope {
namespace {

using testing::bell;
using testing::noisy_runs;
using Values = std::vector<double>;

TEST(Stopping, GoesByWidthAndBudget) {
  testing::Random random(11);
  StopOptions options;
  EXPECT_FALSE(decide_stop(judge(Values{1}, Values{1}), options).stop);
  const Judgement wide = judge(noisy_runs(random, 8, 100, 0.05), noisy_runs(random, 8, 100, 0.05));
  StopDecision decision = decide_stop(wide, options);
  EXPECT_FALSE(decision.stop);
  EXPECT_GT(*decision.more, 0u);
  EXPECT_LE(*decision.more, 32u);
  options.half_width = 0.5;
  decision = decide_stop(wide, options);
  EXPECT_TRUE(decision.stop && decision.precise);
  options = {};
  options.most = 8;
  decision = decide_stop(wide, options);
  EXPECT_TRUE(decision.stop);
  EXPECT_FALSE(decision.precise);
  // Thirty times as slow: there is no need to know it to a per mille.
  const Judgement large =
      judge(noisy_runs(random, 8, 100, 0.05), noisy_runs(random, 8, 3000, 0.05));
  EXPECT_TRUE(decide_stop(large).precise);
  // Of one side.
  EXPECT_FALSE(decide_stop(Values{1, 1, 1, 1, 1}, StopOptions{}).stop) << "no interval yet";
  EXPECT_TRUE(decide_stop(Values(6, 1.0), StopOptions{}).precise);
}

TEST(Attribution, AddsUpWithIntervals) {
  testing::Random random(12);
  PartSamples load{"load", {}, {}}, denoise{"denoise", {}, {}}, decode{"decode", {}, {}};
  Values before, after;
  for (int i = 0; i < 8; ++i) {
    load.before.push_back(2 + 0.01 * bell(random));
    load.after.push_back(2 + 0.01 * bell(random));
    denoise.before.push_back(28 * 0.1 * (1 + 0.005 * bell(random)));  // 28 steps of 0.1 s
    denoise.after.push_back(30 * 0.12 * (1 + 0.005 * bell(random)));  // 30 of 0.12
    denoise.before_steps.push_back(28);
    denoise.after_steps.push_back(30);
    decode.before.push_back(0.5 + 0.01 * bell(random));
    decode.after.push_back(0.5 + 0.01 * bell(random));
    before.push_back(load.before.back() + denoise.before.back() + decode.before.back() + 0.3);
    after.push_back(load.after.back() + denoise.after.back() + decode.after.back() + 0.4);
  }
  for (const bool paired : {false, true}) {
    const auto got =
        attribute(before, after, std::vector<PartSamples>{load, denoise, decode}, paired);
    ASSERT_TRUE(got);
    ASSERT_EQ(got->parts.size(), 4u);
    double sum = 0, shares = 0;
    for (const PartChange& part : got->parts) {
      sum += part.difference;
      shares += *part.share;
      ASSERT_TRUE(part.interval) << part.name;
      EXPECT_LE(part.interval->low, part.difference + 1e-9) << part.name;
      EXPECT_GE(part.interval->high, part.difference - 1e-9) << part.name;
    }
    EXPECT_NEAR(sum, got->total.difference, 1e-12);
    EXPECT_NEAR(shares, 1, 1e-12);
    EXPECT_EQ(got->parts[3].name, "outside");
    EXPECT_NEAR(got->parts[3].difference, 0.1, 1e-9);
    const PartChange& steps = got->parts[1];
    ASSERT_EQ(steps.of.size(), 2u);
    EXPECT_NEAR(steps.of[0].difference + steps.of[1].difference, steps.difference, 1e-12);
    EXPECT_NEAR(steps.of[0].difference, 2 * 0.11, 0.01);   // two steps more
    EXPECT_NEAR(steps.of[1].difference, 29 * 0.02, 0.02);  // each 20 ms longer
    EXPECT_NEAR(steps.of[1].after, 0.12, 0.001);
    EXPECT_GT(steps.interval->low, 0.7);
  }
}

TEST(Attribution, OfOneRunEachHasNoIntervalAndPutsTheUnrecordedOutside) {
  const PartSamples load{"load", {1}, {2}}, decode{"decode", {1}, {}};
  const auto got = attribute(Values{5}, Values{7}, std::vector<PartSamples>{load, decode});
  ASSERT_TRUE(got);
  ASSERT_EQ(got->parts.size(), 2u);
  EXPECT_FALSE(got->parts[0].interval);
  EXPECT_EQ(got->parts[1].difference, 1);
  ASSERT_EQ(got->notes.size(), 1u);
  EXPECT_EQ(got->notes[0], "decode was not recorded in every run: its time is in outside.");
  EXPECT_FALSE(attribute(Values{}, Values{1}, {}));
  EXPECT_FALSE(attribute(Values{1}, Values{std::nan("")}, {}));
  EXPECT_FALSE(attribute(Values{1}, Values{1}, {})->total.share) << "no difference to share";
}

TEST(Scores, OfTargets) {
  EXPECT_EQ(target_score(5, 0)->score, 100);
  EXPECT_EQ(target_score(0, 0)->met, true);
  EXPECT_EQ(target_score(85, 42.5, Direction::higher_is_better)->score, 50);
  EXPECT_EQ(target_score(85, 90, Direction::higher_is_better)->score, 100);
  EXPECT_FALSE(target_score(5, std::nan("")));
  EXPECT_FALSE(target_score(5, -1));
  EXPECT_EQ(target_score(5, 4, Direction::lower_is_better, stats::Interval{3, 6, 0.95})->confident,
            false);
  EXPECT_EQ(target_score(5, 4, Direction::lower_is_better, stats::Interval{3, 5, 0.95})->confident,
            true);
  EXPECT_FALSE(before_after_score(0, 1));
  EXPECT_LT(*composite_score(std::vector<ScorePart>{{0, 1}, {100, 1}}), 0.02)
      << "not averaged away";
  EXPECT_FALSE(composite_score({}));
  EXPECT_FALSE(composite_score(std::vector<ScorePart>{{50, 0}}));
}

TEST(Speedup, IsJudgedOnItsConservativeEnd) {
  testing::Random random(13);
  const Judgement j = judge(noisy_runs(random, 10, 3000, 0.03), noisy_runs(random, 10, 100, 0.03));
  SpeedupResult result = *judge_speedup(j, 29);
  EXPECT_NEAR(result.speedup, 30, 1);
  EXPECT_TRUE(result.met);
  EXPECT_EQ(result.confident, result.interval->low >= 29);
  EXPECT_FALSE(judge_speedup(j, result.interval->low * 1.001)->confident);
  EXPECT_TRUE(judge_speedup(j, result.interval->low * 0.999)->confident);
  EXPECT_FALSE(judge_speedup(judge(Values{}, Values{1}), 2));
}

}  // namespace
}  // namespace genscope
