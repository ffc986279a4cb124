#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "testing/temp_dir.h"

namespace genscope::base {
namespace {

using testing::TempDir;

std::size_t entries_in(const std::string& folder) {
  std::size_t n = 0;
  for ([[maybe_unused]] const auto& e : std::filesystem::directory_iterator(folder)) ++n;
  return n;
}

TEST(UniqueFd, ClosesAndMoves) {
  int raw = -1;
  {
    UniqueFd fd(::open("/dev/null", O_RDONLY));
    raw = fd.get();
    ASSERT_TRUE(fd.valid());
    UniqueFd other(std::move(fd));
    EXPECT_FALSE(fd.valid());  // NOLINT(bugprone-use-after-move)
    EXPECT_EQ(other.get(), raw);
    EXPECT_EQ(::fcntl(raw, F_GETFD) >= 0, true);
  }
  EXPECT_EQ(::fcntl(raw, F_GETFD), -1);
}

TEST(ErrnoError, NamesThePathAndPicksTheCode) {
  const Error error = errno_error("cannot open", "/x/y", ENOENT);
  EXPECT_EQ(error.code, ErrorCode::not_found);
  EXPECT_EQ(error.message, "cannot open /x/y: No such file or directory");
  EXPECT_EQ(errno_error("w", "p", EACCES).code, ErrorCode::permission);
  EXPECT_EQ(errno_error("w", "p", EROFS).code, ErrorCode::permission);
  EXPECT_EQ(errno_error("w", "p", ENOSPC).code, ErrorCode::no_space);
  EXPECT_EQ(errno_error("w", "p", EFBIG).code, ErrorCode::no_space);
  EXPECT_EQ(errno_error("w", "p", EIO).code, ErrorCode::io);
}

TEST(ReadFile, GivesTheWholeContent) {
  const TempDir dir;
  std::string content(200'000, 'x');
  content[100'000] = '\0';
  std::ofstream(dir / "f", std::ios::binary) << content;
  const auto read = read_file(dir / "f");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, content);
}

TEST(ReadFile, RefusesWhatIsMissingOrTooLarge) {
  const TempDir dir;
  const auto missing = read_file(dir / "none");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  std::ofstream(dir / "f") << std::string(100, 'x');
  const auto large = read_file(dir / "f", 99);
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error().code, ErrorCode::bad_data);
  EXPECT_TRUE(read_file(dir / "f", 100).ok());
}

TEST(WriteFile, ReplacesInOneStepAndLeavesNothingBehind) {
  const TempDir dir;
  ASSERT_TRUE(write_file(dir / "f", "one").ok());
  ASSERT_TRUE(write_file(dir / "f", "two").ok());
  EXPECT_EQ(*read_file(dir / "f"), "two");
  EXPECT_EQ(entries_in(dir.path()), 1u);
  EXPECT_FALSE(write_file(dir / "none/f", "x").ok());
}

TEST(CreateFile, SaysWhetherItWasThere) {
  const TempDir dir;
  EXPECT_TRUE(*create_file(dir / "f", "one"));
  EXPECT_FALSE(*create_file(dir / "f", "two"));
  EXPECT_EQ(*read_file(dir / "f"), "one");
  EXPECT_EQ(entries_in(dir.path()), 1u);
}

TEST(WriteAll, GivesTheErrnoOfAFailure) {
  EXPECT_EQ(write_all(-1, "x", 1), EBADF);
  const UniqueFd full(::open("/dev/full", O_WRONLY));
  if (full.valid()) {
    EXPECT_EQ(write_all(full.get(), "x", 1), ENOSPC);
  }
  EXPECT_EQ(write_all(-1, "", 0), 0);
}

TEST(MakeDirectories, MakesParentsAndFailsUnderAFile) {
  const TempDir dir;
  EXPECT_TRUE(make_directories(dir / "a/b/c").ok());
  EXPECT_TRUE(make_directories(dir / "a/b/c").ok());
  std::ofstream(dir / "file") << "x";
  const auto failed = make_directories(dir / "file/a");
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().message.find("file/a"), std::string::npos);
}

TEST(MappedFile, MapsContentAndEmptiness) {
  const TempDir dir;
  std::ofstream(dir / "f") << "abc";
  std::ofstream(dir / "empty");
  const auto file = MappedFile::open(dir / "f");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->bytes().size(), 3u);
  EXPECT_EQ(static_cast<char>(file->bytes()[1]), 'b');
  const auto empty = MappedFile::open(dir / "empty");
  ASSERT_TRUE(empty.ok());
  EXPECT_TRUE(empty->bytes().empty());
}

TEST(MappedFile, RefusesFoldersAndMissingFiles) {
  const TempDir dir;
  EXPECT_FALSE(MappedFile::open(dir.path()).ok());
  EXPECT_FALSE(MappedFile::open(dir / "none").ok());
}

// A fifo has no writer: a plain open for reading would wait for one for ever.
TEST(MappedFile, DoesNotWaitForAFifo) {
  const TempDir dir;
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  ::alarm(20);
  EXPECT_FALSE(MappedFile::open(dir / "fifo").ok());
  ::alarm(0);
}

TEST(OnNetworkFileSystem, IsFalseForLocalAndMissingPaths) {
  EXPECT_FALSE(on_network_file_system("/proc"));
  EXPECT_FALSE(on_network_file_system("/no/such/path"));
}

}  // namespace
}  // namespace genscope::base
