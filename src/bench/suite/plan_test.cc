#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "bench/run/quantities.h"
#include "bench/suite/fields.h"
#include "bench/suite/suite.h"

namespace genscope::bench {
namespace {

using ::testing::HasSubstr;

Suite matrix_suite(const std::string& matrix) {
  const Result<Suite> suite =
      parse_suite("suite: x\ndefaults: {runner: {command: x}}\nmatrix:\n" + matrix, "s.yaml");
  EXPECT_TRUE(suite.ok()) << suite.error().message;
  return suite.ok() ? *suite : Suite{};
}

std::vector<PlannedCell> planned(const std::string& matrix, std::uint64_t seed = 1,
                                 std::string_view only = {}) {
  const Result<std::vector<PlannedCell>> plan = plan_suite(matrix_suite(matrix), seed, only);
  EXPECT_TRUE(plan.ok()) << plan.error().message;
  return plan.ok() ? *plan : std::vector<PlannedCell>{};
}

std::size_t running(const std::vector<PlannedCell>& cells) {
  std::size_t count = 0;
  for (const PlannedCell& cell : cells) count += cell.skipped.empty() ? 1 : 0;
  return count;
}

TEST(Plan, ProductWithStableIds) {
  const auto cells = planned("  axes: {size: [512x512, 64x64], batch: [1, 4]}\n");
  ASSERT_EQ(cells.size(), 4u);
  EXPECT_EQ(cells[0].id, "batch=1,size=512x512");
  EXPECT_EQ(cells[3].id, "batch=4,size=64x64");
  // The order of the axes does not rename a cell.
  EXPECT_EQ(planned("  axes: {batch: [1, 4], size: [512x512, 64x64]}\n")[0].id, cells[0].id);
  EXPECT_EQ(planned("  {}\n")[0].id, "all");
}

TEST(Plan, OddValuesKeepCellsApart) {
  const auto cells = planned("  axes: {p: ['a b', 'a/b', 'a_b']}\n");
  const std::set<std::string> ids = {cells[0].id, cells[1].id, cells[2].id};
  EXPECT_EQ(ids.size(), 3u);
  for (const std::string& id : ids) EXPECT_EQ(id.find('/'), std::string::npos);
}

TEST(Plan, ExcludesWithTheReason) {
  const auto cells =
      planned(R"(  axes: {arch: [mmdit, unet], size: [512x512, 1280x1280], batch: [1, 4]}
  exclude: [{when: "size.pixels * batch > 4200000 && arch == 'unet'", why: "over 16 GB"}]
)");
  EXPECT_EQ(cells.size(), 8u);
  EXPECT_EQ(running(cells), 7u);
  for (const PlannedCell& cell : cells) {
    if (!cell.skipped.empty()) {
      EXPECT_EQ(cell.id, "arch=unet,batch=4,size=1280x1280");
      EXPECT_EQ(cell.skipped, "excluded: over 16 GB");
    }
  }
}

TEST(Plan, IncludesBringCellsBack) {
  const auto cells = planned(R"(  axes: {steps: [10, 20]}
  exclude: [{when: "steps >= 10", why: "slow"}]
  include: [{steps: 20}, {steps: 28}]
)");
  EXPECT_EQ(cells.size(), 3u);
  EXPECT_EQ(running(cells), 2u);
}

TEST(Plan, DivisionByZeroIsAMistake) {
  const Result<Suite> suite = parse_suite(
      "suite: x\ndefaults: {runner: {command: x}}\nmatrix:\n  axes: {steps: [0, 1]}\n"
      "  exclude: [{when: '1 / steps > 2', why: no}]\n",
      "s.yaml");
  ASSERT_FALSE(suite.ok());
  EXPECT_THAT(suite.error().message, HasSubstr("s.yaml:5: matrix.exclude"));
}

TEST(Plan, VideoSizesHaveFrames) {
  const auto cells = planned(R"(  axes: {size: [1280x720x81, 1280x720x161]}
  exclude: [{when: "size.frames > 100", why: "long"}]
)");
  EXPECT_EQ(running(cells), 1u);
}

TEST(Plan, RangesIncludeBothEnds) {
  const auto cells =
      planned("  axes: {steps: {from: 10, to: 50, step: 10}, cfg: {from: 1, to: 2, step: 0.5}}\n");
  EXPECT_EQ(cells.size(), 15u);
  EXPECT_EQ(cells[1].params[1].second, "1.5");
}

TEST(Plan, PairwiseCoversEveryPair) {
  const std::string axes =
      "  axes: {a: [1,2,3,4], b: [1,2,3,4], c: [1,2,3,4], d: [1,2,3], e: [1,2]}\n";
  const auto all = planned(axes);
  const auto cells = planned(axes + "  sample: pairwise\n", 7);
  const auto pairs = [](const std::vector<PlannedCell>& from) {
    std::set<std::string> seen;
    for (const PlannedCell& cell : from) {
      if (!cell.skipped.empty()) continue;
      for (const auto& one : cell.params) {
        for (const auto& two : cell.params) {
          if (one.first < two.first) seen.insert(one.first + one.second + two.first + two.second);
        }
      }
    }
    return seen;
  };
  EXPECT_EQ(all.size(), 384u);
  EXPECT_EQ(pairs(cells), pairs(all));
  EXPECT_LE(running(cells), 24u);  // 16 at the least
  EXPECT_EQ(planned(axes + "  sample: pairwise\n", 7)[5].skipped, cells[5].skipped);
}

TEST(Plan, RandomSampleIsSeeded) {
  const std::string text = "  axes: {a: {from: 1, to: 100}}\n  sample: random:10\n";
  const auto chosen = [&](std::uint64_t seed) {
    std::string out;
    for (const PlannedCell& cell : planned(text, seed)) out += cell.skipped.empty() ? '1' : '0';
    return out;
  };
  EXPECT_EQ(running(planned(text)), 10u);
  EXPECT_EQ(chosen(1), chosen(1));
  EXPECT_NE(chosen(1), chosen(2));
}

TEST(Plan, OnlyKeepsWhatIsAskedFor) {
  EXPECT_EQ(running(planned("  axes: {steps: [10, 20, 30]}\n", 1, "steps > 15")), 2u);
  const auto bad = plan_suite(matrix_suite("  axes: {steps: [10]}\n"), 1, "stesp > 1");
  ASSERT_FALSE(bad.ok());
  EXPECT_THAT(bad.error().message, HasSubstr("--only: at 1: no axis is called 'stesp'"));
}

TEST(Quantities, HaveUnits) {
  EXPECT_EQ(duration_in("20m"), 1200);
  EXPECT_EQ(duration_in("500ms"), 0.5);
  EXPECT_EQ(duration_in("20"), std::nullopt);
  EXPECT_EQ(duration_in("-1s"), std::nullopt);
  EXPECT_EQ(share_in("2%"), 0.02);
  EXPECT_EQ(share_in("2"), std::nullopt);
  EXPECT_EQ(quantity_in("2ms", "stage.denoise.step_ms"), 2);
  EXPECT_DOUBLE_EQ(*quantity_in("2ms", "latency_s"), 0.002);
  EXPECT_EQ(quantity_in("128", "vram_peak_mb"), 128);
  EXPECT_EQ(quantity_in("2ms", "vram_peak_mb"), std::nullopt);
  EXPECT_EQ(size_in("1024x768")->h, 768u);
  EXPECT_EQ(size_in("1280x720x81")->frames, 81u);
  for (const char* none : {"", "x", "12", "12x", "0x3", "1x2x3x4", "1x2y"}) {
    EXPECT_FALSE(size_in(none).has_value()) << none;
  }
}

}  // namespace
}  // namespace genscope::bench
