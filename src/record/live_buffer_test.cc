#include "record/live_buffer.h"

#include <gtest/gtest.h>
#include <signal.h>
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

TEST(LiveBuffer, ReservesItsBlocksAndDescribesItself) {
  const TempDir dir;
  auto made = make_live_buffer(dir / "x.live", 2 << 20);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->chunk_count, (2u << 20) / kChunkBytes);
  EXPECT_EQ(made->bytes, trace::kChunkOffset + made->chunk_count * kChunkBytes);
  struct stat info {};
  ASSERT_EQ(::stat((dir / "x.live").c_str(), &info), 0);
  EXPECT_EQ(static_cast<std::size_t>(info.st_size), made->bytes);
  EXPECT_GE(static_cast<std::size_t>(info.st_blocks) * 512, made->bytes);
  const trace::LiveHeader& header = *made->header();
  EXPECT_EQ(header.magic, trace::LiveHeader().magic);
  EXPECT_EQ(header.lane_slots, trace::kLaneSlots);
  EXPECT_EQ(header.chunk_count, made->chunk_count);
  EXPECT_EQ(header.chunk_bytes, kChunkBytes);
  EXPECT_EQ(header.chunk_offset, trace::kChunkOffset);
  EXPECT_EQ(made->slots()[0].number.load(), 0u);
  retire(*made);
}

TEST(LiveBuffer, HasAtLeastEightChunks) {
  const TempDir dir;
  auto made = make_live_buffer(dir / "x.live", 1);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->chunk_count, 8u);
  retire(*made);
}

TEST(LiveBuffer, WhatIsStoredIsInTheFile) {
  const TempDir dir;
  auto made = make_live_buffer(dir / "x.live", 1);
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
  auto made = make_live_buffer(dir / "x.live", 1);
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
  const auto missing = make_live_buffer(dir / "none/x.live", 1);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  std::filesystem::create_directories(dir / "there");
  auto first = make_live_buffer(dir / "there/x.live", 1);
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(make_live_buffer(dir / "there/x.live", 1).ok()) << "never takes another's file";
  retire(*first);
}

TEST(LiveBuffer, ShrinksWhenThereIsLittleRoom) {
  const TempDir dir;
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4 << 20, 4 << 20};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(9);
    auto made = make_live_buffer(dir / "x.live", 64 << 20);
    if (!made.ok()) ::_exit(1);
    if (made->chunk_count < 8 || made->bytes > (4u << 20)) ::_exit(2);
    std::memset(made->chunks(), 1, made->chunk_count * kChunkBytes);  // every block is there
    const rlimit none{100'000, 100'000};
    if (::setrlimit(RLIMIT_FSIZE, &none) != 0) ::_exit(9);
    const auto failed = make_live_buffer(dir / "y.live", 64 << 20);
    if (failed.ok() || failed.error().code != ErrorCode::no_space) ::_exit(3);
    ::_exit(std::filesystem::exists(dir / "y.live") ? 4 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace genscope::record
