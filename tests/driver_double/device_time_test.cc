// DeviceTimer against the double of the drivers: what the script says is what the trace has.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include <genscope/record.h>
#include <genscope/store.h>
#include <gtest/gtest.h>

#include "control.h"
#include "test_paths.h"
#include "testing/sanitizer.h"
#include "testing/temp_dir.h"

namespace genscope {
namespace {

constexpr std::int64_t kMs = 1'000'000;
const std::string kCuda = GENSCOPE_DRIVER_DOUBLE_DIR "/libcuda.so.1";
const std::string kHip = GENSCOPE_DRIVER_DOUBLE_DIR "/libamdhip64.so";

std::atomic<std::int64_t> g_now{0};
std::int64_t test_clock() { return g_now.load(); }

// The double's script; the library is the one that the timer loads.
struct Double {
  Double() : library(dlopen(kCuda.c_str(), RTLD_NOW)) {
    if (library == nullptr) std::abort();
#define FIND(name) \
  name = reinterpret_cast<decltype(&::double_##name)>(dlsym(library, "double_" #name))
    FIND(reset), FIND(set_context), FIND(destroy_context), FIND(launch), FIND(set_late);
    FIND(set_anchor_late), FIND(set_clock), FIND(set_host_clock), FIND(set_capturing), FIND(fail);
    FIND(mistakes), FIND(last_mistake), FIND(live_events), FIND(live_streams), FIND(calls);
    FIND(synchronizes);
#undef FIND
    reset();
    set_context(1);
  }
  void* library;
#define FUNCTION(name) decltype(&::double_##name) name
  FUNCTION(reset);
  FUNCTION(set_context);
  FUNCTION(destroy_context);
  FUNCTION(launch);
  FUNCTION(set_late);
  FUNCTION(set_anchor_late);
  FUNCTION(set_clock);
  FUNCTION(set_host_clock);
  FUNCTION(set_capturing);
  FUNCTION(fail);
  FUNCTION(mistakes);
  FUNCTION(last_mistake);
  FUNCTION(live_events);
  FUNCTION(live_streams);
  FUNCTION(calls);
  FUNCTION(synchronizes);
#undef FUNCTION
};

class DeviceTime : public ::testing::Test {
 protected:
  DeviceTime() {
    SessionOptions options;
    options.run_dir = folder_ / "run";
    options.quiet = true;
    session_ = std::make_unique<Session>("device", options);
  }
  ~DeviceTime() override {
    timer_.reset();
    EXPECT_EQ(gpu_.mistakes(), 0) << gpu_.last_mistake();
    EXPECT_EQ(gpu_.synchronizes(), 0);
  }

  DeviceTimer& start(DeviceTimerOptions options = {}) {
    if (options.library.empty()) options.library = kCuda;
    auto timer = DeviceTimer::start(options);
    EXPECT_TRUE(timer.ok()) << (timer.ok() ? "" : timer.error().message);
    timer_ = std::move(*timer);
    return *timer_;
  }
  // A stage with `ns` of work on that stream.
  void stage(const char* name, std::uint64_t stream, std::int64_t ns) {
    const Stage stage(name);
    timer_->begin(stage.handle(), stream);
    gpu_.launch(stream, ns);
    timer_->end(stage.handle(), stream);
  }
  // Until nothing is under way.
  void settle() {
    for (int i = 0; i < 1000 && timer_->stats().pending > 0 && timer_->active(); ++i) {
      timer_->settle();
    }
  }
  struct Row {
    std::string name;
    std::int64_t device_ns, begin_ns;
  };
  // The stages as recorded, those without device time with -2.
  std::vector<Row> rows() {
    session_->close();
    const auto run = read_run(folder_ / "run");
    std::vector<Row> found;
    if (!run.ok()) return found;
    for (const Trace& trace : run->traces) {
      for (std::size_t i = 0; i < trace.spans.size(); ++i) {
        const std::string name = trace.span_name(i);
        Row row{name, -2, -2};
        for (std::size_t d = 0; d < trace.device.span.size(); ++d) {
          if (trace.device.span[d] != i) continue;
          row.device_ns = trace.device.duration_ns[d];
          row.begin_ns = trace.device.begin_ns[d];
        }
        if (name != "device") found.push_back(row);
      }
    }
    return found;
  }

