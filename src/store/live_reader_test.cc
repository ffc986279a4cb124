#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <set>

#include "base/text.h"
#include "genscope/internal/word.h"
#include "store/chunks.h"
#include "testing/random.h"
#include "testing/temp_dir.h"

namespace genscope::store {
namespace {

using internal::make_word;
using internal::Op;
using testing::TempDir;

constexpr std::uint32_t kChunk = 4096;
constexpr std::uint64_t kOffset = 8192;

struct Header64 {  // as in docs/trace-format.md
  std::uint64_t tail, data, base;
  std::uint32_t state, lane, seq, link, cycle, last, reserved[4];
};

// A live file in memory, to be broken at will.
class Image {
 public:
  explicit Image(std::uint32_t chunks) : bytes_(kOffset + std::size_t{chunks} * kChunk) {
    header.lane_slots = 64;
    header.chunk_count = chunks;
    header.chunk_bytes = kChunk;
    header.chunk_offset = kOffset;
    header.trace_id.fill(0xAB);
  }
  void chunk(std::uint32_t index, const Header64& h, const std::vector<std::uint64_t>& words) {
    std::byte* const at = bytes_.data() + kOffset + std::size_t{index} * kChunk;
    std::memcpy(at, &h, sizeof h);
    if (!words.empty()) std::memcpy(at + sizeof h, words.data(), words.size() * 8);
  }
  void slot(std::uint32_t index, std::uint32_t lane, std::uint64_t spans, std::uint64_t records) {
    std::byte* const at = bytes_.data() + 4096 + std::size_t{index} * 64;
    std::memcpy(at, &lane, 4);
    const std::uint64_t values[4] = {spans, records, 10, 20};
    std::memcpy(at + 8, values, sizeof values);
  }
  std::string save(const TempDir& dir) {
    std::memcpy(bytes_.data(), &header, sizeof header);
    const std::string path = dir / "x.live";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes_.data()),
               static_cast<std::streamsize>(bytes_.size()));
    return path;
  }
  std::vector<std::byte>& bytes() { return bytes_; }
  std::string id() const { return base::hex(header.trace_id); }
  trace::LiveHeader header;

 private:
  std::vector<std::byte> bytes_;
};

Header64 filled(std::uint32_t lane, std::uint32_t seq, std::size_t words) {
  Header64 h{};
  h.data = 0x7F0000000040;
  h.tail = h.data + words * 8;
  h.base = 99;
  h.state = 2;
  h.lane = lane;
  h.seq = seq;
  return h;
}

TEST(LiveReader, CopiesOpenAndFilledChunks) {
  const TempDir dir;
  Image image(4);
  const std::vector<std::uint64_t> words = {make_word(Op::begin, 1, 2), make_word(Op::end, 0, 3)};
  image.chunk(0, filled(5, 7, 2), words);
  Header64 open = filled(6, 0, 1);
  open.state = 1;
  image.chunk(2, open, words);
  Header64 free = filled(9, 9, 2);
  free.state = 0;
  image.chunk(3, free, words);
  const auto content = read_live(image.save(dir), image.id());
  ASSERT_TRUE(content.ok()) << content.error().message;
  ASSERT_EQ(content->chunks.size(), 2u);
  const Chunk& c = content->chunks[0];
  EXPECT_EQ(c.lane, 5u);
  EXPECT_EQ(c.seq, 7u);
  EXPECT_EQ(c.base_tick, 99u);
  EXPECT_EQ(c.words, 2u);
  EXPECT_TRUE(c.from_live);
  EXPECT_EQ(c.payload.size(), 16u);
  EXPECT_EQ(std::memcmp(c.payload.data(), words.data(), 16), 0);
  EXPECT_EQ(content->chunks[1].lane, 6u);
  EXPECT_EQ(content->chunks[1].words, 1u);
}

TEST(LiveReader, TellsOfDropsThatNoChunkTells) {
  const TempDir dir;
  Image image(1);
  image.slot(0, 3, 5, 0);
  image.slot(1, 4, 0, 0);  // nothing lost
  image.slot(2, 0, 9, 9);  // free
  image.slot(63, 8, 0, 2);
  const auto content = read_live(image.save(dir), image.id());
  ASSERT_TRUE(content.ok());
  ASSERT_EQ(content->losses.size(), 2u);
  EXPECT_EQ(content->losses[0].lane, 3u);
  EXPECT_EQ(content->losses[0].spans, 5u);
  EXPECT_EQ(content->losses[0].first_tick, 10u);
  EXPECT_EQ(content->losses[1].records, 2u);
}

