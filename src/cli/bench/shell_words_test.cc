#include "cli/bench/shell_words.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "testing/temp_dir.h"

namespace genscope::cli::bench {
namespace {

TEST(NeedsShell, NotForAProgramWithWords) {
  EXPECT_FALSE(needs_shell("sleep 0.01"));
  EXPECT_FALSE(needs_shell("/bin/sleep 0.01"));
  EXPECT_FALSE(needs_shell("sleep '0.01'"));
  EXPECT_FALSE(needs_shell("env --steps=4 \"a cat\""));
}

TEST(NeedsShell, ForWhatAShellWouldRead) {
  for (const char* const text :
       {"sleep 1 | cat", "sleep $N", "sleep `x`", "ls *.png", "a; b", "sleep 1 > out", "(sleep 1)",
        "A=1 sleep 1", "cd /tmp", "exec sleep 1", "sleep 1 # two", "cat ~/x", "echo a\\ b", "",
        "sleep 'open", "no-such-program-at-all"}) {
    EXPECT_TRUE(needs_shell(text)) << text;
  }
}

TEST(NeedsShell, ForAScriptThatDoesNotSayWhatRunsIt) {
  const genscope::testing::TempDir dir;
  const std::string plain = dir.path() + "/plain", named = dir.path() + "/named";
  std::ofstream(plain) << "sleep 0\n";
  std::ofstream(named) << "#!/bin/sh\nsleep 0\n";
  for (const std::string& path : {plain, named}) ::chmod(path.c_str(), 0755);
  EXPECT_TRUE(needs_shell(plain));
  EXPECT_FALSE(needs_shell(named));
}

}  // namespace
}  // namespace genscope::cli::bench
