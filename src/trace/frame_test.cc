#include "trace/frame.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "testing/random.h"

namespace genscope::trace {
namespace {

using testing::Random;

// A file of frames with lanes 1, 2, ..., and where each frame starts.
struct Sample {
  std::vector<std::byte> bytes;
  std::vector<std::size_t> starts;
};

std::vector<std::byte> random_bytes(Random& random, std::size_t n) {
  std::vector<std::byte> out(n);
  for (std::byte& b : out) b = static_cast<std::byte>(random.next());
  return out;
}

Sample sample(std::size_t frames, std::uint64_t seed) {
  Random random(seed);
  Sample out;
  out.bytes.resize(sizeof(Preamble));
  for (std::size_t i = 0; i < frames; ++i) {
    FrameHeader header;
    header.lane = static_cast<std::uint32_t>(i + 1);
    out.starts.push_back(out.bytes.size());
    append_frame(header, random_bytes(random, random.below(300)), out.bytes);
  }
  return out;
}

struct Seen {
  std::vector<std::uint32_t> lanes;
  std::uint64_t bad_frames = 0, bad_bytes = 0;
  bool torn = false;
};

Seen scan(std::span<const std::byte> bytes) {
  Seen seen;
  FrameScanner scanner(bytes);
  FrameView frame;
  std::size_t good = std::min(bytes.size(), sizeof(Preamble));
  while (scanner.next(frame)) {
    seen.lanes.push_back(frame.header.lane);
    good += sizeof(FrameHeader) + frame.payload.size();
  }
  seen.bad_frames = scanner.bad_frames();
  seen.bad_bytes = scanner.bad_bytes();
  seen.torn = scanner.torn_tail();
  EXPECT_EQ(good + seen.bad_bytes, bytes.size()) << "every byte is good or counted as bad";
  return seen;
}

TEST(Frame, RoundTrip) {
  const Sample s = sample(20, 1);
  const Seen seen = scan(s.bytes);
  EXPECT_EQ(seen.lanes.size(), 20u);
  EXPECT_EQ(seen.bad_frames, 0u);
  EXPECT_FALSE(seen.torn);
}

TEST(Frame, KeepsEveryFieldOfTheHeader) {
  FrameHeader header;
  header.type = FrameType::close;
  header.codec = Codec::packed;
  header.flags = kFrameSnapshot;
  header.words = 1;
  header.lane = 2;
  header.seq = 3;
  header.base_tick = 4;
  header.open_spans = 5;
  std::vector<std::byte> bytes(sizeof(Preamble));
  append_frame(header, std::vector<std::byte>(7), bytes);
  FrameScanner scanner(bytes);
  FrameView f;
  ASSERT_TRUE(scanner.next(f));
  EXPECT_TRUE(valid(f.header));
  EXPECT_EQ(f.header.type, FrameType::close);
  EXPECT_EQ(f.header.codec, Codec::packed);
  EXPECT_EQ(f.header.flags, kFrameSnapshot);
  EXPECT_EQ(f.header.words, 1u);
  EXPECT_EQ(f.header.seq, 3u);
  EXPECT_EQ(f.header.base_tick, 4u);
  EXPECT_EQ(f.header.open_spans, 5u);
  EXPECT_EQ(f.payload.size(), 7u);
  EXPECT_EQ(f.offset, sizeof(Preamble));
  EXPECT_FALSE(scanner.next(f));
}

TEST(FrameScanner, EmptyAndTinyInputsHoldNothing) {
  for (std::size_t n = 0; n < 100; ++n) {
    const std::vector<std::byte> zeros(n);
    FrameScanner scanner(zeros);
    FrameView f;
    EXPECT_FALSE(scanner.next(f)) << n;
  }
}

TEST(FrameScanner, SkipsOneDamagedFrameAndKeepsTheOthers) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    Sample s = sample(10, seed);
    const std::size_t victim = random.below(10);
    const std::size_t end = victim == 9 ? s.bytes.size() : s.starts[victim + 1];
    const std::size_t at = s.starts[victim] + random.below(end - s.starts[victim]);
    s.bytes[at] ^= static_cast<std::byte>(1 << random.below(8));
    const Seen seen = scan(s.bytes);
    std::set<std::uint32_t> expected;
    for (std::uint32_t i = 1; i <= 10; ++i) {
      if (i != victim + 1) expected.insert(i);
    }
    ASSERT_EQ(std::set(seen.lanes.begin(), seen.lanes.end()), expected) << "seed " << seed;
    ASSERT_EQ(seen.bad_frames, 1u) << "seed " << seed;
    ASSERT_EQ(seen.bad_bytes, end - s.starts[victim]) << "seed " << seed;
  }
}

