#include "trace/recorded_command.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

namespace genscope::trace {
namespace {

TEST(RecordedCommand, HidesSecretsUnlessTheyAreKept) {
  const std::vector<std::string> words = {"x", "--token", "abc", "--steps", "3"};
  EXPECT_EQ(command_json(words, false), R"(["x","--token","***","--steps","3"])");
  EXPECT_EQ(command_json(words, true), R"(["x","--token","abc","--steps","3"])");
}

TEST(RecordedCommand, IsBounded) {
  const std::vector<std::string> words(100, std::string(1 << 20, 'a'));
  EXPECT_LT(command_json(words, true).size(), 200u << 10);
}

TEST(RecordedCommand, EnvironmentKeepsArguments) {
  ::unsetenv("GENSCOPE_KEEP_ARGS");
  EXPECT_FALSE(keeps_args(false));
  EXPECT_TRUE(keeps_args(true));
  ::setenv("GENSCOPE_KEEP_ARGS", "0", 1);
  EXPECT_FALSE(keeps_args(false));
  ::setenv("GENSCOPE_KEEP_ARGS", "1", 1);
  EXPECT_TRUE(keeps_args(false));
  ::unsetenv("GENSCOPE_KEEP_ARGS");
}

}  // namespace
}  // namespace genscope::trace
