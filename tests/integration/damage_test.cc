// A truncated, bit-flipped or otherwise damaged file gives a clear error or a partial Trace with
// counts; one damaged frame costs only what was in it.
#include <cstring>
#include <thread>

#include "support.h"
#include "trace/frame.h"
#include "trace/pack.h"

namespace genscope::testing {
namespace {

using Bytes = std::vector<std::byte>;

struct FrameAt {
  trace::FrameHeader header;
  std::size_t offset = 0, size = 0;  // with its header
  std::uint64_t begins = 0;          // spans that begin in it
};

// A real trace, its frames, and a place to put damaged copies.
class Damage : public ::testing::Test {
 protected:
  void record(bool pack) {
    SessionOptions options = options_in(dir_);
    options.pack = pack;
    {
      const Session session("damage", options);
      std::vector<std::thread> threads;
      for (int t = 0; t < 3; ++t) {
        threads.emplace_back([t] {
          name_thread("t" + std::to_string(t));
          const Stage outer("outer");
          for (int i = 0; i < 6000; ++i) {
            const Stage stage("stage " + std::to_string(i % 50), {{"i", i}, {"text", "some text"}});
            if (i % 100 == 0) event("event", {{"x", 0.5}});
            if (i % 100 == 50) counter("counter", i);
            if (i % 100 == 70) end(begin(SpanKind::request, "request", Under{outer.handle()}));
            if (i % 100 == 90) stage.device_time(1000);
          }
        });
      }
      for (std::thread& t : threads) t.join();
    }
    for (const auto& e : std::filesystem::directory_iterator(dir_ / "run")) {
      if (e.path().extension() == ".gst") source_ = e.path().string();
    }
    const std::string text = slurp(source_);
    whole_.resize(text.size());
    std::memcpy(whole_.data(), text.data(), text.size());
    const auto trace = read_trace(source_);
    ASSERT_TRUE(trace.ok());
    expect_whole(*trace);
    spans_ = trace->spans.size();
    list_frames();
  }

  void list_frames() {
    trace::FrameScanner scanner(whole_);
    trace::FrameView view;
    trace::Unpacker unpacker;
    while (scanner.next(view)) {
      FrameAt f{view.header, view.offset, sizeof view.header + view.payload.size(), 0};
      if (view.header.type == trace::FrameType::chunk && view.header.lane != 0) {
        const std::size_t open_bytes = view.header.open_spans * sizeof(trace::OpenSpan);
        std::vector<trace::OpenSpan> open(view.header.open_spans);
        if (open_bytes > 0) std::memcpy(open.data(), view.payload.data(), open_bytes);
        const auto body = view.payload.subspan(open_bytes);
        std::span<const std::uint64_t> words;
        if (view.header.codec == trace::Codec::packed) {
          const auto unpacked =
              unpacker.unpack(body, view.header.words,
                              internal::make_id(view.header.lane, view.header.seq, 0), open);
          ASSERT_TRUE(unpacked.ok());
          words = *unpacked;
        } else {
          words = unpacker.copy(body);
        }
        for (std::size_t i = 0; i < words.size(); i += 1 + internal::payload_words(words[i])) {
          const auto op = internal::op_of(words[i]);
          f.begins += op == internal::Op::begin || op == internal::Op::async_begin ? 1 : 0;
        }
      }
      frames_.push_back(f);
    }
    ASSERT_GT(frames_.size(), 8u);
  }

  // The damaged copy has another name, so that no live buffer or segment is found with it.
  Result<Trace> read(const Bytes& bytes) {
    const std::string path = dir_ / "damaged.gst";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return read_trace(path);
  }

  static std::uint64_t not_clipped(const Trace& t) {
    return static_cast<std::uint64_t>(
        std::count_if(t.spans.flags.begin(), t.spans.flags.end(),
                      [](auto f) { return (f & kSpanClipped) == 0; }));
  }

  void one_damaged_frame_costs_only_itself() {
    for (const FrameAt& f : frames_) {
      for (const std::size_t at : {f.offset + 1, f.offset + 20, f.offset + f.size - 1}) {
        SCOPED_TRACE("frame at " + std::to_string(f.offset) + ", byte " + std::to_string(at));
        Bytes bytes = whole_;
        bytes[at] ^= std::byte{0x40};
        const auto trace = read(bytes);
        ASSERT_TRUE(trace.ok()) << trace.error().message;
        expect_sound(*trace);
        EXPECT_EQ(trace->integrity.bad_frames, 1u);
        EXPECT_EQ(trace->integrity.bad_bytes, f.size);
        EXPECT_EQ(not_clipped(*trace), spans_ - f.begins);
        EXPECT_EQ(trace->integrity.closed, f.header.type != trace::FrameType::close);
        EXPECT_FALSE(trace->integrity.notes.empty());
      }
    }
  }

