// A session starts the probes that its options or its settings name.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include <genscope/analyze.h>
#include <genscope/record.h>
#include <genscope/store.h>

#include "testing/sanitizer.h"
#include "testing/temp_dir.h"

namespace genscope {
namespace {

using namespace std::chrono_literals;

struct SessionProbes : ::testing::Test {
  Analysis read(const std::string& path) {
    const Result<genscope::Run> run = read_run(path);
    EXPECT_TRUE(run.ok()) << run.error().message;
    return run.ok() ? analyze(*run) : Analysis();
  }
  SessionOptions options() const {
    SessionOptions options;
    options.run_dir = dir / "run";
    options.quiet = true;
    return options;
  }
  testing::TempDir dir;
};

TEST_F(SessionProbes, SampleThisProcessIntoItsTrace) {
  SessionOptions with = options();
  with.probes = {"process", "system"};
  with.probe_interval_seconds = 0.01;
  {
    Session session("probes", with);
    std::this_thread::sleep_for(100ms);
  }
  const Analysis analysis = read(dir / "run");
  const EntityRow* const tree = analysis.telemetry.first(EntityKind::process_tree);
  ASSERT_NE(tree, nullptr);
  ASSERT_TRUE(tree->value("rss_bytes", &SeriesRow::max));
  EXPECT_GT(*tree->value("rss_bytes", &SeriesRow::max), 1e6);
  EXPECT_GT(*tree->value("cpu_ns", &SeriesRow::max), 0);
  const EntityRow* const machine = analysis.telemetry.first(EntityKind::machine);
  ASSERT_NE(machine, nullptr);
  EXPECT_TRUE(machine->value("memory_total_bytes", &SeriesRow::last));
  EXPECT_TRUE(analysis.recorder.probe_cpu_ns);
}

using Originals = SessionProbes;

// One kept the samples of the first run for the report of the second.
TEST_F(Originals, SamplesOfOneRunAreNeverInTheNext) {
  SessionOptions with = options();
  with.probes = {"process"};
  with.probe_interval_seconds = 0.01;
  std::uint64_t readings[2] = {};
  std::int64_t first_ended_ns = 0;
  for (int i = 0; i < 2; ++i) {
    with.run_dir = dir / ("run" + std::to_string(i));
    {
      Session session("run", with);
      GENSCOPE_STAGE("work");
      std::this_thread::sleep_for(i == 0 ? 300ms : 100ms);
    }
    const Result<genscope::Run> run = read_run(with.run_dir);
    ASSERT_TRUE(run.ok()) << run.error().message;
    ASSERT_EQ(run->traces.size(), 1u);
    const CounterColumns& counters = run->traces[0].counters;
    ASSERT_GT(counters.size(), 0u);
    for (const std::int64_t at : counters.at_ns) EXPECT_GT(at, first_ended_ns);
    const Analysis analysis = analyze(*run);
    const EntityRow* const tree = analysis.telemetry.first(EntityKind::process_tree);
    ASSERT_NE(tree, nullptr);
    ASSERT_NE(tree->find("rss_bytes"), nullptr);
    readings[i] = tree->find("rss_bytes")->count;
    ASSERT_EQ(analysis.resources.stages.size(), 1u);
    EXPECT_LE(analysis.resources.stages[0].rss_bytes.samples, readings[i]);
    first_ended_ns = run->traces[0].end_ns;
  }
  EXPECT_GT(readings[0], 0u);
  EXPECT_GT(readings[1], 0u);
}

TEST_F(SessionProbes, PlainSessionsStartNone) {
  { Session session("plain", options()); }
  EXPECT_TRUE(read(dir / "run").telemetry.entities.empty());
}

TEST_F(SessionProbes, FollowASettingsFile) {
  const Result<Config> config = parse_config(
      "output_dir: " + dir.path() +
          "\nprobes: [process]\ncpu_monitor_interval: 0.01\nsession_tags: {experiment: v1}\n",
      "test.yaml");
  ASSERT_TRUE(config.ok()) << config.error().message;
  std::string path;
  {
    Session session("settings", *config);
    path = session.run_dir();
    EXPECT_TRUE(path.starts_with(dir.path())) << path;
    std::this_thread::sleep_for(30ms);
  }
  const Analysis analysis = read(path);
  EXPECT_NE(analysis.telemetry.first(EntityKind::process_tree), nullptr);
  EXPECT_EQ(analysis.telemetry.first(EntityKind::machine), nullptr);
}

TEST_F(SessionProbes, NothingIsRecordedWhenSettingsSaySo) {
  Config config;
  config.enabled = false;
  config.output_dir = dir.path();
  Session session("off", config);
  EXPECT_FALSE(session.active());
  EXPECT_EQ(session.run_dir(), "");
}

TEST_F(SessionProbes, UnderGenscopeRunNoneAreStarted) {
  ASSERT_EQ(::setenv("GENSCOPE_SAMPLED", "1", 1), 0);
  SessionOptions with = options();
  with.probes = {"process"};
  { Session session("probes", with); }
  ::unsetenv("GENSCOPE_SAMPLED");
  EXPECT_TRUE(read(dir / "run").telemetry.entities.empty());
}

TEST_F(SessionProbes, AnUnknownNameIsSaidAndTheRestGoesOn) {
  SessionOptions with = options();
  with.probes = {"proces", "process"};
  { Session session("probes", with); }
  const Analysis analysis = read(dir / "run");
  EXPECT_NE(analysis.telemetry.first(EntityKind::process_tree), nullptr);
  ASSERT_FALSE(analysis.telemetry.events.empty());
  EXPECT_EQ(analysis.telemetry.events[0].name, "probe_refused");
  EXPECT_NE(analysis.telemetry.events[0].detail.find("did you mean 'process'"), std::string::npos);
}

TEST_F(SessionProbes, AForkedChildDoesNotWaitForTheSamplersThread) {
  if (testing::kThreadSanitizer) GTEST_SKIP() << "tsan does not follow threads through a fork";
  if (testing::kAddressSanitizer) GTEST_SKIP() << testing::kNoForkUnderAsan;
  SessionOptions with = options();
  with.probes = {"process"};
  Session session("probes", with);
  const pid_t child = ::fork();
  if (child == 0) {
    session.close();
    ::_exit(7);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

}  // namespace
}  // namespace genscope
