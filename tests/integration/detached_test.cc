// Detached spans, events and counters by the fast paths and by the slow ones: the same trace, on
// either clock, by static and by given names, over the ends of chunks.
#include <thread>

#include "support.h"

namespace genscope::testing {
namespace {

constinit Site g_request{"request", SpanKind::request, {0}};
constinit Site g_mark{"mark", SpanKind::none, {0}};
constinit Site g_loss{"loss", SpanKind::none, {0}};

constexpr std::uint64_t kMany = 20'000;  // some 10 chunks

void expect_all_there(const Trace& trace, std::uint64_t many) {
  expect_whole(trace);
  expect_sound(trace);
  const auto requests = spans_named(trace, "request");
  ASSERT_EQ(requests.size(), many);
  std::uint64_t open = 0, without_parent = 0, attached = 0;
  for (const std::uint32_t s : requests) {
    open += finished(trace, s) ? 0 : 1;
    attached += (trace.spans.flags[s] & kSpanDetached) != 0 ? 0 : 1;
    without_parent += parent_name(trace, s) == "outer" ? 0 : 1;
  }
  EXPECT_EQ(open, 0u);
  EXPECT_EQ(attached, 0u);
  EXPECT_EQ(without_parent, 0u);
  ASSERT_EQ(trace.counters.size(), many);
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < many; ++i) {
    wrong += trace.counters.value[i] == static_cast<double>(i) ? 0 : 1;
  }
  EXPECT_EQ(wrong, 0u);
  ASSERT_EQ(trace.events.size(), many);
  for (std::uint64_t i = 0; i < many; ++i) {
    wrong += trace.names[trace.events.name[i]].text == "mark" ? 0 : 1;
  }
  EXPECT_EQ(wrong, 0u);
}

class Detached : public ::testing::TestWithParam<ClockChoice> {
 protected:
  SessionOptions options() const {
    SessionOptions o = options_in(dir_);
    o.clock = GetParam();
    o.span = false;
    return o;
  }
  const TempDir dir_;
};

TEST_P(Detached, StaticNamesOverManyChunks) {
  {
    const Session session("static", options());
    const Stage outer("outer");
    for (std::uint64_t i = 0; i < kMany; ++i) {
      const Handle request = begin(g_request, {outer.handle(), {}});
      event(g_mark);
      counter(g_loss, static_cast<double>(i));
      end(request);
    }
  }
  expect_all_there(only_trace(dir_), kMany);
}

TEST_P(Detached, GivenNamesOverManyChunks) {
  {
    const Session session("given", options());
    const Stage outer("outer");
    for (std::uint64_t i = 0; i < kMany; ++i) {
      const Handle request = begin(SpanKind::request, "request", {outer.handle(), {}});
      event("mark");
      counter("loss", static_cast<double>(i));
      end(request);
    }
  }
  expect_all_there(only_trace(dir_), kMany);
}

// The ends of scoped spans have their room, however many detached records come between.
TEST_P(Detached, LeavesRoomForTheEndsOfScopedSpans) {
  constexpr int kDeep = 500;
  {
    const Session session("deep", options());
    const Stage outer("outer");
    std::vector<Handle> scoped;
    for (int i = 0; i < kDeep; ++i) scoped.push_back(begin_scoped(SpanKind::stage, "deep"));
    for (std::uint64_t i = 0; i < kMany; ++i) {
      end(begin(g_request, {outer.handle(), {}}));
      event(g_mark);
      counter(g_loss, static_cast<double>(i));
    }
    for (; !scoped.empty(); scoped.pop_back()) end(scoped.back());
  }
  const Trace trace = only_trace(dir_);
  expect_all_there(trace, kMany);
  for (const std::uint32_t s : spans_named(trace, "deep")) ASSERT_TRUE(finished(trace, s));
}

TEST_P(Detached, AnyThreadMayEndIt) {
  std::vector<Handle> open;
  {
    const Session session("other", options());
    for (int i = 0; i < 100; ++i) open.push_back(begin(g_request));
    std::thread([&] {
      { const Stage here("here"); }  // this thread has a lane
      for (std::size_t i = 0; i < open.size(); ++i) {
        if (i % 4 == 0) {
          end_failed(open[i]);
        } else {
          end(open[i]);
        }
      }
    }).join();
    std::thread([&] { end(begin(g_request)); }).join();
  }
  const Trace trace = only_trace(dir_);
  expect_whole(trace);
  std::uint64_t failed = 0;
  const auto requests = spans_named(trace, "request");
  ASSERT_EQ(requests.size(), 101u);
  for (const std::uint32_t s : requests) {
    EXPECT_TRUE(finished(trace, s));
    failed += (trace.spans.flags[s] & kSpanFailed) != 0 ? 1 : 0;
  }
  EXPECT_EQ(failed, 25u);
}

// What belongs to a trace that is closed is not in the next one.
TEST_P(Detached, AnEndAfterItsTraceIsForgotten) {
  Handle old;
  {
    const Session session("first", options());
    old = begin(g_request);
  }
  {
    SessionOptions second = options();
    second.run_dir = dir_ / "second";
    const Session session("second", second);
    end(old);
    end(begin(g_request));
    std::thread([&] {
      end(begin(g_request));
      end(old);
    }).join();
  }
  const Trace trace = only_trace(dir_ / "second");
  expect_whole(trace);
  EXPECT_EQ(spans_named(trace, "request").size(), 2u);
}

// One that began before recording was switched off still gets its end, and nothing else is there.
TEST_P(Detached, SwitchedOffNothingButEndsIsWritten) {
  {
    const Session session("off", options());
    const Handle request = begin(g_request);
    set_enabled(false);
    EXPECT_FALSE(begin(g_request));
    event(g_mark);
    counter(g_loss, 1);
    end(request);
    set_enabled(true);
  }
  const Trace trace = only_trace(dir_);
  expect_whole(trace);
  ASSERT_EQ(spans_named(trace, "request").size(), 1u);
  EXPECT_EQ(trace.events.size() + trace.counters.size(), 0u);
}

INSTANTIATE_TEST_SUITE_P(BothClocks, Detached,
                         ::testing::Values(ClockChoice::automatic, ClockChoice::os),
                         [](const auto& one) {
                           return one.param == ClockChoice::os ? "Os" : "Ticks";
                         });

}  // namespace
}  // namespace genscope::testing
