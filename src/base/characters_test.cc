#include "base/characters.h"

#include <gtest/gtest.h>

namespace genscope::base {
namespace {

TEST(Characters, AreTakenOneByOneAndBadBytesStandAlone) {
  const std::string_view text = "a\xC3\xBC\xE2\x82\xAC\xF0\x9F\x98\x80\xC3";
  std::size_t at = 0;
  for (const char32_t code : {U'a', U'ü', U'€', U'\U0001F600'}) {
    const Character c = next_character(text.substr(at));
    EXPECT_EQ(c.code, code);
    at += c.bytes.size();
  }
  EXPECT_EQ(next_character(text.substr(at)).code, kInvalidCharacter) << "cut off";
  for (const std::string_view bad : {"\xC0\x80", "\xED\xA0\x80", "\xF5\x80\x80\x80", "\xFF", "\x80",
                                     "\xE0\x80\x80", "\xF4\x90\x80\x80"}) {
    const Character c = next_character(bad);
    EXPECT_EQ(c.code, kInvalidCharacter);
    EXPECT_EQ(c.bytes.size(), 1u);
  }
}

TEST(Characters, WhatMovesTheCursorOrReordersTextIsUnsafe) {
  for (const char32_t code : {U'\x1b', U'\n', U'\x7f', U'\x9b', U'\u202e', U'\u2066', U'\u2028',
                              U'\ufeff', U'\U000E0041', kInvalidCharacter}) {
    EXPECT_TRUE(is_unsafe(code)) << static_cast<unsigned>(code);
  }
  for (const char32_t code : {U'a', U'ü', U'中', U'\U0001F600', U'\u0301', U' '}) {
    EXPECT_FALSE(is_unsafe(code)) << static_cast<unsigned>(code);
  }
}

TEST(Characters, WideOnesTakeTwoColumnsAndCombiningOnesNone) {
  EXPECT_EQ(columns("abc"), 3u);
  EXPECT_EQ(columns("\xE4\xB8\xAD"), 2u);
  EXPECT_EQ(columns("e\xCC\x81"), 1u);
  EXPECT_EQ(columns(""), 0u);
}

}  // namespace
}  // namespace genscope::base
