// fork(): the child has its own trace in the same run; the parent's goes on as if nothing happened.
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <thread>

#include "support.h"

namespace genscope::testing {
namespace {

const Trace* trace_of(const Run& run, pid_t pid) {
  for (const Trace& t : run.traces) {
    if (t.process.pid == static_cast<std::uint32_t>(pid)) return &t;
  }
  ADD_FAILURE() << "no trace of " << pid;
  return nullptr;
}

// Forks; the child runs `body` and leaves by `leave`.
template <class Body>
pid_t fork_and(Body&& body, void (*leave)(int)) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  body();
  leave(0);
  std::abort();
}

void wait_for(pid_t pid) {
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Fork, ChildAndGrandchildHaveTracesOfTheirOwn) {
  if (kAddressSanitizer) GTEST_SKIP() << kNoForkUnderAsan;
  const TempDir dir;
  pid_t child = 0;
  SharedWords shared(dir / "shared", 2);
  {
    const Session session("fork", options_in(dir));
    const Stage open("open in parent");
    child = fork_and(
        [&] {
          { const Stage stage("in child"); }
          const pid_t grandchild = fork_and([] { const Stage stage("in grandchild"); }, ::_exit);
          shared[0] = static_cast<std::uint64_t>(grandchild);
          int status = 0;
          ::waitpid(grandchild, &status, 0);
          { const Stage stage("in child again"); }
        },
        ::_exit);
    wait_for(child);
    { const Stage after("parent after"); }
  }
  auto run = read_run(dir / "run");
  ASSERT_TRUE(run.ok()) << run.error().message;
  ASSERT_EQ(run->traces.size(), 3u);
  const Trace* const parent = trace_of(*run, ::getpid());
  ASSERT_NE(parent, nullptr);
  expect_whole(*parent);
  EXPECT_EQ(parent_name(*parent, span_named(*parent, "parent after")), "open in parent");
  EXPECT_TRUE(spans_named(*parent, "in child").empty());

  const Trace* const of_child = trace_of(*run, child);
  ASSERT_NE(of_child, nullptr);
  EXPECT_EQ(of_child->process.ppid, static_cast<std::uint32_t>(::getpid()));
  EXPECT_EQ(parent_name(*of_child, span_named(*of_child, "in child")), "");
  EXPECT_NE(span_named(*of_child, "in child again"), kNone);
  EXPECT_EQ(of_child->spans.size(), 2u);
  EXPECT_EQ(of_child->integrity.bad_words, 0u);
  EXPECT_FALSE(of_child->integrity.closed) << "_exit runs no handlers: recovered from its buffers";

  const Trace* const of_grandchild = trace_of(*run, static_cast<pid_t>(shared[0].load()));
  ASSERT_NE(of_grandchild, nullptr);
  EXPECT_NE(span_named(*of_grandchild, "in grandchild"), kNone);
  EXPECT_EQ(of_grandchild->spans.size(), 1u);
}

TEST(Fork, AChildThatRecordsNothingLeavesNoTrace) {
  if (kAddressSanitizer) GTEST_SKIP() << kNoForkUnderAsan;
  const TempDir dir;
  {
    const Session session("fork", options_in(dir));
    wait_for(fork_and([] {}, ::_exit));
    wait_for(fork_and([] {}, std::_Exit));
  }
  expect_whole(only_trace(dir));
}

TEST(Fork, SpansOpenAcrossTheForkEndQuietlyInTheChild) {
  if (kAddressSanitizer) GTEST_SKIP() << kNoForkUnderAsan;
  const TempDir dir;
  pid_t child = 0;
  {
    const Session session("fork", options_in(dir));
    auto open = std::make_unique<Stage>("open");
    const Handle detached = begin(SpanKind::request, "detached");
    child = fork_and(
        [&] {
          detached.arg("late", 1);
          detached.device_time(5);
          event(detached, "event");
          { const Stage own("own"); }
          open.reset();
          end(detached);
          const Stage under("under", Under{detached});
        },
        ::_exit);
    wait_for(child);
    end(detached);
  }
  auto run = read_run(dir / "run");
  ASSERT_TRUE(run.ok());
  const Trace* const parent = trace_of(*run, ::getpid());
  ASSERT_NE(parent, nullptr);
  expect_whole(*parent);
  EXPECT_EQ(parent->span_args.size(), 0u);
  const Trace* const of_child = trace_of(*run, child);
  ASSERT_NE(of_child, nullptr);
  EXPECT_EQ(of_child->integrity.bad_words, 0u);
  EXPECT_EQ(of_child->spans.size(), 2u);
  EXPECT_EQ(of_child->spans.parent[span_named(*of_child, "own")], kNone);
  EXPECT_EQ(of_child->spans.parent[span_named(*of_child, "under")], kNone);
}

TEST(Fork, ThreadsThatRecordMeanwhileAreNotDisturbed) {
  if (kAddressSanitizer) GTEST_SKIP() << kNoForkUnderAsan;
  const TempDir dir;
  const std::size_t forks = scaled(100);
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> made{0};
  SessionOptions options = options_in(dir);
  options.buffer_bytes = 4 << 20;  // each child leaves its buffers behind
  {
    const Session session("fork", options);
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&] {
        std::uint64_t n = 0;
        while (!stop) {
          const Stage stage("name " + std::to_string(n++ % 1000));
        }
        made += n;
      });
    }
    for (std::size_t i = 0; i < forks; ++i) {
      wait_for(fork_and([] { const Stage stage("child"); }, ::_exit));
    }
    stop = true;
    for (std::thread& t : threads) t.join();
  }
  auto run = read_run(dir / "run");
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->traces.size(), forks + 1);
  const Trace* const parent = trace_of(*run, ::getpid());
  ASSERT_NE(parent, nullptr);
  EXPECT_EQ(parent->spans.size() - 1 + total_dropped_spans(*parent), made.load());
  EXPECT_EQ(parent->integrity.bad_words, 0u);
  EXPECT_EQ(parent->integrity.unfinished_spans, 0u);
}

