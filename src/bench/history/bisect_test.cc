#include "bench/history/bisect.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "testing/temp_dir.h"

namespace genscope::bench {
namespace {

// n steps, bad from `first_bad` on; those in `broken` are skipped.
Bisection bisected(std::size_t n, std::size_t first_bad, std::vector<std::size_t> broken,
                   std::size_t& tries) {
  Bisection bisection;
  for (std::size_t i = 0; i < n; ++i) bisection.steps.emplace_back().id = std::to_string(i);
  bisection.steps.front().verdict = StepVerdict::good;
  bisection.steps.back().verdict = StepVerdict::bad;
  bisect(bisection, [&](BisectStep& step) {
    ++tries;
    const std::size_t i = std::stoul(step.id);
    const bool skip = std::ranges::find(broken, i) != broken.end();
    step.verdict = skip            ? StepVerdict::skipped
                   : i < first_bad ? StepVerdict::good
                                   : StepVerdict::bad;
    return true;
  });
  return bisection;
}

TEST(Bisect, FindsTheFirstBadInLogarithmicSteps) {
  for (std::size_t n : {2u, 3u, 9u, 100u}) {
    for (std::size_t bad = 1; bad < n; ++bad) {
      std::size_t tries = 0;
      EXPECT_EQ(bisected(n, bad, {}, tries).suspects, std::vector<std::size_t>{bad});
      EXPECT_LE(tries, 7u);
    }
  }
}

TEST(Bisect, StepsAroundWhatDoesNotBuild) {
  std::size_t tries = 0;
  EXPECT_EQ(bisected(9, 6, {4}, tries).suspects, std::vector<std::size_t>{6});
  EXPECT_EQ(bisected(9, 6, {4, 5}, tries).suspects, (std::vector<std::size_t>{4, 5, 6}));
}

TEST(Bisect, HalfTheWayIsTheThreshold) {
  EXPECT_NEAR(halfway(1.21), 0.1, 1e-12);
  EXPECT_EQ(halfway(0.9), 0);
}

Cell pairs_with(double ratio, double noise) {
  Cell cell;
  for (std::uint32_t i = 0; i < 20; ++i) {
    Unit unit;
    unit.process = i / 2;
    unit.order_index = i;
    unit.slot = i % 2 == 0 ? 'A' : 'B';
    Sample sample;
    const double wave = 1 + noise * ((i / 2) % 2 == 0 ? 1 : -1) * (i % 2 == 0 ? 1 : -1);
    sample.metrics["latency_s"] = (unit.slot == 'A' ? 1 : ratio) * wave;
    unit.samples.push_back(sample);
    cell.units.push_back(unit);
  }
  return cell;
}

TEST(Bisect, AStepIsGoodBadOrUndecided) {
  BisectStep step;
  judge_step(pairs_with(1.2, 0.001), 0.1, step);
  EXPECT_EQ(step.verdict, StepVerdict::bad);
  EXPECT_EQ(step.pairs, 10u);
  judge_step(pairs_with(1.0, 0.001), 0.1, step);
  EXPECT_EQ(step.verdict, StepVerdict::good);
  judge_step(pairs_with(0.7, 0.001), 0.1, step);
  EXPECT_EQ(step.verdict, StepVerdict::good);
  judge_step(pairs_with(1.1, 0.2), 0.1, step);
  EXPECT_EQ(step.verdict, StepVerdict::inconclusive);
  EXPECT_FALSE(step.why.empty());
}

TEST(Bisect, TheStateIsReadBack) {
  const genscope::testing::TempDir folder;
  Bisection bisection;
  bisection.steps = {{"a", "first \"one\"", StepVerdict::good, {}, {}, 0, ""},
                     {"b", "", StepVerdict::bad, 1.5, stats::Interval{1.4, 1.6, 0.95}, 6, ""}};
  ASSERT_TRUE(base::write_file(folder / "s.json", bisection_json(bisection)).ok());
  const auto steps = read_bisection(folder / "s.json");
  ASSERT_TRUE(steps.ok()) << steps.error().message;
  ASSERT_EQ(steps->size(), 2u);
  EXPECT_EQ(steps->at(0).title, "first \"one\"");
  EXPECT_EQ(steps->at(1).verdict, StepVerdict::bad);
  EXPECT_DOUBLE_EQ(*steps->at(1).ratio, 1.5);
  EXPECT_DOUBLE_EQ(steps->at(1).interval->high, 1.6);
  ASSERT_TRUE(base::write_file(folder / "s.json", R"({"steps": [{"verdict": "x"}]})").ok());
  EXPECT_NE(read_bisection(folder / "s.json").error().message.find("steps[0].verdict"),
            std::string::npos);
}

}  // namespace
}  // namespace genscope::bench
