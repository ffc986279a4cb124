#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "genscope/store.h"
#include "testing/temp_dir.h"

namespace genscope {
namespace {

using ::testing::HasSubstr;

// Value of an argument, whatever its place in Trace::texts.
std::string value(const Trace& t, const ArgColumns& a, std::size_t i) {
  if (a.type[i] == ArgType::text) return "text " + t.texts[a.bits[i]];
  return std::to_string(static_cast<int>(a.type[i])) + " " + std::to_string(a.bits[i]);
}

void expect_same_args(const Trace& ta, const ArgColumns& a, const Trace& tb, const ArgColumns& b) {
  EXPECT_EQ(a.owner, b.owner);
  EXPECT_EQ(a.key, b.key);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(value(ta, a, i), value(tb, b, i)) << i;
}

void expect_same(const Trace& a, const Trace& b) {
  EXPECT_EQ(a.process.trace_id, b.process.trace_id);
  EXPECT_EQ(a.process.pid, b.process.pid);
  EXPECT_EQ(a.process.host, b.process.host);
  EXPECT_EQ(a.process.command, b.process.command);
  EXPECT_EQ(a.process.rank, b.process.rank);
  EXPECT_EQ(a.process.world_size, b.process.world_size);
  EXPECT_EQ(a.process.started_ns, b.process.started_ns);
  EXPECT_EQ(a.process.unix_offset_ns, b.process.unix_offset_ns);
  EXPECT_EQ(a.begin_ns, b.begin_ns);
  EXPECT_EQ(a.end_ns, b.end_ns);
  EXPECT_EQ(a.integrity.notes, b.integrity.notes);
  ASSERT_EQ(a.names.size(), b.names.size());
  for (std::size_t i = 0; i < a.names.size(); ++i) {
    EXPECT_EQ(a.names[i].text, b.names[i].text);
    EXPECT_EQ(a.names[i].kind, b.names[i].kind);
  }
  ASSERT_EQ(a.tracks.size(), b.tracks.size());
  for (std::size_t i = 0; i < a.tracks.size(); ++i) {
    EXPECT_EQ(a.tracks[i].name, b.tracks[i].name);
    EXPECT_EQ(a.tracks[i].tid, b.tracks[i].tid);
    EXPECT_EQ(a.tracks[i].dropped_spans, b.tracks[i].dropped_spans);
    EXPECT_EQ(a.tracks[i].dropped_records, b.tracks[i].dropped_records);
  }
  EXPECT_EQ(a.spans.begin_ns, b.spans.begin_ns);
  EXPECT_EQ(a.spans.duration_ns, b.spans.duration_ns);
  EXPECT_EQ(a.spans.name, b.spans.name);
  EXPECT_EQ(a.spans.track, b.spans.track);
  EXPECT_EQ(a.spans.parent, b.spans.parent);
  EXPECT_EQ(a.spans.flags, b.spans.flags);
  expect_same_args(a, a.span_args, b, b.span_args);
  EXPECT_EQ(a.device.span, b.device.span);
  EXPECT_EQ(a.device.duration_ns, b.device.duration_ns);
  EXPECT_EQ(a.device.begin_ns, b.device.begin_ns);
  EXPECT_EQ(a.events.at_ns, b.events.at_ns);
  EXPECT_EQ(a.events.name, b.events.name);
  EXPECT_EQ(a.events.track, b.events.track);
  EXPECT_EQ(a.events.span, b.events.span);
  expect_same_args(a, a.event_args, b, b.event_args);
  EXPECT_EQ(a.counters.at_ns, b.counters.at_ns);
  EXPECT_EQ(a.counters.name, b.counters.name);
  EXPECT_EQ(a.counters.track, b.counters.track);
  EXPECT_EQ(a.counters.value, b.counters.value);
  ASSERT_EQ(a.gaps.size(), b.gaps.size());
  for (std::size_t i = 0; i < a.gaps.size(); ++i) {
    EXPECT_EQ(a.gaps[i].track, b.gaps[i].track);
    EXPECT_EQ(a.gaps[i].begin_ns, b.gaps[i].begin_ns);
    EXPECT_EQ(a.gaps[i].end_ns, b.gaps[i].end_ns);
    EXPECT_EQ(a.gaps[i].lost, b.gaps[i].lost);
  }
}

Trace round_trip(const Trace& trace) {
  const testing::TempDir dir;
  const std::string path = dir.path() + "/trace-1-0.gst";
  const Status written = write_trace(trace, path);
  EXPECT_TRUE(written.ok()) << (written.ok() ? "" : written.error().message);
  auto back = read_trace(path);
  EXPECT_TRUE(back.ok());
  if (!back.ok()) return {};
  EXPECT_TRUE(back->integrity.closed);
  EXPECT_EQ(back->integrity.bad_words, 0u);
  EXPECT_EQ(back->integrity.bad_frames, 0u);
  EXPECT_EQ(back->integrity.clamped_ticks, 0u);
  return std::move(*back);
}

Trace empty_trace() {
  Trace t;
  t.process.trace_id = "0123456789abcdef0123456789abcdef";
  t.process.pid = 77;
  t.process.host = "host \"quoted\"";
  t.process.command = {"a", "b c"};
  t.process.started_ns = t.begin_ns = 5'000;
  t.process.unix_offset_ns = 1'700'000'000'000'000'000;
  t.end_ns = t.begin_ns;
  return t;
}

std::uint32_t add_span(Trace& t, std::int64_t begin, std::int64_t duration, std::uint32_t name,
                       std::uint32_t track, std::uint32_t parent, std::uint8_t flags) {
  t.spans.begin_ns.push_back(begin);
  t.spans.duration_ns.push_back(duration);
  t.spans.name.push_back(name);
  t.spans.track.push_back(track);
  t.spans.parent.push_back(parent);
  t.spans.flags.push_back(flags);
  t.end_ns = std::max(t.end_ns, begin + duration);
  return static_cast<std::uint32_t>(t.spans.size() - 1);
}

class RandomTrace {
 public:
  explicit RandomTrace(unsigned seed) : random_(seed) {}