TEST(Fork, WithoutASessionTheChildRecordsNothing) {
  const TempDir dir;
  wait_for(fork_and(
      [&] {
        if (::chdir(dir.path().c_str()) != 0) ::_exit(1);
        ::unsetenv("GENSCOPE_OUT");
        const Stage stage("nothing");
      },
      ::_exit));
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(Fork, TheChildMayCloseAndOpenSessions) {
  if (kThreadSanitizer) GTEST_SKIP() << "tsan cannot start threads again in a forked child";
  if (kAddressSanitizer) GTEST_SKIP() << kNoForkUnderAsan;
  const TempDir dir;
  auto session = std::make_unique<Session>("parent", options_in(dir));
  const pid_t child = fork_and(
      [&] {
        { const Stage stage("first"); }
        session.reset();  // closes the child's trace
        SessionOptions options;
        options.run_dir = dir / "other";
        const Session own("own", options);
        if (!own.active()) ::_exit(1);
        const Stage stage("second");
      },
      ::_exit);
  wait_for(child);
  session.reset();
  auto run = read_run(dir / "run");
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->traces.size(), 2u);
  const Trace* const first = trace_of(*run, child);
  ASSERT_NE(first, nullptr);
  EXPECT_TRUE(first->integrity.closed);
  const Trace second = only_trace(dir / "other");
  expect_whole(second);
  EXPECT_NE(span_named(second, "second"), kNone);
}

// A process made by a bare system call: fork's handlers do not run, so it has our memory and knows
// nothing of it. It records nothing, and nothing of ours crashes or hangs in it.
TEST(Fork, ABareSystemCallMakesAProcessThatRecordsNothing) {
  if (kSanitized) GTEST_SKIP() << "sanitizers do not survive a bare clone";
  const TempDir dir;
  {
    Session session("fork", options_in(dir));
    for (const int way : {0, 1, 2}) {
      auto open = std::make_unique<Stage>("open in parent");
      const Handle detached = begin(SpanKind::request, "detached");
      const auto pid = static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
      if (pid == 0) {
        ::alarm(60);  // nobody waits for locks that nobody holds
        { GENSCOPE_STAGE("in child"); }
        { const Stage named("named in child", {{"a", 1}}); }
        event("event");
        counter("counter", 1);
        detached.arg("late", 1);
        end(detached);
        open.reset();
        flush();
        set_enabled(true);
        { GENSCOPE_STAGE("in child"); }
        if (recorder_stats().active || session.active()) ::_exit(1);
        if (way == 1) session.close();
        if (way == 2) std::quick_exit(0);
        ::_exit(0);
      }
      wait_for(pid);
      end(detached);
    }
    const Stage after("after");
  }
  const Trace trace = only_trace(dir);
  expect_whole(trace);
  EXPECT_TRUE(spans_named(trace, "in child").empty());
  EXPECT_EQ(spans_named(trace, "open in parent").size(), 3u);
  EXPECT_NE(span_named(trace, "after"), kNone);
}

std::uint64_t bytes_in(const std::string& folder) {
  std::uint64_t n = 0;
  for (const auto& e : std::filesystem::directory_iterator(folder)) {
    struct stat info {};
    if (::stat(e.path().c_str(), &info) == 0) n += static_cast<std::uint64_t>(info.st_blocks) * 512;
  }
  return n;
}

// Children that leave by _exit or a signal close nothing. Their parent, at its own end, puts what
// they recorded into their traces; so would the next reader.
TEST(Fork, ChildrenThatLeaveByExitOrASignalLeaveLittleBehind) {
  if (kAddressSanitizer) GTEST_SKIP() << kNoForkUnderAsan;
  const TempDir dir;
  const std::size_t forks = scaled(100);
  {
    const Session session("fork", options_in(dir));
    for (std::size_t i = 0; i < forks; ++i) {
      const pid_t pid = fork_and(
          [i] {
            { const Stage stage("child"); }
            if (i % 2 == 1) ::raise(SIGKILL);
          },
          ::_exit);
      ::waitpid(pid, nullptr, 0);
    }
  }
  EXPECT_LT(bytes_in(dir / "run"), (forks + 1) * 10'000);
  for (const auto& e : std::filesystem::directory_iterator(dir / "run")) {
    EXPECT_NE(e.path().extension(), ".live") << e.path();
  }
  const auto run = read_run(dir / "run");
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->traces.size(), forks + 1);
  std::size_t spans = 0;
  for (const Trace& trace : run->traces) {
    spans += spans_named(trace, "child").size();
    EXPECT_EQ(trace.integrity.bad_frames + trace.integrity.bad_words, 0u);
    if (trace.process.pid == static_cast<std::uint32_t>(::getpid())) continue;
    EXPECT_FALSE(trace.integrity.closed);
    EXPECT_FALSE(trace.integrity.in_progress);
    EXPECT_GT(trace.integrity.recovered_chunks, 0u);
  }
  EXPECT_EQ(spans, forks);
}

}  // namespace
}  // namespace genscope::testing
