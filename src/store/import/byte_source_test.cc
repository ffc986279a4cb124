#include "store/import/byte_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>

#include "genscope/store.h"
#include "testing/temp_dir.h"

namespace genscope::store {
namespace {

using ::testing::HasSubstr;

std::string gzip(const std::string& text) {
  z_stream z{};
  constexpr int kGzip = 16;
  EXPECT_EQ(deflateInit2(&z, 9, Z_DEFLATED, MAX_WBITS + kGzip, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&z, text.size()) + 64, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - z.avail_out);
  deflateEnd(&z);
  return out;
}

class ByteSourceTest : public ::testing::Test {
 protected:
  std::string put(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return path_;
  }
  // All bytes, or "error: ..."; `problem_` is how it ended.
  std::string read(const std::string& bytes, InflateLimits limits = {1 << 30, 200}) {
    Result<ByteSource> source = ByteSource::open(put(bytes), limits);
    if (!source.ok()) return "error: " + source.error().message;
    std::string out;
    std::string block(10'007, '\0');
    for (;;) {
      const Result<std::size_t> n = source->read(block.data(), block.size());
      if (!n.ok()) return "error: " + n.error().message;
      if (*n == 0) break;
      out.append(block.data(), *n);
    }
    problem_ = source->problem();
    return out;
  }

  testing::TempDir dir_;
  std::string path_ = dir_ / "bytes";
  std::string problem_;
};

// 80 MiB of blanks: members of 1 MiB, so that making it takes no time.
std::string bomb() {
  const std::string member = gzip(std::string(1 << 20, ' '));
  std::string out;
  for (int i = 0; i < 80; ++i) out += member;
  return out;
}

std::string numbers(int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += std::to_string(i * 7919) + ",";
  return out;
}

TEST_F(ByteSourceTest, PlainBytesComeAsTheyAre) {
  const std::string text = numbers(200'000);
  EXPECT_EQ(read(text), text);
  EXPECT_EQ(read(""), "");
  EXPECT_EQ(read("\x1f"), "\x1f");
}

TEST_F(ByteSourceTest, GzipIsKnownByItsBytes) {
  const std::string text = numbers(200'000);
  EXPECT_EQ(read(gzip(text)), text);
  EXPECT_EQ(problem_, "");
}

TEST_F(ByteSourceTest, SeveralMembersAreOneText) {
  const std::string text = numbers(50'000);
  EXPECT_EQ(read(gzip(text) + gzip("") + gzip("end")), text + "end");
  EXPECT_EQ(problem_, "");
}

TEST_F(ByteSourceTest, CutGzipGivesWhatIsThereAndSaysSo) {
  const std::string text = numbers(50'000);
  const std::string packed = gzip(text);
  const std::string got = read(packed.substr(0, packed.size() / 2));
  EXPECT_GT(got.size(), 1000u);
  EXPECT_EQ(got, text.substr(0, got.size()));
  EXPECT_THAT(problem_, HasSubstr("cut off"));
}

TEST_F(ByteSourceTest, DamagedGzipGivesWhatIsBeforeTheDamage) {
  const std::string text = numbers(50'000);
  std::string packed = gzip(text);
  for (std::size_t i = packed.size() / 2; i < packed.size() / 2 + 50; ++i) packed[i] = '\xFF';
  const std::string got = read(packed);
  EXPECT_LT(got.size(), text.size());
  EXPECT_THAT(problem_, HasSubstr("damaged at byte"));
}

TEST_F(ByteSourceTest, GzipBombsAreRefused) {
  EXPECT_LT(bomb().size(), 200'000u);
  EXPECT_THAT(read(bomb()), HasSubstr("more than 200 times its size"));
  EXPECT_THAT(read(bomb()), HasSubstr("--max-ratio"));
  EXPECT_THAT(read(bomb(), {70 << 20, 5000}), HasSubstr("more than 73400320 bytes"));
  EXPECT_EQ(read(bomb(), {81 << 20, 5000}).size(), std::size_t{80 << 20});
}

TEST_F(ByteSourceTest, AGzipBombIsAnErrorOfTheImport) {
  const auto result = import_chrome_trace(put(gzip("[") + bomb()), {});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::no_space);
  EXPECT_THAT(result.error().message, HasSubstr("if it is no bomb, raise"));
}

TEST_F(ByteSourceTest, AGzipTraceThatIsCutOffIsImportedWithANote) {
  std::string text = "[";
  for (int i = 0; i < 10'000; ++i) {
    text += "{\"ph\":\"X\",\"name\":\"f" + std::to_string(i * 7919 % 1000) +
            "\",\"pid\":1,\"tid\":1,\"ts\":" + std::to_string(i * 3) + ",\"dur\":1},\n";
  }
  const std::string packed = gzip(text);
  const auto result = import_chrome_trace(put(packed.substr(0, packed.size() * 3 / 4)), {});
  ASSERT_TRUE(result.ok());
  EXPECT_GT(result->trace.spans.size(), 1000u);
  EXPECT_TRUE(result->summary.truncated);
  ASSERT_EQ(result->trace.integrity.notes.size(), 1u);
  EXPECT_THAT(result->trace.integrity.notes[0], HasSubstr("the compressed data is cut off"));
}

}  // namespace
}  // namespace genscope::store
