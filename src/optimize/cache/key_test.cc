#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "genscope/optimize/cache.h"

namespace genscope::optimize {
namespace {

std::string key_bytes(const KeyBuilder& builder) { return std::string(builder.build().bytes()); }

TEST(CacheKey, SamePartsGiveTheSameKey) {
  const Key a = KeyBuilder("e").add("model", "m").add("steps", 4).add("scale", 7.5).build();
  const Key b = KeyBuilder("e").add("model", "m").add("steps", 4L).add("scale", 7.5F).build();
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.kind(), "e");
  EXPECT_EQ(a.hex(), b.hex());
  EXPECT_EQ(a.hex().size(), 32U);
}

TEST(CacheKey, TypesBordersAndOrderCount) {
  std::set<std::string> keys;
  const auto add = [&](const KeyBuilder& builder) {
    EXPECT_TRUE(keys.insert(key_bytes(builder)).second) << keys.size();
  };
  add(KeyBuilder("k"));
  add(KeyBuilder("k").add(1));
  add(KeyBuilder("k").add(1.0));
  add(KeyBuilder("k").add("1"));
  add(KeyBuilder("k").add(true));
  add(KeyBuilder("k").add(nullptr));
  add(KeyBuilder("k").add(-1));
  add(KeyBuilder("k").add(std::numeric_limits<std::uint64_t>::max()));
  add(KeyBuilder("k").add("").add(""));
  add(KeyBuilder("k").add("ab").add("c"));
  add(KeyBuilder("k").add("a").add("bc"));
  add(KeyBuilder("k").add("c").add("ab"));
  add(KeyBuilder("k").add("abc"));
  add(KeyBuilder("k").add("a", "bc"));
  add(KeyBuilder("ka").add("bc"));
  add(KeyBuilder("k").begin_list(2).add(1).add(2));
  add(KeyBuilder("k").begin_list(1).add(1).add(2));
  add(KeyBuilder("k").add(1).add(2));
}

TEST(CacheKey, NumbersHaveOneForm) {
  EXPECT_EQ(key_bytes(KeyBuilder("k").add(0.0)), key_bytes(KeyBuilder("k").add(-0.0)));
  EXPECT_EQ(key_bytes(KeyBuilder("k").add(std::nan("1"))),
            key_bytes(KeyBuilder("k").add(-std::nan("2"))));
  EXPECT_EQ(key_bytes(KeyBuilder("k").add(std::uint8_t{3})), key_bytes(KeyBuilder("k").add(3LL)));
}

TEST(CacheKey, LorasAreASet) {
  const std::string ab = key_bytes(KeyBuilder("k").lora("a", 0.5).lora("b", 1));
  EXPECT_EQ(ab, key_bytes(KeyBuilder("k").lora("b", 1).lora("a", 0.5)));
  EXPECT_NE(ab, key_bytes(KeyBuilder("k").lora("a", 1).lora("b", 0.5)));
  EXPECT_NE(ab, key_bytes(KeyBuilder("k").lora("a", 0.5)));
}

TEST(CacheKey, LongContentIsHashedWithItsShape) {
  std::vector<std::byte> content(100'000, std::byte{1});
  const auto with = [&](std::vector<std::int64_t> shape, const char* dtype) {
    return key_bytes(KeyBuilder("k").add_array(dtype, shape, content));
  };
  const std::string first = with({100, 1000}, "u8");
  EXPECT_LT(first.size(), 200U);
  EXPECT_NE(first, with({1000, 100}, "u8"));
  EXPECT_NE(first, with({100, 1000}, "i8"));
  content[77'777] = std::byte{2};
  EXPECT_NE(first, with({100, 1000}, "u8"));
}

}  // namespace
}  // namespace genscope::optimize
