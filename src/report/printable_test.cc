#include "report/printable.h"

#include <gtest/gtest.h>

#include <vector>

namespace genscope::report {
namespace {

TEST(Printable, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(printable("a\x1b[31mb"), "a\\x1b[31mb");
  EXPECT_EQ(printable("a\nb\tc\x7f"), "a\\nb\\tc\\x7f");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m"),
            "\\u009b31m")
      << "the 8-bit form of ESC [";
  EXPECT_EQ(printable("\xE2\x80\xAE"), "\\u202e") << "right-to-left override";
}

TEST(Printable, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(printable("a\xFFz"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(printable("\xC3"), "\xEF\xBF\xBD");
  EXPECT_EQ(printable("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD") << "a surrogate";
  EXPECT_EQ(printable("h\xC3\xA9llo"), "h\xC3\xA9llo");
}

TEST(Printable, ShortensInTheMiddle) {
  EXPECT_EQ(shorten("abcdefghij", 10), "abcdefghij");
  EXPECT_EQ(shorten("abcdefghij", 5), "ab\xE2\x80\xA6ij");
  EXPECT_EQ(shorten("abcdefghij", 1), "\xE2\x80\xA6");
  EXPECT_EQ(shorten("abc", 0), "");
}

TEST(Printable, CountsColumnsNotBytes) {
  const std::string kanji = "\xE7\x94\xBB\xE5\x83\x8F\xE7\x94\x9F\xE6\x88\x90";  // 4, two each
  EXPECT_EQ(columns(kanji), 8u);
  EXPECT_EQ(columns("e\xCC\x81"), 1u);
  const std::string shorter = shorten(kanji, 6);
  EXPECT_LE(columns(shorter), 6u);
  EXPECT_EQ(printable(shorter), shorter) << "no character was cut";
}

TEST(Printable, WrapsAtSpaces) {
  EXPECT_EQ(wrap("one two three", 20), "one two three");
  EXPECT_EQ(wrap("one two three", 8), "one two\n  three");
  EXPECT_EQ(wrap("  indented text", 10), "  indented\n  text");
  EXPECT_EQ(wrap("unbreakable", 4), "unbreakable");
}

TEST(Printable, CsvFieldsAreQuotedOnlyWhenNeeded) {
  EXPECT_EQ(csv_field("plain name"), "plain name");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"hi\""), "\"say \"\"hi\"\"\"");
  EXPECT_EQ(csv_field("two\nlines"), "\"two\nlines\"");
  EXPECT_EQ(csv_field("\x1b[0m"), "\\x1b[0m");
  EXPECT_EQ(csv_field("a;b"), "\"a;b\"");
}

// As docs/security.md tells readers of our files to do it.
std::string text_of_field(std::string field) {
  if (field.starts_with('"')) {
    field = field.substr(1, field.size() - 2);
    for (std::size_t at = 0; (at = field.find("\"\"", at)) != std::string::npos; ++at)
      field.erase(at, 1);
  }
  const std::size_t first = field.find_first_not_of('\'');
  const bool marked = first != std::string::npos && first > 0 &&
                      std::string_view("=+-@\t\r\n").find(field[first]) != std::string_view::npos;
  return marked ? field.substr(1) : field;
}

TEST(Printable, CsvFieldsAreNoFormulas) {
  EXPECT_EQ(csv_field("=1+1"), "'=1+1");
  EXPECT_EQ(csv_field("+x"), "'+x");
  EXPECT_EQ(csv_field("-x"), "'-x");
  EXPECT_EQ(csv_field("@x"), "'@x");
  EXPECT_EQ(csv_field("\t=x"), "\"'\t=x\"");
  EXPECT_EQ(csv_field("\r=x"), "\"'\r=x\"");
  EXPECT_EQ(csv_field("=cmd|' /C calc'!A0,1"), "\"'=cmd|' /C calc'!A0,1\"");
  EXPECT_EQ(csv_field("\uFF1Dx"), "'\uFF1Dx");
  EXPECT_EQ(csv_field("a=b"), "a=b");
  EXPECT_EQ(csv_field("'quoted'"), "'quoted'");
  for (const char* const text :
       {"=1", "'=1", "''-x", "'x", "plain", "", "'", "+a,\"b\"", "\tx", "a-b"}) {
    EXPECT_EQ(text_of_field(csv_field(text)), text);
  }
}

TEST(Printable, CommandLineQuotesWords) {
  EXPECT_EQ(command_line(std::vector<std::string>{"python", "gen.py", "a b", "", "it's"}),
            "python gen.py 'a b' '' 'it'\\''s'");
  EXPECT_EQ(command_line(std::vector<std::string>{"python", "-c", "a='b'\nprint(a, \"\\\\\")"}),
            R"(python -c $'a=\'b\'\nprint(a, "\\\\")')");
}

TEST(Printable, MarkdownHasNoMarkupOfOthers) {
  EXPECT_EQ(markdown_text("vae_decode"), "vae\\_decode");
  EXPECT_EQ(markdown_text("a|b <img src=x> [l](u) `c`"),
            "a\\|b \\<img src=x\\> \\[l\\](u) \\`c\\`");
}

}  // namespace
}  // namespace genscope::report
