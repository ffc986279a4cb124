#include "bench/text/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/output/words.h"

namespace genscope::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Words, SpeedsInPercentAndFactors) {
  EXPECT_EQ(speed_text(0.876), "12.4 % faster");
  EXPECT_EQ(speed_text(1.052), "5.2 % slower");
  EXPECT_EQ(speed_text(1 / 30.1), "30.1 x as fast");
  EXPECT_EQ(speed_text(1 / 30.08, {1 / 30.5, 1 / 29.6, 0.95}, 0.95),
            "30.1 x as fast (95 %: 29.6 to 30.5)");
  EXPECT_EQ(speed_text(0.876, {0.854, 0.899, 0.95}, 0.95), "12.4 % faster (95 %: 10.1 to 14.6)");
  EXPECT_EQ(speed_text(3.2), "3.20 x as slow");
  EXPECT_EQ(change_text(1.0043), "+0.43 %");
  EXPECT_EQ(change_text(1 / 30.1), "1/30.1");
  EXPECT_EQ(interval_text({0.996, 1.007, 0.95}), "-0.40 to +0.70 %");
  EXPECT_EQ(figure("latency_s", 0.1234), "123 ms");
  EXPECT_EQ(figure("rss_peak_bytes", 3 << 20), "3.00 MiB");
}

Cell two_sides() {
  Cell cell;
  cell.id = "all";
  for (std::uint32_t i = 0; i < 8; ++i) {
    for (const char slot : {'A', 'B'}) {
      Unit unit;
      unit.slot = slot;
      unit.process = i;
      unit.order_index = 2 * i + (slot == 'B' ? 1 : 0);
      if (i == 0) unit.warmup_s = {2.5};
      Sample sample;
      const double noise = 0.001 * (i * 5 % 8);
      sample.metrics = {{"latency_s", (slot == 'A' ? 1.0 : 0.9) + noise},
                        {"own_s", 0.5},
                        {"io_read_bytes", 0},
                        {"rss_peak_bytes", 1e9}};
      sample.stages["denoise"] = {slot == 'A' ? 0.8 : 0.7, 20};
      unit.samples.push_back(sample);
      cell.units.push_back(unit);
    }
  }
  summarize(cell);
  return cell;
}

BenchResult compared(Cell cell) {
  BenchResult result;
  result.labels = {{"A", "gen.py"}, {"B", "gen.py --compile"}};
  for (const std::string& name : metrics_of(cell, 'A')) {
    Comparison c;
    c.cell = cell.id;
    c.metric = name;
    JudgeOptions options;
    options.paired = true;
    c.judgement = judge(unit_values(cell, 'A', name), unit_values(cell, 'B', name), options);
    if (name == "latency_s") c.stage_attribution = attribute_stages(cell, 'A', cell, 'B', true);
    result.comparisons.push_back(c);
  }
  result.cells.push_back(std::move(cell));
  return result;
}

TEST(CommandsText, SaysTheChangeFirst) {
  const std::string text = commands_text(compared(two_sides()), {});
  EXPECT_THAT(text, HasSubstr("B is 10.0 % faster (95 %: "));
  EXPECT_THAT(text, HasSubstr("8 pairs; peak memory same."));
  EXPECT_THAT(text, HasSubstr("Warm-up, not counted: A 2.50 s; B 2.50 s."));
  EXPECT_THAT(text, HasSubstr("per step"));
  EXPECT_THAT(text, HasSubstr("outside"));
  EXPECT_THAT(text, Not(HasSubstr("own")));
  EXPECT_THAT(text, Not(HasSubstr("disk reads")));  // there were none
}

TEST(CommandsText, SaysWhatWouldHaveBeenSeen) {
  Cell cell = two_sides();
  for (Unit& unit : cell.units) unit.samples[0].metrics["latency_s"] = 1 + 0.0005 * unit.process;
  const std::string text = commands_text(compared(cell), {});
  EXPECT_THAT(text, HasSubstr("No difference found: +0.00 %"));
  EXPECT_THAT(text, HasSubstr("a change of 1.0 % or more"));
}

TEST(CommandsText, DoesNotDenyWhatMovedWithinTheFloor) {
  Cell cell = two_sides();
  for (Unit& unit : cell.units) {
    unit.samples[0].metrics["latency_s"] = (unit.slot == 'B' ? 1.5 : 1) + 0.0005 * unit.process;
  }
  BenchResult result = compared(cell);
  JudgeOptions options;
  options.min_effect = 0.6;
  Judgement& judgement = result.comparisons.at(0).judgement;
  const auto judge_again = [&] {
    judgement =
        judge(unit_values(cell, 'A', "latency_s"), unit_values(cell, 'B', "latency_s"), options);
    return commands_text(result, {});
  };
  EXPECT_THAT(judge_again(), HasSubstr("No difference that counts: +49.9 %"));
  EXPECT_THAT(judge_again(), HasSubstr("within the 60.0 %"));
  options.noise = 0.9;
  EXPECT_THAT(judge_again(), HasSubstr("within the noise of"));
}

TEST(CommandsText, OneSideHasItsInterval) {
  Cell cell = two_sides();
  std::erase_if(cell.units, [](const Unit& unit) { return unit.slot == 'B'; });
  summarize(cell);
  BenchResult result;
  result.cells.push_back(cell);
  const std::string text = commands_text(result, {});
  EXPECT_THAT(text, HasSubstr("It takes 1.00 s (95 %: 1.00 s to 1.01 s), 8 runs."));
  EXPECT_THAT(text, HasSubstr("Stages: denoise 800 ms (40.0 ms a step)."));
}

TEST(CommandsText, SaysWhyItFailed) {
  BenchResult result;
  Cell cell;
  cell.status = "failed";
  cell.failure = Failure{FailureClass::exit_nonzero, "exit code 3\nno such model"};
  result.cells.push_back(cell);
  const std::string text = commands_text(result, {});
  EXPECT_THAT(text, HasSubstr("It failed (exit_nonzero):"));
  EXPECT_THAT(text, HasSubstr("no such model"));
}

}  // namespace
}  // namespace genscope::bench
