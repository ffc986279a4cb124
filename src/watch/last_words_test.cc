#include "watch/last_words.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "testing/temp_dir.h"

namespace genscope::watch {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(LastLines, AreWhatATerminalWouldShowLast) {
  EXPECT_THAT(last_lines("a\nb\nc\nd\ne\nf\n"), ElementsAre("b", "c", "d", "e", "f"));
  EXPECT_THAT(last_lines("10 %\r50 %\r90 %\r\nTraceback\n  \x1b[31mValueError: x\x1b[0m"),
              ElementsAre("Traceback", "ValueError: x"));
  EXPECT_THAT(last_lines("10 %\r50 %"), ElementsAre("50 %"));
  EXPECT_THAT(last_lines("\n\n"), IsEmpty());
  EXPECT_THAT(last_lines("failed: --api-key 0123456789abcdef\n"),
              ElementsAre("failed: --api-key ***"));
}

// Puts a file in the place of stderr for as long as it lives.
class Redirected {
 public:
  Redirected(const std::string& path, int flags) : before_(dup(STDERR_FILENO)) {
    const int file = open(path.c_str(), flags | O_CREAT, 0600);
    dup2(file, STDERR_FILENO);
    close(file);
  }
  ~Redirected() {
    dup2(before_, STDERR_FILENO);
    close(before_);
  }

 private:
  int before_;
};

void say(const char* words) { ASSERT_GT(write(STDERR_FILENO, words, strlen(words)), 0); }

TEST(LastWords, AreReadFromTheFileBehindStderr) {
  const testing::TempDir dir;
  for (const int flags : {O_WRONLY | O_TRUNC, O_WRONLY | O_APPEND}) {
    std::vector<std::string> words, none;
    {
      const Redirected here(dir / "log", flags);
      say("not the command's\n");
      const LastWords last;
      none = last.read();
      say("one\ntwo\n");
      words = last.read();
    }
    EXPECT_THAT(none, IsEmpty());
    EXPECT_THAT(words, ElementsAre("one", "two"));
  }
}

TEST(LastWords, OfAPipeAreNotKnown) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const int before = dup(STDERR_FILENO);
  dup2(ends[1], STDERR_FILENO);
  const LastWords last;
  say("lost\n");
  const auto words = last.read();
  dup2(before, STDERR_FILENO);
  for (const int fd : {before, ends[0], ends[1]}) close(fd);
  EXPECT_THAT(words, IsEmpty());
}

}  // namespace
}  // namespace genscope::watch
