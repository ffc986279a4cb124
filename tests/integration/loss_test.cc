// Full buffers: spans are dropped, never torn, and the counts are exact for each thread.
#include <thread>

#include "support.h"

namespace genscope::testing {
namespace {

void burst(std::size_t threads, std::size_t each, bool dynamic_names) {
  const TempDir dir;
  SessionOptions options = options_in(dir);
  options.buffer_bytes = 512 << 10;
  std::uint64_t lost_by_stats = 0;
  std::vector<std::uint64_t> dropped(threads, 0);
  {
    const Session session("loss", options);
    const std::uint64_t before = recorder_stats().dropped_spans;
    std::vector<std::thread> all;
    for (std::size_t t = 0; t < threads; ++t) {
      all.emplace_back([&, t] {
        name_thread("t" + std::to_string(t));
        for (std::size_t i = 0; i < each; i += 2) {
          if (dynamic_names) {
            const Stage outer("outer");
            const Span inner(SpanKind::function, "inner", {{"i", i}});
            dropped[t] += (outer.recorded() ? 0u : 1u) + (inner.recorded() ? 0u : 1u);
          } else {
            static constinit Site outer_site{"outer", SpanKind::stage, {0}};
            static constinit Site inner_site{"inner", SpanKind::function, {0}};
            const Span outer(outer_site);
            const Span inner(inner_site);
            dropped[t] += (outer.recorded() ? 0u : 1u) + (inner.recorded() ? 0u : 1u);
          }
        }
      });
    }
    for (std::thread& t : all) t.join();
    lost_by_stats = recorder_stats().dropped_spans - before;
  }
  const Trace trace = only_trace(dir);
  expect_sound(trace);
  EXPECT_TRUE(trace.integrity.closed);
  EXPECT_EQ(trace.integrity.unfinished_spans, 0u) << "a begin that is kept keeps its end";
  EXPECT_EQ(trace.integrity.bad_words, 0u);
  EXPECT_EQ(trace.integrity.missing_chunks, 0u);
  std::map<std::string, std::uint64_t> read, lost, in_gaps;
  for (std::size_t s = 0; s < trace.spans.size(); ++s) {
    read[trace.tracks[trace.spans.track[s]].name]++;
  }
  for (const TrackInfo& t : trace.tracks) lost[t.name] += t.dropped_spans;
  for (const Gap& g : trace.gaps) {
    in_gaps[trace.tracks[g.track].name] += g.lost;
    EXPECT_LE(g.begin_ns, g.end_ns);
    EXPECT_GE(g.begin_ns, trace.begin_ns);
  }
  for (std::size_t t = 0; t < threads; ++t) {
    const std::string name = "t" + std::to_string(t);
    SCOPED_TRACE(name);
    EXPECT_EQ(lost[name], dropped[t]);
    EXPECT_EQ(read[name] + lost[name], each);
    EXPECT_EQ(in_gaps[name], lost[name]) << "every loss lies in a gap";
  }
  EXPECT_EQ(total_dropped_spans(trace), lost_by_stats);
  if (!kSanitized) {
    EXPECT_GT(lost_by_stats, 0u) << "the burst was too small to test anything";
  }
}

TEST(Loss, OneThread) { burst(1, scaled(2'000'000), false); }
TEST(Loss, FourThreads) { burst(4, scaled(1'000'000), false); }
TEST(Loss, FourThreadsWithNamesAndArguments) { burst(4, scaled(500'000), true); }

TEST(Loss, EventsAndCountersAreCountedToo) {
  const TempDir dir;
  SessionOptions options = options_in(dir);
  options.buffer_bytes = 512 << 10;
  const std::size_t count = scaled(1'000'000);
  {
    const Session session("loss", options);
    for (std::size_t i = 0; i < count; ++i) {
      GENSCOPE_EVENT("event");
      GENSCOPE_COUNTER("counter", static_cast<double>(i));
    }
  }
  const Trace trace = only_trace(dir);
  std::uint64_t lost = 0;
  for (const TrackInfo& t : trace.tracks) lost += t.dropped_records;
  EXPECT_EQ(trace.events.size() + trace.counters.size() + lost, 2 * count);
  EXPECT_EQ(total_dropped_spans(trace), 0u);
}

TEST(Loss, DefaultBuffersKeepUpWithAFastThread) {
  const TempDir dir;
  const std::size_t count = scaled(3'000'000);
  {
    const Session session("fast", options_in(dir));
    for (std::size_t i = 0; i < count; ++i) {
      GENSCOPE_SPAN("fast span");
    }
  }
  const Trace trace = only_trace(dir);
  EXPECT_EQ(spans_named(trace, "fast span").size() + total_dropped_spans(trace), count);
}

}  // namespace
}  // namespace genscope::testing
