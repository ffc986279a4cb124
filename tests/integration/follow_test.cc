// Following a run while processes record into it. The test records and polls in turns, so that what
// a poll must show is known.
#include <signal.h>

#include <thread>

#include "store/follow.h"
#include "support.h"

namespace genscope::testing {
namespace {

Progress::Process only_process(const Progress& progress) {
  EXPECT_EQ(progress.processes.size(), 1u);
  return progress.processes.empty() ? Progress::Process{} : progress.processes.front();
}

void steps(int count) {
  for (int i = 0; i < count; ++i) {
    const Step step{i};
    GENSCOPE_SPAN("inside");
  }
}

// Full chunks, so that the drain thread has something to write.
void many_spans(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    GENSCOPE_SPAN("filler");
    if (i % 10'000 == 9'999) flush();  // so that buffers cannot be full
  }
}

TEST(Follow, ARunThatDoesNotExistYetIsEmpty) {
  const TempDir dir;
  RunFollower follower(dir / "run");
  EXPECT_TRUE(follower.poll().processes.empty());
  std::filesystem::create_directory(dir / "run");
  EXPECT_TRUE(follower.poll().processes.empty());
  Session session{"s", options_in(dir)};
  GENSCOPE_STAGE("there");
  EXPECT_EQ(only_process(follower.poll()).stage, "there");
}

TEST(Follow, ShowsStageStepsAndEta) {
  const TempDir dir;
  RunFollower follower(dir / "run");
  Session session{"s", options_in(dir)};
  Progress::Process now = only_process(follower.poll());
  EXPECT_EQ(now.pid, static_cast<std::uint32_t>(::getpid()));
  EXPECT_TRUE(now.alive);
  EXPECT_EQ(now.stage, "");
  EXPECT_EQ(now.stage_kind, SpanKind::none);
  {
    GENSCOPE_LOAD("weights");
    now = only_process(follower.poll());
    EXPECT_EQ(now.stage, "weights");
    EXPECT_EQ(now.stage_kind, SpanKind::load);
    EXPECT_EQ(now.last_stage, "");
    spin_ns(2'000'000);
  }
  const std::int64_t before = base::monotonic_ns();
  {
    const Stage stage{"denoise", {{"steps", 50}}};
    now = only_process(follower.poll());
    EXPECT_EQ(now.stage, "denoise");
    EXPECT_EQ(now.stage_kind, SpanKind::stage);
    EXPECT_NEAR(static_cast<double>(now.stage_begin_ns), static_cast<double>(before), 1e9);
    EXPECT_EQ(now.steps_done, 0u);
    EXPECT_EQ(now.steps_total, 50u);
    EXPECT_FALSE(now.step_seconds);
    EXPECT_FALSE(now.eta_seconds);
    EXPECT_EQ(now.last_stage, "weights");
    EXPECT_GE(now.last_stage_seconds, 0.002 * 0.99);

    for (int i = 0; i < 20; ++i) {
      const Step step{i};
      spin_ns(200'000);
      const Step nested{0};  // a part of the step, not another one
    }
    const Step unfinished{20};
    now = only_process(follower.poll());
    EXPECT_EQ(now.steps_done, 20u);
    ASSERT_TRUE(now.step_seconds);
    EXPECT_GE(*now.step_seconds, 0.0002 * 0.99);
    ASSERT_TRUE(now.eta_seconds);
    EXPECT_DOUBLE_EQ(*now.eta_seconds, 30 * *now.step_seconds);
  }
  now = only_process(follower.poll());
  EXPECT_EQ(now.stage, "");
  EXPECT_EQ(now.last_stage, "denoise");
  EXPECT_FALSE(now.steps_total);
  session.close();
  now = only_process(follower.poll());
  EXPECT_FALSE(now.alive);
  EXPECT_EQ(now.last_stage, "denoise");
  EXPECT_EQ(now.dropped_spans, 0u);
}

TEST(Follow, TheInnermostStageAndTheNearestTotalCount) {
  const TempDir dir;
  RunFollower follower(dir / "run");
  Session session{"s", options_in(dir)};
  session.arg("total_steps", 9);
  const Epoch epoch{"epoch"};
  steps(1);
  EXPECT_EQ(only_process(follower.poll()).steps_total, 9u) << "of the session";
  {
    const Span function{"generate", {{"total", 1}, {"num_inference_steps", 7}}};
    const Batch batch{"batch"};
    steps(2);
    const Progress::Process now = only_process(follower.poll());
    EXPECT_EQ(now.stage, "batch");
    EXPECT_EQ(now.steps_total, 7u) << "of the function around it, by the better key";
    EXPECT_EQ(now.steps_done, 2u);
  }
  const Progress::Process now = only_process(follower.poll());
  EXPECT_EQ(now.stage, "epoch");
  EXPECT_EQ(now.steps_done, 3u) << "those of the batch are the epoch's too";
}

TEST(Follow, MoreStepsThanAnnouncedHaveNoEta) {
  const TempDir dir;
  RunFollower follower(dir / "run");
  Session session{"s", options_in(dir)};
  const Stage stage{"s1", {{"steps", 2}, {"total", "text"}}};
  steps(3);
  const Progress::Process now = only_process(follower.poll());
  EXPECT_EQ(now.steps_total, 2u);
  EXPECT_TRUE(now.step_seconds);
  EXPECT_FALSE(now.eta_seconds);
}

TEST(Follow, DetachedSpansOverThreads) {
  const TempDir dir;
  RunFollower follower(dir / "run");
  Session session{"s", options_in(dir)};
  Request request{"request"};
  request.arg("num_steps", 4);
  std::thread([&] {
    for (int i = 0; i < 3; ++i) end(begin(SpanKind::step, "token", {request.handle(), {}}));
    many_spans(20'000);  // the steps are in the file, the request is in the live buffer
    flush();
  }).join();
  Progress::Process now = only_process(follower.poll());
  EXPECT_EQ(now.stage, "request");
  EXPECT_EQ(now.steps_done, 3u);
  EXPECT_EQ(now.steps_total, 4u);
  std::thread([&] { request.end(); }).join();
  now = only_process(follower.poll());
  EXPECT_EQ(now.stage, "");
  EXPECT_EQ(now.last_stage, "request");
}

TEST(Follow, EachStepCountsOnceHoweverOftenOneLooks) {
  const TempDir dir;
  store::Follower often(dir / "run");
  Session session{"s", options_in(dir)};
  const Stage stage{"long"};
  std::uint64_t made = 0;
  for (int round = 0; round < 40; ++round) {
    steps(701);
    made += 701;
    if (round % 7 == 3) flush();
    ASSERT_EQ(only_process(often.poll()).steps_done, made);
  }
  store::Follower late(dir / "run");
  EXPECT_EQ(only_process(late.poll()).steps_done, made);
  EXPECT_EQ(only_process(late.poll()).steps_done, made);
}

TEST(Follow, APollCostsTheSameAtTheEndOfALongRun) {
  const TempDir dir;
  SessionOptions options = options_in(dir);
  options.buffer_bytes = 4 << 20;
  Session session{"s", options};
  store::Follower follower(dir / "run");
  const Stage stage{"long"};
  std::uint64_t done = 0;
  const auto cost = [&] {
    const std::uint64_t before = follower.bytes_read();
    steps(100);
    done += 100;
    EXPECT_EQ(only_process(follower.poll()).steps_done, done);
    return follower.bytes_read() - before;
  };
  cost();
  const std::uint64_t early = cost();
  const std::size_t spans = scaled(5'000'000);
  many_spans(spans);
  flush();
  const std::uint64_t all = cost();
  const std::uint64_t late = cost();
  EXPECT_GT(all, spans);  // at least a byte a span: it was really read
  EXPECT_LT(late, early + 150'000) << "at most two chunks may have been drained meanwhile";
  EXPECT_EQ(recorder_stats().dropped_spans, 0u);
}

TEST(Follow, AKilledProcessIsNotAliveAndItsStageStaysKnown) {
  const TempDir dir;
  SharedWords ready(dir / "ready", 1);
  const pid_t child = ::fork();
  if (child == 0) {
    Session session{"child", options_in(dir)};
    { GENSCOPE_LOAD("weights"); }
    const Stage stage{"denoise", {{"steps", 10}}};
    steps(3);
    ready[0] = 1;
    for (;;) ::pause();
  }
  while (ready[0] == 0) std::this_thread::sleep_for(std::chrono::milliseconds(kSanitized ? 50 : 1));
  RunFollower follower(dir / "run");
  Progress::Process now = only_process(follower.poll());
  EXPECT_EQ(now.pid, static_cast<std::uint32_t>(child));
  EXPECT_TRUE(now.alive);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  RunFollower afterwards(dir / "run");
  for (RunFollower* f : {&follower, &afterwards}) {
    now = only_process(f->poll());
    EXPECT_FALSE(now.alive);
    EXPECT_EQ(now.stage, "denoise");
    EXPECT_EQ(now.steps_done, 3u);
    EXPECT_EQ(now.steps_total, 10u);
    EXPECT_EQ(now.last_stage, "weights");
  }
}

TEST(Follow, TwoProcessesOldestFirst) {
  if (kAddressSanitizer) GTEST_SKIP() << kNoForkUnderAsan;
  const TempDir dir;
  SharedWords ready(dir / "ready", 2);
  Session session{"parent", options_in(dir)};
  const Stage stage{"supervise"};
  const pid_t child = ::fork();
  if (child == 0) {
    {
      const Stage work{"work"};
      steps(2);
      ready[0] = 1;
      while (ready[1] == 0) ::usleep(1000);
    }
    std::_Exit(0);  // its trace stays open, its lock is gone
  }
  while (ready[0] == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  RunFollower follower(dir / "run");
  Progress now = follower.poll();
  ASSERT_EQ(now.processes.size(), 2u);
  EXPECT_EQ(now.processes[0].pid, static_cast<std::uint32_t>(::getpid()));
  EXPECT_EQ(now.processes[0].stage, "supervise");
  EXPECT_EQ(now.processes[1].pid, static_cast<std::uint32_t>(child));
  EXPECT_EQ(now.processes[1].stage, "work");
  EXPECT_EQ(now.processes[1].steps_done, 2u);
  EXPECT_TRUE(now.processes[1].alive);
  ready[1] = 1;
  ::waitpid(child, nullptr, 0);
  now = follower.poll();
  ASSERT_EQ(now.processes.size(), 2u);
  EXPECT_TRUE(now.processes[0].alive);
  EXPECT_FALSE(now.processes[1].alive);
  EXPECT_EQ(now.processes[1].last_stage, "work");
}

TEST(Follow, SeveralTracesOfOneProcessAreOneProcess) {
  const TempDir dir;
  RunFollower follower(dir / "run");
  for (const char* name : {"first", "second"}) {
    Session session{"s", options_in(dir)};
    const Stage stage{name};
    EXPECT_EQ(only_process(follower.poll()).stage, name);
  }
  {
    Session session{"s", options_in(dir)};
    const Progress::Process now = only_process(follower.poll());
    EXPECT_TRUE(now.alive);
    EXPECT_EQ(now.last_stage, "second");
  }
}

TEST(Follow, KeepNewestTurnsOver) {
  const TempDir dir;
  SessionOptions options = options_in(dir);
  options.max_trace_bytes = 512 << 10;
  options.when_full = WhenFull::keep_newest;
  options.pack = false;
  options.buffer_bytes = 4 << 20;
  Session session{"s", options};
  RunFollower steady(dir / "run"), rare(dir / "run");
  std::uint64_t made = 0;
  const Stage stage{"flight", {{"total", 1'000'000}}};
  steps(10);
  made += 10;
  EXPECT_EQ(only_process(rare.poll()).stage, "flight");
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 20; ++i) steps(100);
    made += 2000;
    flush();
    ASSERT_EQ(only_process(steady.poll()).steps_done, made) << "round " << round;
  }
  ASSERT_FALSE(std::filesystem::exists(dir / "run/trace-" + std::to_string(::getpid()) + "-0.gst"))
      << "the test must turn segments over";
  // It was away while segments were deleted, and finds the stage in the frames' open stacks.
  Progress::Process now = only_process(rare.poll());
  EXPECT_EQ(now.stage, "flight");
  EXPECT_EQ(now.steps_total, 1'000'000u);
  EXPECT_LT(now.steps_done, made);
  EXPECT_GT(now.steps_done, 10u);
  RunFollower late(dir / "run");
  EXPECT_EQ(only_process(late.poll()).stage, "flight");
}

TEST(Follow, ADamagedPartIsSkipped) {
  const TempDir dir;
  SessionOptions options = options_in(dir);
  options.pack = false;
  Session session{"s", options};
  store::Follower before(dir / "run");
  const Stage stage{"s1"};
  before.poll();
  many_spans(40'000);
  flush();
  const std::string path = dir / "run/trace-" + std::to_string(::getpid()) + "-0.gst";
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(path) / 2));
    file.write("damage", 6);
  }
  store::Follower after(dir / "run");
  steps(5);
  for (store::Follower* f : {&before, &after}) {
    const Progress::Process now = only_process(f->poll());
    EXPECT_TRUE(now.alive);
    EXPECT_EQ(now.stage, "s1");
    EXPECT_EQ(now.steps_done, 5u);
  }
}

TEST(Follow, WhatIsNoTraceIsNotThere) {
  const TempDir dir;
  std::filesystem::create_directories(dir / "run/trace-1-0.gst");  // a folder
  std::ofstream(dir / "run/trace-2-0.gst") << "something else entirely";
  std::ofstream(dir / "run/trace-3-0.gst") << "GENSC";
  std::ofstream(dir / "run/trace-4-0.gst");
  std::filesystem::create_symlink("/nonexistent", dir / "run/trace-5-0.gst");
  RunFollower follower(dir / "run");
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(follower.poll().processes.empty());
  Session session{"s", options_in(dir)};
  EXPECT_EQ(follower.poll().processes.size(), 1u);
}

TEST(Follow, WhileThreadsRecordAtFullSpeed) {
  const TempDir dir;
  Session session{"s", options_in(dir)};
  const Stage stage{"busy"};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; !stop; ++i) {
        // Names that come into being all the time.
        const Stage own{"own " + std::to_string(t) + "/" + std::to_string(i / 500)};
        steps(3);
        // Not quicker than a follower under a sanitizer on a loaded machine can read.
        if (i % 64 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
  }
  RunFollower follower(dir / "run");
  for (std::size_t i = 0; i < scaled(50); ++i) {
    const Progress::Process now = only_process(follower.poll());
    EXPECT_TRUE(now.alive);
    EXPECT_TRUE(now.stage == "busy" || now.stage.starts_with("own ")) << now.stage;
    EXPECT_LE(now.steps_done, 3u);
  }
  stop = true;
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(only_process(follower.poll()).stage, "busy");
}

}  // namespace
}  // namespace genscope::testing
