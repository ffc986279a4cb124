#include "base/file_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "testing/fault_plan.h"
#include "testing/temp_dir.h"

namespace genscope::base {
namespace {

void write(const std::string& path, std::string_view text) { std::ofstream(path) << text; }

TEST(KeptFile, SeesNewContentWithoutOpeningAgain) {
  const testing::TempDir dir;
  testing::FaultPlan files;
  write(dir / "a", "12 next\n");
  KeptFile file(dir / "a", files);
  double value = 0;
  ASSERT_EQ(file.read_number(value), 0);
  EXPECT_EQ(value, 12);
  write(dir / "a", "-7");
  ASSERT_EQ(file.read_number(value), 0);
  EXPECT_EQ(value, -7);
  EXPECT_EQ(files.touches("/a"), 3);  // one open, two reads
}

TEST(KeptFile, TrimsNulsAndBlanksAtTheEnd) {
  const testing::TempDir dir;
  write(dir / "a", std::string_view("hello \n\0\0\0", 10));
  KeptFile file(dir / "a");
  char buffer[64];
  std::string_view text;
  ASSERT_EQ(file.read(buffer, text), 0);
  EXPECT_EQ(text, "hello");
}

TEST(KeptFile, OpensAgainAfterTheDeviceWentAway) {
  const testing::TempDir dir;
  write(dir / "a", "1");
  testing::FaultPlan files;
  files.add("/a", {.error = ENODEV, .count = 1});
  KeptFile file(dir / "a", files);
  double value = 0;
  EXPECT_EQ(file.read_number(value), ENODEV);
  EXPECT_FALSE(file.is_open());
  EXPECT_EQ(file.read_number(value), 0);
}

TEST(KeptFile, LeavesADescriptorThatTheProgramTookForItself) {
  const testing::TempDir dir;
  write(dir / "a", "1");
  write(dir / "b", "2");
  const int next = ::dup(0);  // the number that the file will get
  ::close(next);
  KeptFile file(dir / "a");
  double value = 0;
  ASSERT_EQ(file.read_number(value), 0);
  ::close(next);
  ASSERT_EQ(::open((dir / "b").c_str(), O_RDONLY), next);
  EXPECT_EQ(file.read_number(value), 0);
  EXPECT_EQ(value, 1);
  file.close();
  EXPECT_EQ(::fcntl(next, F_GETFD), 0) << "the program's own is still open";
  ::close(next);
}

TEST(KeptFile, SaysWhatIsWrong) {
  const testing::TempDir dir;
  double value = 5;
  EXPECT_EQ(KeptFile(dir / "none").read_number(value), ENOENT);
  EXPECT_EQ(KeptFile().read_number(value), ENOENT);
  write(dir / "text", "n/a");
  EXPECT_EQ(KeptFile(dir / "text").read_number(value), EINVAL);
  write(dir / "empty", "");
  EXPECT_EQ(KeptFile(dir / "empty").read_number(value), EINVAL);
  EXPECT_EQ(value, 5);
}

TEST(FaultPlan, FailsDelaysAndReplacesAtTheNthRead) {
  const testing::TempDir dir;
  write(dir / "a", "1");
  testing::FaultPlan files;
  files.add("/a", {.error = EIO, .first = 1, .count = 1});
  files.add("/a", {.replace = true, .content = "9", .first = 2});
  KeptFile file(dir / "a", files);
  double value = 0;
  EXPECT_EQ(file.read_number(value), 0);
  EXPECT_EQ(file.read_number(value), EIO);
  EXPECT_EQ(file.read_number(value), 0);
  EXPECT_EQ(value, 9);
}

TEST(Words, AreSplitAndParsed) {
  std::string_view text = "a  b\tc\nlast";
  std::string_view line = next_part(text, '\n');
  EXPECT_EQ(next_word(line), "a");
  EXPECT_EQ(next_word(line), "b");
  EXPECT_EQ(next_word(line), "c");
  EXPECT_EQ(next_word(line), "");
  EXPECT_EQ(next_part(text, '\n'), "last");
  EXPECT_TRUE(text.empty());
  std::uint64_t natural = 0;
  EXPECT_TRUE(parse_number("18446744073709551615", natural));
  EXPECT_FALSE(parse_number("18446744073709551616", natural));
  EXPECT_FALSE(parse_number("-1", natural));
  EXPECT_FALSE(parse_number("1x", natural));
  double real = 0;
  EXPECT_TRUE(parse_number("0.25", real));
  EXPECT_FALSE(parse_number("nan", real));
  EXPECT_FALSE(parse_number("inf", real));
}

}  // namespace
}  // namespace genscope::base