  Double gpu_;
  testing::TempDir folder_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<DeviceTimer> timer_;
};

TEST_F(DeviceTime, OfASpanIsWhatWasLaunchedInIt) {
  start();
  stage("a", 0, 3 * kMs);
  stage("b", 0, 5 * kMs);
  settle();
  const auto found = rows();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].device_ns, 3 * kMs);
  EXPECT_EQ(found[1].device_ns, 5 * kMs);
  EXPECT_EQ(timer_->stats().resolved, 2u);
}

TEST_F(DeviceTime, HipIsTheSame) {
  start({.api = DeviceApi::hip, .library = kHip});
  stage("a", 7, 3 * kMs);
  settle();
  EXPECT_EQ(rows().at(0).device_ns, 3 * kMs);
}

TEST_F(DeviceTime, NestedSpansAndStreamsKeepApart) {
  start();
  const Stage outer("outer");
  timer_->begin(outer.handle(), 0);
  gpu_.launch(0, kMs);
  stage("other", 9, 40 * kMs);
  stage("inner", 0, 2 * kMs);
  timer_->end(outer.handle(), 0);
  settle();
  std::map<std::string, std::int64_t> by_name;
  for (const Row& row : rows()) by_name[row.name] = row.device_ns;
  EXPECT_EQ(by_name["outer"], 3 * kMs);
  EXPECT_EQ(by_name["inner"], 2 * kMs);
  EXPECT_EQ(by_name["other"], 40 * kMs);
}

TEST_F(DeviceTime, BeginIsOnTheHostsScaleThoughTheClockDrifts) {
  g_now = 1'000'000 * kMs;
  gpu_.set_host_clock(test_clock);
  gpu_.set_clock(500, -700'000 * kMs);  // half a millisecond a second fast
  start({.now_ns = test_clock});
  stage("warm", 1, kMs);  // the first anchor
  settle();
  g_now += 20'000 * kMs;
  const std::int64_t begin = g_now;
  stage("late", 2, 4 * kMs);  // a stream whose clock starts now
  settle();
  const auto found = rows();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].device_ns, 4 * kMs);
  EXPECT_NEAR(static_cast<double>(found[1].begin_ns), static_cast<double>(begin), 3000);
  EXPECT_NEAR(static_cast<double>(found[0].begin_ns), 1e12, 3000);
}

TEST_F(DeviceTime, WithoutAnAnchorOnlyTheDurationIsTold) {
  gpu_.set_anchor_late(-1);
  start();
  stage("a", 0, 3 * kMs);
  settle();
  const auto found = rows();
  EXPECT_EQ(found.at(0).device_ns, 3 * kMs);
  EXPECT_LT(found.at(0).begin_ns, 0);
}