  TempDir dir_;
  std::string source_;
  Bytes whole_;
  std::vector<FrameAt> frames_;
  std::uint64_t spans_ = 0;
};

TEST_F(Damage, OnePackedFrameCostsOnlyItself) {
  record(true);
  one_damaged_frame_costs_only_itself();
}

TEST_F(Damage, OneRawFrameCostsOnlyItself) {
  record(false);
  one_damaged_frame_costs_only_itself();
}

TEST_F(Damage, ARemovedFrameCostsOnlyItself) {
  record(true);
  for (const FrameAt& f : frames_) {
    SCOPED_TRACE(f.offset);
    Bytes bytes = whole_;
    const auto at = bytes.begin() + static_cast<std::ptrdiff_t>(f.offset);
    bytes.erase(at, at + static_cast<std::ptrdiff_t>(f.size));
    const auto trace = read(bytes);
    ASSERT_TRUE(trace.ok());
    expect_sound(*trace);
    EXPECT_EQ(not_clipped(*trace), spans_ - f.begins);
    EXPECT_EQ(trace->integrity.bad_frames, 0u);
  }
}

TEST_F(Damage, RepeatedAndReorderedFramesChangeNothing) {
  record(true);
  Bytes bytes(whole_.begin(), whole_.begin() + sizeof(trace::Preamble));
  for (int copy = 0; copy < 2; ++copy) {
    for (auto f = frames_.rbegin(); f != frames_.rend(); ++f) {
      const auto at = whole_.begin() + static_cast<std::ptrdiff_t>(f->offset);
      bytes.insert(bytes.end(), at, at + static_cast<std::ptrdiff_t>(f->size));
    }
  }
  const auto trace = read(bytes);
  ASSERT_TRUE(trace.ok());
  expect_sound(*trace);
  EXPECT_EQ(trace->spans.size(), spans_);
  EXPECT_EQ(trace->integrity.unfinished_spans, 0u);
  EXPECT_EQ(trace->integrity.bad_words, 0u);
}

TEST_F(Damage, TruncatedAnywhereKeepsWhatIsBefore) {
  record(true);
  std::vector<std::size_t> places = {0, 1, 8, 15, 16, 17, 50, whole_.size() - 1};
  for (const FrameAt& f : frames_) {
    for (const std::size_t in : {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{64},
                                 std::size_t{65}, f.size / 2, f.size - 1}) {
      places.push_back(f.offset + in);
    }
  }
  for (const std::size_t size : places) {
    SCOPED_TRACE(size);
    const auto trace =
        read(Bytes(whole_.begin(), whole_.begin() + static_cast<std::ptrdiff_t>(size)));
    if (size < sizeof(trace::Preamble)) {
      ASSERT_FALSE(trace.ok());
      EXPECT_EQ(trace.error().code, ErrorCode::bad_data);
      continue;
    }
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    expect_sound(*trace);
    std::uint64_t expected = 0, good = sizeof(trace::Preamble);
    for (const FrameAt& f : frames_) {
      if (f.offset + f.size <= size) {
        expected += f.begins;
        good += f.size;
      }
    }
    EXPECT_EQ(not_clipped(*trace), expected);
    EXPECT_EQ(trace->integrity.bad_bytes, size - good);
    EXPECT_FALSE(trace->integrity.closed);
  }
}

TEST_F(Damage, RandomFlipsNeverCrash) {
  record(true);
  for (std::uint64_t seed = 0; seed < scaled(500); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Bytes bytes = whole_;
    for (std::uint64_t n = 1 + random.below(20); n > 0; --n) {
      bytes[random.below(bytes.size())] ^= static_cast<std::byte>(1 << random.below(8));
    }
    if (random.one_in(4)) bytes.resize(random.below(bytes.size()));
    if (random.one_in(4)) {  // a hole of zeros, as after a crash of the machine
      const std::size_t from = random.below(bytes.size() + 1);
      const std::size_t n = std::min<std::size_t>(random.below(10'000), bytes.size() - from);
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(from), n, std::byte{0});
    }
    const auto trace = read(bytes);
    if (!trace.ok()) {
      EXPECT_FALSE(trace.error().message.empty());
      continue;
    }
    expect_sound(*trace);
    EXPECT_LE(not_clipped(*trace), spans_);
  }
}

// Behind whole checksums: a writer with a bug, or a hostile one.
TEST_F(Damage, FlipsBehindValidChecksumsNeverCrash) {
  for (const bool pack : {false, true}) {
    frames_.clear();
    std::filesystem::remove_all(dir_ / "run");
    record(pack);
    for (std::uint64_t seed = 0; seed < scaled(300); ++seed) {
      SCOPED_TRACE(seed);
      Random random(seed);
      Bytes bytes(whole_.begin(), whole_.begin() + sizeof(trace::Preamble));
      for (const FrameAt& f : frames_) {
        trace::FrameHeader header = f.header;
        Bytes payload(whole_.begin() + static_cast<std::ptrdiff_t>(f.offset + sizeof header),
                      whole_.begin() + static_cast<std::ptrdiff_t>(f.offset + f.size));
        if (random.one_in(3)) {
          for (std::uint64_t n = 1 + random.below(30); n > 0 && !payload.empty(); --n) {
            payload[random.below(payload.size())] ^= static_cast<std::byte>(1 << random.below(8));
          }
        }
        if (random.one_in(10)) header.base_tick = random.next();
        if (random.one_in(20)) header.words = static_cast<std::uint32_t>(random.below(9000));
        if (random.one_in(20)) header.open_spans = static_cast<std::uint32_t>(random.below(100));
        if (random.one_in(20)) header.lane = static_cast<std::uint32_t>(random.below(5));
        if (random.one_in(20)) header.seq = static_cast<std::uint32_t>(random.below(1 << 27));
        if (random.one_in(20)) header.codec = static_cast<trace::Codec>(random.below(4));
        trace::append_frame(header, payload, bytes);
      }
      const auto trace = read(bytes);
      if (trace.ok()) expect_sound(*trace);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(Damage, WhatIsNoTraceIsRefusedWithAReason) {
  const auto refused = [&](std::string_view content, ErrorCode code) {
    Bytes bytes(content.size());
    if (!content.empty()) std::memcpy(bytes.data(), content.data(), content.size());
    const auto trace = read(bytes);
    ASSERT_FALSE(trace.ok());
    EXPECT_EQ(trace.error().code, code) << trace.error().message;
    EXPECT_NE(trace.error().message.find("damaged.gst"), std::string::npos);
  };
  refused("", ErrorCode::bad_data);
  refused("hello", ErrorCode::bad_data);
  refused(std::string(1000, 'x'), ErrorCode::bad_data);
  refused(std::string("GENSCOPE\x02\0\0\0\0\0\0\0", 16), ErrorCode::unsupported);
  EXPECT_EQ(read_trace(dir_ / "none.gst").error().code, ErrorCode::not_found);
  EXPECT_FALSE(read_trace(dir_.path()).ok());
  EXPECT_EQ(read_run(dir_ / "none").error().code, ErrorCode::not_found);
  EXPECT_EQ(read_run(dir_.path()).error().code, ErrorCode::not_found);
}

TEST_F(Damage, AManifestThatIsBrokenCostsOnlyItsNames) {
  record(true);
  for (const char* content :
       {"", "{", "[]", "nonsense", R"({"name":5,"command":7,"exit_code":"x"})"}) {
    std::ofstream(dir_ / "run/run.json") << content;
    const auto run = read_run(dir_ / "run");
    ASSERT_TRUE(run.ok()) << content;
    EXPECT_EQ(run->traces.front().spans.size(), spans_);
    EXPECT_FALSE(run->name.empty());
  }
  std::filesystem::remove(dir_ / "run/run.json");
  EXPECT_TRUE(read_run(dir_ / "run").ok());
}

TEST_F(Damage, OneBadTraceDoesNotHideTheOthersOfARun) {
  record(true);
  std::ofstream(dir_ / "run/trace-1-0.gst") << "broken";
  const auto run = read_run(dir_ / "run");
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->traces.size(), 1u);
  EXPECT_EQ(run->notes.size(), 1u);
}

}  // namespace
}  // namespace genscope::testing