  Trace make() {
    t_ = empty_trace();
    if (chance(2)) t_.process.rank = 3, t_.process.world_size = 8;
    if (chance(3)) t_.integrity.notes = {"a note", "another"};
    for (int i = 0; i < 20; ++i) {
      t_.names.push_back({"name " + std::to_string(i), static_cast<SpanKind>(below(12))});
    }
    for (int i = 0; i < 50; ++i)
      t_.texts.push_back(std::string(below(500), static_cast<char>('a' + i % 26)));
    const std::uint32_t tracks = 1 + below(6);
    for (std::uint32_t i = 0; i < tracks; ++i) {
      t_.tracks.push_back({"track " + std::to_string(i), chance(3) ? 0 : 100 + i, 0, 0});
      add_track(i);
    }
    if (chance(2)) add_loss();
    link();
    return t_;
  }

 private:
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  bool chance(std::uint32_t n) { return below(n) == 0; }

  // Scoped spans nest in [now, end]; ties and empty ones are frequent on purpose.
  void add_spans(std::uint32_t track, std::int64_t end, std::uint32_t parent, int depth) {
    while (now_ < end && t_.spans.size() < 60'000) {
      now_ += below(4) * scale_;
      if (now_ > end) break;
      const std::int64_t length = std::min<std::int64_t>(below(40) * scale_, end - now_);
      const std::uint8_t failed = chance(10) ? kSpanFailed : 0;
      const std::uint32_t span = add_span(t_, now_, length, below(20), track, parent, failed);
      add_owned(t_.span_args, span);
      if (depth < 6 && !chance(3)) add_spans(track, now_ + length, span, depth + 1);
      now_ = t_.spans.begin_ns[span] + length;
      if (length == 0) now_ += scale_;
    }
  }

  void add_track(std::uint32_t track) {
    scale_ = chance(4) ? 100'000'000'000 : 1 + below(1000);  // some need rebases
    now_ = t_.begin_ns + below(100);
    const bool loose = chance(3);
    if (!loose) {
      add_spans(track, now_ + scale_ * (200 + below(4000)), kNone, 0);
    } else {
      for (std::uint32_t i = 0; i < 1000; ++i, now_ += below(3)) {
        add_owned(t_.span_args,
                  add_span(t_, now_, below(5000), below(20), track, kNone, kSpanDetached));
      }
    }
    std::int64_t at = t_.begin_ns;
    for (std::uint32_t i = 0; i < below(300); ++i) {
      at += below(300);
      const auto event = static_cast<std::uint32_t>(t_.events.size());
      t_.events.at_ns.push_back(at);
      t_.events.name.push_back(below(20));
      t_.events.track.push_back(track);
      t_.events.span.push_back(kNone);
      add_owned(t_.event_args, event);
      t_.counters.at_ns.push_back(at);
      t_.counters.name.push_back(below(20));
      t_.counters.track.push_back(track);
      t_.counters.value.push_back(static_cast<double>(below(1000)) / 7);
      t_.end_ns = std::max(t_.end_ns, at);
    }
  }