TEST_F(DeviceTime, LateCompletionHoldsUpNobody) {
  gpu_.set_late(25);
  start({.poll_ns = 100'000});
  for (int i = 0; i < 10; ++i) stage("step", 0, kMs);
  settle();
  EXPECT_EQ(timer_->stats().resolved, 10u);
}

TEST_F(DeviceTime, WhatNeverCompletesIsLeftAndCounted) {
  gpu_.set_late(-1);
  start({.poll_ns = 100'000});
  stage("a", 0, kMs);
  timer_->stop();
  EXPECT_EQ(timer_->stats().left, 1u);
  EXPECT_EQ(timer_->stats().pending, 0u);
  EXPECT_EQ(rows().at(0).device_ns, -2);
}

TEST_F(DeviceTime, PoolIsBoundedAndDropsAreCounted) {
  gpu_.set_late(-1);
  start({.max_events = 8});
  for (int i = 0; i < 10; ++i) stage("step", 0, kMs);
  EXPECT_EQ(timer_->stats().pending, 4u);
  EXPECT_EQ(timer_->stats().no_event, 6u);
  EXPECT_LE(gpu_.live_events(), 8 + 3);  // and the anchors'
}

TEST_F(DeviceTime, EventsAreUsedAgainAndDestroyedAtTheEnd) {
  start({.max_events = 8});
  for (int i = 0; i < 100; ++i) {
    stage("step", 0, kMs);
    settle();
  }
  EXPECT_EQ(timer_->stats().resolved, 100u);
  timer_->stop();
  EXPECT_EQ(gpu_.live_events(), 0);
  EXPECT_EQ(gpu_.live_streams(), 0);
}

TEST_F(DeviceTime, CapturedStreamsAreLeftAlone) {
  start();
  stage("before", 0, kMs);
  gpu_.set_capturing(5, 1);
  stage("captured", 5, kMs);
  {
    const Stage around("around");  // the capture begins in it
    timer_->begin(around.handle(), 6);
    gpu_.set_capturing(6, 1);
    timer_->end(around.handle(), 6);
  }
  stage("meanwhile", 0, 2 * kMs);  // the thread's queries disturb no capture
  settle();
  EXPECT_EQ(timer_->stats().capturing, 2u);
  EXPECT_EQ(timer_->stats().resolved, 2u);
  EXPECT_TRUE(timer_->active());
}

TEST_F(DeviceTime, TwoDevicesHaveTheirOwnEvents) {
  start();
  stage("first", 0, kMs);
  std::thread([&] {
    gpu_.set_context(2);
    stage("second", 0, 2 * kMs);
  }).join();
  {
    const Stage moves("moves");
    timer_->begin(moves.handle(), 0);
    gpu_.set_context(2);
    timer_->end(moves.handle(), 0);
  }
  settle();
  EXPECT_EQ(timer_->stats().resolved, 2u);
  EXPECT_EQ(timer_->stats().moved, 1u);
}

TEST_F(DeviceTime, AThreadWithoutAContextRecordsNothing) {
  start();
  gpu_.set_context(0);
  stage("a", 0, 0);
  EXPECT_EQ(timer_->stats().no_context, 1u);
  EXPECT_EQ(gpu_.calls("event_create"), 0);
}

class DeviceTimeFault : public DeviceTime, public ::testing::WithParamInterface<const char*> {};

TEST_P(DeviceTimeFault, TurnsItOffWithAReason) {
  start({.poll_ns = 100'000});
  stage("fine", 0, kMs);
  settle();
  gpu_.fail(GetParam(), 719, 1);
  // Events that are not done cannot be used again, so there must be new ones.
  if (GetParam() == std::string_view("event_create")) gpu_.set_late(-1);
  for (int i = 0; i < 200; ++i) stage("step", 0, kMs);
  settle();
  for (int i = 0; i < 2000 && timer_->active(); ++i) usleep(1000);
  EXPECT_FALSE(timer_->active());
  EXPECT_NE(timer_->stats().off.find("719"), std::string::npos) << timer_->stats().off;
  timer_->stop();
}
INSTANTIATE_TEST_SUITE_P(Calls, DeviceTimeFault,
                         ::testing::Values("event_create", "event_record", "event_query",
                                           "event_elapsed", "enter"));

TEST_F(DeviceTime, ADestroyedContextTurnsItOff) {
  gpu_.set_late(-1);
  start({.poll_ns = 100'000});
  stage("a", 0, kMs);
  gpu_.destroy_context(1);
  stage("b", 0, kMs);
  EXPECT_FALSE(timer_->active());
  EXPECT_NE(timer_->stats().off.find("destroyed"), std::string::npos);
}

TEST_F(DeviceTime, AForkedChildHasNone) {
  if (testing::kThreadSanitizer) {
    GTEST_SKIP() << "the child's recorder starts a thread, which tsan does not allow";
  }
  if (testing::kAddressSanitizer) GTEST_SKIP() << testing::kNoForkUnderAsan;
  start();
  stage("a", 0, kMs);
  const pid_t pid = fork();
  if (pid == 0) {
    stage("in the child", 0, kMs);
    const bool off = !timer_->active();
    timer_->settle();
    timer_->stop();
    _exit(off ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
  settle();
  EXPECT_EQ(timer_->stats().resolved, 1u);
}

TEST_F(DeviceTime, ManyThreadsAtOnce) {
  start({.max_events = 64, .poll_ns = 50'000});
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      gpu_.set_context(1 + t % 2);
      for (int i = 0; i < 300; ++i) stage("step", t, kMs);
    });
  }
  for (std::thread& thread : threads) thread.join();
  settle();
  const DeviceTimerStats stats = timer_->stats();
  EXPECT_EQ(stats.resolved + stats.no_event, 1200u);
  EXPECT_GT(stats.resolved, 0u);
  EXPECT_EQ(stats.off, "");
}

TEST(DeviceTimer, SaysWhyThereIsNone) {
  const auto timer = DeviceTimer::start({.library = "/nowhere/libcuda.so.1"});
  ASSERT_FALSE(timer.ok());
  EXPECT_EQ(timer.error().code, ErrorCode::unsupported);
  EXPECT_NE(timer.error().message.find("/nowhere/libcuda.so.1"), std::string::npos);
}

TEST(DeviceTimer, ALibraryOfSomethingElseIsRefused) {
  const auto timer = DeviceTimer::start({.library = "libm.so.6"});
  ASSERT_FALSE(timer.ok());
  EXPECT_NE(timer.error().message.find("lacks"), std::string::npos);
}

}  // namespace
}  // namespace genscope
