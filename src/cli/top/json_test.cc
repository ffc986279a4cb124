#include "cli/top/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/top/test_frame.h"

namespace genscope::cli::top {
namespace {

using Json = nlohmann::json;

Json document(Frame frame) {
  Tracker().complete(frame);
  const std::string text = frame_json(frame);
  EXPECT_EQ(text.find('\n'), text.size() - 1) << "one line, whatever names hold";
  return Json::parse(text);
}

TEST(TopJson, HasSystemProcessesAndGpusUnderMetricIds) {
  const Json json = document(usual_frame().frame);
  EXPECT_EQ(json["schema"], "genscope.top/1");
  EXPECT_EQ(json["system"]["host"], "box");
  EXPECT_EQ(json["system"]["cpu_busy_ratio"], 0.455);
  EXPECT_EQ(json["system"]["memory_used_bytes"], 17179869184u);
  EXPECT_EQ(json["system"]["per_second"]["disk_read_bytes"], 2048);
  ASSERT_EQ(json["gpus"].size(), 1u);
  EXPECT_EQ(json["gpus"][0]["busy_ratio"], 0.85);
  EXPECT_EQ(json["gpus"][0]["kind"], "gpu");
  ASSERT_EQ(json["processes"].size(), 3u);
  EXPECT_EQ(json["processes"][0]["pid"], 4300);
  EXPECT_EQ(json["processes"][0]["rss_bytes"], 2147483648u);
  EXPECT_EQ(json["trees"][0]["threads"], 34);
}

TEST(TopJson, UnknownIsNullWithAReason) {
  const Json json = document(usual_frame().frame);
  EXPECT_TRUE(json["gpus"][0]["power_watts"].is_null());
  EXPECT_EQ(json["gpus"][0]["absent"]["power_watts"], "not permitted");
  EXPECT_EQ(json["gpus"][0]["absent"]["clock_core_mhz"], "no probe reads it here");
  EXPECT_FALSE(json["gpus"][0]["absent"].contains("busy_ratio"));
  EXPECT_EQ(json["system"]["absent"]["net_send_bytes"], "short read");
  EXPECT_TRUE(json["system"]["swap_used_bytes"].is_null());
  EXPECT_EQ(json["absent"]["pressure_cpu_some_ns"], "kernel without PSI");
  EXPECT_TRUE(json["processes"][1]["gpu_memory_bytes"].is_null());
  EXPECT_FALSE(json["absent"].contains("gpu_memory_bytes"));
}

TEST(TopJson, AMachineWithNothingSaysWhy) {
  FrameBuilder made;
  made.probe("system", ProbeState::Kind::broken, "no /proc/stat")
      .probe("nvml", ProbeState::Kind::absent, "no libnvidia-ml.so.1")
      .probe("rapl", ProbeState::Kind::denied, "for root only");
  const Json json = document(made.frame);
  EXPECT_TRUE(json["gpus"].empty());
  EXPECT_TRUE(json["processes"].empty());
  EXPECT_TRUE(json["system"]["memory_total_bytes"].is_null());
  EXPECT_EQ(json["absent"]["memory_total_bytes"], "system: no /proc/stat");
  EXPECT_EQ(json["absent"]["busy_ratio"], "nvml: no libnvidia-ml.so.1");
  EXPECT_EQ(json["probes"][1]["state"], "absent");
}

TEST(TopJson, HostileNamesStayValid) {
  FrameBuilder made;
  const auto gpu = made.entity(EntityKind::gpu, "\xff\"id", "a\nb\x1b[31m\xc3");
  made.frame.snapshot.entities[gpu].facts = {{"id", "not the id"}, {"vendor", "\xfe"}};
  const Json json = document(made.frame);
  EXPECT_EQ(json["gpus"][0]["name"], "a\nb\x1b[31m\xef\xbf\xbd");
  EXPECT_EQ(json["gpus"][0]["id"], "\xef\xbf\xbd\"id");
}

TEST(TopJson, ShowsTheProgressOfARun) {
  FrameBuilder made;
  Progress::Process process;
  process.pid = 7;
  process.alive = true;
  process.stage = "denoise";
  process.steps_done = 3;
  process.steps_total = 20;
  made.frame.run = RunLine{"runs/a", {{process}}};
  const Json json = document(made.frame);
  EXPECT_EQ(json["run"]["path"], "runs/a");
  EXPECT_EQ(json["run"]["processes"][0]["stage"], "denoise");
  EXPECT_EQ(json["run"]["processes"][0]["steps_total"], 20);
  EXPECT_TRUE(json["run"]["processes"][0]["eta_seconds"].is_null());
  EXPECT_TRUE(json["run"]["processes"][0]["last_stage"].is_null());
}

}  // namespace
}  // namespace genscope::cli::top
