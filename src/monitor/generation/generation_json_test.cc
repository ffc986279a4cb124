// Metrics as JSON, there and back, and as text.
#include <genscope/monitor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "monitor/generation/scripted.h"
#include "testing/temp_dir.h"

namespace genscope {
namespace {

using namespace monitor::scripted_time;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

}  // namespace
}  // namespace genscope
