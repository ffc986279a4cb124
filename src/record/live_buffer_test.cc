#include "record/live_buffer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "genscope/internal/hot.h"
#include "testing/temp_dir.h"

namespace genscope::record {
namespace {

using internal::kChunkBytes;
using testing::TempDir;

std::uint64_t blocks_of(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<std::uint64_t>(info.st_blocks) * 512 : 0;
}

TEST(LiveBuffer, StartsSmallAndDescribesItself) {
  const TempDir dir;
  auto made = make_live_buffer(dir / "x.live", {64 << 20, 4, 192});
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->max_chunks, (64u << 20) / kChunkBytes);
  EXPECT_EQ(made->chunk_count, 4u);
  EXPECT_EQ(made->bytes, trace::kChunkOffset + made->max_chunks * kChunkBytes);
  EXPECT_EQ(std::filesystem::file_size(dir / "x.live"), trace::kChunkOffset + 4 * kChunkBytes);
  EXPECT_GE(blocks_of(dir / "x.live"), 4 * kChunkBytes + (16 << 10));
  EXPECT_LE(blocks_of(dir / "x.live"), 4 * kChunkBytes + (64 << 10));
  const trace::LiveHeader& header = *made->header();
  EXPECT_EQ(header.magic, trace::LiveHeader().magic);
  EXPECT_EQ(header.lane_slots, trace::kLaneSlots);
  EXPECT_EQ(header.chunk_count, 4u);
  EXPECT_EQ(header.chunk_bytes, kChunkBytes);
  EXPECT_EQ(header.chunk_offset, trace::kChunkOffset);
  EXPECT_EQ(made->slots()[0].number.load(), 0u);
  retire(*made);
}

TEST(LiveBuffer, GrowsInPlaceUpToItsSize) {
  const TempDir dir;
  auto made = make_live_buffer(dir / "x.live", {2 << 20, 4, 192});
  ASSERT_TRUE(made.ok());
  std::byte* const before = made->chunks();
  EXPECT_EQ(made->grow_chunks(1000), 0);
  EXPECT_EQ(made->chunk_count, 32u);
  EXPECT_EQ(made->header()->chunk_count, 32u);
  EXPECT_EQ(made->chunks(), before);
  std::memset(made->chunks(), 1, 32 * kChunkBytes);
  EXPECT_GE(blocks_of(dir / "x.live"), 32 * kChunkBytes);
  EXPECT_NE(made->grow_chunks(1000), 0);
  EXPECT_EQ(made->slot_count, 192u);
  EXPECT_EQ(made->grow_slots(), 0);
  EXPECT_EQ(made->slot_count, trace::kLaneSlots);
  std::memset(static_cast<void*>(made->slots()), 0, trace::kLaneSlots * sizeof(trace::LaneSlot));
  retire(*made);
}

TEST(LiveBuffer, KeepsNoDescriptorAndYetItsLock) {
  const TempDir dir;
  const int before = ::open("/dev/null", O_RDONLY);
  auto made = make_live_buffer(dir / "x.live", {1, 4, 192});
  ASSERT_TRUE(made.ok());
  const int after = ::open("/dev/null", O_RDONLY);
  const int expected = made->header()->lock_by_descriptor != 0 ? before + 2 : before + 1;
  EXPECT_EQ(after, expected);
  ::close(before);
  ::close(after);
  const int reader = ::open((dir / "x.live").c_str(), O_RDONLY);
  EXPECT_NE(::flock(reader, LOCK_SH | LOCK_NB), 0);
  retire(*made);
  EXPECT_EQ(::flock(reader, LOCK_SH | LOCK_NB), 0);
  ::close(reader);
}

TEST(LiveBuffer, MayGrowToEightChunksAtLeast) {
  const TempDir dir;
  auto made = make_live_buffer(dir / "x.live", {1});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->max_chunks, 8u);
  retire(*made);
}

TEST(LiveBuffer, WhatIsStoredIsInTheFile) {
  const TempDir dir;
  auto made = make_live_buffer(dir / "x.live", {1});
  ASSERT_TRUE(made.ok());
  std::memcpy(made->chunks() + 100, "hello", 5);
  FILE* const f = std::fopen((dir / "x.live").c_str(), "rb");
  ASSERT_NE(f, nullptr);
  char text[6] = {};
  ASSERT_EQ(std::fseek(f, static_cast<long>(trace::kChunkOffset + 100), SEEK_SET), 0);
  ASSERT_EQ(std::fread(text, 1, 5, f), 5u);
  std::fclose(f);
  EXPECT_STREQ(text, "hello");
  retire(*made);
}

TEST(LiveBuffer, StrayStoresAfterRetireAreHarmless) {
  const TempDir dir;
  auto made = make_live_buffer(dir / "x.live", {1});
  ASSERT_TRUE(made.ok());
  std::memcpy(made->chunks(), "kept", 4);
  retire(*made);
  std::memcpy(made->chunks(), "lost", 4);  // into anonymous memory now
  FILE* const f = std::fopen((dir / "x.live").c_str(), "rb");
  ASSERT_NE(f, nullptr);
  char text[5] = {};
  ASSERT_EQ(std::fseek(f, static_cast<long>(trace::kChunkOffset), SEEK_SET), 0);
  ASSERT_EQ(std::fread(text, 1, 4, f), 4u);
  std::fclose(f);
  EXPECT_STREQ(text, "kept");
}

TEST(LiveBuffer, FailsWithAReasonAndLeavesNothing) {
  const TempDir dir;
  const auto missing = make_live_buffer(dir / "none/x.live", {1});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  std::filesystem::create_directories(dir / "there");
  auto first = make_live_buffer(dir / "there/x.live", {1});
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(make_live_buffer(dir / "there/x.live", {1}).ok()) << "never takes another's file";
  retire(*first);
}

// No signal is ignored here: the limit must not raise one.
TEST(LiveBuffer, ShrinksToAFileSizeLimitWithoutASignal) {
  const TempDir dir;
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{1 << 20, 1 << 20};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(9);
    auto made = make_live_buffer(dir / "x.live", {64 << 20, 64, trace::kLaneSlots});
    if (!made.ok()) ::_exit(1);
    if (made->chunk_count < 4 || made->chunk_count > 16) ::_exit(2);
    std::memset(made->chunks(), 1, made->chunk_count * kChunkBytes);  // every block is there
    if (made->grow_chunks(64) == 0) ::_exit(5);
    const rlimit none{100'000, 100'000};
    if (::setrlimit(RLIMIT_FSIZE, &none) != 0) ::_exit(9);
    const auto failed = make_live_buffer(dir / "y.live", {64 << 20});
    if (failed.ok() || failed.error().code != ErrorCode::no_space) ::_exit(3);
    ::_exit(std::filesystem::exists(dir / "y.live") ? 4 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace genscope::record
