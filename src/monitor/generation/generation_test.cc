#include <genscope/advise.h>
#include <genscope/generation_monitor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "inspect/read/craft.h"
#include "monitor/generation/ring.h"
#include "monitor/generation/scripted.h"
#include "probe/nvidia/test_rig.h"
#include "testing/temp_dir.h"

namespace genscope {
namespace {

using namespace monitor::scripted_time;
using ::testing::Contains;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<std::string> rules_of(const Advice& advice) {
  std::vector<std::string> ids;
  for (const Finding& finding : advice.findings) ids.push_back(finding.rule.id);
  return ids;
}

// --- document 000, and what its implementation gets wrong

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

// --- ours

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
  facts->set("fwd.per_step", 2.0);
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

// --- JSON

TEST(GenerationJson, ComesBackAsItWent) {
  const testing::TempDir dir;
  GenerationMonitor monitor(scripted());
  {
    ScopedGeneration generation = monitor.monitor_generation({.model_name = "a \"b\"\n\xff"});
    run_steps(generation, {0.5, 0.25});
  }
  monitor.start().fail("no memory");
  ASSERT_TRUE(monitor.export_metrics_to_json(dir / "m.json"));
  const auto read = load_generation_metrics(dir / "m.json");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->history.size(), 2U);
  const GenerationMetrics was = monitor.get_history()[0], is = read->history[0];
  EXPECT_EQ(is.id, was.id);
  EXPECT_EQ(is.status, was.status);
  EXPECT_EQ(is.total_generation_time, was.total_generation_time);
  EXPECT_EQ(is.generation_time_per_step, was.generation_time_per_step);
  EXPECT_EQ(is.step_time_p95, was.step_time_p95);
  EXPECT_EQ(is.image_resolution, was.image_resolution);
  EXPECT_EQ(is.timestamp, was.timestamp);
  EXPECT_EQ(is.gpu_memory_used_gb, std::nullopt);
  EXPECT_EQ(is.model_name, "a \"b\"\n\xEF\xBF\xBD");
  EXPECT_EQ(read->history[1].failure, "no memory");
  EXPECT_EQ(read->current_metrics->status, TargetStatus::failed);
  EXPECT_THAT(read->step_times, ElementsAre(DoubleNear(0.5, 1e-9), DoubleNear(0.25, 1e-9)));

  GenerationMonitor other(scripted());
  run(other, 3);
  ASSERT_TRUE(other.import_metrics_from_json(dir / "m.json"));
  ASSERT_EQ(other.get_history().size(), 3U);
  EXPECT_DOUBLE_EQ(other.get_history()[2].total_generation_time, 3);
  EXPECT_EQ(other.get_performance_summary().lifetime_failed, 1U);
}

TEST(GenerationJson, ReadsWhatDocument000Wrote) {
  const auto read = parse_generation_metrics(R"({
    "current_metrics": {"model_load_time": 0.0, "generation_time_per_step": 0.8,
      "total_generation_time": 16.0, "pipeline_setup_time": 0.0, "gpu_memory_used_gb": 0.0,
      "num_inference_steps": 20, "image_resolution": [1024, 1024], "batch_size": 1,
      "target_met": false, "target_generation_time": 5.0, "performance_score": 31.25,
      "architecture_type": "MMDiT", "model_name": "Qwen-Image-Edit", "torch_dtype": "float16",
      "device": "cpu", "timestamp": "2025-01-01T00:00:00", "gpu_name": "", "driver_version": ""},
    "performance_summary": {}, "export_timestamp": "2025-01-01T00:00:00"})",
                                             "old.json");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->current_metrics->status, TargetStatus::missed_2x);
  EXPECT_DOUBLE_EQ(read->current_metrics->generation_time_per_step.value(), 0.8);
  EXPECT_FALSE(read->current_metrics->gpu_memory_used_gb);  // its 0 means that there was no GPU
  EXPECT_FALSE(read->current_metrics->model_load_time);
}

TEST(GenerationJson, SaysWhatIsWrong) {
  const auto message = [](std::string_view json) {
    const auto read = parse_generation_metrics(json, "x.json");
    return read ? std::string("no error") : read.error().message;
  };
  EXPECT_EQ(message("{"), "x.json: not JSON");
  EXPECT_THAT(message("[]"), HasSubstr("no current_metrics"));
  EXPECT_EQ(message(R"({"current_metrics": 3})"), "x.json: current_metrics should be an object");
  EXPECT_EQ(message(R"({"current_metrics": null, "history": [{"total_generation_time": "x"}]})"),
            "x.json: history[0].total_generation_time should be a number");
  EXPECT_EQ(message(R"({"current_metrics": {"image_resolution": [1]}})"),
            "x.json: current_metrics.image_resolution should be two numbers");
  EXPECT_THAT(message(R"({"current_metrics": {"status": "great"}})"), HasSubstr("met, missed"));
  EXPECT_THAT(message(R"({"current_metrics": null, "step_times": [null]})"),
              HasSubstr("step_times"));
  GenerationMonitor monitor(scripted());
  EXPECT_EQ(monitor.import_metrics_from_json("/no/such/file").error().code, ErrorCode::not_found);
}

TEST(GenerationText, ObeysNoTerminal) {
  GenerationMetrics metrics;
  metrics.model_name = "evil\x1b[2J";
  EXPECT_THAT(to_text(metrics), HasSubstr("Model: evil?[2J (unknown)"));
}

// --- parts

TEST(Ring, KeepsTheLast) {
  monitor::Ring<int> ring(3);
  for (int i = 0; i < 5; ++i) ring.push(i);
  EXPECT_THAT(ring.items(), ElementsAre(2, 3, 4));
  ring.clear();
  ring.push(9);
  EXPECT_THAT(ring.items(), ElementsAre(9));
  monitor::Ring<int> none(0);
  none.push(1);
  EXPECT_TRUE(none.items().empty());
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
