// Frames for tests, put together by hand.
#pragma once

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "cli/top/frame.h"

namespace genscope::cli::top {

class FrameBuilder {
 public:
  Frame frame;

  std::uint32_t entity(EntityKind kind, std::string id, std::string name) {
    frame.snapshot.entities.push_back({kind, std::move(id), std::move(name), {}});
    return static_cast<std::uint32_t>(frame.snapshot.entities.size() - 1);
  }
  FrameBuilder& value(std::uint32_t entity, std::string_view metric, double value) {
    add(entity, metric).reading = ok(value);
    return *this;
  }
  FrameBuilder& rate(std::uint32_t entity, std::string_view metric, double value, double rate) {
    Snapshot::Series& series = add(entity, metric);
    series.reading = ok(value);
    series.rate = ok(rate);
    return *this;
  }
  FrameBuilder& missing(std::uint32_t entity, std::string_view metric, SampleStatus status,
                        const char* reason = nullptr) {
    add(entity, metric).reading = {0, status, reason, 1};
    return *this;
  }
  FrameBuilder& probe(std::string name, ProbeState::Kind kind, std::string reason) {
    ProbeReport report;
    report.name = std::move(name);
    report.state = {kind, std::move(reason), ""};
    frame.probes.push_back(std::move(report));
    return *this;
  }
  FrameBuilder& processes(std::uint32_t entity, std::vector<ProcessRow> rows) {
    frame.snapshot.processes.push_back({entity, std::move(rows)});
    return *this;
  }

  static Reading ok(double value, std::int64_t at_ns = 1) {
    return {value, SampleStatus::ok, nullptr, at_ns};
  }
  static ProcessRow row(std::uint32_t pid, const std::string& name) {
    ProcessRow row;
    row.pid = pid;
    row.start = pid + 1000;
    std::snprintf(row.name, sizeof(row.name), "%s", name.c_str());
    return row;
  }

 private:
  Snapshot::Series& add(std::uint32_t entity, std::string_view metric) {
    frame.snapshot.series.emplace_back();
    Snapshot::Series& series = frame.snapshot.series.back();
    series.entity = entity;
    series.metric = find_metric(metric);
    return series;
  }
};

inline constexpr double kGiB = 1024.0 * 1024 * 1024;

// A machine with everything known, one GPU that knows half, two processes.
inline FrameBuilder usual_frame() {
  FrameBuilder made;
  made.frame.interval_seconds = 1;
  made.frame.watched = "session 4242";
  const auto machine = made.entity(EntityKind::machine, "machine", "box");
  made.value(machine, "cpu_busy_ratio", 0.455)
      .value(machine, "cpu_count", 8)
      .value(machine, "load_1m", 1.5)
      .value(machine, "cpu_user_ratio", 0.3)
      .value(machine, "cpu_system_ratio", 0.1)
      .value(machine, "memory_total_bytes", 64 * kGiB)
      .value(machine, "memory_used_bytes", 16 * kGiB)
      .value(machine, "memory_available_bytes", 48 * kGiB)
      .rate(machine, "disk_read_bytes", 1e9, 2048)
      .rate(machine, "disk_write_bytes", 1e9, 0)
      .rate(machine, "net_receive_bytes", 1e9, 1024)
      .missing(machine, "net_send_bytes", SampleStatus::error, "short read")
      .missing(machine, "pressure_cpu_some_ns", SampleStatus::absent, "kernel without PSI");
  const auto gpu = made.entity(EntityKind::gpu, "GPU-1", "NVIDIA H100 80GB HBM3");
  made.value(gpu, "busy_ratio", 0.85)
      .value(gpu, "memory_used_bytes", 20 * kGiB)
      .value(gpu, "memory_total_bytes", 80 * kGiB)
      .missing(gpu, "power_watts", SampleStatus::not_permitted)
      .value(gpu, "temperature_celsius", 67)
      .value(gpu, "throttle_reasons", 4);
  const auto tree = made.entity(EntityKind::process_tree, "tree", "python");
  made.value(tree, "processes", 2).value(tree, "threads", 34);
  ProcessRow shell = FrameBuilder::row(4242, "bash");
  shell.rss_bytes = FrameBuilder::ok(4096);
  shell.cpu_ns = FrameBuilder::ok(1e6);
  ProcessRow python = FrameBuilder::row(4300, "python");
  python.rss_bytes = FrameBuilder::ok(2 * kGiB);
  python.cpu_ns = FrameBuilder::ok(5e9);
  made.processes(tree, {shell, python});
  ProcessRow on_gpu = FrameBuilder::row(4300, "python");
  on_gpu.gpu_memory_bytes = FrameBuilder::ok(20 * kGiB);
  ProcessRow stranger = FrameBuilder::row(99, "");
  stranger.visible = false;
  stranger.gpu_memory_bytes = {0, SampleStatus::not_permitted, nullptr, 1};
  made.processes(gpu, {on_gpu, stranger});
  made.probe("rapl", ProbeState::Kind::denied, "energy_uj is for root only");
  return made;
}

}  // namespace genscope::cli::top
