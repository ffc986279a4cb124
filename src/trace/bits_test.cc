#include "trace/bits.h"

#include <gtest/gtest.h>

#include <limits>

#include "testing/random.h"

namespace genscope::trace {
namespace {

using testing::Random;

TEST(Bits, RoundTrip) {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::pair<std::uint64_t, unsigned>> items;
    std::vector<std::byte> bytes;
    BitWriter writer(bytes);
    for (std::uint64_t i = random.below(100); i > 0; --i) {
      const auto count = static_cast<unsigned>(random.below(57));
      const std::uint64_t value = random.next() & ((std::uint64_t{1} << count) - 1);
      items.emplace_back(value, count);
      writer.put(value, count);
    }
    writer.finish();
    BitReader reader(bytes);
    for (const auto& [value, count] : items) ASSERT_EQ(reader.get(count), value);
    EXPECT_FALSE(reader.overrun());
  }
}

TEST(Bits, ReadingPastTheEndGivesZerosAndSaysSo) {
  const std::vector<std::byte> one = {std::byte{0xFF}};
  BitReader reader(one);
  EXPECT_EQ(reader.get(8), 0xFFu);
  EXPECT_FALSE(reader.overrun());
  EXPECT_EQ(reader.get(1), 0u);
  EXPECT_TRUE(reader.overrun());
  BitReader nothing({});
  EXPECT_EQ(nothing.get(0), 0u);
  EXPECT_FALSE(nothing.overrun());
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(nothing.get(56), 0u);
  EXPECT_TRUE(nothing.overrun());
}

TEST(Varint, RoundTripAtEveryLength) {
  std::vector<std::uint64_t> values = {0, 1, 127, 128, std::numeric_limits<std::uint64_t>::max()};
  for (int bit = 0; bit < 64; ++bit) {
    values.push_back(std::uint64_t{1} << bit);
    values.push_back((std::uint64_t{1} << bit) - 1);
  }
  std::vector<std::byte> bytes;
  for (const std::uint64_t v : values) put_varint(bytes, v);
  ByteReader reader(bytes);
  for (const std::uint64_t v : values) ASSERT_EQ(reader.varint(), v);
  EXPECT_FALSE(reader.overrun());
  EXPECT_EQ(reader.left(), 0u);
}

TEST(Varint, EndlessOnesAreAnOverrun) {
  const std::vector<std::byte> bytes(20, std::byte{0xFF});
  ByteReader reader(bytes);
  reader.varint();
  EXPECT_TRUE(reader.overrun());
}

TEST(ByteReader, StopsAtTheEnd) {
  const std::vector<std::byte> bytes(10, std::byte{1});
  ByteReader reader(bytes);
  EXPECT_EQ(reader.take(3).size(), 3u);
  EXPECT_FALSE(reader.overrun());
  EXPECT_EQ(reader.word(), 0u);  // 7 left
  EXPECT_TRUE(reader.overrun());
  EXPECT_EQ(reader.byte(), 0u);
  EXPECT_EQ(ByteReader(bytes).take(11).size(), 10u);
}

TEST(Zigzag, IsItsOwnInverseAndKeepsSmallNumbersSmall) {
  EXPECT_EQ(zigzag(0), 0u);
  EXPECT_EQ(zigzag(-1), 1u);
  EXPECT_EQ(zigzag(1), 2u);
  using Limits = std::numeric_limits<std::int64_t>;
  for (const std::int64_t v : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1}, Limits::min(),
                               Limits::max(), std::int64_t{123456789}, std::int64_t{-987654321}}) {
    EXPECT_EQ(unzigzag(zigzag(v)), v);
  }
}

}  // namespace
}  // namespace genscope::trace
