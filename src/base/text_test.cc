#include "base/text.h"

#include <gtest/gtest.h>

#include <array>

#include <nlohmann/json.hpp>

#include "testing/random.h"

namespace genscope::base {
namespace {

TEST(CutUtf8, KeepsWhatFits) {
  EXPECT_EQ(cut_utf8("", 0), "");
  EXPECT_EQ(cut_utf8("abc", 3), "abc");
  EXPECT_EQ(cut_utf8("abc", 10), "abc");
  EXPECT_EQ(cut_utf8("abc", 2), "ab");
  EXPECT_EQ(cut_utf8("abc", 0), "");
}

TEST(CutUtf8, NeverCutsACharacterInTwo) {
  EXPECT_EQ(cut_utf8("ä", 1), "");  // 2 bytes
  EXPECT_EQ(cut_utf8("aä", 2), "a");
  EXPECT_EQ(cut_utf8("aä", 3), "aä");
  EXPECT_EQ(cut_utf8("€uro", 2), "");  // 3 bytes
  EXPECT_EQ(cut_utf8("€uro", 3), "€");
  EXPECT_EQ(cut_utf8("x🎨y", 4), "x");  // 4 bytes
  EXPECT_EQ(cut_utf8("x🎨y", 5), "x🎨");
}

TEST(CutUtf8, GivesUpOnBytesThatAreNoText) {
  const std::string tail(64, '\x80');  // continuation bytes without a beginning
  EXPECT_LE(cut_utf8(tail, 32).size(), 32u);
  EXPECT_GE(cut_utf8(tail, 32).size(), 28u);
}

TEST(Hex, IsLowerCase) {
  const std::array<std::uint8_t, 4> bytes = {0x00, 0x0F, 0xAB, 0xFF};
  EXPECT_EQ(hex(bytes), "000fabff");
  EXPECT_EQ(hex({}), "");
}

TEST(JsonQuote, EscapesWhatJsonDemands) {
  EXPECT_EQ(json_quote("a\"b\\c"), "\"a\\\"b\\\\c\"");
  EXPECT_EQ(json_quote("\n\x01"), "\"\\u000a\\u0001\"");
  EXPECT_EQ(json_quote("äö€🎨"), "\"äö€🎨\"");
}

TEST(JsonQuote, ReplacesWhatIsNotUtf8) {
  const std::string replacement = "\xEF\xBF\xBD";
  EXPECT_EQ(json_quote("\xFF"), "\"" + replacement + "\"");
  EXPECT_EQ(json_quote("\xC0\x80"), "\"" + replacement + replacement + "\"");    // overlong
  EXPECT_EQ(json_quote("a\xE2\x82"), "\"a" + replacement + replacement + "\"");  // cut off
  EXPECT_EQ(json_quote("\xED\xA0\x80"),
            "\"" + replacement + replacement + replacement + "\"");  // surrogate
}

TEST(JsonQuote, OfAnyBytesIsValidJson) {
  testing::Random random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes(random.below(40), '\0');
    for (char& c : bytes) c = static_cast<char>(random.next());
    const auto json = nlohmann::json::parse(json_quote(bytes), nullptr, false);
    ASSERT_TRUE(json.is_string()) << "case " << i;
  }
}

TEST(FileNameFrom, KeepsOnlyPlainCharacters) {
  EXPECT_EQ(file_name_from("qwen-image_2.0", 40), "qwen-image_2.0");
  EXPECT_EQ(file_name_from("a/b c", 40), "a-b-c");
  EXPECT_EQ(file_name_from("abcdef", 3), "abc");
}

TEST(FileNameFrom, IsNeverEmptyNorHiddenNorAWayOut) {
  EXPECT_EQ(file_name_from("", 40), "run");
  EXPECT_EQ(file_name_from(".", 40), "run.");
  EXPECT_EQ(file_name_from("../x", 40), "run..-x");
}

TEST(Text, ALabelOfPrometheusIsOneLineOfUtf8) {
  EXPECT_EQ(prometheus_label("plain"), "plain");
  EXPECT_EQ(prometheus_label("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
  EXPECT_EQ(prometheus_label("\xff"), "\xEF\xBF\xBD");
}

TEST(Text, CharactersAreAddedInOneToFourBytes) {
  std::string text;
  for (const std::uint32_t code : {0x41u, 0xE9u, 0x20ACu, 0x1F600u}) append_utf8(text, code);
  EXPECT_EQ(text, "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
}

}  // namespace
}  // namespace genscope::base
