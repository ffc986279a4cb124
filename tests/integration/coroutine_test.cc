// Spans that move: C++20 coroutines resumed on alternating threads, scoped spans that end out of
// order or on another thread. Parents and durations stay right.
#include <condition_variable>
#include <coroutine>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "support.h"

namespace genscope::testing {
namespace {

// One thread with a queue of coroutines to resume.
class Worker {
 public:
  explicit Worker(std::string name) : thread_([this, name] { run(name); }) {}
  ~Worker() {
    post(nullptr);
    thread_.join();
  }
  void post(std::coroutine_handle<> handle) {
    const std::lock_guard lock(mutex_);
    queue_.push_back(handle);
    wake_.notify_one();
  }

 private:
  void run(const std::string& name) {
    name_thread(name);
    for (;;) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return !queue_.empty(); });
      const std::coroutine_handle<> next = queue_.front();
      queue_.pop_front();
      lock.unlock();
      if (!next) return;
      next.resume();
    }
  }
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::coroutine_handle<>> queue_;
  std::thread thread_;
};

struct Task {
  struct promise_type {
    Task get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

struct On {
  Worker& worker;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> h) const { worker.post(h); }
  void await_resume() const noexcept {}
};

struct Measured {
  Bounds request;
  Bounds step[4];
};

Task serve(int number, Worker& a, Worker& b, Measured& measured, std::atomic<int>& left) {
  co_await On{a};
  const std::int64_t begin_ns = base::monotonic_ns();
  const Handle request = begin(SpanKind::request, "request-" + std::to_string(number));
  const std::int64_t within = base::monotonic_ns();
  for (int i = 0; i < 4; ++i) {
    const std::int64_t step_begin = base::monotonic_ns();
    const Handle step =
        begin(SpanKind::step, "step-" + std::to_string(number), Under{request}, {{"i", i}});
    const std::int64_t step_within = base::monotonic_ns();
    spin_ns(300'000);
    co_await On{i % 2 == 0 ? b : a};  // goes on on the other thread
    spin_ns(300'000);
    measured.step[i].inner_ns = base::monotonic_ns() - step_within;
    end(step);
    measured.step[i].outer_ns = base::monotonic_ns() - step_begin;
  }
  measured.request.inner_ns = base::monotonic_ns() - within;
  end(request);
  measured.request.outer_ns = base::monotonic_ns() - begin_ns;
  left--;
}

TEST(Coroutine, HandlesKeepParentsAndDurationsAcrossThreads) {
  const TempDir dir;
  constexpr int kRequests = 10;
  std::vector<Measured> measured(kRequests);
  {
    const Session session("coroutines", options_in(dir));
    std::atomic<int> left{kRequests};
    {
      Worker a("a"), b("b");
      for (int i = 0; i < kRequests; ++i) {
        serve(i, a, b, measured[static_cast<std::size_t>(i)], left);
      }
      while (left > 0) std::this_thread::yield();
    }
  }
  const Trace trace = only_trace(dir);
  expect_whole(trace);
  for (int i = 0; i < kRequests; ++i) {
    SCOPED_TRACE(i);
    const Measured& m = measured[static_cast<std::size_t>(i)];
    const std::uint32_t request = span_named(trace, "request-" + std::to_string(i));
    ASSERT_NE(request, kNone);
    EXPECT_EQ(trace.spans.parent[request], kNone);
    EXPECT_EQ(trace.spans.flags[request], kSpanDetached);
    expect_same_time(trace.spans.duration_ns[request], m.request);
    const auto steps = spans_named(trace, "step-" + std::to_string(i));
    ASSERT_EQ(steps.size(), 4u);
    std::map<std::uint64_t, std::uint32_t> by_index;
    for (std::size_t a = 0; a < trace.span_args.size(); ++a) {
      const std::uint32_t owner = trace.span_args.owner[a];
      if (std::find(steps.begin(), steps.end(), owner) != steps.end()) {
        by_index[trace.span_args.bits[a]] = owner;
      }
    }
    ASSERT_EQ(by_index.size(), 4u);
    for (const auto& [k, step] : by_index) {
      EXPECT_EQ(trace.spans.parent[step], request);
      expect_same_time(trace.spans.duration_ns[step], m.step[k]);
    }
  }
}

TEST(Coroutine, ScopedSpansMayEndOutOfOrderOnOneThread) {
  const TempDir dir;
  {
    const Session session("order", options_in(dir));
    auto a = std::make_unique<Stage>("a");
    auto b = std::make_unique<Stage>("b");
    auto c = std::make_unique<Stage>("c");
    a.reset();  // the outermost first
    { const Stage d("d"); }
    c.reset();
    b.reset();
    { const Stage e("e"); }
  }
  const Trace trace = only_trace(dir);
  expect_whole(trace);
  EXPECT_EQ(parent_name(trace, span_named(trace, "b")), "a");
  EXPECT_EQ(parent_name(trace, span_named(trace, "c")), "b");
  EXPECT_EQ(parent_name(trace, span_named(trace, "d")), "c");
  EXPECT_EQ(parent_name(trace, span_named(trace, "e")), "");
  const auto end = [&](const char* name) {
    const std::uint32_t s = span_named(trace, name);
    return trace.spans.begin_ns[s] + trace.spans.duration_ns[s];
  };
  EXPECT_LE(end("a"), trace.spans.begin_ns[span_named(trace, "d")]);
  EXPECT_LE(end("d"), end("c"));
  EXPECT_LE(end("c"), end("b"));
  EXPECT_LE(end("b"), trace.spans.begin_ns[span_named(trace, "e")]);
}

TEST(Coroutine, AScopedSpanMayEndOnAnotherThread) {
  const TempDir dir;
  Bounds measured;
  {
    const Session session("hand-over", options_in(dir));
    { const Stage warm("warm"); }
    const std::int64_t begin = base::monotonic_ns();
    auto moved = std::make_unique<Stage>("moved");
    const std::int64_t within = base::monotonic_ns();
    { const Stage child("child"); }
    spin_ns(2'000'000);
    std::thread([&] {
      measured.inner_ns = base::monotonic_ns() - within;
      moved.reset();
      measured.outer_ns = base::monotonic_ns() - begin;
      const Stage other("other");
    }).join();
    const Stage later("later");  // not a child: the span is over
    const Stage nested("nested");
  }
  const Trace trace = only_trace(dir);
  expect_whole(trace);
  const std::uint32_t moved = span_named(trace, "moved");
  expect_same_time(trace.spans.duration_ns[moved], measured);
  EXPECT_EQ(parent_name(trace, span_named(trace, "child")), "moved");
  EXPECT_EQ(parent_name(trace, span_named(trace, "other")), "");
  EXPECT_EQ(parent_name(trace, span_named(trace, "later")), "");
  EXPECT_EQ(parent_name(trace, span_named(trace, "nested")), "later");
}

TEST(Coroutine, ADetachedSpanIsNobodysParentByAccident) {
  const TempDir dir;
  {
    const Session session("accident", options_in(dir));
    const Stage outer("outer");
    const Handle detached = begin(SpanKind::request, "detached");
    { const Stage inner("inner"); }
    {
      const Stage under("under", Under{detached});
      const Stage scoped("scoped");
    }
    end(detached);
  }
  const Trace trace = only_trace(dir);
  expect_whole(trace);
  EXPECT_EQ(parent_name(trace, span_named(trace, "detached")), "");
  EXPECT_EQ(parent_name(trace, span_named(trace, "inner")), "outer");
  EXPECT_EQ(parent_name(trace, span_named(trace, "under")), "detached");
  EXPECT_EQ(parent_name(trace, span_named(trace, "scoped")), "outer");
}

TEST(Coroutine, ManyScopedSpansEndedElsewhereLoseNothing) {
  const TempDir dir;
  const std::size_t count = scaled(20'000);
  {
    const Session session("elsewhere", options_in(dir));
    std::vector<std::unique_ptr<Stage>> spans;
    for (std::size_t round = 0; round < 4; ++round) {
      for (std::size_t i = 0; i < count / 4; ++i) spans.push_back(std::make_unique<Stage>("s"));
      std::thread([&] { spans.clear(); }).join();
    }
    const Stage last("last");
  }
  const Trace trace = only_trace(dir);
  expect_whole(trace);
  EXPECT_EQ(spans_named(trace, "s").size(), count / 4 * 4);
  EXPECT_EQ(parent_name(trace, span_named(trace, "last")), "");
}

TEST(Coroutine, ARequestMovesBetweenOwners) {
  const TempDir dir;
  {
    const Session session("requests", options_in(dir));
    Request first("first");
    Request moved(std::move(first));
    Request second("second");
    second = std::move(moved);  // ends "second"
    std::thread([r = std::move(second)]() mutable { r.fail(); }).join();
  }
  const Trace trace = only_trace(dir);
  expect_whole(trace);
  EXPECT_EQ(trace.spans.flags[span_named(trace, "first")], kSpanDetached | kSpanFailed);
  EXPECT_EQ(trace.spans.flags[span_named(trace, "second")], kSpanDetached);
}

}  // namespace
}  // namespace genscope::testing