TEST(LiveReader, LooksNoFurtherThanWhatWasEverInUse) {
  const TempDir dir;
  Image image(4);
  for (std::uint32_t i = 0; i < 4; ++i) image.chunk(i, filled(5 + i, 0, 1), {0});
  image.slot(0, 3, 5, 0);
  image.slot(40, 4, 5, 0);
  const auto counts = [&](std::uint32_t chunks, std::uint32_t slots) {
    image.header.chunks_touched = chunks;
    image.header.slots_touched = slots;
    const auto content = read_live(image.save(dir), image.id());
    return std::pair(content->chunks.size(), content->losses.size());
  };
  EXPECT_EQ(counts(2, 1), std::pair(std::size_t{2}, std::size_t{1}));
  EXPECT_EQ(counts(0, 0), std::pair(std::size_t{4}, std::size_t{2})) << "0 is: not known";
  EXPECT_EQ(counts(1000, 1000), std::pair(std::size_t{4}, std::size_t{2})) << "more than there are";
}

TEST(LiveReader, SkipsChunksThatMakeNoSense) {
  const TempDir dir;
  Image image(6);
  image.chunk(0, filled(1, 0, 0), {});
  image.chunk(1, filled(1, 1, kChunk), {});  // longer than a chunk
  Header64 h = filled(1, 2, 4);
  h.tail += 3;  // half a word
  image.chunk(2, h, {});
  h = filled(1, 3, 4);
  h.tail = h.data - 8;  // backwards
  image.chunk(3, h, {});
  image.chunk(4, filled(1u << 22, 0, 4), {});  // no such lane
  image.chunk(5, filled(1, 1u << 27, 4), {});
  const auto content = read_live(image.save(dir), image.id());
  ASSERT_TRUE(content.ok());
  EXPECT_TRUE(content->chunks.empty());
}

TEST(LiveReader, RefusesAnotherTracesBuffer) {
  const TempDir dir;
  Image image(1);
  const auto content = read_live(image.save(dir), "00000000000000000000000000000000");
  ASSERT_FALSE(content.ok());
  EXPECT_EQ(content.error().code, ErrorCode::bad_data);
}

TEST(LiveReader, RefusesHeadersThatDoNotFitTheFile) {
  const TempDir dir;
  const auto expect_refused = [&](auto&& change, const char* what) {
    Image image(2);
    change(image);
    EXPECT_FALSE(read_live(image.save(dir), image.id()).ok()) << what;
  };
  expect_refused([](Image& i) { i.header.magic[0] = 'X'; }, "magic");
  expect_refused([](Image& i) { i.header.version = 2; }, "version");
  expect_refused([](Image& i) { i.header.chunk_count = 3; }, "chunk_count");
  expect_refused([](Image& i) { i.header.chunk_count = ~0u; }, "chunk_count");
  expect_refused([](Image& i) { i.header.chunk_bytes = 0; }, "chunk_bytes");
  expect_refused([](Image& i) { i.header.chunk_bytes = 60; }, "chunk_bytes");
  expect_refused([](Image& i) { i.header.chunk_bytes = 68; }, "chunk_bytes");
  expect_refused([](Image& i) { i.header.chunk_bytes = ~0u; }, "chunk_bytes");
  expect_refused([](Image& i) { i.header.chunk_offset = ~std::uint64_t{0}; }, "chunk_offset");
  expect_refused([](Image& i) { i.header.chunk_offset = 0; }, "chunk_offset");
  expect_refused([](Image& i) { i.header.lane_slots = ~0u; }, "lane_slots");
  expect_refused([](Image& i) { i.bytes().resize(40); }, "too short");
  EXPECT_FALSE(read_live(dir / "none", "").ok());
}

TEST(LiveReader, AnyBytesAreSafe) {
  const TempDir dir;
  testing::Random random(2);
  for (int i = 0; i < 500; ++i) {
    Image image(3);
    for (std::uint32_t c = 0; c < 3; ++c) image.chunk(c, filled(c, c, random.below(504)), {});
    for (std::uint64_t n = random.below(30); n > 0; --n) {
      image.bytes()[kOffset + random.below(3 * kChunk)] = static_cast<std::byte>(random.next());
    }
    (void)read_live(image.save(dir), image.id()).ok();
  }
}

}  // namespace
}  // namespace genscope::store
