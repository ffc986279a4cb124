#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/clock.h"
#include "probe/fake_probe.h"

namespace genscope::probe {
namespace {

using namespace std::chrono_literals;

// Waits, at most half a minute, for what a loaded machine may take its time over.
template <class Condition>
bool eventually(Condition condition) {
  for (int i = 0; i < 3000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

TEST(Sampler, ReadsOnItsOwnThreadAndOnceMoreAtTheEnd) {
  Sampler sampler({.fast_ns = 1'000'000});
  auto owned = std::make_unique<FakeProbe>();
  FakeProbe* const probe = owned.get();
  std::atomic<bool> elsewhere{false};
  const auto here = std::this_thread::get_id();
  probe->on_sample = [&](Tier, std::int64_t now, Board& board, FakeProbe& self) {
    if (std::this_thread::get_id() != here) elsewhere = true;
    board.set(self.gauge, static_cast<double>(now % 7));
  };
  sampler.add(std::move(owned));
  ASSERT_TRUE(sampler.start().ok());
  EXPECT_TRUE(eventually([&] { return probe->samples[0] > 5; }));
  EXPECT_TRUE(elsewhere);
  const int slow = probe->samples[2];
  sampler.stop();
  EXPECT_GE(probe->samples[2], slow + 1);
  EXPECT_GT(sampler.stats().ticks, 0u);
  sampler.stop();  // harmless
}

TEST(Sampler, ReadsATierOnDemand) {
  Sampler sampler({.fast_ns = 3'600'000'000'000});
  auto owned = std::make_unique<FakeProbe>();
  FakeProbe* const probe = owned.get();
  sampler.add(std::move(owned));
  ASSERT_TRUE(sampler.start().ok());
  sampler.request(Tier::on_demand);
  EXPECT_TRUE(eventually([&] { return probe->samples[3] == 1; }));
}

TEST(Sampler, TellsWhatDoesNotWork) {
  Sampler sampler;
  auto owned = std::make_unique<FakeProbe>();
  owned->state = {ProbeState::Kind::denied, "no right", "ask for it"};
  sampler.add(std::move(owned));
  ASSERT_TRUE(sampler.start().ok());
  const auto reports = sampler.reports();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].name, "fake");
  EXPECT_EQ(reports[0].state.kind, ProbeState::Kind::denied);
  EXPECT_EQ(reports[0].series, 2u);
}

TEST(Sampler, MayBeReadWhileItRuns) {
  Sampler sampler({.fast_ns = 200'000, .history = true});
  auto owned = std::make_unique<FakeProbe>();
  owned->on_sample = [](Tier, std::int64_t now, Board& board, FakeProbe& self) {
    board.set(self.gauge, static_cast<double>(now % 100));
    board.set(self.count, static_cast<double>(now));
    const ProcessRow row[1] = {};
    board.set_processes(self.entity, row);
  };
  sampler.add(std::move(owned));
  ASSERT_TRUE(sampler.start().ok());
  for (int i = 0; i < 300; ++i) {
    const Snapshot snapshot = sampler.snapshot();
    for (std::uint32_t series = 0; series < snapshot.series.size(); ++series) {
      sampler.history(series, 1, 20);
    }
    sampler.reports();
    sampler.stats();
  }
}

TEST(Registry, MakesProbesByNameAndKnowsWhatWasMeant) {
  for (const ProbeInfo& info : all_probes())
    EXPECT_TRUE(genscope::make_probe(info.name).ok()) << info.name;
  const auto wrong = genscope::make_probe("nvlm");
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message.find("did you mean 'nvml'"), std::string::npos);
}

}  // namespace
}  // namespace genscope::probe
