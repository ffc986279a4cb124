#include "trace/pack.h"

#include <gtest/gtest.h>

#include <cstring>

#include "testing/random.h"
#include "testing/sanitizer.h"

namespace genscope::trace {
namespace {

using internal::kFieldMask;
using internal::kLowMask;
using internal::make_id;
using internal::make_word;
using internal::Op;
using internal::tag_of;
using testing::Random;

using Words = std::vector<std::uint64_t>;

std::vector<std::uint64_t> open_ids(const OpenSpans& open) {
  std::vector<std::uint64_t> out;
  for (const OpenSpan& s : open.spans()) out.push_back(s.id ^ s.begin_tick << 1 ^ s.site);
  return out;
}

OpenSpans stack_of(const std::vector<OpenSpan>& spans) {
  OpenSpans open;
  for (const OpenSpan& s : spans) open.push(s.id, s.begin_tick, s.site);
  return open;
}

// Packs, unpacks, and checks that the words agree, and the stack with that of advance().
void expect_round_trip(const Words& words, const ChunkBase& base = {},
                       const std::vector<OpenSpan>& before = {}) {
  Packer packer;
  Unpacker unpacker;
  OpenSpans packing = stack_of(before), advancing = stack_of(before);
  std::vector<std::byte> packed;
  packer.pack(words, base, packing, packed);
  const auto back = unpacker.unpack(packed, words.size(), base.first_id, before);
  ASSERT_TRUE(back.ok()) << back.error().message;
  ASSERT_EQ(Words(back->begin(), back->end()), words);
  advance(words, base, advancing);
  EXPECT_EQ(open_ids(packing), open_ids(advancing));
}

// What a recorder writes: nested spans, arguments, events, now and then something odd.
Words plausible(Random& random, std::uint64_t first_id) {
  Words words;
  std::vector<std::uint32_t> open;
  std::uint64_t tick = random.below(1000);
  const auto step = [&] {
    tick = (tick + random.below(random.one_in(50) ? kLowMask / 4 : 5000)) & kLowMask;
    return tick;
  };
  const auto id = [&] { return tag_of(first_id + words.size()); };
  for (std::uint64_t n = random.below(400); n > 0; --n) {
    const auto field = static_cast<std::uint32_t>(random.below(30));
    switch (random.below(12)) {
      case 0:
      case 1:
      case 2:
        open.push_back(id());
        words.push_back(make_word(Op::begin, field, step()));
        break;
      case 3:
      case 4:
      case 5: {
        if (open.empty()) break;
        const std::size_t at = random.one_in(10) ? random.below(open.size()) : open.size() - 1;
        words.push_back(make_word(random.one_in(9) ? Op::end_failed : Op::end, open[at], step()));
        open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      }
      case 6:
        words.push_back(make_word(Op::arg, field, random.next() & kLowMask >> random.below(40)));
        break;
      case 7: {
        const std::uint64_t bytes = random.below(80);
        words.push_back(make_word(Op::wide_arg, field, std::uint64_t{3} << 32 | bytes));
        for (std::uint64_t i = 0; i < (bytes + 7) / 8; ++i) words.push_back(random.next());
        break;
      }
      case 8:
        words.push_back(make_word(Op::async_begin, field, step()));
        words.push_back(random.next());
        break;
      case 9:
        words.push_back(make_word(Op::counter, field, step()));
        words.push_back(random.next());
        break;
      case 10:
        words.push_back(make_word(Op::rebase, 0, 0));
        words.push_back(random.next());
        tick = 0;
        break;
      default:
        words.push_back(make_word(Op::lost, 0, random.below(1000)));
        words.push_back(random.next());
        words.push_back(random.next());
        break;
    }
  }
  return words;
}

TEST(Pack, Empty) { expect_round_trip({}); }

TEST(Pack, EverySingleOp) {
  for (std::uint64_t op = 0; op < 16; ++op) {
    for (const std::uint64_t rest :
         {std::uint64_t{0}, std::uint64_t{1}, kLowMask, (std::uint64_t{1} << 60) - 1}) {
      expect_round_trip({op << 60 | rest});
      expect_round_trip({op << 60 | rest, 1, 2, 3, 4, 5, 6, 7, 8});
    }
  }
}

TEST(Pack, PlausibleRecordsRoundTrip) {
  for (std::uint64_t seed = 0; seed < testing::scaled(3000); ++seed) {
    Random random(seed);
    const auto seq = static_cast<std::uint32_t>(random.below(1 << 27));
    const ChunkBase base{make_id(static_cast<std::uint32_t>(random.below(1 << 22)), seq, 0),
                         random.next()};
    SCOPED_TRACE(seed);
    expect_round_trip(plausible(random, base.first_id), base);
    if (HasFatalFailure()) return;
  }
}

TEST(Pack, SenselessWordsRoundTrip) {
  for (std::uint64_t seed = 0; seed < testing::scaled(3000); ++seed) {
    Random random(seed);
    Words words(random.below(200));
    for (std::uint64_t& w : words) {
      w = random.next();
      if (random.one_in(3)) w &= ~(kLowMask & ~std::uint64_t{0xFF});  // short payloads
      if (random.one_in(10)) w = 0;
    }
    SCOPED_TRACE(seed);
    expect_round_trip(words, {random.next(), random.next()});
    if (HasFatalFailure()) return;
  }
}

TEST(Pack, TruncatedRecordsRoundTrip) {
  Random random(5);
  const Words whole = plausible(random, 0);
  for (std::size_t n = 0; n <= whole.size(); ++n) {
    expect_round_trip(Words(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n)));
    if (HasFatalFailure()) return;
  }
}

TEST(Pack, AFullChunkRoundTrips) {
  Words words;
  while (words.size() + 2 <= internal::kFieldMask && words.size() < 8184) {
    words.push_back(make_word(Op::begin, 1, words.size() * 100));
    words.push_back(
        make_word(Op::end, static_cast<std::uint32_t>(words.size() - 1), words.size() * 100));
  }
  expect_round_trip(words, {make_id(1, 0, 0), 123});
}

TEST(Pack, EndsOutOfOrderAndWithoutABegin) {
  const ChunkBase base{make_id(3, 2, 0), 1000};
  const auto tag = [&](std::uint64_t i) { return tag_of(base.first_id + i); };
  expect_round_trip({make_word(Op::begin, 1, 10), make_word(Op::begin, 2, 20),
                     make_word(Op::begin, 3, 30), make_word(Op::end, tag(0), 40),
                     make_word(Op::end, tag(2), 50), make_word(Op::end_failed, tag(1), 60),
                     make_word(Op::end, tag(1), 70), make_word(Op::end, 0, 80)},
                    base);
}

TEST(Pack, EndsOfSpansFromEarlierChunks) {
  const std::uint64_t id = make_id(3, 1, 5);
  expect_round_trip({make_word(Op::end, tag_of(id), 7)}, {make_id(3, 2, 0), 1000},
                    {{id, 900, 4, 0}, {make_id(3, 1, 9), 950, 4, 0}});
}

TEST(Pack, TicksThatStepBack) {
  expect_round_trip({make_word(Op::event, 1, kLowMask), make_word(Op::event, 1, 0),
                     make_word(Op::event, 1, 5), make_word(Op::event, 1, 4),
                     make_word(Op::event, 1, kLowMask)});
}

TEST(Pack, ARebaseMovesTheBaseOfOpenSpans) {
  OpenSpans open;
  const Words words = {make_word(Op::rebase, 0, 0), 5000, make_word(Op::begin, 9, 10)};
  advance(words, {100, 1}, open);
  ASSERT_EQ(open.spans().size(), 1u);
  EXPECT_EQ(open.spans().back().begin_tick, 5010u);
  EXPECT_EQ(open.spans().back().id, 102u);
  EXPECT_EQ(open.spans().back().site, 9u);
  expect_round_trip(words, {100, 1});
}

TEST(Pack, DepthBeyondTheBoundRoundTrips) {
  Words words;
  for (std::uint64_t i = 0; i < 5000; ++i) words.push_back(make_word(Op::begin, 1, i));
  for (std::uint64_t i = 5000; i-- > 0;) {
    words.push_back(make_word(Op::end, static_cast<std::uint32_t>(i), 10'000 - i));
  }
  expect_round_trip(words);
}

TEST(Pack, OneObjectServesManyChunks) {
  Packer packer;
  Unpacker unpacker;
  OpenSpans packing;
  Random random(17);
  for (std::uint32_t seq = 0; seq < 200; ++seq) {
    const ChunkBase base{make_id(1, seq, 0), random.next()};
    const Words words = plausible(random, base.first_id);
    const std::vector<OpenSpan> before = packing.spans();
    std::vector<std::byte> packed;
    packer.pack(words, base, packing, packed);
    const auto back = unpacker.unpack(packed, words.size(), base.first_id, before);
    ASSERT_TRUE(back.ok());
    ASSERT_EQ(Words(back->begin(), back->end()), words);
  }
}

TEST(Pack, NestedStagesAndStepsTakeAFewBytes) {
  Words words;
  std::uint64_t tick = 0;
  Random random(1);
  while (words.size() < 8000) {
    const auto outer = static_cast<std::uint32_t>(words.size());
    words.push_back(make_word(Op::begin, 3, tick += 200 + random.below(50)));
    for (int i = 0; i < 10; ++i) {
      const auto inner = static_cast<std::uint32_t>(words.size());
      words.push_back(make_word(Op::begin, 4, tick += 100 + random.below(30)));
      words.push_back(make_word(Op::end, inner, tick += 1000 + random.below(100)));
    }
    words.push_back(make_word(Op::end, outer, tick += 100));
  }
  Packer packer;
  OpenSpans open;
  std::vector<std::byte> packed;
  packer.pack(words, {}, open, packed);
  EXPECT_LT(static_cast<double>(packed.size()), static_cast<double>(words.size() / 2) * 5);
}

TEST(Unpack, MutatedBytesGiveWordsOrAnError) {
  Random random(23);
  Unpacker unpacker;
  Packer packer;
  std::size_t errors = 0;
  for (std::size_t i = 0; i < testing::scaled(20'000); ++i) {
    const ChunkBase base{random.next() & internal::kIdMask, random.next()};
    const Words words = plausible(random, base.first_id);
    OpenSpans open;
    std::vector<std::byte> packed;
    packer.pack(words, base, open, packed);
    for (std::uint64_t n = 1 + random.below(4); n > 0 && !packed.empty(); --n) {
      if (random.one_in(4)) packed.resize(random.below(packed.size() + 1));
      if (!packed.empty())
        packed[random.below(packed.size())] = static_cast<std::byte>(random.next());
    }
    std::size_t count = words.size();
    if (random.one_in(3)) count = random.below(9000);
    const auto back = unpacker.unpack(packed, count, base.first_id, {});
    if (back.ok()) {
      ASSERT_EQ(back->size(), count);
    } else {
      ASSERT_EQ(back.error().code, ErrorCode::bad_data);
      errors++;
    }
  }
  EXPECT_GT(errors, 0u);
}

TEST(Unpack, RandomBytesGiveWordsOrAnError) {
  Random random(29);
  Unpacker unpacker;
  for (std::size_t i = 0; i < testing::scaled(50'000); ++i) {
    std::vector<std::byte> bytes(random.below(100));
    for (std::byte& b : bytes) b = static_cast<std::byte>(random.next());
    (void)unpacker.unpack(bytes, random.below(8192), 0, {}).ok();
  }
}

TEST(Unpack, CopyTakesAnyAlignment) {
  std::vector<std::byte> bytes(17);
  const std::uint64_t value = 0x0123456789ABCDEF;
  std::memcpy(bytes.data() + 1, &value, 8);
  Unpacker unpacker;
  const auto words = unpacker.copy(std::span(bytes).subspan(1, 15));  // a half word is left out
  ASSERT_EQ(words.size(), 1u);
  EXPECT_EQ(words[0], value);
  EXPECT_TRUE(unpacker.copy({}).empty());
}

}  // namespace
}  // namespace genscope::trace
