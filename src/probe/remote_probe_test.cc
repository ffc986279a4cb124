// The other process of these tests is a shell that prints what a WireWriter wrote.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "probe/test_board.h"
#include "probe/wire.h"
#include "testing/temp_dir.h"
#include "testing/units.h"
#include "trace/metrics.h"

namespace genscope::probe {
namespace {

using testing::kSecond;

std::string first_words(double watts) {
  WireWriter writer;
  writer.add_entity(0, {EntityKind::gpu, "GPU-1", "A GPU", {}});
  writer.add_series(5, 0, trace::metric("power_watts"), "its file");
  writer.add_reading(5, {watts, SampleStatus::ok, nullptr, 0});
  writer.add_state("nvml", {ProbeState::Kind::works, "", ""});
  return writer.out();
}

struct RemoteTest : ::testing::Test {
  // A process that says `words` and then does `then`.
  std::unique_ptr<Probe> start(const std::string& words, const std::string& then) {
    std::ofstream(dir / "words") << words;
    return make_remote_probe({"/bin/sh", "-c", "cat " + (dir / "words") + "; " + then},
                             20 * kSecond);
  }
  // Samples until `done` or the patience ends.
  template <class Done>
  bool sample_until(Probe& probe, Done done) {
    for (int i = 0; i < 2000; ++i, now += kSecond / 10) {
      probe.sample(Tier::fast, now, board);
      if (done()) return true;
      ::usleep(10'000);
    }
    return false;
  }
  SampleStatus power() const { return board.get("GPU-1", "power_watts").status; }

  testing::TempDir dir;
  TestBoard board;
  std::int64_t now = kSecond;
};

TEST_F(RemoteTest, TakesOverWhatTheOtherProcessReads) {
  const auto probe = start(first_words(250), "sleep 60");
  EXPECT_EQ(probe->open(board).kind, ProbeState::Kind::works);
  ASSERT_TRUE(sample_until(*probe, [&] { return power() == SampleStatus::ok; }));
  EXPECT_EQ(board.get("GPU-1", "power_watts").value, 250);
  EXPECT_EQ(board.find("GPU-1", "power_watts")->source, "its file");
}

TEST_F(RemoteTest, ReasonsOutliveTheProbe) {
  WireWriter writer;
  writer.add_entity(0, {EntityKind::gpu, "GPU-1", "A GPU", {}});
  writer.add_series(5, 0, trace::metric("power_watts"), "its file");
  writer.add_reading(
      5, {0, SampleStatus::not_permitted, "only for administrators, says the driver", 0});
  writer.add_state("nvml", {ProbeState::Kind::works, "", ""});
  auto probe = start(writer.out(), "sleep 60");
  probe->open(board);
  ASSERT_TRUE(sample_until(*probe, [&] { return power() == SampleStatus::not_permitted; }));
  probe.reset();
  EXPECT_STREQ(board.get("GPU-1", "power_watts").reason,
               "only for administrators, says the driver");
}

TEST_F(RemoteTest, ACrashLosesTheDevicesAndNothingElse) {
  const auto probe = start(first_words(250), "kill -SEGV $$");
  probe->open(board);
  ASSERT_TRUE(sample_until(*probe, [&] { return power() == SampleStatus::lost; }));
  EXPECT_STREQ(board.get("GPU-1", "power_watts").reason, "the process that reads it died");
  ASSERT_FALSE(board.events.empty());
  EXPECT_EQ(board.events[0].name, "probe_died");
  EXPECT_EQ(board.events[0].detail, "its process died by signal 11");
}

TEST_F(RemoteTest, StartsItAgainAndTheDeviceIsTheSame) {
  const auto probe = start(first_words(1), "test -e " + (dir / "again") + " && sleep 60; exit 3");
  probe->open(board);
  ASSERT_TRUE(sample_until(*probe, [&] { return power() == SampleStatus::lost; }));
  std::ofstream(dir / "words") << first_words(2);
  std::ofstream(dir / "again") << "yes";
  ASSERT_TRUE(sample_until(*probe, [&] { return power() == SampleStatus::ok; }));
  EXPECT_EQ(board.get("GPU-1", "power_watts").value, 2);
  EXPECT_EQ(board.entities.size(), 1u);
}

TEST_F(RemoteTest, NonsenseEndsIt) {
  const auto probe = start(first_words(1) + "this is not a message at all", "sleep 60");
  probe->open(board);
  ASSERT_TRUE(sample_until(*probe, [&] { return power() == SampleStatus::lost; }));
  EXPECT_STREQ(board.get("GPU-1", "power_watts").reason, "the process that reads it sent nonsense");
}

TEST_F(RemoteTest, AProgramThatIsNotThereIsBroken) {
  const auto probe = make_remote_probe({"/nonexistent/program"}, 0);
  const ProbeState state = probe->open(board);
  EXPECT_EQ(state.kind, ProbeState::Kind::broken);
  EXPECT_NE(state.reason.find("/nonexistent/program"), std::string::npos);
}

}  // namespace
}  // namespace genscope::probe
