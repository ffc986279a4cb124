#include <gtest/gtest.h>

#include <fstream>

#include <genscope/compat/inferix.h>

#include "compat/inferix/energy.h"
#include "testing/temp_dir.h"

namespace genscope {
namespace {

class Inferix : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) {
    const std::filesystem::path path = dir_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }
  Result<InferixReport> read(const std::string& text) {
    return read_inferix_report(file("profiling_report_a.json", text));
  }
  std::string error_of(const std::string& text) {
    const Result<InferixReport> report = read(text);
    return report.ok() ? "" : report.error().message;
  }

  testing::TempDir dir_;
};

constexpr const char* kWhole = R"({
  "session_info": {"id": "s\u00e91", "start_time": 1000.0, "end_time": 1004.0, "duration": 4.0,
    "tags": {"rank": 1, "world_size": "4", "prompt": "a \"cat\""}, "generated_at": 1005.0},
  "summary": {"gpu": {"peak_memory_usage_mb": 9000.0, "avg_gpu_utilization": 50.0},
              "cpu": {"avg_cpu_usage": 25.0, "peak_memory_usage_mb": 2048}},
  "gpu_metrics": {"total_samples": 3, "timeline": [
    {"timestamp": 999.0, "memory_used_mb": 30000, "memory_total_mb": 80000, "utilization": 100, "temperature": 90, "power": 700},
    {"timestamp": 1001.0, "memory_used_mb": 1024, "memory_total_mb": 80000, "utilization": 80, "temperature": 60, "power": 300},
    {"timestamp": 1002.0, "memory_used_mb": 2048, "memory_total_mb": 80000, "utilization": NaN, "temperature": 61, "power": 310}],
    "power_analysis": {"total_energy_wh": 600}},
  "cpu_metrics": {"timeline": [{"timestamp": 1001.5, "cpu_usage": 12.5, "memory_used_mb": 1, "memory_total_mb": 2}]},
  "stage_analysis": {"total_stages": 2, "stages": {
    "vae_decode": {"total_time": 1.5, "call_count": 2, "min_time": 0.5, "max_time": 1.0, "percentage_of_total": 30},
    "denoise": {"total_time": 2.0, "call_count": 1, "percentage_of_total": 70}}},
  "diffusion_analysis": {"total_steps": 2, "steps": [{"computation_time_ms": 100}, {"computation_time_ms": 300}], "fps": 30},
  "block_analysis": {"blocks": [{"block_index": 0, "block_size": 3}, {"block_index": 1, "block_size": 3}]},
  "events": [{"name": "milestone", "timestamp": 1001.0, "data": {"a": [1, {"b": "]"}]}}],
  "recommendations": [{"category": "x"}]
})";

TEST_F(Inferix, AReportIsReadWithoutWhatItGetsWrong) {
  const Result<InferixReport> report = read(kWhole);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->session,
            "s\xC3\xA9"
            "1");
  EXPECT_EQ(report->rank, 1);
  EXPECT_EQ(report->world_size, 4);
  EXPECT_EQ(report->duration_seconds, 4.0);
  ASSERT_EQ(report->tags.size(), 3u);
  EXPECT_EQ(report->tags[2].second, "a \"cat\"");
  ASSERT_EQ(report->stages.size(), 2u);
  EXPECT_EQ(report->stages[0].name, "vae_decode");
  EXPECT_EQ(report->stages[0].total_seconds, 1.5);
  EXPECT_EQ(report->stages[0].calls, 2u);
  EXPECT_EQ(report->stages[1].min_seconds, std::nullopt);
  EXPECT_EQ(report->step_seconds, (std::vector<double>{0.1, 0.3}));
  EXPECT_EQ(report->frames, 6u);
  ASSERT_EQ(report->gpu.size(), 2u) << "the sample of the session before is left out";
  EXPECT_EQ(report->gpu[0].memory_used_bytes, 1024.0 * 1048576);
  EXPECT_EQ(report->gpu[1].busy_ratio, std::nullopt);
  EXPECT_EQ(report->cpu[0].busy_ratio, 0.125);
  EXPECT_TRUE(report->summary.empty()) << "it holds that sample too";
  ASSERT_EQ(report->notes.size(), 1u);
  EXPECT_EQ(report->notes[0], "1 GPU samples from outside the session left out");
  ASSERT_EQ(report->events.size(), 1u);
  EXPECT_EQ(report->events[0].data, R"({"a": [1, {"b": "]"}]})");
}

