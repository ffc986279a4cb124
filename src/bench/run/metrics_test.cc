#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <genscope/bench.h>

namespace genscope::bench {
namespace {

using ::testing::ElementsAre;

Unit unit_of(char slot, std::vector<double> latencies) {
  Unit unit;
  unit.slot = slot;
  for (const double latency : latencies) {
    Sample sample;
    sample.metrics["latency_s"] = latency;
    unit.samples.push_back(sample);
  }
  return unit;
}

TEST(Metrics, KnowUnitAndDirectionByName) {
  EXPECT_EQ(metric("latency_s").words, "time");
  EXPECT_EQ(metric("rss_peak_bytes").unit, "bytes");
  EXPECT_EQ(metric("stage.denoise.step_s").unit, "s");
  EXPECT_EQ(metric("latency_ms").unit, "ms");
  EXPECT_EQ(metric("latency_ms").words, "time");
  EXPECT_EQ(metric("energy_j_per_image").direction, Direction::lower_is_better);
  EXPECT_EQ(metric("images_per_s").direction, Direction::higher_is_better);
  EXPECT_EQ(metric("images_per_s").unit, "");
  EXPECT_EQ(metric("gpu_util_pct").direction, Direction::higher_is_better);
}

TEST(Metrics, ConvertBetweenUnitsOfOneKind) {
  Sample sample;
  sample.metrics = {{"latency_s", 0.25}, {"rss_peak_bytes", 3e6}, {"gpu_util_ratio", 0.5}};
  sample.stages["denoise"] = {2.0, 20};
  EXPECT_EQ(value_of(sample, "latency_ms"), 250);
  EXPECT_EQ(value_of(sample, "rss_peak_mb"), 3);
  EXPECT_EQ(value_of(sample, "gpu_util_pct"), 50);
  EXPECT_DOUBLE_EQ(*value_of(sample, "stage.denoise.step_ms"), 100);
  EXPECT_EQ(value_of(sample, "stage.denoise.total_s"), 2);
  EXPECT_FALSE(value_of(sample, "stage.vae_decode.total_s"));
  EXPECT_FALSE(value_of(sample, "energy_j"));
}

TEST(Metrics, CountAUnitOnceByItsMedian) {
  Cell cell;
  cell.units = {unit_of('A', {1, 2, 9}), unit_of('B', {5}), unit_of('A', {3})};
  cell.units[0].samples[2].failure = Failure{FailureClass::timeout, ""};
  EXPECT_THAT(unit_values(cell, 'A', "latency_s"), ElementsAre(1.5, 3));
  EXPECT_THAT(unit_values(cell, 'B', "latency_s"), ElementsAre(5));
  cell.units[2].failure = Failure{FailureClass::startup_failed, ""};
  EXPECT_THAT(unit_values(cell, 'A', "latency_s"), ElementsAre(1.5));
}

TEST(Metrics, ListTimeFirst) {
  Cell cell;
  cell.units = {unit_of('A', {1})};
  cell.units[0].samples[0].metrics["cpu_s"] = 1;
  cell.units[0].samples[0].metrics["a_thing"] = 1;
  cell.units[0].samples[0].stages["denoise"] = {1, 4};
  EXPECT_THAT(metrics_of(cell, 'A'), ElementsAre("latency_s", "cpu_s", "a_thing",
                                                 "stage.denoise.step_s", "stage.denoise.total_s"));
  EXPECT_TRUE(metrics_of(cell, 'B').empty());
}

TEST(Metrics, TellWorkFromMachineOnlyWhereEveryUnitCan) {
  Cell cell;
  cell.units = {unit_of('A', {1}), unit_of('A', {2})};
  cell.units[0].samples[0].metrics["own_s"] = 0.9;
  EXPECT_TRUE(measured(cell, 'A', "latency_s").own_time.empty());
  cell.units[1].samples[0].metrics["own_s"] = 1.9;
  EXPECT_THAT(measured(cell, 'A', "latency_s").own_time, ElementsAre(0.9, 1.9));
  EXPECT_TRUE(measured(cell, 'A', "cpu_s").own_time.empty());
}

TEST(AttributeStages, PartsAddUpToTheWhole) {
  Cell cell;
  for (int i = 0; i < 4; ++i) {
    for (const char slot : {'A', 'B'}) {
      const double extra = slot == 'B' ? 1 : 0;
      Unit unit = unit_of(slot, {10 + extra + 0.01 * i});
      unit.samples[0].stages["load"] = {2 + 0.01 * i, 0};
      unit.samples[0].stages["denoise"] = {7 + extra, slot == 'B' ? 16u : 14u};
      cell.units.push_back(unit);
    }
  }
  const auto parts = attribute_stages(cell, 'A', cell, 'B', true);
  ASSERT_TRUE(parts);
  ASSERT_EQ(parts->parts.size(), 3u);
  EXPECT_EQ(parts->parts[0].name, "load");
  EXPECT_EQ(parts->parts[1].name, "denoise");
  EXPECT_NEAR(parts->parts[1].difference, 1, 1e-9);
  EXPECT_EQ(parts->parts[1].of.size(), 2u);
  double sum = 0;
  for (const PartChange& part : parts->parts) sum += part.difference;
  EXPECT_DOUBLE_EQ(sum, parts->total.difference);
  cell.units[0].samples[0].stages.clear();
  EXPECT_FALSE(attribute_stages(cell, 'A', cell, 'B', true));
}

TEST(Summarize, CountsUnitsAndRefusesPercentilesThatSoFewCannotShow) {
  Cell cell;
  for (int i = 0; i < 12; ++i) cell.units.push_back(unit_of('A', {1 + 0.01 * i}));
  cell.units.push_back(unit_of('A', {5}));
  summarize(cell);
  const MetricStats& stats = cell.stats['A']["latency_s"];
  EXPECT_EQ(stats.n_units, 13u);
  EXPECT_DOUBLE_EQ(stats.median, 1.06);
  ASSERT_TRUE(stats.ci);
  EXPECT_EQ(stats.outliers_severe, 1u);
  EXPECT_TRUE(stats.p.contains("p90"));
  EXPECT_FALSE(stats.p.contains("p99"));
}

}  // namespace
}  // namespace genscope::bench
