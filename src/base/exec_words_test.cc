#include "base/exec_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace genscope::base {
namespace {

using ::testing::Contains;
using ::testing::Not;

TEST(ExecWords, AVariableIsReplacedByItsWholeName) {
  ::setenv("GENSCOPE_TEST_A", "old", 1);
  ::setenv("GENSCOPE_TEST_AB", "kept", 1);
  const auto all = environment_with({{"GENSCOPE_TEST_A", "new"}, {"GENSCOPE_TEST_C", ""}});
  EXPECT_THAT(all, Contains("GENSCOPE_TEST_A=new"));
  EXPECT_THAT(all, Not(Contains("GENSCOPE_TEST_A=old")));
  EXPECT_THAT(all, Contains("GENSCOPE_TEST_AB=kept"));
  EXPECT_THAT(all, Contains("GENSCOPE_TEST_C="));
  ::unsetenv("GENSCOPE_TEST_A");
  ::unsetenv("GENSCOPE_TEST_AB");
}

TEST(ExecWords, PointersEndWithANull) {
  std::vector<std::string> words = {"a", ""};
  const std::vector<char*> all = pointers(words);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_STREQ(all[0], "a");
  EXPECT_STREQ(all[1], "");
  EXPECT_EQ(all[2], nullptr);
}

}  // namespace
}  // namespace genscope::base
