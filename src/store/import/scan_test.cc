#include "store/import/scan.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace genscope::store {
namespace {

struct Ends {
  const char *text, *blanks, *scalar;
  friend bool operator==(const Ends&, const Ends&) = default;
};

template <class Scan>
Ends ends(const std::string& bytes, std::size_t from, std::size_t to) {
  const char* const p = bytes.data() + from;
  const char* const end = bytes.data() + to;
  return {Scan::text_end(p, end), Scan::blanks_end(p, end), Scan::scalar_end(p, end)};
}

TEST(Scan, EveryByteHasTheSameClassBothWaysAtEveryPlace) {
  for (int c = 0; c < 256; ++c) {
    for (const char filler : {'a', ' ', '"'}) {
      for (std::size_t at = 0; at < 40; ++at) {
        std::string bytes(41, filler);
        bytes[at] = static_cast<char>(c);
        EXPECT_EQ(ends<scan::Best>(bytes, 0, bytes.size()),
                  ends<scan::Bytes>(bytes, 0, bytes.size()))
            << c << " at " << at;
      }
    }
  }
}

TEST(Scan, StopsAtTheEndWhereverThatIs) {
  for (const char filler : {'a', ' ', '7'}) {
    const std::string bytes(100, filler);
    for (std::size_t from = 0; from < 40; ++from) {
      for (std::size_t to = from; to < bytes.size(); ++to) {
        EXPECT_EQ(ends<scan::Best>(bytes, from, to), ends<scan::Bytes>(bytes, from, to));
      }
    }
  }
}

TEST(Scan, RandomTextEndsAtTheSamePlaces) {
  std::uint64_t state = 7;
  const std::string alphabet = "ab01.+-eE \n\t\r\"\\,:{}[]\x01\x1f\x7f\x80\xff";
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (int i = 0; i < 70; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      // Runs of one class, so that ends are beyond the first block too.
      const char c = alphabet[(state >> 40) % alphabet.size()];
      bytes.append((state >> 60) + 1, c);
    }
    for (std::size_t from = 0; from < 64; from += 3) {
      EXPECT_EQ(ends<scan::Best>(bytes, from, bytes.size()),
                ends<scan::Bytes>(bytes, from, bytes.size()));
    }
  }
}

}  // namespace
}  // namespace genscope::store