TEST(FrameScanner, ATornTailLosesOnlyTheLastFrame) {
  const Sample s = sample(5, 3);
  for (std::size_t cut = s.starts[4] + 1; cut < s.bytes.size(); ++cut) {
    const Seen seen = scan(std::span(s.bytes).first(cut));
    ASSERT_EQ(seen.lanes.size(), 4u) << cut;
    ASSERT_TRUE(seen.torn) << cut;
    ASSERT_EQ(seen.bad_bytes, cut - s.starts[4]) << cut;
  }
  EXPECT_FALSE(scan(std::span(s.bytes).first(s.starts[4])).torn);
}

TEST(FrameScanner, IsNotFooledByAMagicNumberInAPayload) {
  std::vector<std::byte> inner;
  append_frame(FrameHeader{}, std::vector<std::byte>(8), inner);
  inner[20] ^= std::byte{1};  // a header that is not whole
  Sample s;
  s.bytes.resize(sizeof(Preamble));
  FrameHeader header;
  header.lane = 7;
  append_frame(header, inner, s.bytes);
  const std::size_t second = s.bytes.size();
  header.lane = 8;
  append_frame(header, {}, s.bytes);
  EXPECT_EQ(scan(s.bytes).lanes, (std::vector<std::uint32_t>{7, 8}));
  s.bytes[sizeof(Preamble) + 5] ^= std::byte{1};  // now the scanner walks through the payload
  const Seen seen = scan(s.bytes);
  EXPECT_EQ(seen.lanes, (std::vector<std::uint32_t>{8}));
  EXPECT_EQ(seen.bad_bytes, second - sizeof(Preamble));
  EXPECT_EQ(seen.bad_frames, 1u);
}

// A frame that claims more than the file has looks like a cut-off; what follows it must not go
// with it.
TEST(FrameScanner, AWholeHeaderWithTooLargeAClaimLosesNoLaterFrame) {
  std::vector<std::byte> bytes(sizeof(Preamble));
  FrameHeader header;
  header.lane = 1;
  append_frame(header, std::vector<std::byte>(5000), bytes);
  // The middle of the file went missing: the header is whole, its payload is not.
  bytes.resize(sizeof(Preamble) + sizeof(FrameHeader) + 100);
  header.lane = 2;
  append_frame(header, std::vector<std::byte>(10), bytes);
  const Seen seen = scan(bytes);
  EXPECT_EQ(seen.lanes, (std::vector<std::uint32_t>{2}));
}

TEST(FrameScanner, RandomBytesHoldNoFrames) {
  Random random(11);
  for (int i = 0; i < 100; ++i) {
    const Seen seen = scan(random_bytes(random, random.below(5000)));
    EXPECT_TRUE(seen.lanes.empty());
  }
}

// Quadratic behaviour would make a hostile file a denial of service.
TEST(FrameScanner, AFileFullOfMagicNumbersIsScannedInOnePass) {
  std::vector<std::byte> bytes(4 << 20);
  for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4) std::memcpy(&bytes[i], &kFrameMagic, 4);
  EXPECT_TRUE(scan(bytes).lanes.empty());
}

}  // namespace
}  // namespace genscope::trace
