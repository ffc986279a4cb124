// Durations come from a clock that nobody can set.
// GENSCOPE_TEST_SET_CLOCK=1, as root: also sets this machine's wall clock back by an hour and
// restores it.
#include <cstring>
#include <ctime>

#include "support.h"
#include "trace/frame.h"
#include "trace/meta.h"

namespace genscope::testing {
namespace {

using internal::make_word;
using internal::Op;

constexpr std::int64_t kSecond = 1'000'000'000;

// A trace by hand: one lane, a span of one second in each of 10 seconds, a clock snapshot a second
// with the given wall-clock times.
void write_trace(const std::string& path, const std::vector<std::int64_t>& wall) {
  const trace::Preamble preamble;
  std::vector<std::byte> bytes(sizeof preamble);
  std::memcpy(bytes.data(), &preamble, sizeof preamble);
  const std::string json =
      R"({"trace_id":"00","clock":"tsc","ticks_per_second":3e9,"started_ticks":0,"started_monotonic_ns":5,"started_unix_ns":7})";
  trace::FrameHeader header;
  header.type = trace::FrameType::process;
  trace::append_frame(header, std::as_bytes(std::span(json)), bytes);
  std::vector<std::uint64_t> words;
  for (std::size_t i = 0; i < wall.size(); ++i) {
    const auto n = static_cast<std::int64_t>(i + 1);
    const std::size_t at = words.size();
    words.resize(at + trace::kMaxMetaWords);
    words.resize(at + trace::encode(trace::ClockMeta{static_cast<std::uint64_t>(n) * 3 * kSecond,
                                                     n * kSecond, wall[i], 0, 0},
                                    words.data() + at));
  }
  header.type = trace::FrameType::chunk;
  header.words = static_cast<std::uint32_t>(words.size());
  trace::append_frame(header, std::as_bytes(std::span(words)), bytes);
  words.clear();
  for (std::uint64_t i = 0; i < 10; ++i) {
    words.push_back(make_word(Op::begin, 1, i * 3 * kSecond));
    words.push_back(make_word(Op::end, static_cast<std::uint32_t>(2 * i), (i + 1) * 3 * kSecond));
  }
  header.lane = 1;
  header.words = static_cast<std::uint32_t>(words.size());
  trace::append_frame(header, std::as_bytes(std::span(words)), bytes);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

TEST(Clock, AWallClockThatIsSetBackDoesNotChangeDurations) {
  const TempDir dir;
  std::vector<std::int64_t> steady, back;
  for (std::int64_t i = 1; i <= 9; ++i) {
    steady.push_back((1000 + i) * kSecond);
    back.push_back((1000 + i - (i > 4 ? 900 : 0)) * kSecond);
  }
  write_trace(dir / "steady.gst", steady);
  write_trace(dir / "back.gst", back);
  const auto a = read_trace(dir / "steady.gst");
  const auto b = read_trace(dir / "back.gst");
  ASSERT_TRUE(a.ok() && b.ok());
  ASSERT_EQ(a->spans.size(), 10u);
  EXPECT_EQ(a->spans.begin_ns, b->spans.begin_ns);
  EXPECT_EQ(a->spans.duration_ns, b->spans.duration_ns);
  for (const std::int64_t d : a->spans.duration_ns) EXPECT_NEAR(static_cast<double>(d), 1e9, 10);
  EXPECT_EQ(b->integrity.clamped_ticks, 0u);
}

std::int64_t total(const TempDir& dir, ClockChoice choice, Bounds& measured) {
  SessionOptions options = options_in(dir);
  options.clock = choice;
  measured = {};
  {
    const Session session("clocks", options);
    { const Stage warm("warm"); }
    for (int i = 0; i < 10; ++i) {
      const std::int64_t begin = base::monotonic_ns();
      {
        const Stage stage("work");
        const std::int64_t within = base::monotonic_ns();
        spin_ns(5'000'000);
        measured.inner_ns += base::monotonic_ns() - within;
      }
      measured.outer_ns += base::monotonic_ns() - begin;
    }
  }
  const Trace trace = only_trace(dir);
  expect_whole(trace);
  const bool os = choice == ClockChoice::os || !base::cpu_ticks_trusted();
  EXPECT_EQ(trace.process.clock, os ? "monotonic" : "tsc");
  std::int64_t sum = 0;
  for (const std::uint32_t s : spans_named(trace, "work")) sum += trace.spans.duration_ns[s];
  return sum;
}

TEST(Clock, BothClocksAgreeWithTheMonotonicClock) {
  for (const ClockChoice choice : {ClockChoice::automatic, ClockChoice::os}) {
    const TempDir dir;
    Bounds measured;
    const std::int64_t sum = total(dir, choice, measured);
    expect_same_time(sum, measured);
  }
}

TEST(Clock, TheEnvironmentChoosesTheOsClock) {
  const TempDir dir;
  ::setenv("GENSCOPE_CLOCK", "os", 1);
  {
    const Session session("os", options_in(dir));
    const Stage stage("s");
  }
  ::unsetenv("GENSCOPE_CLOCK");
  EXPECT_EQ(only_trace(dir).process.clock, "monotonic");
}

TEST(Clock, TimesLieWhereTheMonotonicClockSaysAndUnixTimeFits) {
  for (const ClockChoice choice : {ClockChoice::automatic, ClockChoice::os}) {
    const TempDir dir;
    SessionOptions options = options_in(dir);
    options.clock = choice;
    std::int64_t before = 0, after = 0;
    {
      const Session session("when", options);
      spin_ns(50'000'000);
      before = base::monotonic_ns();
      { const Stage stage("here"); }
      after = base::monotonic_ns();
      spin_ns(10'000'000);
    }
    const Trace trace = only_trace(dir);
    const std::uint32_t s = span_named(trace, "here");
    constexpr std::int64_t kSlack = 100'000;  // the snapshots' own error
    EXPECT_GE(trace.spans.begin_ns[s], before - kSlack);
    EXPECT_LE(trace.spans.begin_ns[s] + trace.spans.duration_ns[s], after + kSlack);
    const std::int64_t offset = base::realtime_ns() - base::monotonic_ns();
    EXPECT_LT(std::abs(trace.process.unix_offset_ns - offset), kSecond / 10);
  }
}

TEST(Clock, SettingTheMachinesClockBackAnHourChangesNothing) {
  const char* const asked = std::getenv("GENSCOPE_TEST_SET_CLOCK");
  if (asked == nullptr || std::string(asked) != "1") {
    GTEST_SKIP() << "it sets the machine's clock: only with GENSCOPE_TEST_SET_CLOCK=1";
  }
  const TempDir dir;
  Bounds measured;
  {
    const Session session("set", options_in(dir));
    { const Stage warm("warm"); }
    const std::int64_t begin = base::monotonic_ns();
    {
      const Stage stage("work");
      const std::int64_t within = base::monotonic_ns();
      spin_ns(50'000'000);
      timespec t{};
      ::clock_gettime(CLOCK_REALTIME, &t);
      t.tv_sec -= 3600;
      if (::clock_settime(CLOCK_REALTIME, &t) != 0) GTEST_SKIP() << "not allowed";
      spin_ns(1'200'000'000);  // over a snapshot
      ::clock_gettime(CLOCK_REALTIME, &t);
      t.tv_sec += 3600;
      ::clock_settime(CLOCK_REALTIME, &t);
      measured.inner_ns = base::monotonic_ns() - within;
    }
    measured.outer_ns = base::monotonic_ns() - begin;
  }
  const Trace trace = only_trace(dir);
  expect_whole(trace);
  expect_same_time(trace.spans.duration_ns[span_named(trace, "work")], measured);
}

}  // namespace
}  // namespace genscope::testing
