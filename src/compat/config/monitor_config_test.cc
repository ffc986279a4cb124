#include <genscope/compat/monitor_config.h>

#include <gmock/gmock.h>

#include <fstream>

#include "testing/temp_dir.h"

namespace genscope {
namespace {

using ::testing::HasSubstr;

std::string error_of(const char* yaml) {
  const auto config = parse_monitor_config(yaml, "trainer.yaml");
  return config ? "accepted" : config.error().message;
}

TEST(MonitorConfig, ReadsTheDocumentsTrainers) {
  const auto synthetic = parse_monitor_config(
      "trainer_params:\n"
      "  enable_memory_monitoring: true   # Enable timing + memory\n"
      "  memory_monitor_batches: 10       # Verbose for first N batches\n"
      "  batch_size: 32                   # Affects timing significantly\n"
      "  num_workers: 4                   # DataLoader parallelism\n",
      "synthetic.yaml");
  ASSERT_TRUE(synthetic.ok()) << synthetic.error().message;
  const EpochMonitorOptions epoch = epoch_monitor_options(*synthetic);
  EXPECT_TRUE(epoch.enabled);
  EXPECT_EQ(epoch.verbose_batches, 10u);
  EXPECT_EQ(epoch.samples_per_batch, 32u);
  EXPECT_EQ(synthetic->num_workers, 4u);

  const auto physical = parse_monitor_config(
      "trainer_params:\n  enable_memory_monitoring: false\n  epochs: 50\n", "physical.yaml");
  ASSERT_TRUE(physical.ok()) << physical.error().message;
  EXPECT_EQ(physical->epochs, 50u);
  EXPECT_EQ(physical->memory_monitor_batches, 5u);
  EXPECT_FALSE(physical->batch_size);
  EXPECT_FALSE(epoch_monitor_options(*physical).enabled);
  EXPECT_FALSE(performance_monitor_options(*physical).enabled);
}

TEST(MonitorConfig, TakesBothDocumentsInOneFile) {
  const auto config = parse_monitor_config(
      "memory_monitor_batches: 3\ndevice: 1\nwarmup_batches: 2\nmax_records: 10\n"
      "profiling:\n  gpu_monitor_interval: 0.25\n  preset: production\n",
      "both.yaml");
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->memory_monitor_batches, 3u);
  EXPECT_EQ(performance_monitor_options(*config).device, 1);
  EXPECT_EQ(performance_monitor_options(*config).max_records, 10u);
  EXPECT_EQ(epoch_monitor_options(*config).warmup_batches, 2u);
  EXPECT_DOUBLE_EQ(config->profiling.gpu_monitor_interval, 0.25);
  EXPECT_FALSE(config->profiling.real_time_display);
  EXPECT_TRUE(parse_monitor_config("", "empty").ok());
}

TEST(MonitorConfig, RefusesWithPlaceAndRemedy) {
  EXPECT_EQ(error_of("trainer_params:\n  memory_monitor_batch: 5\n"),
            "trainer.yaml:2: unknown setting 'memory_monitor_batch'; did you mean "
            "'memory_monitor_batches'?");
  EXPECT_EQ(error_of("learning_rate_schedule: 1\n"),
            "trainer.yaml:1: unknown setting 'learning_rate_schedule'; docs/training.md lists "
            "them");
  EXPECT_EQ(error_of("enable_memory_monitoring: 3\n"),
            "trainer.yaml:1: enable_memory_monitoring: expected true or false, found '3'");
  EXPECT_EQ(error_of("batch_size: 0\n"),
            "trainer.yaml:1: batch_size: expected a whole number from 1 to 1000000000, found '0'");
  EXPECT_EQ(error_of("batch_size: -1\n"),
            "trainer.yaml:1: batch_size: expected a whole number from 1 to 1000000000, found '-1'");
  EXPECT_EQ(error_of("epochs: [1]\n"),
            "trainer.yaml:1: epochs: expected a whole number from 1 to 1000000000, found a list");
  EXPECT_EQ(error_of("device: 1\ntrainer_params:\n  device: 2\n"),
            "trainer.yaml:3: 'device' is given twice; first in line 1");
  EXPECT_EQ(error_of("trainer_params: 7\n"),
            "trainer.yaml:1: expected settings as `name: value`, found a word");
  EXPECT_EQ(error_of("trainer_params:\n  trainer_params:\n    device: 1\n")
                .find("trainer.yaml:2: 'trainer_params' is given twice"),
            0u);
  EXPECT_EQ(error_of("profiling:\n  gpu_monitr_interval: 1\n"),
            "trainer.yaml:2: unknown setting 'gpu_monitr_interval'; did you mean "
            "'gpu_monitor_interval'?");
}

TEST(MonitorConfig, LoadsAFile) {
  const testing::TempDir dir;
  std::ofstream(dir / "t.yaml") << "memory_monitor_batches: 7\n";
  EXPECT_EQ(load_monitor_config(dir / "t.yaml")->memory_monitor_batches, 7u);
  EXPECT_THAT(load_monitor_config(dir / "none.yaml").error().message, HasSubstr("none.yaml"));
}

}  // namespace
}  // namespace genscope
