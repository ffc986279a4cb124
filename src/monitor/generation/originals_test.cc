// The calls of older generation monitors, one by one, and what those get wrong.
#include <genscope/advise.h>
#include <genscope/monitor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>

#include "monitor/generation/scripted.h"
#include "testing/temp_dir.h"

namespace genscope {
namespace {

using namespace monitor::scripted_time;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Originals000, ScoresAreThoseOfTheDocument) {
  EXPECT_DOUBLE_EQ(performance_score(2.4, 5), 100);
  EXPECT_NEAR(performance_score(6, 5), 83.33, 0.01);
  EXPECT_DOUBLE_EQ(performance_score(10, 5), 50);
  EXPECT_DOUBLE_EQ(performance_score(16, 5), 31.25);
  EXPECT_DOUBLE_EQ(performance_score(0, 5), 100);
  EXPECT_DOUBLE_EQ(performance_score(3, 0), 0);

  GenerationMonitor monitor(scripted());
  const GenerationMetrics fast = run(monitor, 2.4), slow = run(monitor, 10),
                          slowest = run(monitor, 16), fastest = run(monitor, 1);
  EXPECT_EQ(fast.status, TargetStatus::met);
  EXPECT_FALSE(fast.faster_than_target);
  EXPECT_EQ(slow.status, TargetStatus::missed);
  EXPECT_DOUBLE_EQ(slow.performance_score, 50);
  EXPECT_EQ(slowest.status, TargetStatus::missed_2x);
  EXPECT_FALSE(slowest.target_met);
  EXPECT_TRUE(fastest.faster_than_target);
}

// The document's own example, call by call.
TEST(Originals000, EveryDocumentedCall) {
  GenerationMonitorOptions options = scripted(0);
  options.target.high_seconds = 5.0;
  GenerationMonitor monitor(options);
  const auto [model, load_seconds] = monitor.measure_model_load_time([] {
    pass(12);
    return 42;
  });
  EXPECT_EQ(model, 42);
  EXPECT_DOUBLE_EQ(load_seconds, 12);
  {
    ScopedGeneration perf_monitor = monitor.monitor_generation({.model_name = "Qwen-Image",
                                                                .architecture_type = "MMDiT",
                                                                .num_steps = 20,
                                                                .width = 1024,
                                                                .height = 1024});
    for (int step = 0; step < 20; ++step) {
      perf_monitor.start_step_timing();
      pass(0.12);
      EXPECT_NEAR(perf_monitor.end_step_timing().value(), 0.12, 1e-9);
    }
  }
  const GenerationSummary summary = monitor.get_performance_summary();
  ASSERT_TRUE(summary.current_generation);
  EXPECT_DOUBLE_EQ(summary.current_generation->performance_score, 100);
  EXPECT_NEAR(summary.current_generation->total_generation_time, 2.4, 1e-9);
  EXPECT_NEAR(summary.current_generation->generation_time_per_step.value(), 0.12, 1e-9);
  EXPECT_EQ(summary.step_time.count, 20U);
  const std::string json = to_json(summary);
  for (const char* key : {"current_generation",
                          "total_time",
                          "per_step_time",
                          "target_met",
                          "performance_score",
                          "model_name",
                          "architecture",
                          "steps",
                          "resolution\": \"1024x1024\"",
                          "memory_usage",
                          "gpu_memory_gb\": null",
                          "gpu_utilization_percent",
                          "system_memory_gb",
                          "system_utilization_percent",
                          "hardware_info",
                          "gpu_name",
                          "gpu_total_memory_gb",
                          "device",
                          "driver_version",
                          "target_configuration",
                          "target_time",
                          "torch_dtype",
                          "historical_performance",
                          "total_generations",
                          "avg_generation_time",
                          "min_generation_time",
                          "max_generation_time",
                          "avg_performance_score",
                          "success_rate",
                          "step_performance",
                          "total_steps",
                          "avg_step_time",
                          "min_step_time",
                          "max_step_time"}) {
    EXPECT_THAT(json, HasSubstr("\"" + std::string(key))) << key;
  }
  EXPECT_THAT(to_text(*summary.current_generation),
              StartsWith("Generation Performance Summary - TARGET MET\n"
                         "   Model: Qwen-Image (MMDiT)\n"
                         "   Total Time: 2.400s (target: 5.0s)\n"
                         "   Per Step: 0.120s (20 steps)\n"
                         "   Performance Score: 100.0/100\n"
                         "   GPU Memory: not measured, "));

  monitor.start_timing();
  monitor.start_step_timing();
  pass(7);
  EXPECT_DOUBLE_EQ(monitor.end_step_timing().value(), 7);
  EXPECT_DOUBLE_EQ(monitor.end_timing().value(), 7);
  EXPECT_FALSE(monitor.end_timing());
  EXPECT_FALSE(monitor.end_step_timing());
  EXPECT_TRUE(monitor.validate_performance_target(5));
  EXPECT_FALSE(monitor.validate_performance_target(5.1));
  monitor.log_performance_metrics({{"clip_score", 0.31}});
  EXPECT_DOUBLE_EQ(monitor.get_current_metrics()->total_generation_time, 7);
  monitor.reset_metrics();
  EXPECT_FALSE(monitor.get_current_metrics());
  EXPECT_EQ(monitor.get_history().size(), 2U);
  monitor.clear_history();
  EXPECT_TRUE(monitor.get_history().empty());
}

TEST(Originals000, HelperFunctions) {
  GenerationMonitor monitor = create_mmdit_performance_monitor(3.0);
  EXPECT_DOUBLE_EQ(monitor.target().high_seconds, 3);
  Generation generation = monitor.start();
  EXPECT_EQ(generation.end().architecture_type, "MMDiT");
  ScopedGeneration quick = monitor_generation_performance("Qwen-Image", 4.0);
  const GenerationMetrics metrics = quick.end();
  EXPECT_EQ(metrics.num_inference_steps, 20U);
  EXPECT_EQ(metrics.image_resolution, (std::pair<std::uint64_t, std::uint64_t>(1024, 1024)));
  EXPECT_DOUBLE_EQ(metrics.target_generation_time, 4);
}

TEST(Originals000, OverlappingGenerationsKeepTheirOwnMetrics) {
  GenerationMonitor monitor(scripted());
  Generation slow = monitor.start({.model_name = "slow"});
  pass(0.1);
  Generation fast = monitor.start({.model_name = "fast"});
  slow.begin_step();
  fast.begin_step();
  pass(0.05);
  EXPECT_NEAR(fast.end_step().value(), 0.05, 1e-9);
  const GenerationMetrics first = fast.end();
  pass(0.15);
  EXPECT_NEAR(slow.end_step().value(), 0.2, 1e-9);
  const GenerationMetrics second = slow.end();
  EXPECT_NEAR(first.total_generation_time, 0.05, 1e-9);
  EXPECT_NEAR(second.total_generation_time, 0.3, 1e-9);
  const std::vector<GenerationMetrics> history = monitor.get_history();
  ASSERT_EQ(history.size(), 2U);
  EXPECT_EQ(history[0].model_name, "fast");
  EXPECT_EQ(history[1].model_name, "slow");
  EXPECT_NE(history[0].id, history[1].id);
}

TEST(Originals000, AGenerationThatThrowsIsAFailureWithScoreZero) {
  GenerationMonitor monitor(scripted());
  try {
    ScopedGeneration generation = monitor.monitor_generation();
    const auto step = generation.step();
    pass(0.5);
    throw std::runtime_error("out of memory");
  } catch (const std::runtime_error&) {
  }
  const GenerationMetrics metrics = monitor.get_current_metrics().value();
  EXPECT_EQ(metrics.status, TargetStatus::failed);
  EXPECT_FALSE(metrics.target_met);
  EXPECT_DOUBLE_EQ(metrics.performance_score, 0);
  EXPECT_EQ(metrics.failure, "an exception left its scope");
  run(monitor, 2);
  { const Generation dropped = monitor.start(); }
  const GenerationSummary summary = monitor.get_performance_summary();
  EXPECT_EQ(summary.failed_generations, 2U);
  EXPECT_NEAR(summary.success_rate.value(), 100.0 / 3, 1e-9);
  EXPECT_EQ(summary.generation_time.count, 1U);
  EXPECT_DOUBLE_EQ(summary.generation_time.mean.value(), 2);
}

TEST(Originals000, LoadTimeSurvives) {
  GenerationMonitor monitor(scripted());
  {
    LoadScope load = monitor.track_model_load("Qwen-Image");
    pass(30);
  }
  {
    LoadScope setup = monitor.track_pipeline_setup();
    pass(1.5);
    EXPECT_DOUBLE_EQ(setup.end(), 1.5);
    pass(9);
  }
  try {
    LoadScope broken = monitor.track_model_load();
    pass(2);
    throw std::runtime_error("no such file");
  } catch (const std::runtime_error&) {
  }
  for (int i = 0; i < 2; ++i) {
    const GenerationMetrics metrics = run(monitor, 1);
    EXPECT_DOUBLE_EQ(metrics.model_load_time.value(), 30);
    EXPECT_DOUBLE_EQ(metrics.pipeline_setup_time.value(), 1.5);
  }
}

TEST(Originals000, ZeroTimeBeforeDividesByNothing) {
  GenerationMonitor monitor(scripted(0));
  const GenerationMetrics before = run(monitor, 0);
  EXPECT_FALSE(before.generation_time_per_step);
  run(monitor, 2);
  const auto comparison = monitor.get_before_after_comparison(before);
  ASSERT_TRUE(comparison);
  EXPECT_FALSE(comparison->total_time_percent);
  EXPECT_FALSE(comparison->per_step_time_percent);
  EXPECT_FALSE(comparison->improvement_factor);
  EXPECT_FALSE(comparison->faster.value());
  EXPECT_THAT(to_json(*comparison), HasSubstr("\"total_time_percent\": null"));
}

TEST(Originals000, BeforeAndAfterAsInTheDocument) {
  GenerationMonitor monitor(scripted());
  EXPECT_FALSE(monitor.get_before_after_comparison({}));
  const GenerationMetrics before = run(monitor, 16);
  run(monitor, 2.4);
  const auto c = monitor.get_before_after_comparison(before);
  ASSERT_TRUE(c);
  EXPECT_NEAR(c->total_time_percent.value(), 85, 1e-6);
  EXPECT_NEAR(c->improvement_factor.value(), 6.667, 0.001);
  EXPECT_NEAR(c->performance_score_change, 68.75, 1e-6);
  EXPECT_TRUE(c->target_status_change);
  EXPECT_TRUE(c->meets_target_now);
  EXPECT_TRUE(c->significant_improvement);
  for (const char* key : {"before", "after", "improvement", "per_step_time_percent",
                          "target_status_change", "summary", "faster", "meets_target_now"}) {
    EXPECT_THAT(to_json(*c), HasSubstr("\"" + std::string(key) + "\"")) << key;
  }
}

TEST(Originals000, NoGpuMeansAbsentValuesAndNoGpuAdvice) {
  const testing::TempDir nothing;
  ::setenv("GENSCOPE_NVML_LIBRARY", (nothing / "libnvidia-ml.so.1").c_str(), 1);
  ::setenv("GENSCOPE_SYS_ROOT", nothing.path().c_str(), 1);
  GenerationMonitorOptions options = scripted();
  options.gpu_memory = true;
  GenerationMonitor monitor(options);
  ::unsetenv("GENSCOPE_NVML_LIBRARY");
  ::unsetenv("GENSCOPE_SYS_ROOT");
  const GenerationMetrics metrics = run(monitor, 16);
  EXPECT_FALSE(metrics.gpu_memory_used_gb);
  EXPECT_FALSE(metrics.gpu_memory_total_gb);
  EXPECT_FALSE(metrics.gpu_memory_utilization_percent);
  EXPECT_EQ(metrics.gpu_name, "");
  EXPECT_NE(metrics.gpu_absent, "");
  EXPECT_GT(metrics.system_memory_used_gb.value(), 0);
  EXPECT_GT(metrics.rss_peak_bytes.value(), 1e6);
  const Advice advice = monitor.diagnose(metrics);
  EXPECT_THAT(rules_of(advice), Contains("TARGET-2X"));
  for (const Finding& finding : advice.findings) {
    for (const auto& [fact, value] : finding.evidence) {
      EXPECT_THAT(fact, Not(StartsWith("gpu."))) << finding.rule.id;
      EXPECT_THAT(fact, Not(StartsWith("vram."))) << finding.rule.id;
    }
  }
}

}  // namespace
}  // namespace genscope
