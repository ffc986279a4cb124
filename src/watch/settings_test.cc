#include "watch/settings.h"

#include <gtest/gtest.h>

namespace genscope::watch {
namespace {

TEST(Settings, WithoutAFileEverythingIsWatched) {
  const Result<RunSettings> settings = settings_of({});
  ASSERT_TRUE(settings);
  EXPECT_TRUE(settings->enabled);
  EXPECT_TRUE(settings->summary);
  EXPECT_EQ(settings->live, "auto");
  EXPECT_EQ(settings->redraw_ns, 250'000'000);
  EXPECT_EQ(settings->telemetry.sampling.fast_ns, 100'000'000);
  EXPECT_EQ(settings->telemetry.probes.size(), all_probes().size());
}

TEST(Settings, TheCommandLineBeatsTheFile) {
  Config config;
  config.cpu_monitor_interval = 2;
  config.gpu_monitor_interval = 3;
  config.output_dir = "/file";
  config.real_time_display = false;
  RunSettings settings = merged_settings(config, {});
  EXPECT_EQ(settings.telemetry.sampling.fast_ns, 2'000'000'000);
  EXPECT_EQ(settings.telemetry.sampling.normal_ns, 2'000'000'000);
  EXPECT_EQ(settings.telemetry.gpu_sampling.fast_ns, 3'000'000'000);
  EXPECT_EQ(settings.out, "/file");
  EXPECT_EQ(settings.live, "never");
  RunFlags flags;
  flags.interval_ms = 50;
  flags.out = "/flag";
  flags.live = "always";
  settings = merged_settings(config, flags);
  EXPECT_EQ(settings.telemetry.sampling.fast_ns, 50'000'000);
  EXPECT_EQ(settings.telemetry.gpu_sampling.fast_ns, 50'000'000);
  EXPECT_EQ(settings.out, "/flag");
  EXPECT_EQ(settings.live, "always");
}

TEST(Settings, QuietMeansNoSummaryAndNoBlockUnlessAskedFor) {
  RunFlags flags;
  flags.quiet = true;
  EXPECT_FALSE(merged_settings({}, flags).summary);
  EXPECT_EQ(merged_settings({}, flags).live, "never");
  flags.live = "always";
  EXPECT_EQ(merged_settings({}, flags).live, "always");
}

TEST(Settings, MistakesAreErrors) {
  RunFlags flags;
  flags.preset = "prodution";
  EXPECT_FALSE(settings_of(flags));
  flags.preset = "production";
  EXPECT_TRUE(settings_of(flags));
  flags = {};
  flags.probes = {"nvlm"};
  EXPECT_FALSE(settings_of(flags));
  flags = {};
  flags.config = "/nonexistent.yaml";
  EXPECT_FALSE(settings_of(flags));
}

}  // namespace
}  // namespace genscope::watch
