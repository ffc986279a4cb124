#include "watch/screen_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace genscope::watch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// As much of a terminal as the block needs: rows of text, a scroll region, a saved cursor.
class Terminal {
 public:
  explicit Terminal(std::size_t rows) : lines_(rows), bottom_(rows - 1) {}

  void write(const std::string& bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (bytes[i] == '\x1b') {
        i = escape(bytes, i + 1);
      } else if (bytes[i] == '\n') {
        feed();
        column_ = 0;
      } else {
        std::string& line = lines_[row_];
        if (line.size() <= column_) line.resize(column_ + 1, ' ');
        line[column_++] = bytes[i];
      }
    }
  }
  const std::vector<std::string>& lines() const { return lines_; }
  std::size_t row() const { return row_; }
  std::size_t column() const { return column_; }
  bool has_whole_region() const { return top_ == 0 && bottom_ == lines_.size() - 1; }

 private:
  void feed() {
    if (row_ != bottom_) {
      row_ = std::min(row_ + 1, lines_.size() - 1);
      return;
    }
    lines_.erase(lines_.begin() + static_cast<std::ptrdiff_t>(top_));
    lines_.insert(lines_.begin() + static_cast<std::ptrdiff_t>(bottom_), "");
  }
  std::size_t escape(const std::string& bytes, std::size_t i) {
    if (bytes[i] == '7') saved_ = {row_, column_};
    if (bytes[i] == '8') std::tie(row_, column_) = saved_;
    if (bytes[i] == 'D') feed();
    if (bytes[i] != '[') return i;
    const std::size_t end = bytes.find_first_of("ABCDHJKmr", i);
    sequence(bytes.substr(i + 1, end - i - 1), bytes[end]);
    return end;
  }
  void sequence(const std::string& parameters, char what) {
    const auto first = static_cast<std::size_t>(std::atoi(parameters.c_str()));
    const std::size_t semicolon = parameters.find(';');
    const std::size_t second =
        semicolon == std::string::npos
            ? 0
            : static_cast<std::size_t>(std::atoi(parameters.c_str() + semicolon + 1));
    if (what == 'A') row_ -= std::min(row_, first);
    if (what == 'H') std::tie(row_, column_) = std::pair(first - 1, second - 1);
    if (what == 'K') lines_[row_].clear();
    if (what == 'J') {
      lines_[row_].resize(std::min(lines_[row_].size(), column_));
      for (std::size_t i = row_ + 1; i < lines_.size(); ++i) lines_[i].clear();
    }
    if (what == 'r') {
      top_ = first == 0 ? 0 : first - 1;
      bottom_ = second == 0 ? lines_.size() - 1 : second - 1;
      row_ = column_ = 0;
    }
  }

  std::vector<std::string> lines_;
  std::size_t row_ = 0, column_ = 0, top_ = 0, bottom_;
  std::pair<std::size_t, std::size_t> saved_;
};

TEST(ScreenText, OutputScrollsAboveTheBlock) {
  Terminal terminal(6);
  ScreenText screen;
  terminal.write("$ prompt\n");
  terminal.write(screen.draw({"block 1", "block 2"}, 6));
  EXPECT_THAT(terminal.lines(), ElementsAre("$ prompt", "", "", "", "block 1", "block 2"));
  for (int i = 1; i <= 5; ++i) terminal.write("out " + std::to_string(i) + "\n");
  EXPECT_THAT(terminal.lines(), ElementsAre("out 3", "out 4", "out 5", "", "block 1", "block 2"));
  terminal.write("half");
  terminal.write(screen.draw({"block 1", "block X"}, 6));
  terminal.write(" line\n");
  EXPECT_THAT(terminal.lines(),
              ElementsAre("out 4", "out 5", "half line", "", "block 1", "block X"));
}

TEST(ScreenText, MakesRoomWhenTheCursorIsAtTheBottom) {
  Terminal terminal(6);
  ScreenText screen;
  for (int i = 1; i <= 8; ++i) terminal.write("old " + std::to_string(i) + "\n");
  terminal.write("mid");
  terminal.write(screen.draw({"block 1", "block 2"}, 6));
  EXPECT_THAT(terminal.lines(),
              ElementsAre("old 6", "old 7", "old 8", "mid", "block 1", "block 2"));
  terminal.write("dle");
  EXPECT_EQ(terminal.lines()[3], "middle") << "the cursor is where it was, column too";
}

TEST(ScreenText, WritesOnlyWhatChanged) {
  ScreenText screen;
  EXPECT_NE(screen.draw({"a", "b"}, 10), "");
  EXPECT_EQ(screen.draw({"a", "b"}, 10), "");
  const std::string change = screen.draw({"a", "c"}, 10);
  EXPECT_THAT(change, HasSubstr("c"));
  EXPECT_THAT(change, Not(HasSubstr("a")));
  EXPECT_THAT(change, Not(HasSubstr("r"))) << "the region stays";
}

TEST(ScreenText, GrowsAndKeepsItsRowsWhenThereIsLessToSay) {
  Terminal terminal(8);
  ScreenText screen;
  terminal.write("x\n");
  terminal.write(screen.draw({"a"}, 8));
  terminal.write(screen.draw({"a", "b", "c"}, 8));
  EXPECT_THAT(terminal.lines(), ElementsAre("x", "", "", "", "", "a", "b", "c"));
  terminal.write(screen.draw({"a"}, 8));
  EXPECT_THAT(terminal.lines(), ElementsAre("x", "", "", "", "", "a", "", ""));
  terminal.write("y");
  EXPECT_EQ(terminal.lines()[1], "y");
}

TEST(ScreenText, LeavesNothingBehind) {
  Terminal terminal(6);
  ScreenText screen;
  EXPECT_EQ(screen.leave(), "");
  terminal.write("one\ntwo");
  terminal.write(screen.draw({"a", "b"}, 6));
  terminal.write(screen.leave());
  EXPECT_TRUE(terminal.has_whole_region());
  EXPECT_THAT(terminal.lines(), ElementsAre("one", "two", "", "", "", ""));
  EXPECT_EQ(terminal.row(), 1u);
  EXPECT_EQ(terminal.column(), 3u);
  EXPECT_EQ(screen.leave(), "") << "once is enough";
}

TEST(ScreenText, AfterAResizeItIsDrawnAnew) {
  ScreenText screen;
  Terminal terminal(6);
  terminal.write("one\n");
  terminal.write(screen.draw({"a", "b"}, 6));
  terminal.write(screen.forget());
  EXPECT_TRUE(terminal.has_whole_region());
  EXPECT_THAT(terminal.lines(), ElementsAre("one", "", "", "", "", ""));
  terminal.write(screen.draw({"a", "b"}, 5));
  EXPECT_THAT(terminal.lines(), ElementsAre("one", "", "", "a", "b", ""));
}

TEST(ScreenText, ATerminalTooLowIsLeftAlone) {
  ScreenText screen;
  EXPECT_EQ(screen.draw({"a", "b", "c"}, 4), "");
  EXPECT_EQ(screen.draw({}, 10), "");
  EXPECT_FALSE(screen.drawn());
}

}  // namespace
}  // namespace genscope::watch
