#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <genscope/bench.h>

#include "bench/run/expand.h"
#include "bench/run/failure.h"
#include "testing/temp_dir.h"

namespace genscope::bench {
namespace {

using ::testing::HasSubstr;

Sample run_once(CommandOptions options, Request request = {}) {
  return command_subject(std::move(options))->measure(request);
}
Sample run_shell(const std::string& command) {
  CommandOptions options;
  options.command = command;
  return run_once(options);
}

TEST(Expand, ReplacesOnlyKnownNames) {
  const Params values = {{"steps", "20"}, {"p", "a 'b'"}};
  EXPECT_EQ(expand("x --steps {steps} ${steps} {other} {} {p", values),
            "x --steps 20 ${steps} {other} {} {p");
  EXPECT_EQ(expand("{p}{steps}", values), "a 'b'20");
  EXPECT_EQ(expand("awk '{print {steps}}'", values), "awk '{print 20}'");
}

TEST(Expand, KnowsThePartsOfASize) {
  Request request;
  request.params = {{"size", "640x480x81"}, {"steps", "20"}};
  EXPECT_EQ(
      expand("{size.w} {size.h} {size.pixels} {size.frames} {size} {steps.w}", values_of(request)),
      "640 480 307200 81 640x480x81 {steps.w}");
}

TEST(Command, MeasuresTimeAndUse) {
  const Sample sample = run_shell("head -c 30000000 /dev/zero | tail -c 1 >/dev/null");
  ASSERT_FALSE(sample.failure) << sample.failure->detail;
  for (const char* metric : {"latency_s", "cpu_s", "user_s", "system_s"}) {
    EXPECT_TRUE(sample.metrics.contains(metric)) << metric;
  }
  EXPECT_GT(sample.metrics.at("latency_s"), 0);
  EXPECT_GT(sample.started_ns, 0);
}

TEST(Command, KnowsThePeakOfMemoryAboveOurOwn) {
  const Sample large = run_shell("exec dd if=/dev/zero of=/dev/null bs=200M count=1");
  ASSERT_FALSE(large.failure);
  EXPECT_GT(large.metrics.at("rss_peak_bytes"), 190e6);
  CommandOptions options;
  options.argv = {"true"};
  const auto subject = command_subject(options);
  // Sanitizers make this process larger than it should be.
  if (!subject->measure({}).metrics.contains("rss_peak_bytes")) {
    EXPECT_THAT(subject->absent()["rss_peak_bytes"], HasSubstr("genscope itself"));
  }
}

TEST(Command, PassesParametersAsTextAndEnvironment) {
  CommandOptions options;
  options.command =
      "test '{steps}' = 20 && test \"$GENSCOPE_PARAM_steps\" = 20 && "
      "test \"$GENSCOPE_PARAM_seed\" = 7 && test '{prompt}' = 'a cat' && test \"$OTHER\" = x";
  options.env = {{"OTHER", "x"}};
  Request request;
  request.params = {{"steps", "20"}};
  request.prompt = "a cat";
  request.seed = 7;
  const Sample sample = run_once(options, request);
  EXPECT_FALSE(sample.failure) << sample.failure->detail;
  EXPECT_EQ(sample.prompt, "a cat");
  EXPECT_EQ(sample.seed, 7);
}

TEST(Command, RunsWithoutAShell) {
  CommandOptions options;
  options.argv = {"test", "{a}", "=", "$HOME"};
  Request request;
  request.params = {{"a", "$HOME"}};
  EXPECT_FALSE(run_once(options, request).failure);
}

TEST(Command, ClassesOfFailure) {
  const Sample exited = run_shell("echo first >&2; echo 'the reason' >&2; exit 3");
  ASSERT_TRUE(exited.failure);
  EXPECT_EQ(exited.failure->kind, FailureClass::exit_nonzero);
  EXPECT_EQ(exited.failure->detail, "exit code 3\nfirst\nthe reason");
  EXPECT_FALSE(exited.metrics.contains("latency_s"));

  const Sample crashed = run_shell("kill -SEGV $$");
  ASSERT_TRUE(crashed.failure);
  EXPECT_EQ(crashed.failure->kind, FailureClass::crash);
  EXPECT_THAT(crashed.failure->detail, HasSubstr("SIGSEGV"));
  EXPECT_EQ(run_shell("sh -c 'kill -ABRT $$'; exit $?").failure->kind, FailureClass::crash);

  EXPECT_EQ(run_shell("echo 'RuntimeError: CUDA out of memory. Tried' >&2; exit 1").failure->kind,
            FailureClass::oom_gpu);
  EXPECT_EQ(run_shell("no-such-command-here").failure->kind, FailureClass::startup_failed);
  CommandOptions missing;
  missing.argv = {"/no/such/program"};
  EXPECT_EQ(run_once(missing).failure->kind, FailureClass::startup_failed);
  EXPECT_THAT(run_once(missing).failure->detail, HasSubstr("/no/such/program"));
}

TEST(Command, StartsAsItShould) {
  const genscope::testing::TempDir dir;
  // A name without a slash is looked for in $PATH alone, not in the folder where it runs.
  std::ofstream(dir / "only-here") << "#!/bin/sh\n";
  std::filesystem::permissions(dir / "only-here", std::filesystem::perms::owner_all);
  CommandOptions options;
  options.cwd = dir.path();
  options.argv = {"only-here"};
  EXPECT_EQ(run_once(options).failure->kind, FailureClass::startup_failed);
  options.argv = {"./only-here"};
  EXPECT_FALSE(run_once(options).failure);
  options.cwd = dir / "nowhere";
  EXPECT_EQ(run_once(options).failure->kind, FailureClass::startup_failed);
  // What we ignore or block, and whatever handlers we have, it has its own group and all signals.
  const auto ignored = std::signal(SIGPIPE, SIG_IGN);
  const auto handled = std::signal(SIGUSR1, [](int) {});
  sigset_t usr2, before;
  sigemptyset(&usr2);
  sigaddset(&usr2, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &usr2, &before);
  const Sample sample = run_shell(
      "grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status | grep -q '[1-9a-f]$' && exit 3; "
      "test \"$(ps -o pgid= -p $$ | tr -d ' ')\" = $$");
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  std::signal(SIGUSR1, handled);
  std::signal(SIGPIPE, ignored);
  EXPECT_FALSE(sample.failure) << sample.failure->detail;
}

TEST(Command, CountsWhatItWrites) {
  const genscope::testing::TempDir dir;
  CommandOptions options;
  options.cwd = dir.path();
  options.command = "dd if=/dev/zero of=file bs=64k count=4 conv=fsync 2>/dev/null";
  const auto subject = command_subject(options);
  const Sample sample = subject->measure({});
  ASSERT_FALSE(sample.failure) << sample.failure->detail;
  if (!sample.metrics.contains("io_write_bytes")) {
    EXPECT_THAT(subject->absent()["io_write_bytes"], HasSubstr("does not count"));
  } else if (sample.metrics.at("io_write_bytes") > 0) {  // a file system in memory writes nothing
    EXPECT_GE(sample.metrics.at("io_write_bytes"), 4 * 65536);
  }
}

TEST(Command, KeepsTheEndOfALongStderr) {
  const Sample sample = run_shell("seq 100000 >&2; echo last >&2; exit 1");
  ASSERT_TRUE(sample.failure);
  EXPECT_LT(sample.failure->detail.size(), 4200u);
  EXPECT_THAT(sample.failure->detail, HasSubstr("\n100000\nlast"));
}

TEST(Command, IgnoresAnExitCodeIfAsked) {
  CommandOptions options;
  options.command = "exit 3";
  options.ignore_failure = true;
  EXPECT_FALSE(run_once(options).failure);
  options.command = "kill -SEGV $$";
  EXPECT_TRUE(run_once(options).failure);
}

TEST(Command, TimeOutEndsTheWholeGroup) {
  const genscope::testing::TempDir dir;
  CommandOptions options;
  options.command = "sleep 100 & echo $! > " + (dir / "pid") + "; wait";
  options.timeout_s = 0.3;
  const Sample sample = run_once(options);
  ASSERT_TRUE(sample.failure);
  EXPECT_EQ(sample.failure->kind, FailureClass::timeout);
  std::ifstream file(dir / "pid");
  int pid = 0;
  file >> pid;
  ASSERT_GT(pid, 0);
  const std::string proc = "/proc/" + std::to_string(pid) + "/stat";
  const auto ended = [&] {  // gone, or a zombie that init has not taken yet
    std::ifstream in(proc);
    std::string id, name, state;
    in >> id >> name >> state;
    return !in || state == "Z";
  };
  for (int i = 0; i < 500 && !ended(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(ended());
}

TEST(Command, CancelEndsIt) {
  std::thread later([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    cancel();
  });
  const Sample sample = run_shell("sleep 100");
  later.join();
  forget_cancel();
  ASSERT_TRUE(sample.failure);
  EXPECT_EQ(sample.failure->kind, FailureClass::cancelled);
}

TEST(Command, PreparesAndCleansUpAroundEachRun) {
  const genscope::testing::TempDir dir;
  CommandOptions options;
  options.cwd = dir.path();
  options.prepare = "echo p{n} >> log";
  options.command = "echo r >> log";
  options.cleanup = "echo c >> log";
  Request request;
  request.params = {{"n", "1"}};
  EXPECT_FALSE(run_once(options, request).failure);
  std::ifstream file(dir / "log");
  const std::string log((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(log, "p1\nr\nc\n");
  options.prepare = "exit 4";
  EXPECT_THAT(run_once(options, request).failure->detail, HasSubstr("the prepare command failed"));
}

TEST(OomKills, AreReadFromTheCgroupElseTheMachine) {
  const genscope::testing::TempDir dir;
  std::filesystem::create_directories(dir / "proc/self");
  std::filesystem::create_directories(dir / "sys/fs/cgroup/me");
  EXPECT_FALSE(count_oom_kills(dir / "proc", dir / "sys"));
  std::ofstream(dir / "proc/vmstat") << "nr_free 3\noom_kill 5\n";
  EXPECT_EQ(count_oom_kills(dir / "proc", dir / "sys"), 5u);
  std::ofstream(dir / "proc/self/cgroup") << "0::/me\n";
  std::ofstream(dir / "proc/self/mountinfo")
      << "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";
  std::ofstream(dir / "sys/fs/cgroup/me/memory.events") << "low 0\noom 3\noom_kill 2\n";
  EXPECT_EQ(count_oom_kills(dir / "proc", dir / "sys"), 2u);
}

TEST(FailureOf, KilledForMemory) {
  Ended ended;
  ended.status = SIGKILL;
  JudgeEnd how;
  EXPECT_EQ(failure_of(ended, how)->kind, FailureClass::crash);
  how.oom_killed = true;
  EXPECT_EQ(failure_of(ended, how)->kind, FailureClass::oom_host);
  for (int i = 0; i < 14; ++i) {
    const auto kind = static_cast<FailureClass>(i);
    EXPECT_EQ(failure_class(name(kind)), kind);
  }
  EXPECT_FALSE(failure_class("nothing"));
}

TEST(Callable, TimesAndCatches) {
  const auto fine = callable_subject([](const Request& request) {
    Sample sample;
    sample.metrics["things"] = static_cast<double>(request.iteration);
    return sample;
  });
  Request request;
  request.iteration = 3;
  const Sample sample = fine->measure(request);
  EXPECT_TRUE(sample.metrics.contains("latency_s"));
  EXPECT_EQ(sample.metrics.at("things"), 3);
  const auto bad =
      callable_subject([](const Request&) -> Sample { throw std::runtime_error("no"); });
  EXPECT_EQ(bad->measure({}).failure->detail, "no");
}

}  // namespace
}  // namespace genscope::bench