  void add_owned(ArgColumns& args, std::uint32_t owner) {
    for (std::uint32_t n = chance(3) ? below(5) : 0; n > 0; --n) {
      args.owner.push_back(owner);
      args.key.push_back(below(20));
      const auto type = static_cast<ArgType>(below(5));
      args.type.push_back(type);
      args.bits.push_back(type == ArgType::text      ? below(50)
                          : type == ArgType::boolean ? below(2)
                          : chance(2)                ? below(100)
                                                     : random_());
    }
  }

  // Detached spans get parents, events spans, on any track; some spans device time.
  void link() {
    const auto spans = static_cast<std::uint32_t>(t_.spans.size());
    if (spans == 0) return;
    for (std::uint32_t i = 0; i < spans; ++i) {
      const std::uint32_t other = below(spans);
      const bool earlier =
          std::pair(t_.spans.begin_ns[other], other) < std::pair(t_.spans.begin_ns[i], i);
      if ((t_.spans.flags[i] & kSpanDetached) != 0 && earlier && chance(2)) {
        t_.spans.parent[i] = other;
      }
      if (!chance(5)) continue;
      t_.device.span.push_back(i);
      t_.device.duration_ns.push_back(chance(9) ? std::int64_t{1} << 50 : below(1'000'000));
      t_.device.begin_ns.push_back(chance(2) ? -1 : t_.spans.begin_ns[i] + below(10));
    }
    for (std::uint32_t& span : t_.events.span) span = chance(2) ? kNone : below(spans);
  }

  void add_loss() {
    TrackInfo& track = t_.tracks[0];
    track.dropped_records = below(3);
    track.dropped_spans = 12;
    t_.gaps.push_back({0, t_.begin_ns + 5, t_.begin_ns + 50, 7});
    t_.gaps.push_back({0, t_.begin_ns + 60, t_.begin_ns + 61, 5});
  }

