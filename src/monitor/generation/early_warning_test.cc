#include <genscope/monitor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "monitor/generation/pace.h"
#include "monitor/generation/scripted.h"

namespace genscope {
namespace {

using namespace monitor::scripted_time;
using ::testing::ElementsAre;

struct Said {
  std::vector<std::pair<std::uint64_t, bool>> warnings;  // step, out of reach
  GenerationMetrics metrics;
};

Said play(const std::vector<double>& steps, std::uint64_t asked = 20, double before = 0) {
  Said said;
  GenerationMonitorOptions options = scripted(asked);
  options.on_early_warning = [&](const EarlyWarning& w) {
    said.warnings.emplace_back(w.step, w.out_of_reach);
    EXPECT_EQ(w.steps, asked);
    EXPECT_DOUBLE_EQ(w.target_seconds, 5);
    EXPECT_EQ(w.projected_seconds > 5, w.out_of_reach);
  };
  GenerationMonitor monitor(options);
  Generation generation = monitor.start();
  pass(before);
  run_steps(generation, steps);
  said.metrics = generation.end();
  return said;
}

std::vector<double> times(std::initializer_list<std::pair<int, double>> runs) {
  std::vector<double> steps;
  for (const auto& [count, seconds] : runs) steps.insert(steps.end(), count, seconds);
  return steps;
}

TEST(EarlyWarning, FiresAtTheFirstStepThatPutsTheTargetOutOfReach) {
  const Said slow = play(times({{20, 0.3}}));
  EXPECT_THAT(slow.warnings, ElementsAre(std::pair(3U, true)));
  EXPECT_EQ(slow.metrics.warned_at_step, 3U);
  // After 12 steps 2.9 s are gone and the last eight without the slowest promise 4.79 s in all;
  // after 13 it is 3.35 + 7 * (5 * 0.2 + 2 * 0.45) / 7 = 5.25 s.
  EXPECT_THAT(play(times({{10, 0.2}, {10, 0.45}})).warnings, ElementsAre(std::pair(13U, true)));
}

TEST(EarlyWarning, StaysSilentOnASlowFirstStepThatRecovers) {
  EXPECT_TRUE(play(times({{1, 2.5}, {19, 0.12}})).warnings.empty());
  EXPECT_TRUE(play(times({{1, 1.5}, {1, 1.0}, {18, 0.12}})).warnings.empty());
  EXPECT_TRUE(play(times({{9, 0.2}, {1, 0.9}, {10, 0.2}})).warnings.empty());  // a hiccup
  EXPECT_TRUE(play(times({{20, 0.24}})).warnings.empty());
}

TEST(EarlyWarning, SaysWhenTheTargetIsBackInReach) {
  // After 5 steps: 1.3 + 15 * (0.3 + 0.3 + 0.1) / 3 = 4.8 s.
  const Said said = play(times({{4, 0.3}, {16, 0.1}}));
  EXPECT_THAT(said.warnings, ElementsAre(std::pair(3U, true), std::pair(5U, false)));
  EXPECT_TRUE(said.metrics.target_met);
}

TEST(EarlyWarning, NeedsNoProjectionWhenTheTimeHasPassed) {
  EXPECT_THAT(play({6.0}, 0).warnings, ElementsAre(std::pair(1U, true)));
  EXPECT_THAT(play({0.1, 0.1}, 20, 5.5).warnings, ElementsAre(std::pair(1U, true)));
  EXPECT_TRUE(play(times({{100, 0.04}}), 0).warnings.empty());
}

TEST(EarlyWarning, CountsWhatCameAfterTheStepsTheLastTime) {
  int warnings = 0;
  GenerationMonitorOptions options = scripted(20);
  options.on_early_warning = [&](const EarlyWarning&) { warnings++; };
  GenerationMonitor monitor(options);
  for (int i = 0; i < 2; ++i) {
    Generation generation = monitor.start();
    run_steps(generation, times({{20, 0.21}}));  // 4.2 s
    EXPECT_EQ(warnings, i);
    EXPECT_NEAR(generation.progress().projected_seconds.value(), 4.2 + i, 1e-6);
    pass(1);  // decoding
    EXPECT_DOUBLE_EQ(generation.end().time_after_steps.value(), 1);
  }
}

TEST(EarlyWarning, ProgressTellsWhatIsLeft) {
  GenerationMonitor monitor(scripted(10));
  Generation generation = monitor.start();
  pass(0.5);
  run_steps(generation, {1.0, 0.2});
  EXPECT_FALSE(generation.progress().projected_seconds);
  run_steps(generation, {0.2, 0.2});
  EXPECT_EQ(generation.progress().steps_done, 4U);
  EXPECT_NEAR(generation.progress().elapsed_seconds, 2.1, 1e-9);
  EXPECT_NEAR(generation.progress().projected_seconds.value(), 2.1 + 6 * 0.2, 1e-9);
  EXPECT_FALSE(generation.progress().out_of_reach);
  generation.end();
}

TEST(Pace, LeavesOutTheFirstAndTheSlowest) {
  monitor::Pace pace;
  pace.add(1000);
  EXPECT_FALSE(pace.known());
  pace.add(30);
  pace.add(10);
  ASSERT_TRUE(pace.known());
  EXPECT_DOUBLE_EQ(pace.typical(), 10);
  for (int i = 0; i < 7; ++i) pace.add(20);
  EXPECT_DOUBLE_EQ(pace.typical(), (10 + 6 * 20) / 7.0);
  for (int i = 0; i < 8; ++i) pace.add(7);
  EXPECT_DOUBLE_EQ(pace.typical(), 7);
}

}  // namespace
}  // namespace genscope
