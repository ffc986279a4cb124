#include <genscope/advise.h>
#include <genscope/monitor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <thread>

#include "inspect/read/craft.h"
#include "monitor/generation/scripted.h"
#include "probe/nvidia/test_rig.h"
#include "testing/temp_dir.h"

namespace genscope {
namespace {

using namespace monitor::scripted_time;
using ::testing::Contains;
using ::testing::Not;

TEST(GenerationMonitor, ReadsTheGpuThroughTheProbes) {
  probe::nvml::TestRig rig(probe::nvml::healthy(1, "* memory.used 80000000000\n"));
  ::setenv("GENSCOPE_NVML_LIBRARY", rig.options.nvml_library.c_str(), 1);
  ::setenv("GENSCOPE_SYS_ROOT", rig.options.sys_root.c_str(), 1);
  GenerationMonitorOptions options = scripted();
  options.gpu_memory = true;
  {
    GenerationMonitor monitor(options);
    ::unsetenv("GENSCOPE_NVML_LIBRARY");
    ::unsetenv("GENSCOPE_SYS_ROOT");
    const GenerationMetrics metrics = run(monitor, 6);
    EXPECT_EQ(metrics.gpu_absent, "");
    EXPECT_EQ(metrics.gpu_name, "NVIDIA H100 80GB HBM3");
    EXPECT_EQ(metrics.driver_version, "570.86.15");
    EXPECT_NEAR(metrics.gpu_memory_used_gb.value(), 80, 1e-6);
    EXPECT_NEAR(metrics.gpu_memory_total_gb.value(), 85.52, 0.01);
    EXPECT_NEAR(metrics.gpu_memory_utilization_percent.value(), 93.5, 0.1);
    EXPECT_THAT(rules_of(monitor.diagnose(metrics)), Contains("MEM-HIGH"));
  }
}

TEST(GenerationMonitor, AProgramMayTellItsAllocatorsPeak) {
  GenerationMonitor monitor(scripted());
  Generation generation = monitor.start();
  generation.note_gpu_memory(3'000'000'000);
  generation.note_gpu_memory(2'000'000'000);
  EXPECT_DOUBLE_EQ(generation.end().gpu_memory_used_gb.value(), 3);
}

TEST(GenerationMonitor, KnowsArchitecturesByNameByFileAndAsGiven) {
  GenerationMonitor monitor(scripted());
  const auto ended = [&](const GenerationSettings& settings) {
    return monitor.start(settings).end();
  };
  EXPECT_EQ(ended({.model_name = "Qwen-Image-Edit"}).architecture_type, "MMDiT");
  EXPECT_EQ(ended({.model_name = "Qwen-Image-Edit"}).model_architecture, "qwen_image");
  EXPECT_EQ(ended({.model_name = "SDXL"}).architecture_type, "UNet");
  EXPECT_EQ(ended({.model_name = "my own net"}).architecture_type, "");
  EXPECT_EQ(ended({.model_name = "SDXL", .architecture_type = "DiT"}).architecture_type, "DiT");

  const testing::TempDir dir;
  inspect::craft::write(
      dir / "m.safetensors",
      inspect::craft::safetensors(
          R"({"double_blocks.0.img_attn.norm.key_norm.scale":)"
          R"({"dtype":"BF16","shape":[16],"data_offsets":[0,32]},)"
          R"("img_in.weight":{"dtype":"BF16","shape":[2,64],"data_offsets":[32,288]},)"
          R"("txt_in.weight":{"dtype":"BF16","shape":[2,2],"data_offsets":[288,296]}})",
          296));
  GenerationMonitorOptions options = scripted();
  options.generation.model_name.clear();
  options.model_path = dir / "m.safetensors";
  GenerationMonitor of_files(options);
  const GenerationMetrics metrics = of_files.start().end();
  EXPECT_EQ(of_files.start({.model_name = "SDXL"}).end().architecture_type, "UNet");
  EXPECT_EQ(metrics.architecture_type, "MMDiT");
  EXPECT_EQ(metrics.model_architecture, "flux");
  EXPECT_NE(metrics.model_name, "");
}

TEST(GenerationMonitor, AdvisesWhenTheTargetIsMissed) {
  std::vector<std::string> said;
  GenerationMonitorOptions options = scripted(50);
  options.on_miss = [&](const GenerationMetrics& metrics, const Advice& advice) {
    EXPECT_FALSE(metrics.target_met);
    said = rules_of(advice);
  };
  auto facts = std::make_shared<Facts>();
  facts->set("set.attn_processor", std::string("AttnProcessor2_0"));
  facts->set("utilisation.forwards_per_step", 2.0);
  facts->set("set.reference_tokens", 0.0);
  options.generation.facts = facts;
  GenerationMonitor monitor(options);
  run(monitor, 4);
  EXPECT_TRUE(said.empty());  // it met the target
  monitor.start({.model_name = "Qwen-Image-Edit"});
  EXPECT_THAT(said, Contains("RUN-FAILED"));  // dropped
  Generation generation = monitor.start({.model_name = "Qwen-Image-Edit"});
  pass(16);
  generation.end();
  for (const char* rule : {"TARGET-2X", "ATT-PROC", "CFG-2X", "MODEL-EDIT", "STEP-MANY"}) {
    EXPECT_THAT(said, Contains(rule));
  }
  EXPECT_THAT(said, Not(Contains("RUN-FAILED")));
}

TEST(GenerationMonitor, KnowsUNetsAndTheDefaultGuidance) {
  GenerationMonitor monitor(scripted());
  auto facts = std::make_shared<Facts>();
  facts->set("set.attn_processor", std::string("AttnProcessor"));
  Generation unet = monitor.start({.model_name = "sdxl", .facts = facts});
  pass(6);
  const Advice advice = monitor.diagnose(unet.end());
  EXPECT_THAT(rules_of(advice), Contains("ATT-PROC-UNET"));
  EXPECT_THAT(rules_of(advice), Contains("CFG-DEFAULT"));
  EXPECT_THAT(rules_of(advice), Not(Contains("ATT-PROC")));
}

TEST(GenerationMonitor, SummarisesTheLastGenerationsOnly) {
  GenerationMonitorOptions options = scripted();
  options.history = 10;
  options.step_history = 30;
  GenerationMonitor monitor(options);
  for (int i = 0; i < 1000; ++i) {
    Generation generation = monitor.start();
    run_steps(generation, std::vector<double>(20, 0.01 * (i >= 990 ? 1 + i - 990 : 1)));
    generation.end();
  }
  const GenerationSummary summary = monitor.get_performance_summary();
  EXPECT_EQ(summary.total_generations, 10U);
  EXPECT_EQ(summary.lifetime_generations, 1000U);
  EXPECT_EQ(summary.step_time.count, 30U);
  EXPECT_NEAR(summary.generation_time.min.value(), 0.2, 1e-9);
  EXPECT_NEAR(summary.generation_time.max.value(), 2.0, 1e-9);
  EXPECT_NEAR(summary.generation_time.p50.value(), 1.1, 1e-9);
  EXPECT_NEAR(summary.generation_time.p95.value(), 1.91, 1e-9);
  EXPECT_NEAR(summary.step_time.min.value(), 0.09, 1e-9);
  EXPECT_DOUBLE_EQ(summary.success_rate.value(), 100);
}

TEST(GenerationMonitor, TellsWhereTheScoreGoes) {
  GenerationMonitor monitor(scripted());
  for (int i = 0; i < 8; ++i) run(monitor, 5.0 / (1 - 0.1 * i));
  const ScoreTrend trend = monitor.get_performance_summary().score_trend.value();
  EXPECT_NEAR(trend.per_generation, -10, 1e-6);
  EXPECT_FALSE(trend.flat());
}

TEST(GenerationMonitor, KeepsTheStepsOfALongGenerationInBounds) {
  GenerationMonitorOptions options = scripted(5000);
  options.step_history = 100;
  GenerationMonitor monitor(options);
  Generation generation = monitor.start();
  run_steps(generation, {3.0});
  for (int i = 0; i < 4999; ++i) run_steps(generation, {i < 4900 ? 0.001 : 0.002});
  const GenerationMetrics metrics = generation.end();
  EXPECT_EQ(metrics.steps_measured, 5000U);
  EXPECT_DOUBLE_EQ(metrics.first_step_time.value(), 3);
  EXPECT_DOUBLE_EQ(metrics.step_time_max.value(), 3);
  EXPECT_NEAR(metrics.step_time_p50.value(), 0.002, 1e-9);  // of the last 100
  EXPECT_NEAR(monitor.get_performance_summary().step_time.min.value(), 0.001, 1e-9);
}

TEST(GenerationMonitor, AnEndedHandleIgnoresEverything) {
  GenerationMonitor monitor(scripted());
  Generation generation = monitor.start();
  generation.end();
  EXPECT_FALSE(generation.running());
  generation.begin_step();
  EXPECT_FALSE(generation.end_step());
  EXPECT_EQ(generation.end().id, 0U);
  EXPECT_EQ(generation.progress().steps_done, 0U);
  EXPECT_EQ(monitor.get_history().size(), 1U);
  Generation moved = monitor.start();
  generation = std::move(moved);
  generation = monitor.start();  // the other is abandoned
  EXPECT_EQ(monitor.get_performance_summary().failed_generations, 1U);
  generation.end();
}

TEST(GenerationMonitor, OutlivesItsHandlesAndTheyIt) {
  Generation generation;
  {
    GenerationMonitor monitor(scripted());
    generation = monitor.start();
  }
  pass(2);
  EXPECT_DOUBLE_EQ(generation.end().total_generation_time, 2);
}

// Ten minutes of each thread's time; some generations end on another thread, some throw.
TEST(GenerationMonitor, Soak) {
  constexpr int kThreads = 8;
  constexpr std::int64_t kTenMinutes = 600'000'000'000;
  GenerationMonitorOptions options = scripted(20);
  std::atomic<std::uint64_t> warnings{0}, ended{0};
  options.on_early_warning = [&](const EarlyWarning&) { warnings++; };
  GenerationMonitor monitor(options);
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    while (!stop) {
      const GenerationSummary summary = monitor.get_performance_summary();
      EXPECT_LE(summary.total_generations, options.history);
      monitor.get_history();
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const std::int64_t begin = t_now;
      for (int n = 0; t_now - begin < kTenMinutes; ++n) {
        const double step = 0.05 * (t + 1);  // 1 to 8 s a generation
        try {
          ScopedGeneration generation = monitor.monitor_generation();
          run_steps(generation, std::vector<double>(20, step));
          if (n % 7 == 0) throw std::runtime_error("once in a while");
          const GenerationMetrics metrics = generation.end();
          EXPECT_NEAR(metrics.total_generation_time, 20 * step, 1e-6);
          EXPECT_EQ(metrics.target_met, t < 5);
        } catch (const std::runtime_error&) {
        }
        ended++;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  stop = true;
  reader.join();
  const GenerationSummary summary = monitor.get_performance_summary();
  EXPECT_EQ(summary.lifetime_generations, ended.load());
  EXPECT_EQ(summary.total_generations, options.history);
  EXPECT_EQ(summary.step_time.count, options.step_history);
  EXPECT_GT(warnings.load(), 0U);
}

}  // namespace
}  // namespace genscope
