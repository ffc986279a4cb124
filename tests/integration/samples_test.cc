// What a sampler reads goes into the trace and comes back as figures.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include <nlohmann/json.hpp>

#include <genscope/advise.h>
#include <genscope/analyze.h>
#include <genscope/probe.h>
#include <genscope/record.h>
#include <genscope/report.h>
#include <genscope/store.h>

#include "testing/temp_dir.h"

namespace genscope {
namespace {

using namespace std::chrono_literals;

struct Samples : ::testing::Test {
  SessionOptions options() const {
    SessionOptions options;
    options.run_dir = dir / "run";
    options.quiet = true;
    return options;
  }
  Analysis read() {
    const Result<genscope::Run> run = read_run(dir / "run");
    EXPECT_TRUE(run.ok()) << run.error().message;
    return analyze(*run);
  }
  static Reading good(double value) { return {value, SampleStatus::ok, nullptr, 1}; }

  testing::TempDir dir;
};

TEST_F(Samples, ComeBackAsSeriesOfTheirEntity) {
  {
    Session session("samples", options());
    const auto sink = make_recording_sink();
    sink->add_entity(0, {EntityKind::gpu, "GPU-1", "A GPU", {{"vendor", "acme"}, {"pci", "0:1"}}});
    sink->add_series(0, 0, *find_metric("power_watts"), "its file");
    sink->add_series(1, 0, *find_metric("fan_ratio"), "its fan");
    for (int i = 0; i < 50; ++i) {
      sink->add_reading(0, good(100 + i % 2));
      sink->add_reading(1, {0, SampleStatus::not_supported, "it has no fan", 1});
      std::this_thread::sleep_for(1ms);
    }
    counter("mine", 3);
    sink->add_event(0, "device_lost", "gone");
  }
  const Analysis analysis = read();
  ASSERT_EQ(analysis.telemetry.entities.size(), 1u);
  const EntityRow& gpu = analysis.telemetry.entities[0];
  EXPECT_EQ(gpu.entity.kind, EntityKind::gpu);
  EXPECT_EQ(gpu.fact("vendor"), "acme");
  ASSERT_NE(gpu.find("power_watts"), nullptr);
  EXPECT_EQ(gpu.find("power_watts")->count, 50u);
  EXPECT_EQ(gpu.find("power_watts")->source, "its file");
  EXPECT_EQ(gpu.value("power_watts", &SeriesRow::max), 101);
  EXPECT_NEAR(*gpu.value("power_watts", &SeriesRow::mean), 100.5, 0.3);
  ASSERT_NE(gpu.find("fan_ratio"), nullptr) << "no value is a fact too";
  EXPECT_EQ(gpu.find("fan_ratio")->status, SampleStatus::not_supported);
  EXPECT_EQ(gpu.find("fan_ratio")->reason, "it has no fan");
  EXPECT_FALSE(gpu.value("fan_ratio", &SeriesRow::max));
  ASSERT_EQ(analysis.counters.size(), 1u) << "samples are not the user's counters";
  EXPECT_EQ(analysis.counters[0].name, "mine");
  ASSERT_EQ(analysis.telemetry.events.size(), 1u);
  EXPECT_EQ(analysis.telemetry.events[0].name, "device_lost");
}

TEST_F(Samples, GiveEnergyToTheDeviceAndToStages) {
  {
    Session session("samples", options());
    const auto sink = make_recording_sink();
    sink->add_entity(0, {EntityKind::gpu, "GPU-1", "A GPU", {}});
    sink->add_series(0, 0, *find_metric("power_watts"), "its file");
    const auto sample = [&](int times) {
      for (int i = 0; i < times; ++i) {
        sink->add_reading(0, good(200));
        std::this_thread::sleep_for(2ms);
      }
    };
    sample(20);
    {
      Stage stage("denoise");
      sample(40);
    }
    { Stage stage("short"); }
    sample(20);
  }
  const Analysis analysis = read();
  const EntityRow& gpu = analysis.telemetry.entities.at(0);
  ASSERT_TRUE(gpu.energy && gpu.energy->joules);
  EXPECT_EQ(gpu.energy->method, EnergyMethod::integrated);
  EXPECT_NEAR(*gpu.energy->joules, 200 * gpu.energy->covered_seconds, 1e-6);
  for (const StageRow& row : analysis.stages) {
    if (row.name == "denoise") {
      ASSERT_TRUE(row.energy_joules);
      // On a loaded machine readings come late, and a gap counts for nothing.
      EXPECT_GT(*row.energy_joules, 0);
      EXPECT_LE(*row.energy_joules, 200 * static_cast<double>(row.total_ns) * 1e-9 * 1.001);
    }
    if (row.name == "short") {
      EXPECT_FALSE(row.energy_joules) << "shorter than three readings";
    }
  }
}

TEST_F(Samples, OfProcessesKeepTheirMost) {
  {
    Session session("samples", options());
    const auto sink = make_recording_sink();
    sink->add_entity(0, {EntityKind::process_tree, "tree", "the tree", {}});
    ProcessRow row;
    row.pid = 42;
    std::strcpy(row.name, "python3");
    for (int i = 1; i <= 1000; ++i) {
      row.cpu_ns = good(i * 1e7);
      row.rss_bytes = good(1e8);
      sink->set_processes(0, std::span(&row, 1));
    }
  }
  const Result<genscope::Run> run = read_run(dir / "run");
  ASSERT_TRUE(run.ok());
  EXPECT_LT(run->traces.at(0).events.size(), 50u) << "told when it grew, not each time";
  const Analysis analysis = analyze(*run);
  ASSERT_EQ(analysis.telemetry.processes.size(), 1u);
  EXPECT_EQ(analysis.telemetry.processes[0].name, "python3");
  EXPECT_GT(*analysis.telemetry.processes[0].cpu_ns, 7e9);
  EXPECT_FALSE(analysis.telemetry.processes[0].gpu_memory_bytes);
}

TEST_F(Samples, OfAnAllocatorAreTakenApartAtThePeak) {
  {
    Session session("samples", options());
    allocator_stats({.device = "cuda:0",
                     .requested_bytes = 700,
                     .allocated_bytes = 800,
                     .active_bytes = 850,
                     .reserved_bytes = 2000,
                     .inactive_split_bytes = 150,
                     .retries = 1,
                     .ooms = 0});
    allocator_stats({.device = "cuda:0",
                     .requested_bytes = 1,
                     .allocated_bytes = 2,
                     .active_bytes = 3,
                     .reserved_bytes = 4,
                     .inactive_split_bytes = 0,
                     .retries = 3,
                     .ooms = {}});
  }
  const Analysis analysis = read();
  EXPECT_TRUE(analysis.counters.empty());
  ASSERT_EQ(analysis.telemetry.allocators.size(), 1u);
  const AllocatorRow& row = analysis.telemetry.allocators[0];
  EXPECT_EQ(row.device, "cuda:0");
  EXPECT_EQ(row.reserved_bytes, 2000);
  EXPECT_EQ(row.retries, 3);
  EXPECT_EQ(row.ooms, 0);
  EXPECT_EQ(row.parts.cache_slack_bytes, 1200);
  EXPECT_EQ(row.parts.rounding_bytes, 100);
  EXPECT_EQ(row.parts.pending_free_bytes, 50);
  EXPECT_EQ(row.parts.pinned_bytes, 150);
  EXPECT_EQ(row.parts.releasable_bytes, 1000);
  EXPECT_FALSE(row.parts.outside_bytes) << "no driver told what the process holds";
}

TEST_F(Samples, WithoutSplitFiguresSayNothingOfFragmentation) {
  AllocatorRow row;
  row.reserved_bytes = 10;
  row.allocated_bytes = 4;
  const AllocatorParts parts = take_apart(row, 25);
  EXPECT_EQ(parts.cache_slack_bytes, 6);
  EXPECT_FALSE(parts.pinned_bytes);
  EXPECT_FALSE(parts.releasable_bytes);
  EXPECT_EQ(parts.outside_bytes, 15);
}

TEST_F(Samples, OfASamplerAreInTheTraceOfItsProcess) {
  {
    Session session("samples", options());
    const auto sink = make_recording_sink();
    Sampler sampler({.fast_ns = 2'000'000, .sink = sink.get()});
    ASSERT_TRUE(sampler.start().ok());
    std::this_thread::sleep_for(50ms);
    sampler.stop();
  }
  const Analysis analysis = read();
  const EntityRow* const own = analysis.telemetry.first(EntityKind::sampler);
  ASSERT_NE(own, nullptr);
  ASSERT_TRUE(analysis.recorder.probe_cpu_ns);
  EXPECT_GT(*analysis.recorder.probe_cpu_ns, 0);
}

TEST_F(Samples, WhatStartingTheProbesTookIsNotTheCostOfSampling) {
  {
    Session session("samples", options());
    const auto sink = make_recording_sink();
    sink->add_entity(0, {EntityKind::sampler, "genscope", "a sampler", {}});
    sink->add_series(0, 0, *find_metric("probe_cpu_ns"), "its clock");
    sink->add_reading(0, good(5e8));  // half a second to open the probes
    std::this_thread::sleep_for(1s);  // less has no share
    sink->add_reading(0, good(5e8 + 1000));
  }
  const Analysis analysis = read();
  EXPECT_GT(analysis.recorder.probe_cpu_ns, 500'000'000);
  ASSERT_TRUE(analysis.recorder.probe_steady_ratio);
  EXPECT_GT(*analysis.recorder.probe_steady_ratio, 0);
  EXPECT_LE(*analysis.recorder.probe_steady_ratio, 1000 / 1e9);
}

TEST_F(Samples, AMetricOfOnesOwnKeepsItsUnitInEveryOutput) {
  static constexpr Metric kLength{"queue_length",    "requests", "Requests that wait",
                                  MetricKind::gauge, 0,          1e6};
  const auto length_of = [](const Progress& progress) {
    for (const Progress::Process& process : progress.processes) {
      for (const Progress::Value& value : process.values) {
        if (value.metric != nullptr && value.metric->id == "queue_length") return value;
      }
    }
    return Progress::Value{};
  };
  {
    Session session("samples", options());
    const auto sink = make_recording_sink();
    sink->add_entity(0, {EntityKind::other, "queue", "work queue", {}});
    sink->add_series(0, 0, kLength, "the queue itself");
    sink->add_reading(0, good(4));
    counter("queue/depth", 5);  // of nobody's metric: the program's own counter
    RunFollower follower(dir / "run");
    const Progress::Value live = length_of(follower.poll());
    ASSERT_NE(live.metric, nullptr);
    EXPECT_EQ(live.metric->unit, "requests");
    EXPECT_EQ(live.entity, "queue");
    EXPECT_EQ(live.value, 4);
  }
  const Result<genscope::Run> run = read_run(dir / "run");
  ASSERT_TRUE(run.ok()) << run.error().message;
  const WholeRun whole = whole_of(*run);
  ASSERT_EQ(whole.analysis.counters.size(), 1u);
  EXPECT_EQ(whole.analysis.counters[0].name, "queue/depth");
  std::string json, text;
  report_json(whole.run, whole.analysis, whole.advice, [&](std::string_view s) { json += s; });
  report_text(whole.run, whole.analysis, whole.advice, {}, [&](std::string_view s) { text += s; });
  const auto own = nlohmann::json::parse(json)["own_metrics"];
  ASSERT_EQ(own.size(), 1u);
  EXPECT_EQ(own[0]["metric"], "queue_length");
  EXPECT_EQ(own[0]["unit"], "requests");
  EXPECT_EQ(own[0]["max"], 4);
  EXPECT_EQ(own[0]["description"], "Requests that wait");
  EXPECT_NE(text.find("Own metrics"), std::string::npos) << text;
  EXPECT_NE(text.find("requests"), std::string::npos) << text;
}

}  // namespace
}  // namespace genscope
