#include "watch/cells.h"

#include <gtest/gtest.h>

namespace genscope::watch {
namespace {

TEST(Cells, HostileTextBecomesHarmless) {
  EXPECT_EQ(clean("plain"), "plain");
  EXPECT_EQ(clean("a\x1b[31mred\n\r\t\x7f"), "a?[31mred????");
  EXPECT_EQ(clean("\xC2\x9B"
                  "31m"),
            "?31m")
      << "the one-character form of ESC [";
  EXPECT_EQ(clean("a\xE2\x80\xAE"
                  "b"),
            "a?b")
      << "what reverses the direction";
  EXPECT_EQ(clean("\xFF\xC3(\xE2\x82"), "?\?(?\?") << "not UTF-8, and cut off";
  EXPECT_EQ(clean("grün 語"), "grün 語");
  EXPECT_EQ(clean("grün", false), "gr?n");
}

TEST(Cells, ColumnsCountWideAndCombiningCharacters) {
  EXPECT_EQ(columns("abc"), 3u);
  EXPECT_EQ(columns("語語"), 4u);
  EXPECT_EQ(columns("e\xCC\x81"), 1u);
  EXPECT_EQ(columns("▁▂"), 2u);
}

TEST(Cells, CutsNeverHalveACharacter) {
  EXPECT_EQ(cut("語語", 3), "語");
  EXPECT_EQ(cut("aüb", 2), "aü");
  EXPECT_EQ(cut("abc", 0), "");
  EXPECT_EQ(cut("abc", 9), "abc");
}

TEST(Line, IsNeverWiderThanTheTerminal) {
  Line line({.width = 8, .color = false, .unicode = true});
  line.add("abcdef").add("語語");
  EXPECT_EQ(line.text(), "abcdef語");
  EXPECT_EQ(line.room(), 0u);
  line.add("more").to_column(20);
  EXPECT_EQ(line.text(), "abcdef語");
}

TEST(Line, AddsPartsWholeOrNotAtAll) {
  Line line({.width = 12, .color = false, .unicode = true});
  EXPECT_TRUE(line.add_whole("one"));
  EXPECT_FALSE(line.add_whole("too-long-a-word"));
  EXPECT_TRUE(line.add_whole("two"));
  EXPECT_EQ(line.text(), "one  two");
}

TEST(Line, ColoursTakeNoRoomAndEnd) {
  Line line({.width = 4, .color = true, .unicode = true});
  line.add("abcdef", Style::bad);
  EXPECT_EQ(line.text(), "\x1b[31mabcd\x1b[0m");
  EXPECT_EQ(line.column(), 4u);
}

TEST(Cells, ACommandLineShowsWhereItsWordsEnd) {
  EXPECT_EQ(joined(std::vector<std::string>{"sh", "-c", "echo a", ""}), "sh -c 'echo a' ''");
  EXPECT_EQ(joined(std::vector<std::string>{"python", "-c", "a='b'\nb"}),
            R"(python -c $'a=\'b\'\nb')");
}

}  // namespace
}  // namespace genscope::watch
