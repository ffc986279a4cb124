// A probe that a test scripts: one entity, one gauge and one counter per tier.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "genscope/probe.h"

namespace genscope::probe {

class FakeProbe final : public Probe {
 public:
  static constexpr Metric kGauge{"test_level", "1", "A level", MetricKind::gauge, -1e9, 1e9};
  static constexpr Metric kCount{"test_count", "1", "A count", MetricKind::counter, 0, 1e18};

  std::function<void(Tier, std::int64_t, Board&, FakeProbe&)> on_sample;
  ProbeState state;
  std::string id = "fake";
  std::atomic<int> samples[kTiers] = {};
  std::atomic<int> opens{0};
  std::atomic<bool> rescan{false};
  std::uint32_t entity = 0, gauge = kNoSeries, count = kNoSeries;

  std::string_view name() const noexcept override { return "fake"; }
  ProbeState open(Board& board) override {
    opens++;
    rescan = false;
    entity = board.add_entity({EntityKind::other, id, "a fake", {{"key", "value"}}});
    gauge = board.add_series(entity, kGauge, Tier::fast, "the test");
    count = board.add_series(entity, kCount, Tier::normal, "the test");
    return state;
  }
  void sample(Tier tier, std::int64_t now_ns, Board& board) noexcept override {
    samples[static_cast<std::size_t>(tier)]++;
    if (on_sample) on_sample(tier, now_ns, board, *this);
  }
  bool wants_rescan() const noexcept override { return rescan; }
};

// Keeps what a sink is given.
class FakeSink final : public SampleSink {
 public:
  int entities = 0, series = 0;
  std::vector<Reading> readings;
  std::vector<std::string> events;
  void add_entity(std::uint32_t, const Entity&) noexcept override { entities++; }
  void add_series(std::uint32_t, std::uint32_t, const Metric&, std::string_view) noexcept override {
    series++;
  }
  void add_reading(std::uint32_t, const Reading& reading) noexcept override {
    readings.push_back(reading);
  }
  void add_event(std::uint32_t, std::string_view name, std::string_view) noexcept override {
    events.emplace_back(name);
  }
  void set_processes(std::uint32_t, std::span<const ProcessRow>) noexcept override {}
};

}  // namespace genscope::probe
