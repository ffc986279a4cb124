#include "record/trace_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/file.h"
#include "testing/temp_dir.h"

namespace genscope::record {
namespace {

using testing::TempDir;
using trace::FrameScanner;
using trace::FrameView;

std::vector<std::byte> payload(std::size_t n) { return std::vector<std::byte>(n, std::byte{7}); }

std::size_t frames_in(const std::string& path) {
  const auto file = base::MappedFile::open(path);
  if (!file.ok()) return 0;
  FrameScanner scanner(file->bytes());
  FrameView frame;
  std::size_t n = 0;
  while (scanner.next(frame)) ++n;
  EXPECT_EQ(scanner.bad_bytes(), 0u);
  return n;
}

TEST(TraceFile, WritesPreambleAndFrames) {
  const TempDir dir;
  auto file = TraceFile::create(dir / "trace-1-0.gst", {});
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(std::filesystem::file_size(dir / "trace-1-0.gst"), 0u);
  file->append({}, payload(100));
  file->append({}, payload(0));
  EXPECT_EQ(file->pending(), 16u + 64 + 100 + 64);
  EXPECT_EQ(file->write(), 0);
  EXPECT_EQ(file->pending(), 0u);
  EXPECT_EQ(file->bytes(), 16u + 64 + 100 + 64);
  EXPECT_EQ(std::filesystem::file_size(dir / "trace-1-0.gst"), file->bytes());
  EXPECT_EQ(frames_in(dir / "trace-1-0.gst"), 2u);
}

TEST(TraceFile, RefusesAFileThatExistsAndAFolderThatDoesNot) {
  const TempDir dir;
  ASSERT_TRUE(TraceFile::create(dir / "t.gst", {}).ok());
  EXPECT_FALSE(TraceFile::create(dir / "t.gst", {}).ok());
  const auto missing = TraceFile::create(dir / "none/t.gst", {});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
}

TEST(TraceFile, WithoutALimitIsNeverFull) {
  const TempDir dir;
  const auto file = TraceFile::create(dir / "t.gst", {});
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE(file->full(std::size_t{1} << 50));
  EXPECT_FALSE(file->segment_done());
}

TEST(TraceFile, StopKeepsRoomToClose) {
  const TempDir dir;
  constexpr std::uint64_t kMax = 1 << 20;
  auto file = TraceFile::create(dir / "t.gst", {kMax, WhenFull::stop});
  ASSERT_TRUE(file.ok());
  while (!file->full(10'000 + 64)) {
    file->append({}, payload(10'000));
    ASSERT_EQ(file->write(), 0);
  }
  EXPECT_FALSE(file->segment_done());
  EXPECT_LT(file->bytes(), kMax - (100 << 10));
  EXPECT_GT(file->bytes(), kMax - (200 << 10));
}

TEST(TraceFile, KeepNewestTurnsSegmentsOver) {
  const TempDir dir;
  constexpr std::uint64_t kMax = 1 << 20;
  auto file = TraceFile::create(dir / "trace-1-0.gst", {kMax, WhenFull::keep_newest});
  ASSERT_TRUE(file.ok());
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(file->full(1 << 30));
    if (file->segment_done()) {
      ASSERT_EQ(file->write(), 0);
      ASSERT_TRUE(file->next_segment().ok());
    }
    file->append({}, payload(10'000));
    ASSERT_EQ(file->write(), 0);
    ASSERT_LE(file->bytes(), kMax + 4 * 11'000);
  }
  std::uint64_t on_disk = 0;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path())) {
    on_disk += entry.file_size();
    files++;
    EXPECT_GT(frames_in(entry.path().string()), 0u);
  }
  EXPECT_EQ(files, 4u);
  EXPECT_EQ(on_disk, file->bytes());
  EXPECT_GE(on_disk, kMax / 2);
  EXPECT_FALSE(std::filesystem::exists(dir / "trace-1-0.gst"));
  EXPECT_TRUE(
      std::filesystem::exists(dir / ("trace-1-0." + std::to_string(file->segment()) + ".gst")));
}

TEST(TraceFile, ATinyLimitIsRaisedToSomethingThatWorks) {
  const TempDir dir;
  auto file = TraceFile::create(dir / "t.gst", {1, WhenFull::stop});
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE(file->full(64 << 10));
}

TEST(TraceFile, NoticesThatItWasRemoved) {
  const TempDir dir;
  auto file = TraceFile::create(dir / "t.gst", {});
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE(file->removed());
  std::filesystem::remove(dir / "t.gst");
  EXPECT_TRUE(file->removed());
}

// In a child, since the limit holds for the whole process and its hard part cannot be raised. Its
// signal is not ignored: none may come.
TEST(TraceFile, AFailedWriteLeavesWholeFrames) {
  const TempDir dir;
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{100'000, 100'000};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(9);
    auto file = TraceFile::create(dir / "t.gst", {});
    if (!file.ok()) ::_exit(1);
    int error = 0;
    for (int i = 0; i < 20 && error == 0; ++i) {
      file->append({}, payload(10'000));
      error = file->write();
    }
    if (error != EFBIG) ::_exit(2);
    ::_exit(file->bytes() == std::filesystem::file_size(dir / "t.gst") ? 0 : 3);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(frames_in(dir / "t.gst"), 9u);
}

TEST(TraceFile, WhatTheProgramOpenedUnderOurNumberStaysAsItIs) {
  const TempDir dir;
  auto file = TraceFile::create(dir / "t.gst", {});
  ASSERT_TRUE(file.ok());
  file->append({}, payload(100));
  ASSERT_EQ(file->write(), 0);
  const base::FileId trace = [&] {
    const int fd = ::open((dir / "t.gst").c_str(), O_RDONLY);
    const base::FileId id = base::file_id(fd);
    ::close(fd);
    return id;
  }();
  // The program closes our descriptor and gets its number for a file of its own.
  int number = 3;
  while (!(base::file_id(number) == trace)) ASSERT_LT(++number, 1024);
  ::close(number);
  const int mine = ::open((dir / "user.bin").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(::dup2(mine, number), number);
  file->append({}, payload(100));
  EXPECT_EQ(file->write(), 0) << "the trace is opened again by its path";
  EXPECT_EQ(std::filesystem::file_size(dir / "user.bin"), 0u);
  EXPECT_EQ(frames_in(dir / "t.gst"), 2u);
  file->close();
  EXPECT_FALSE(base::file_id(number) == trace);
  EXPECT_TRUE(base::file_id(number).known) << "the program's descriptor is still open";
  ::close(number);
  ::close(mine);
}

TEST(TraceFile, AnotherFileOfItsNameIsNotTouched) {
  const TempDir dir;
  auto file = TraceFile::create(dir / "t.gst", {});
  ASSERT_TRUE(file.ok());
  file->append({}, payload(10));
  ASSERT_EQ(file->write(), 0);
  file->forget_descriptor();
  std::filesystem::rename(dir / "t.gst", dir / "moved.gst");
  ::close(::open((dir / "t.gst").c_str(), O_WRONLY | O_CREAT, 0600));
  file->append({}, payload(10));
  EXPECT_EQ(file->write(), ESTALE);
  EXPECT_EQ(std::filesystem::file_size(dir / "t.gst"), 0u);
  EXPECT_TRUE(file->removed());
}

}  // namespace
}  // namespace genscope::record
