#include "store/frame_tail.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "testing/temp_dir.h"

namespace genscope::store {
namespace {

std::vector<std::byte> frame(std::uint32_t seq, std::size_t bytes = 100) {
  trace::FrameHeader header;
  header.seq = seq;
  std::vector<std::byte> out;
  trace::append_frame(header, std::vector<std::byte>(bytes, std::byte{0x55}), out);
  return out;
}

class FrameTailTest : public ::testing::Test {
 protected:
  void add(std::span<const std::byte> bytes) {
    std::ofstream out(path_, std::ios::binary | std::ios::app);
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
  }
  void add_preamble() {
    const trace::Preamble preamble;
    add(std::as_bytes(std::span(&preamble, 1)));
  }
  // The numbers of the frames that are new.
  std::vector<std::uint32_t> read() {
    std::vector<std::uint32_t> out;
    tail_.read(scratch_, [&](const trace::FrameView& f) {
      out.push_back(f.header.seq);
      return true;
    });
    return out;
  }
  using Seqs = std::vector<std::uint32_t>;

  testing::TempDir dir_;
  std::string path_ = dir_ / "trace-1-0.gst";
  FrameTail tail_{path_};
  std::vector<std::byte> scratch_;
};

TEST_F(FrameTailTest, GivesEachFrameOnceWhenItIsWhole) {
  EXPECT_EQ(read(), Seqs{});
  add_preamble();
  add(frame(1));
  EXPECT_EQ(read(), Seqs{1});
  const auto two = frame(2);
  for (std::size_t cut = 0; cut < two.size(); ++cut) {
    add(std::span(two).subspan(cut, 1));
    EXPECT_EQ(read(), cut + 1 == two.size() ? Seqs{2} : Seqs{});
  }
  add(frame(3));
  add(frame(4));
  EXPECT_EQ(read(), (Seqs{3, 4}));
  const std::uint64_t before = tail_.bytes_read();
  EXPECT_EQ(read(), Seqs{});
  EXPECT_EQ(tail_.bytes_read(), before) << "nothing new costs nothing";
}

TEST_F(FrameTailTest, GoesOverDamageAndBlocks) {
  add_preamble();
  add(frame(1, trace::kMaxFrameBytes));
  auto bad = frame(2);
  bad.back() ^= std::byte{1};
  add(bad);
  add(std::vector<std::byte>(3 << 20, std::byte{trace::kFrameMagic & 0xFF}));
  add(frame(3, trace::kMaxFrameBytes));
  add(frame(4, trace::kMaxFrameBytes));
  bad = frame(5);
  bad[20] ^= std::byte{1};
  add(bad);
  EXPECT_EQ(read(), (Seqs{1, 3, 4}));
  add(frame(6));
  EXPECT_EQ(read(), Seqs{6});
}

TEST_F(FrameTailTest, SurvivesAFileThatShrinks) {
  add_preamble();
  add(frame(1));
  add(frame(2));
  EXPECT_EQ(read(), (Seqs{1, 2}));
  std::filesystem::resize_file(path_, 20);
  EXPECT_EQ(read(), Seqs{});
  add(frame(3));
  EXPECT_EQ(read(), Seqs{3});
  std::filesystem::remove(path_);
  EXPECT_EQ(read(), Seqs{});
}

TEST_F(FrameTailTest, IgnoresANewerFormat) {
  trace::Preamble preamble;
  preamble.version++;
  add(std::as_bytes(std::span(&preamble, 1)));
  add(frame(1));
  EXPECT_EQ(read(), Seqs{});
}

}  // namespace
}  // namespace genscope::store
