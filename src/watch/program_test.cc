#include "watch/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>

#include "testing/temp_dir.h"
#include "watch/signals.h"

namespace genscope::watch {
namespace {

using genscope::testing::TempDir;
using ::testing::HasSubstr;

void make_file(const std::string& path, const std::string& text, mode_t mode) {
  std::ofstream(path) << text;
  chmod(path.c_str(), mode);
}

int run_it(const std::string& file, std::vector<std::string> words, CannotStart& why) {
  const pid_t pid = start_command(file, std::move(words), {{"GENSCOPE_TEST", "a b"}}, why);
  if (pid == 0) return -1;
  int status = 0;
  waitpid(pid, &status, 0);
  return exit_code_of(status);
}

int shell(const std::string& script) {
  CannotStart why;
  return run_it("/bin/sh", {"sh", "-c", script}, why);
}

TEST(Program, IsFoundAsAShellWould) {
  const TempDir dir;
  mkdir((dir / "a").c_str(), 0755);
  mkdir((dir / "b").c_str(), 0755);
  make_file(dir / "a/tool", "", 0644);
  make_file(dir / "b/tool", "", 0755);
  const std::string path = dir / "a" + ":" + dir / "b";
  CannotStart why;
  EXPECT_EQ(find_command("tool", path.c_str(), why), dir / "b/tool");
  EXPECT_EQ(find_command(dir / "b/tool", "", why), dir / "b/tool");
}

TEST(Program, MissingIs127AndNotExecutableIs126) {
  const TempDir dir;
  make_file(dir / "tool", "", 0644);
  CannotStart why;
  EXPECT_EQ(find_command("no-such-program-of-genscope", "/bin", why), "");
  EXPECT_EQ(why.exit_code, 127);
  EXPECT_EQ(why.message, "cannot run 'no-such-program-of-genscope': it is not in PATH");
  EXPECT_EQ(find_command("./no/such", "/bin", why), "");
  EXPECT_EQ(why.exit_code, 127);
  EXPECT_THAT(why.message, HasSubstr("no such file"));
  EXPECT_EQ(find_command(dir / "tool", "/bin", why), "");
  EXPECT_EQ(why.exit_code, 126);
  EXPECT_EQ(find_command("tool", dir.path().c_str(), why), "");
  EXPECT_EQ(why.exit_code, 126);
  EXPECT_EQ(find_command(dir.path(), "/bin", why), "");
  EXPECT_EQ(why.exit_code, 126);
  EXPECT_THAT(why.message, HasSubstr("directory"));
  EXPECT_EQ(find_command("", "/bin", why), "");
  EXPECT_EQ(why.exit_code, 127);
}

TEST(Program, ExitCodesAndSignalsArePassedOn) {
  EXPECT_EQ(shell("exit 0"), 0);
  EXPECT_EQ(shell("exit 42"), 42);
  EXPECT_EQ(shell("kill -TERM $$"), 128 + SIGTERM);
  EXPECT_EQ(shell("test \"$GENSCOPE_TEST\" = 'a b'"), 0);
}

TEST(Program, AScriptWithoutAFirstLineGoesToTheShell) {
  const TempDir dir;
  make_file(dir / "script", "test \"$1\" = 'one two' && exit 5\n", 0755);
  CannotStart why;
  EXPECT_EQ(run_it(dir / "script", {"script", "one two"}, why), 5);
}

TEST(Program, AMissingInterpreterIsNamedAsThat) {
  const TempDir dir;
  make_file(dir / "script", "#!/nonexistent/python\n", 0755);
  CannotStart why;
  EXPECT_EQ(run_it(dir / "script", {"script"}, why), -1);
  EXPECT_EQ(why.exit_code, 127);
  EXPECT_THAT(why.message, HasSubstr("interpreter"));
}

TEST(Program, OurSignalSettingsAreNotInherited) {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigaddset(&blocked, SIGINT);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  struct sigaction ignore {
  }, old{};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &old);
  EXPECT_EQ(shell("kill -INT $$"), 128 + SIGINT);
  EXPECT_EQ(shell("kill -PIPE $$"), 128 + SIGPIPE);
  sigaction(SIGPIPE, &old, nullptr);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(Signals, WhatTheTerminalSendsReachesTheCommandWithoutUs) {
  using Kind = Reaction::Kind;
  EXPECT_EQ(react(SIGINT, SI_KERNEL, false).kind, Kind::nothing);
  EXPECT_EQ(react(SIGQUIT, SI_KERNEL, false).kind, Kind::nothing);
  EXPECT_EQ(react(SIGHUP, SI_KERNEL, false).kind, Kind::nothing);
  EXPECT_EQ(react(SIGTSTP, SI_KERNEL, false).kind, Kind::stop);
  EXPECT_FALSE(react(SIGTSTP, SI_KERNEL, false).pass_on_too);
  EXPECT_EQ(react(SIGWINCH, SI_KERNEL, false).kind, Kind::resize);
}

TEST(Signals, WhatIsSentToUsAloneIsPassedOn) {
  using Kind = Reaction::Kind;
  for (const int number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) {
    EXPECT_EQ(react(number, SI_USER, false).kind, Kind::pass_on) << number;
    EXPECT_EQ(react(number, SI_QUEUE, false).kind, Kind::pass_on) << number;
  }
  EXPECT_TRUE(react(SIGTSTP, SI_USER, false).pass_on_too);
  EXPECT_TRUE(react(SIGCONT, SI_USER, false).pass_on_too);
}

TEST(Signals, WhatWasIgnoredAtTheStartStaysIgnored) {
  EXPECT_EQ(react(SIGHUP, SI_USER, true).kind, Reaction::Kind::nothing) << "nohup";
  EXPECT_EQ(react(SIGINT, SI_USER, true).kind, Reaction::Kind::nothing);
}

TEST(Signals, AreTakenFromTheDescriptorAndDroppedAtTheEnd) {
  sigset_t before, after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  {
    SignalFd signals;
    ASSERT_GE(signals.fd(), 0);
    EXPECT_FALSE(signals.next());
    kill(getpid(), SIGUSR1);
    const auto info = signals.next();
    ASSERT_TRUE(info);
    EXPECT_EQ(info->ssi_signo, static_cast<unsigned>(SIGUSR1));
    EXPECT_EQ(info->ssi_code, SI_USER);
    kill(getpid(), SIGUSR2);  // would end this process, were it not dropped
  }
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(sigismember(&after, SIGUSR2), sigismember(&before, SIGUSR2));
}

}  // namespace
}  // namespace genscope::watch