TEST_F(Inferix, WhatIsAbsentIsAbsent) {
  const Result<InferixReport> report = read(
      R"({"session_info": {"id": null, "end_time": null}, "summary": {}, "gpu_metrics": {},
          "stage_analysis": {"stages": {"a": {"call_count": 3}}}, "events": [],
          "diffusion_analysis": null})");
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->rank, std::nullopt);
  EXPECT_EQ(report->duration_seconds, std::nullopt);
  EXPECT_TRUE(report->stages.empty()) << "a stage without a time";
  EXPECT_EQ(report->frames, std::nullopt);
}

TEST_F(Inferix, SamplesOfNoGpuAreNoGpu) {
  const Result<InferixReport> report = read(
      R"({"session_info": {"start_time": 1}, "summary": {"gpu": {"peak_memory_usage_mb": 0}},
          "gpu_metrics": {"timeline": [{"timestamp": 2, "memory_used_mb": 0, "memory_total_mb": 0,
                                        "utilization": 0, "power": 0}]}})");
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->gpu.empty());
  EXPECT_TRUE(report->summary.empty());
}

TEST_F(Inferix, WrongTypesAndDamageAreNamed) {
  EXPECT_NE(error_of("").find("no JSON object"), std::string::npos);
  EXPECT_NE(error_of("hello").find("no JSON object"), std::string::npos);
  EXPECT_NE(error_of("[]").find("no JSON object"), std::string::npos);
  EXPECT_NE(error_of(R"({"a": 1})").find("has no session_info"), std::string::npos);
  EXPECT_NE(
      error_of(R"({"session_info": 3})").find(": session_info is a number, expected an object"),
      std::string::npos);
  EXPECT_NE(
      error_of(R"({"session_info": {}, "stage_analysis": {"stages": {"x": {"total_time": "1"}}}})")
          .find(": stage_analysis.stages.x.total_time is a text, expected a number"),
      std::string::npos);
  EXPECT_NE(error_of(R"({"session_info": {}, "events": {}})")
                .find(": events is an object, expected a list"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"session_info": {"id": "a")").find("is cut off"), std::string::npos);
  EXPECT_NE(error_of(R"({"session_info": {"id" "a"}})").find("a key without a colon"),
            std::string::npos);
  EXPECT_NE(error_of("{\"a\": " + std::string(100'000, '[')).find("nested deeper"),
            std::string::npos);
  EXPECT_FALSE(read_inferix_report(dir_ / "missing.json").ok());
}

TEST_F(Inferix, RawSamplesAreNoReport) {
  EXPECT_NE(error_of(R"({"session_id": "a", "gpu_data": [], "cpu_data": [], "saved_at": 1})")
                .find("raw samples of Inferix, not a report"),
            std::string::npos);
}

TEST_F(Inferix, TheRankComesFromTheFolderWhereTheTagsDoNotSayIt) {
  const std::string text = R"({"session_info": {"id": "a", "tags": {"rank": "unknown"}}})";
  const auto report = read_inferix_report(file("rank_12/profiling_report_b.json", text));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->rank, 12);
  EXPECT_EQ(rank_of_path("a/rank_3/b/rank_4/x.json"), 4);
  EXPECT_EQ(rank_of_path("a/rank_x/rank_/rank_-1/x"), std::nullopt);
}

TEST_F(Inferix, AReportBecomesARunOfWhatItReallyHolds) {
  const std::string path =
      file("profiling_report_c.json", R"({"session_info": {"id": "s", "start_time": 1000,
    "end_time": 1004, "duration": 4, "tags": {"rank": 2, "prompt": "x"}},
    "gpu_metrics": {"timeline": [{"timestamp": 1001, "memory_used_mb": 1, "memory_total_mb": 9, "power": 300}]},
    "stage_analysis": {"stages": {"vae": {"total_time": 1.5, "call_count": 2}}},
    "events": [{"name": "diffusion_step", "timestamp": 1002.5,
                "data": {"step": 3, "computation_time_ms": 80.5, "ok": true, "odd": [1], "none": null}},
               {"name": "far", "timestamp": 9e12, "data": {}}]})");
  EXPECT_TRUE(is_inferix_report(path));
  EXPECT_FALSE(is_inferix_report(file("trace.json", R"({"traceEvents": []})")));
  const Result<Imported> imported = import_inferix_report(path);
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  ASSERT_TRUE(write_trace(imported->trace, dir_ / "trace-1-0.gst").ok());
  const Result<Trace> trace = read_trace(dir_ / "trace-1-0.gst");
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace->process.rank, 2);
  ASSERT_EQ(trace->spans.size(), 1u) << "totals of stages are no spans";
  EXPECT_EQ(trace->kind(0), SpanKind::session);
  EXPECT_EQ(trace->spans.duration_ns[0], 4'000'000'000);
  ASSERT_EQ(trace->events.size(), 2u) << "what is centuries away is left out";
  std::string text;
  for (std::size_t i = 0; i < trace->event_args.size(); ++i) {
    text += trace->names[trace->event_args.key[i]].text + " ";
  }
  EXPECT_EQ(text, "name total_seconds calls step ms ok odd ");
  EXPECT_EQ(trace->events.at_ns[1] - trace->spans.begin_ns[0], 2'500'000'000);
  EXPECT_EQ(trace->counters.size(), 2u);
  EXPECT_EQ(trace->integrity.notes.size(), 2u);
}

TEST_F(Inferix, AFolderIsSearchedForRunsAndReports) {
  file("rank_1/profiling_report_b.json", "{}");
  file("rank_1/raw_profiling_data_b.json", "{}");
  file("rank_0/profiling_report_a.json", "{}");
  file("rank_0/other.json", "{}");
  file("node/run1/run.json", "{}");
  file("node/run1/trace-1-0.gst", "x");
  file("node/run1/trace-1-0.1.gst", "x");
  file("node/run1/trace-2-0.gst", "x");
  std::filesystem::create_directory_symlink(dir_.path(), dir_ / "node/circle");
  const Result<Recordings> all = find_recordings(dir_.path());
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->found.size(), 4u);
  EXPECT_EQ(all->found[0].segments.size(), 2u);
  EXPECT_EQ(all->found[0].traces, 2u);
  EXPECT_EQ(all->found[0].run_dir, dir_ / "node/run1");
  EXPECT_EQ(all->found[2].kind, Recording::Kind::inferix_report);
  EXPECT_EQ(all->found[3].rank, 1);
  ASSERT_EQ(all->skipped.size(), 2u);
  EXPECT_NE(all->skipped[1].find("raw samples"), std::string::npos);
  EXPECT_EQ(find_recordings(dir_ / "nowhere").error().code, ErrorCode::not_found);
  EXPECT_FALSE(read_recording(all->found[0]).ok());
}

TEST(SampledEnergy, ThreeHundredWattsForAMinuteAreFiveWattHours) {
  InferixReport report;
  report.duration_seconds = 60;
  for (int i = 0; i <= 120; ++i) {
    InferixReport::GpuSample sample;
    sample.at_seconds = 1000 + i * 0.5;
    sample.power_watts = 300;
    report.gpu.push_back(sample);
  }
  const compat::inferix::SampledEnergy energy = compat::inferix::sampled_energy(report);
  EXPECT_NEAR(*energy.joules / 3600, 5.0, 1e-9);
  EXPECT_EQ(energy.note, "");
  report.gpu.erase(report.gpu.begin() + 20, report.gpu.begin() + 80);
  const compat::inferix::SampledEnergy part = compat::inferix::sampled_energy(report);
  EXPECT_NEAR(*part.joules, 300 * 29.5, 1e-6) << "half a minute without samples is not guessed";
  EXPECT_EQ(part.note, "energy is of 29.5 of 60 s: samples cover no more");
  for (InferixReport::GpuSample& sample : report.gpu) sample.power_watts = 0;
  EXPECT_EQ(compat::inferix::sampled_energy(report).joules, std::nullopt) << "no sensor";
}

}  // namespace
}  // namespace genscope
