#include "optimize/cache/entries.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace genscope::optimize::cache {
namespace {

TEST(CacheNotes, TheFirstHitsAreToldAtOnce) {
  Notes notes;
  for (int hit = 0; hit < 3; ++hit) EXPECT_EQ(notes.hit(7), 1U);
  EXPECT_EQ(notes.hit(7), 0U);
}

TEST(CacheNotes, AHitIsNewsAgainWhenTheOrderHasMovedOn) {
  Notes notes;
  for (int hit = 0; hit < 5; ++hit) notes.hit(7);  // two wait
  EXPECT_EQ(notes.hit(8), 3U);
  EXPECT_EQ(notes.hit(8), 0U);
}

TEST(CacheNotes, NoHitIsForgottenAndNoneWaitsForEver) {
  Notes notes;
  std::uint32_t told = 0, longest = 0, since = 0;
  for (int hit = 0; hit < 1'000; ++hit) {
    const std::uint32_t now = notes.hit(static_cast<std::uint8_t>(hit / 100));
    told += now;
    since = now > 0 ? 0 : since + 1;
    longest = std::max(longest, since);
  }
  EXPECT_LE(longest, 15U);
  EXPECT_EQ(told, 1'000U - since);
}

TEST(CacheKeyBytes, AreComparedInFullWhateverTheirLength) {
  const std::string text = "0123456789abcdefghijklmnopqrstuvwxyz";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    KeyBytes key;
    key.assign(std::string_view(text).substr(0, size));
    EXPECT_TRUE(key == std::string_view(text).substr(0, size));
    EXPECT_FALSE(key == text.substr(0, size) + "!");
    for (std::size_t at = 0; at < size; ++at) {
      std::string other = text.substr(0, size);
      other[at] = '!';
      EXPECT_FALSE(key == other) << size << " " << at;
    }
  }
}

}  // namespace
}  // namespace genscope::optimize::cache
