#include "inspect/read/json_scan.h"

#include <gtest/gtest.h>

namespace genscope::inspect {
namespace {

// Reason of the failure of skipping `text`, "" if it is valid.
std::string json_fault(std::string text) {
  JsonScan scan(text);
  scan.skip();
  scan.finish();
  return scan.reason();
}

TEST(JsonScan, AcceptsWhatJsonAllows) {
  for (const char* const text :
       {"{}", "[]", " [ 1 , -2.5e+10 , true,false,null ] ", "\"\"", "0", "-0",
        "[NaN,Infinity,-Infinity]", "1E5", R"({"a":{"b":[{}]},"c":""})",
        R"("\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00")"}) {
    EXPECT_EQ(json_fault(text), "") << text;
  }
}

TEST(JsonScan, RefusesWhatItDoesNot) {
  for (const char* const text : {"",
                                 "{",
                                 "[",
                                 "[1,]",
                                 "{\"a\":1,}",
                                 "{a:1}",
                                 "{\"a\" 1}",
                                 "[1 2]",
                                 "01",
                                 "-",
                                 "1.",
                                 "1e",
                                 "+1",
                                 ".5",
                                 "-NaN",
                                 "Inf",
                                 "nan",
                                 "nul",
                                 "'a'",
                                 "\"a",
                                 "\"\\x\"",
                                 "\"\\u12\"",
                                 "\"\\ud800\"",
                                 "\"\\ud800\\u0041\"",
                                 "\"\\udc00\"",
                                 "\"\n\"",
                                 "{} {}",
                                 "[}",
                                 "{]",
                                 "[,1]",
                                 "{,}"}) {
    EXPECT_NE(json_fault(text), "") << text;
  }
  EXPECT_NE(json_fault(std::string("[1\0]", 4)), "");
}

TEST(JsonScan, DecodesStringsInPlace) {
  std::string text = R"(["plain","a\u00e9b\ud83d\ude00\n\/c",""])";
  JsonScan scan(text);
  std::string_view value;
  scan.open_array();
  ASSERT_TRUE(scan.next_element() && scan.string(value));
  EXPECT_EQ(value, "plain");
  ASSERT_TRUE(scan.next_element() && scan.string(value));
  EXPECT_EQ(value,
            "a\xC3\xA9"
            "b\xF0\x9F\x98\x80\n/c");
  ASSERT_TRUE(scan.next_element() && scan.string(value));
  EXPECT_EQ(value, "");
  EXPECT_FALSE(scan.next_element());
  EXPECT_TRUE(scan.finish());
}

TEST(JsonScan, TakesWholeNumbersOnly) {
  const auto natural = [](std::string text, std::uint64_t& value) {
    JsonScan scan(text);
    scan.natural(value);
    return std::string(scan.finish() ? "" : scan.reason());
  };
  std::uint64_t value = 0;
  EXPECT_EQ(natural("18446744073709551615", value), "");
  EXPECT_EQ(value, ~std::uint64_t{0});
  EXPECT_EQ(natural("18446744073709551616", value), "a number does not fit in 64 bits");
  EXPECT_EQ(natural("-1", value), "a number is negative");
  EXPECT_EQ(natural("1.5", value), "a number is not a whole one");
  EXPECT_EQ(natural("1e3", value), "a number is not a whole one");
  EXPECT_EQ(natural("007", value), "a number starts with 0");
  EXPECT_EQ(natural("NaN", value), "a whole number is expected");
}

TEST(JsonScan, RefusesDeepNestingWithoutRecursingIntoIt) {
  EXPECT_EQ(json_fault(std::string(100'000, '[')), "values are nested too deeply");
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_EQ(json_fault(objects), "values are nested too deeply");
}

TEST(JsonScan, KeepsTheFirstFailureAndItsPlace) {
  std::string text = "[1,x]";
  JsonScan scan(text);
  EXPECT_FALSE(scan.skip());
  EXPECT_EQ(scan.offset(), 3u);
  std::uint64_t value = 0;
  std::string_view view;
  EXPECT_FALSE(scan.natural(value) || scan.string(view) || scan.open_array() ||
               scan.next_member(view) || scan.next_element() || scan.finish());
  EXPECT_EQ(scan.offset(), 3u);
}

}  // namespace
}  // namespace genscope::inspect
