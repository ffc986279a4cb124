#include "base/suggest.h"

#include <gtest/gtest.h>

namespace genscope::base {
namespace {

TEST(Suggest, DistanceCountsSwapsAsOne) {
  EXPECT_EQ(edit_distance("report", "report"), 0u);
  EXPECT_EQ(edit_distance("reprot", "report"), 1u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(Suggest, OnlyWhatIsNearEnough) {
  const std::vector<std::string> known = {"report", "demo", "compare"};
  EXPECT_EQ(nearest("dmeo", known), "demo");
  EXPECT_EQ(nearest("rep", known), "report") << "a beginning is near";
  EXPECT_EQ(nearest("xyzzy", known), "");
  EXPECT_EQ(nearest("", known), "");
}

}  // namespace
}  // namespace genscope::base
