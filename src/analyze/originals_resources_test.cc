// Faults of the profilers that this one takes after (resources), each as a test of its name.
#include <gtest/gtest.h>

#include "analyze/testing/samples.h"
#include "genscope/analyze.h"

namespace genscope {
namespace {

using testing::kSecond;

// One multiplied power by the number of samples and a fixed half second: 600 Wh.
TEST(Originals, FiveWattHoursNotSixHundred) {
  testing::TraceBuilder t;
  t.span("denoise", SpanKind::stage, 0, 60 * kSecond);
  testing::add_entity(t, EntityKind::gpu, "GPU-1");
  testing::add_readings(t, "GPU-1/power_watts", 0, 60 * kSecond + 1, kSecond / 10,
                        [](double) { return 300; });
  const Analysis analysis = analyze(testing::make_run(t.trace()));
  ASSERT_TRUE(analysis.telemetry.joules());
  EXPECT_NEAR(*analysis.telemetry.joules() / 3600, 5.0, 1e-6);
  ASSERT_EQ(analysis.resources.stages.size(), 1u);
  const StageUse& use = analysis.resources.stages[0];
  ASSERT_TRUE(use.energy_joules);
  EXPECT_NEAR(*use.energy_joules / 3600, 5.0, 1e-6);
  EXPECT_NEAR(use.energy_covered, 1, 1e-6);
  EXPECT_EQ(use.gpu_power_watts.samples, 600u);
  EXPECT_NEAR(*use.gpu_power_watts.mean, 300, 1e-9);
}

// One reset the process's peak at each inner stage, and never reset it at all in another place.
TEST(Originals, PeakOfAnInnerStageDoesNotResetTheOuter) {
  testing::TraceBuilder t;
  const auto outer = t.span("denoise", SpanKind::stage, 0, 40 * kSecond);
  t.span("attention", SpanKind::stage, 10 * kSecond, 10 * kSecond, {.parent = outer});
  t.span("norm", SpanKind::stage, 25 * kSecond, 10 * kSecond, {.parent = outer});
  testing::add_entity(t, EntityKind::process_tree, "tree");
  testing::add_readings(t, "tree/rss_bytes", 0, 40 * kSecond, kSecond, [](double s) {
    return s >= 10 && s < 20 ? 900.0 : s >= 25 && s < 35 ? 500.0 : 300.0;
  });
  const Analysis analysis = analyze(testing::make_run(t.trace()));
  const auto peak = [&](std::string_view name) {
    for (const StageUse& use : analysis.resources.stages) {
      if (use.name == name) return use.rss_bytes.max.value_or(-1);
    }
    return -2.0;
  };
  EXPECT_EQ(peak("denoise"), 900);
  EXPECT_EQ(peak("attention"), 900);
  EXPECT_EQ(peak("norm"), 500) << "the peak of what ran before it is not its own";
}

}  // namespace
}  // namespace genscope
