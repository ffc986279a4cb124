#include "cli/child.h"

#include <gtest/gtest.h>

#include <csignal>

namespace genscope::cli {
namespace {

int run_shell(const std::string& script, ChildOptions options = {}) {
  const auto code = run_child({"/bin/sh", "-c", script}, options);
  EXPECT_TRUE(code);
  return code ? *code : -1;
}

TEST(Child, ItsExitCodeIsPassedOn) {
  EXPECT_EQ(run_shell("exit 0"), 0);
  EXPECT_EQ(run_shell("exit 42"), 42);
}

TEST(Child, ASignalIs128AndItsNumber) { EXPECT_EQ(run_shell("kill -TERM $$"), 128 + SIGTERM); }

TEST(Child, CtrlCEndsItEvenThoughWeIgnoreIt) { EXPECT_EQ(run_shell("kill -INT $$"), 128 + SIGINT); }

TEST(Child, TheEnvironmentIsOursPlusWhatIsSet) {
  ChildOptions options;
  options.environment = {{"GENSCOPE_RUN_DIR", "/a b"}, {"HOME", "/elsewhere"}};
  EXPECT_EQ(run_shell("test \"$GENSCOPE_RUN_DIR\" = '/a b' && test $HOME = /elsewhere && "
                      "test -n \"$PATH\"",
                      options),
            0);
}

TEST(Child, AMissingProgramIsAnError) {
  const auto code = run_child({"/nonexistent/program"}, {});
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().code, ErrorCode::not_found);
}

TEST(Child, ProgramsAreFoundInPath) {
  const auto shell = find_program("sh");
  ASSERT_TRUE(shell);
  EXPECT_TRUE(shell->ends_with("/sh"));
  EXPECT_FALSE(find_program("no-such-program-of-genscope"));
}

TEST(Child, ItsOutputCanBeSentAway) {
  ChildOptions to_stderr;
  to_stderr.output = ChildOptions::Stdout::to_stderr;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(run_shell("echo hello", to_stderr), 0);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "hello\n");
  ChildOptions discard;
  discard.output = ChildOptions::Stdout::discard;
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(run_shell("echo hello", discard), 0);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
}

}  // namespace
}  // namespace genscope::cli
