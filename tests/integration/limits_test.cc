// max_trace_bytes: stop keeps the start of the run, keep_newest its end.
#include <thread>

#include "support.h"

namespace genscope::testing {
namespace {

std::uint64_t trace_bytes(const std::string& folder) {
  std::uint64_t n = 0;
  for (const auto& e : std::filesystem::directory_iterator(folder)) {
    if (e.path().extension() == ".gst") n += e.file_size();
  }
  return n;
}

std::size_t unknown_names(const Trace& trace) {
  return static_cast<std::size_t>(
      std::count_if(trace.names.begin(), trace.names.end(),
                    [](const Name& n) { return n.text.starts_with("(unknown"); }));
}

void stop_at(bool pack) {
  const TempDir dir;
  SessionOptions options = options_in(dir);
  options.max_trace_bytes = 1 << 20;
  options.pack = pack;
  options.quiet = true;
  std::atomic<std::uint64_t> taken{0}, refused{0};
  std::string error;
  {
    const Session session("stop", options);
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&] {
        for (std::uint64_t i = 0; i < 10'000'000; ++i) {
          if (i % 1000 == 0 && !session.active()) break;
          const Stage stage("work", {{"i", i * i}});
          (stage.recorded() ? taken : refused)++;
        }
        for (int i = 0; i < 500; ++i) {
          const Stage late("work");
          refused++;
          EXPECT_FALSE(late.recorded());
        }
      });
    }
    for (std::thread& t : threads) t.join();
    error = session.error();
    EXPECT_FALSE(session.active());
  }
  EXPECT_NE(error.find("max_trace_bytes"), std::string::npos);
  const Trace trace = only_trace(dir);
  expect_sound(trace);
  EXPECT_TRUE(trace.integrity.closed);
  EXPECT_EQ(trace.integrity.bad_words, 0u);
  EXPECT_LE(trace_bytes(dir / "run"), options.max_trace_bytes);
  EXPECT_GT(spans_named(trace, "work").size(), 1000u);
  EXPECT_EQ(trace.spans.size() + total_dropped_spans(trace),
            taken + refused + 1)  // and the session
      << "what was made is in the file or counted, also after recording stopped";
  EXPECT_FALSE(trace.integrity.notes.empty());
  EXPECT_EQ(unknown_names(trace), 0u);
}

TEST(Limits, StopCountsExactly) { stop_at(true); }
TEST(Limits, StopCountsExactlyNotPacked) { stop_at(false); }

TEST(Limits, KeepNewestKeepsTheEndWithItsNames) {
  const TempDir dir;
  SessionOptions options = options_in(dir);
  options.max_trace_bytes = 2 << 20;
  options.when_full = WhenFull::keep_newest;
  const std::uint64_t count = scaled(1'500'000);
  std::uint64_t largest = 0;
  {
    const Session session("newest", options);
    name_thread("flight recorder");
    { const Stage early("early name"); }
    const Stage open("open all the time");
    for (std::uint64_t i = 0; i < count; ++i) {
      const Stage stage("early name", {{"i", i}});
      if (i % 10'000 == 0) {
        flush();
        largest = std::max(largest, trace_bytes(dir / "run"));
      }
    }
  }
  largest = std::max(largest, trace_bytes(dir / "run"));
  EXPECT_LE(largest, options.max_trace_bytes + options.max_trace_bytes / 4);
  const Trace trace = only_trace(dir);
  expect_sound(trace);
  EXPECT_TRUE(trace.integrity.closed);
  EXPECT_EQ(trace.integrity.bad_frames, 0u);
  EXPECT_EQ(trace.integrity.bad_words, 0u);
  EXPECT_EQ(unknown_names(trace), 0u);
  EXPECT_EQ(total_dropped_spans(trace), 0u);
  const auto spans = spans_named(trace, "early name");
  ASSERT_GT(spans.size(), 10'000u);
  if (!kSanitized) {
    EXPECT_LT(spans.size(), count);
    EXPECT_GT(trace.integrity.missing_chunks, 0u);
  }
  // The newest, without a hole, down to where the oldest kept segment begins.
  std::vector<std::uint64_t> numbers;
  for (std::size_t a = 0; a < trace.span_args.size(); ++a)
    numbers.push_back(trace.span_args.bits[a]);
  ASSERT_FALSE(numbers.empty());
  EXPECT_EQ(numbers.back(), count - 1);
  for (std::size_t i = 1; i < numbers.size(); ++i) ASSERT_EQ(numbers[i], numbers[i - 1] + 1);
  EXPECT_EQ(trace.tracks[trace.spans.track[spans.back()]].name, "flight recorder");
  const std::uint32_t open = span_named(trace, "open all the time");
  ASSERT_NE(open, kNone);
  EXPECT_TRUE(finished(trace, open));
  for (const std::uint32_t s : spans) {
    if (trace.spans.begin_ns[s] > trace.spans.begin_ns[open]) {
      ASSERT_EQ(trace.spans.parent[s], open);
    }
  }
}

TEST(Limits, KeepNewestMayBeReadWhileItTurnsOver) {
  const TempDir dir;
  SessionOptions options = options_in(dir);
  options.max_trace_bytes = 1 << 20;
  options.when_full = WhenFull::keep_newest;
  std::atomic<bool> stop{false};
  const Session session("newest", options);
  const std::jthread writer([&] {
    for (std::uint64_t i = 0; !stop; ++i) {
      const Stage stage("work", {{"i", i * 7919}});
    }
  });
  for (std::size_t i = 0; i < scaled(20) + 5; ++i) {
    const auto run = read_run(dir / "run");
    EXPECT_TRUE(run.ok()) << run.error().message;
    if (!run.ok()) break;
    expect_sound(run->traces.front());
    EXPECT_EQ(run->traces.front().integrity.bad_words, 0u);
    EXPECT_TRUE(run->notes.empty()) << run->notes.front();
  }
  stop = true;
}

}  // namespace
}  // namespace genscope::testing
