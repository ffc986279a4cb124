#include "cli/top/screen.h"

#include <gtest/gtest.h>

namespace genscope::cli::top {
namespace {

TEST(TopScreen, WritesOnlyLinesThatChanged) {
  EXPECT_EQ(redraw({}, {"a", "b"}, 3), "\x1b[1;1Ha\x1b[K\x1b[2;1Hb\x1b[K");
  EXPECT_EQ(redraw({"a", "b"}, {"a", "c"}, 3), "\x1b[2;1Hc\x1b[K");
  EXPECT_EQ(redraw({"a", "b"}, {"a", "b"}, 3), "");
}

TEST(TopScreen, WipesLinesThatAreGone) {
  EXPECT_EQ(redraw({"a", "b"}, {"a"}, 3), "\x1b[2;1H\x1b[K");
}

TEST(TopScreen, NeverWritesBelowTheLastRow) {
  EXPECT_EQ(redraw({}, {"a", "b", "c"}, 2), "\x1b[1;1Ha\x1b[K\x1b[2;1Hb\x1b[K");
}

}  // namespace
}  // namespace genscope::cli::top
