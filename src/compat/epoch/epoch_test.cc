// The epoch monitor: the lines of older monitors letter by letter, their known faults, what ours
// adds.
#include <genscope/compat/epoch_monitor.h>

#include <gmock/gmock.h>

#include <limits>
#include <thread>

#include "compat/memory/scripted.h"

namespace genscope {
namespace {

using compat::training::mebibytes;
using compat::training::Script;
using compat::training::ScriptedMemory;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Epochs : public ::testing::Test {
 protected:
  EpochMonitorOptions options() {
    EpochMonitorOptions o;
    o.memory = memory;
    o.clock = Script::clock;
    o.out = [this](std::string_view text) { printed += text; };
    return o;
  }
  static void batch(EpochPerformanceMonitor& monitor, std::uint64_t index, double seconds,
                    std::optional<double> loss = std::nullopt, double wait = 0) {
    Script::pass(wait);
    monitor.on_batch_start(index);
    Script::pass(seconds);
    monitor.on_batch_end(index, loss);
  }

  std::shared_ptr<ScriptedMemory> memory = std::make_shared<ScriptedMemory>();
  std::string printed;
};
using Originals004Epochs = Epochs;

TEST_F(Originals004Epochs, LinesAreTheDocuments) {
  EpochMonitorOptions o = options();
  o.verbose_batches = 2;
  EpochPerformanceMonitor monitor(o);
  memory->use(23.1);
  memory->cpu = mebibytes(1648.9);
  monitor.on_epoch_start();
  batch(monitor, 0, 0.538, 0.009458);
  memory->cpu = mebibytes(1659.6);
  batch(monitor, 1, 0.185, 0.016763);
  // 22 more, so that avg is 0.201 and min 0.082.
  batch(monitor, 2, 0.082);
  for (std::uint64_t i = 3; i < 24; ++i) batch(monitor, i, (0.201 * 24 - 0.805) / 21);
  memory->use(2880);
  memory->use(14.4);
  memory->reserved = mebibytes(3236);
  Script::now_ns -= 50'000'000;  // 24 times 0.201 is 4.824
  monitor.on_epoch_end();
  EXPECT_EQ(printed,
            "  Batch 0: 0.538s, GPU 23.1MB, CPU 1648.9MB, loss=0.009458\n"
            "  Batch 1: 0.185s, GPU 23.1MB, CPU 1659.6MB, loss=0.016763\n"
            "  Epoch end: 4.774s total, GPU 14.4MB, 3236MB reserved, peak 2880MB\n"
            "  Batch timing: avg=0.201s, min=0.082s, max=0.538s\n");
}

TEST_F(Originals004Epochs, WithoutAGpuNothingIsSaidOfOne) {
  memory->gpu_present = false;
  memory->cpu = mebibytes(100);
  EpochPerformanceMonitor monitor(options());
  monitor.on_epoch_start();
  batch(monitor, 0, 0.5);
  monitor.on_epoch_end();
  EXPECT_EQ(printed,
            "  Batch 0: 0.500s, CPU 100.0MB\n"
            "  Epoch end: 0.500s total\n"
            "  Batch timing: avg=0.500s, min=0.500s, max=0.500s\n");
  EXPECT_FALSE(monitor.get_statistics().epochs[0].gpu_peak_mb);
}

// The original: 3 epochs of 4 batches gave num_batches 4, num_epochs 3.
TEST_F(Originals004Epochs, StatisticsAreOverAllEpochs) {
  EpochPerformanceMonitor monitor(options());
  EXPECT_EQ(monitor.get_statistics().to_json(), "{}");
  for (int epoch = 0; epoch < 3; ++epoch) {
    monitor.on_epoch_start();
    for (std::uint64_t i = 0; i < 4; ++i) {
      batch(monitor, i, epoch == 0 && i == 0 ? 1.0 : 0.1 * (epoch + 1), 1.0 / (epoch + 1));
    }
    monitor.on_epoch_end();
  }
  const EpochStatistics s = monitor.get_statistics();
  EXPECT_EQ(s.num_batches, 12u);
  EXPECT_EQ(s.num_epochs, 3u);
  EXPECT_NEAR(*s.total_epoch_time, 3.3, 1e-9);
  EXPECT_NEAR(*s.avg_epoch_time, 1.1, 1e-9);
  EXPECT_NEAR(*s.total_batch_time, 3.3, 1e-9);
  EXPECT_NEAR(*s.avg_batch_time, 0.275, 1e-9);
  EXPECT_DOUBLE_EQ(*s.min_batch_time, 0.1);
  EXPECT_DOUBLE_EQ(*s.max_batch_time, 1.0);
  ASSERT_EQ(s.epochs.size(), 3u);
  EXPECT_NEAR(*s.epochs[2].avg_batch_time, 0.3, 1e-9);
  EXPECT_NEAR(*s.epochs[2].p50_batch_time, 0.3, 0.003);
  EXPECT_EQ(s.epochs[1].num_batches, 4u);
  EXPECT_DOUBLE_EQ(*s.epochs[1].last_loss, 0.5);
  EXPECT_DOUBLE_EQ(*s.min_loss, 1.0 / 3);
  const std::string json = s.to_json();
  for (const char* key :
       {"total_epoch_time", "avg_epoch_time", "total_batch_time", "avg_batch_time",
        "min_batch_time", "max_batch_time", "num_batches", "num_epochs"}) {
    EXPECT_THAT(json, HasSubstr("\"" + std::string(key) + "\":"));
  }
}

// The original's average and maximum held the first, slow batch.
TEST_F(Originals004Epochs, WarmUpIsToldApart) {
  EpochPerformanceMonitor monitor(options());
  monitor.on_epoch_start();
  batch(monitor, 0, 0.538);
  for (std::uint64_t i = 1; i < 20; ++i) batch(monitor, i, i % 2 == 0 ? 0.2 : 0.1);
  const EpochStatistics s = monitor.get_statistics();
  EXPECT_EQ(s.warmup_batches, 1u);
  EXPECT_DOUBLE_EQ(*s.warmup_time, 0.538);
  EXPECT_EQ(s.steady_batches, 19u);
  EXPECT_DOUBLE_EQ(*s.steady_max_batch_time, 0.2);
  EXPECT_DOUBLE_EQ(*s.max_batch_time, 0.538);
  EXPECT_DOUBLE_EQ(*s.variance_ratio, 2.0);
  EXPECT_FALSE(s.high_variance) << "exactly 2.0 is not above it";
  EXPECT_TRUE(s.outliers.empty());
  EXPECT_FALSE(s.total_epoch_time) << "no epoch has ended";
  batch(monitor, 20, 0.201);
  EXPECT_TRUE(monitor.get_statistics().high_variance);
}

TEST_F(Epochs, SlowBatchesAreNamed) {
  EpochPerformanceMonitor monitor(options());
  for (int epoch = 0; epoch < 2; ++epoch) {
    monitor.on_epoch_start();
    for (std::uint64_t i = 0; i < 200; ++i) {
      batch(monitor, i, epoch == 1 && (i == 50 || i == 7) ? 0.4 : 0.1);
    }
    monitor.on_epoch_end();
  }
  const auto outliers = monitor.get_statistics().outliers;
  ASSERT_EQ(outliers.size(), 2u);
  EXPECT_EQ(outliers[0].epoch, 1u);
  EXPECT_EQ(outliers[0].batch, 7u);
  EXPECT_EQ(outliers[1].batch, 50u);
  EXPECT_DOUBLE_EQ(outliers[1].seconds, 0.4);
  EXPECT_NEAR(outliers[1].ratio, 4, 0.04);
}

TEST_F(Epochs, DataLoadingAndSamplesAreRates) {
  EpochMonitorOptions o = options();
  o.samples_per_batch = 32;
  o.print = false;
  EpochPerformanceMonitor monitor(o);
  monitor.on_epoch_start();
  for (std::uint64_t i = 0; i < 10; ++i) batch(monitor, i, 0.06, std::nullopt, 0.04);
  monitor.on_epoch_end();
  Script::pass(100);  // between epochs nobody waits for data
  monitor.on_epoch_start();
  for (std::uint64_t i = 0; i < 10; ++i) batch(monitor, i, 0.06, std::nullopt, 0.04);
  const EpochStatistics s = monitor.get_statistics();
  EXPECT_NEAR(*s.data_loading_time, 0.8, 1e-9);
  EXPECT_NEAR(*s.data_loading_share, 0.4, 1e-9);
  EXPECT_TRUE(s.slow_data_loading);
  EXPECT_NEAR(*s.samples_per_second, 320, 1e-6);
  EXPECT_EQ(printed, "");
}

TEST_F(Epochs, PrintingIsNeitherBatchNorWaiting) {
  memory->cost_ns = 1'000'000'000;  // of each reading
  EpochPerformanceMonitor monitor(options());
  monitor.on_epoch_start();
  for (std::uint64_t i = 0; i < 3; ++i) batch(monitor, i, 0.1);
  monitor.on_epoch_end();
  const EpochStatistics s = monitor.get_statistics();
  EXPECT_DOUBLE_EQ(*s.max_batch_time, 0.1);
  EXPECT_DOUBLE_EQ(*s.data_loading_time, 0);
  EXPECT_DOUBLE_EQ(*s.total_epoch_time, 0.3);
}

TEST_F(Epochs, BatchesThatNeverEndAreCountedApart) {
  EpochPerformanceMonitor monitor(options());
  monitor.on_batch_end(0);  // never began
  monitor.on_epoch_end();
  monitor.on_epoch_start();
  monitor.on_batch_start(0);
  Script::pass(9);
  batch(monitor, 1, 0.1, std::numeric_limits<double>::quiet_NaN());
  batch(monitor, 2, 0.1, 0.5);
  monitor.on_batch_start(3);
  monitor.on_epoch_end();
  const EpochStatistics s = monitor.get_statistics();
  EXPECT_EQ(s.num_batches, 2u);
  EXPECT_EQ(s.unfinished_batches, 2u);
  EXPECT_EQ(s.losses_not_finite, 1u);
  EXPECT_DOUBLE_EQ(*s.first_loss, 0.5);
  EXPECT_DOUBLE_EQ(*s.max_batch_time, 0.1);
  monitor.reset();
  EXPECT_EQ(monitor.get_statistics().num_epochs, 0u);
}

TEST_F(Epochs, MemoryIsBoundedOverManyEpochs) {
  EpochMonitorOptions o = options();
  o.print = false;
  o.max_epochs = 10;
  EpochPerformanceMonitor monitor(o);
  for (int epoch = 0; epoch < 1000; ++epoch) {
    monitor.on_epoch_start();
    batch(monitor, 0, 0.1);
    monitor.on_epoch_end();
  }
  const EpochStatistics s = monitor.get_statistics();
  EXPECT_EQ(s.num_epochs, 1000u);
  ASSERT_EQ(s.epochs.size(), 10u);
  EXPECT_EQ(s.epochs[0].epoch, 990u);
}

TEST_F(Epochs, DisabledItDoesNothing) {
  EpochPerformanceMonitor monitor(false);
  monitor.on_epoch_start();
  batch(monitor, 0, 0.1);
  monitor.on_epoch_end();
  EXPECT_EQ(monitor.get_statistics().to_json(), "{}");
}

TEST_F(Epochs, StatisticsAreReadWhileTheLoopRuns) {
  EpochMonitorOptions o = options();
  o.print = false;
  EpochPerformanceMonitor monitor(o);
  std::thread reader([&] {
    std::uint64_t last = 0;
    while (last < 2000) {
      const std::uint64_t now = monitor.get_statistics().num_batches;
      EXPECT_GE(now, last);
      last = now;
    }
  });
  for (int epoch = 0; epoch < 20; ++epoch) {
    monitor.on_epoch_start();
    for (std::uint64_t i = 0; i < 100; ++i) batch(monitor, i, 0.1, 0.5);
    monitor.on_epoch_end();
  }
  reader.join();
}

}  // namespace
}  // namespace genscope
