#include "store/import/json_cursor.h"

#include <gtest/gtest.h>

#include <string>

namespace genscope::store {
namespace {

// The string at the start of `json`, or why it is none.
std::string read_string(std::string_view json, std::uint64_t* repaired = nullptr) {
  StringPool pool;
  JsonCursor cursor(json.data(), json.data() + json.size());
  std::string_view out;
  switch (cursor.string(out, pool)) {
    case Scan::more:
      return "(more)";
    case Scan::bad:
      return "(bad)";
    case Scan::ok:
      break;
  }
  if (repaired != nullptr) *repaired = cursor.repaired();
  return std::string(out);
}

std::string skip(std::string_view json) {
  JsonCursor cursor(json.data(), json.data() + json.size());
  std::string_view out;
  const Scan result = cursor.skip(out);
  return result == Scan::ok ? std::string(out) : result == Scan::more ? "(more)" : cursor.why();
}

TEST(JsonCursor, ReadsStringsOfEveryLength) {
  for (std::size_t n = 0; n < 40; ++n) {
    const std::string text(n, 'x');
    EXPECT_EQ(read_string("\"" + text + "\","), text);
    EXPECT_EQ(read_string("\"" + text), "(more)");
  }
}

TEST(JsonCursor, UnderstandsEscapesAndSurrogates) {
  EXPECT_EQ(read_string(R"("a\"b\\c\/d\b\f\n\r\t")"), "a\"b\\c/d\b\f\n\r\t");
  EXPECT_EQ(read_string(R"("\u0041\u00e9\u20AC")"), "A\xC3\xA9\xE2\x82\xAC");
  EXPECT_EQ(read_string(R"("\uD83D\uDE00!")"), "\xF0\x9F\x98\x80!");
  EXPECT_EQ(read_string(R"("\u0000")"), std::string(1, '\0'));
}

TEST(JsonCursor, LoneSurrogatesAreReplaced) {
  const std::string replaced = "\xEF\xBF\xBD";
  EXPECT_EQ(read_string(R"("\uD83D")"), replaced);
  EXPECT_EQ(read_string(R"("\uDE00x")"), replaced + "x");
  EXPECT_EQ(read_string(R"("\uD83D\u0041")"), replaced + "A");
  EXPECT_EQ(read_string(R"("\uD83Dxyz")"), replaced + "xyz");
  EXPECT_EQ(read_string(R"("\uD83D\uD83D\uDE00")"), replaced + "\xF0\x9F\x98\x80");
}

TEST(JsonCursor, RepairsWhatNoJsonAllows) {
  std::uint64_t repaired = 0;
  EXPECT_EQ(read_string("\"a\x01"
                        "b\nc\"",
                        &repaired),
            "a b c");
  EXPECT_EQ(repaired, 1u);
  EXPECT_EQ(read_string(R"("\u12G4")", &repaired),
            "\xEF\xBF\xBD"
            "12G4");
  EXPECT_EQ(repaired, 1u);
  EXPECT_EQ(read_string(R"("\x")"), "x");
}

TEST(JsonCursor, AsksForMoreWhereverAStringIsCut) {
  const std::string json = R"("\uD83D\uDE00\n\"end" )";
  for (std::size_t n = 1; n + 2 < json.size(); ++n) {
    EXPECT_EQ(read_string(std::string_view(json).substr(0, n)), "(more)") << n;
  }
}

TEST(JsonCursor, ReadsLongRunsOfEscapes) {
  std::string json = "\"", text;
  for (int i = 0; i < 100'000; ++i) {
    json += "\\\\";
    text += '\\';
  }
  EXPECT_EQ(read_string(json + "\""), text);
  EXPECT_EQ(read_string(json + "\\\""), "(more)");
}

TEST(JsonCursor, SkipsValuesOfEveryType) {
  EXPECT_EQ(skip(R"( {"a": [1, {"}": "]"}], "b": null} ,)"),
            R"({"a": [1, {"}": "]"}], "b": null})");
  EXPECT_EQ(skip("-1.5e3,"), "-1.5e3");
  EXPECT_EQ(skip("true]"), "true");
  EXPECT_EQ(skip("NaN}"), "NaN");
  EXPECT_EQ(skip("\"a\\\"b\" "), "\"a\\\"b\"");
  EXPECT_EQ(skip("[1, [2, 3]"), "(more)");
  EXPECT_EQ(skip("12"), "(more)");  // it may go on
}

TEST(JsonCursor, RefusesWhatDoesNotMatch) {
  EXPECT_EQ(skip("[1}"), "brackets that do not match");
  EXPECT_EQ(skip("{]"), "brackets that do not match");
  EXPECT_EQ(skip(",1"), "a value is missing");
  EXPECT_EQ(skip(std::string(512, '[') + std::string(512, ']')),
            std::string(512, '[') + std::string(512, ']'));
  EXPECT_EQ(skip(std::string(513, '[')), "nested deeper than 512");
}

TEST(Microseconds, AreExactToTheNanosecond) {
  const auto ns = [](std::string_view text) {
    std::int64_t out = -1;
    bool fraction = false;
    return parse_microseconds(text, out, fraction) ? std::to_string(out) + (fraction ? "f" : "")
                                                   : "no";
  };
  EXPECT_EQ(ns("0"), "0");
  EXPECT_EQ(ns("12"), "12000");
  EXPECT_EQ(ns("12.000"), "12000");
  EXPECT_EQ(ns("-1.5"), "-1500f");
  EXPECT_EQ(ns("0.001"), "1f");
  EXPECT_EQ(ns("0.0005"), "1f");
  EXPECT_EQ(ns("0.00049"), "0");
  EXPECT_EQ(ns("198093488368.463"), "198093488368463f");
  // As a double this would be off by 0.1 us.
  EXPECT_EQ(ns("1743521598123456.789"), "1743521598123456789f");
  EXPECT_EQ(ns("1e3"), "1000000");
  EXPECT_EQ(ns("1.5E-3"), "2f");
  EXPECT_EQ(ns("9007199254740993"), "no");  // 285 years
  EXPECT_EQ(ns("99999999999999999999999999"), "no");
  EXPECT_EQ(ns("1e300"), "no");
  for (const char* bad :
       {"", "-", ".", "1.2.3", "12x", "NaN", "Infinity", "true", "1 ", "--1", "0x10"}) {
    EXPECT_EQ(ns(bad), "no") << bad;
  }
}

}  // namespace
}  // namespace genscope::store