  std::mt19937_64 random_;
  Trace t_;
  std::int64_t now_ = 0;
  std::int64_t scale_ = 1;
};

TEST(WriteTrace, RandomTracesComeBackAsTheyWere) {
  std::uint64_t spans = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const Trace trace = RandomTrace(seed).make();
    spans += trace.spans.size();
    expect_same(trace, round_trip(trace));
    if (HasFailure()) return;
  }
  EXPECT_GT(spans, 10'000u);
}

TEST(WriteTrace, KeepsAnEmptyTrackAndTheEndOfTheRecording) {
  Trace t = empty_trace();
  t.names.push_back({"stage", SpanKind::stage});
  t.tracks = {{"silent", 4, 0, 0}, {"main", 5, 0, 0}};
  add_span(t, 6'000, 10, 0, 1, kNone, 0);
  t.end_ns = 9'000'000'000'000;
  expect_same(t, round_trip(t));
}

TEST(WriteTrace, KeepsSpansThatNeverEnded) {
  Trace t = empty_trace();
  t.names = {{"outer", SpanKind::stage}, {"inner", SpanKind::step}, {"request", SpanKind::request}};
  t.tracks = {{"main", 5, 0, 0}};
  const std::uint32_t outer = add_span(t, 6'000, 4'000, 0, 0, kNone, kSpanUnfinished);
  add_span(t, 6'000, 1'000, 1, 0, outer, 0);
  add_span(t, 8'000, 2'000, 1, 0, outer, kSpanUnfinished);
  add_span(t, 9'000, 1'000, 2, 0, outer, kSpanDetached | kSpanUnfinished);
  expect_same(t, round_trip(t));
}

// A named track whose spans were recorded on another thread, between that thread's own.
TEST(WriteTrace, KeepsTheOrderOfSpansOnTheTracksOfOthers) {
  Trace t = empty_trace();
  t.names = {{"work", SpanKind::stage}, {"kernel", SpanKind::task}, {"stream 7", SpanKind::none}};
  t.tracks = {{"main", 5, 0, 0}, {"stream 7", 0, 0, 0}};
  for (int i = 0; i < 3; ++i) {
    const std::uint32_t work = add_span(t, 6'000 + i * 100, 50, 0, 0, kNone, 0);
    add_span(t, 6'010 + i * 100, 500, 1, 1, work, kSpanDetached);
  }
  expect_same(t, round_trip(t));
}

TEST(WriteTrace, HoldsTenThousandLevels) {
  Trace t = empty_trace();
  t.names = {{"recursion", SpanKind::function}};
  t.tracks = {{"main", 5, 0, 0}};
  constexpr int kDepth = 10'000;
  for (int i = 0; i < kDepth; ++i) {
    add_span(t, 6'000 + i, 2 * kDepth - 2 * i, 0, 0,
             i == 0 ? kNone : static_cast<std::uint32_t>(i - 1), 0);
  }
  expect_same(t, round_trip(t));
}

TEST(WriteTrace, AScopedSpanThatOverlapsItsSiblingBecomesDetached) {
  Trace t = empty_trace();
  t.names = {{"a", SpanKind::stage}, {"b", SpanKind::stage}};
  t.tracks = {{"main", 5, 0, 0}};
  add_span(t, 6'000, 100, 0, 0, kNone, 0);
  add_span(t, 6'050, 100, 1, 0, kNone, 0);
  const Trace back = round_trip(t);
  t.spans.flags[1] |= kSpanDetached;
  expect_same(t, back);
}

TEST(WriteTrace, SpansInTheWrongOrderAreSorted) {
  Trace t = empty_trace();
  t.names = {{"a", SpanKind::stage}, {"b", SpanKind::stage}};
  t.tracks = {{"main", 5, 0, 0}};
  add_span(t, 7'000, 10, 0, 0, kNone, 0);
  add_span(t, 6'000, 10, 1, 0, kNone, 0);
  const Trace back = round_trip(t);
  ASSERT_EQ(back.spans.size(), 2u);
  EXPECT_EQ(back.span_name(0), "b");
  EXPECT_EQ(back.spans.begin_ns[1], 7'000);
}

TEST(WriteTrace, RefusesWhatPointsNowhere) {
  const testing::TempDir dir;
  const auto message = [&](const Trace& t) {
    const Status s = write_trace(t, dir.path() + "/trace-1-0.gst");
    return s.ok() ? std::string("(written)") : s.error().message;
  };
  Trace good = empty_trace();
  good.names = {{"a", SpanKind::stage}};
  good.tracks = {{"main", 5, 0, 0}};
  add_span(good, 6'000, 10, 0, 0, kNone, 0);
  EXPECT_EQ(message(good), "(written)");
  Trace t = good;
  t.spans.name[0] = 9;
  EXPECT_THAT(message(t), HasSubstr("spans.name[0] is no name"));
  t = good;
  t.spans.parent[0] = 4;
  EXPECT_THAT(message(t), HasSubstr("spans.parent[0] is no span"));
  t = good;
  t.spans.begin_ns[0] = -1;
  EXPECT_THAT(message(t), HasSubstr("spans.begin_ns[0] is out of range"));
  t = good;
  t.spans.flags.clear();
  EXPECT_THAT(message(t), HasSubstr("different length"));
  t = good;
  t.span_args = {{0}, {0}, {ArgType::text}, {0}};
  EXPECT_THAT(message(t), HasSubstr("span_args[0] has a text that is none"));
}

TEST(WriteTrace, LeavesNothingBehindWhereItCannotWrite) {
  const testing::TempDir dir;
  std::ofstream(dir.path() + "/file") << "x";
  const Status s = write_trace(empty_trace(), dir.path() + "/file/trace-1-0.gst");
  ASSERT_FALSE(s.ok());
  EXPECT_THAT(s.error().message, HasSubstr("/file/trace-1-0.gst"));
  EXPECT_FALSE(std::filesystem::exists(dir.path() + "/file/trace-1-0.gst.part"));
}

}  // namespace
}  // namespace genscope
