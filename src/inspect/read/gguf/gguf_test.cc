#include "inspect/read/gguf/gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inspect/read/craft.h"
#include "testing/temp_dir.h"

namespace genscope::inspect {
namespace {

using craft::raw;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Result<TensorFile> read_gguf_bytes(const std::string& bytes) {
  return read_gguf(MemorySource("m.gguf", bytes));
}
std::string gguf_fault(const std::string& bytes) {
  const auto file = read_gguf_bytes(bytes);
  return file.ok() ? "" : file.error().message;
}
auto gguf_complains(const char* what) {
  return AllOf(StartsWith("m.gguf: byte "), HasSubstr(what), HasSubstr("fetch it again"));
}

constexpr std::uint32_t kU32 = 4, kI32 = 5, kString = 8, kArray = 9;

TEST(Gguf, GivesShapesInTheOrderOfTorch) {
  const auto file = read_gguf_bytes(craft::gguf({craft::gguf_pair("general.architecture", "flux")},
                                                {{"w", {64, 8}, 8, 0}, {"b", {8}, 0, 544}}, 576));
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->container, Container::gguf);
  EXPECT_EQ(file->meta("general.architecture"), "flux");
  ASSERT_EQ(file->tensors.size(), 2u);
  EXPECT_EQ(file->tensors[0].name, "w");
  EXPECT_THAT(file->tensors[0].shape.span(), ElementsAre(8, 64));
  EXPECT_EQ(file->tensors[0].dtype, Dtype::q8_0);
  EXPECT_EQ(file->tensors[0].bytes, 544u);
  EXPECT_EQ(file->tensors[1].bytes, 32u);
}

TEST(Gguf, GivesScalarsAsTextAndArraysAsTheirLength) {
  const auto file = read_gguf_bytes(craft::gguf(
      {craft::gguf_text("u") + raw(kU32) + raw(std::uint32_t{7}),
       craft::gguf_text("f") + raw(std::uint32_t{6}) + raw(1.5f),
       craft::gguf_text("yes") + raw(std::uint32_t{7}) + raw(std::uint8_t{1}),
       craft::gguf_text("neg") + raw(std::uint32_t{11}) + raw(std::int64_t{-5}),
       craft::gguf_array("tokens", kString, 3,
                         craft::gguf_text("a") + craft::gguf_text("") + craft::gguf_text("ccc")),
       craft::gguf_array("scores", kU32, 2, std::string(8, '\0')),
       craft::gguf_array("nested", kArray, 1, raw(kU32) + raw(std::uint64_t{1}) + raw(kU32))},
      {}, 0));
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->meta("u"), "7");
  EXPECT_EQ(file->meta("f"), "1.5");
  EXPECT_EQ(file->meta("yes"), "true");
  EXPECT_EQ(file->meta("neg"), "-5");
  EXPECT_EQ(file->meta("tokens"), "array[3]");
  EXPECT_EQ(file->meta("scores"), "array[2]");
  EXPECT_EQ(file->meta("nested"), "array[1]");
}

TEST(Gguf, RestoresShapesThatTheConverterNoted) {
  const auto shape = [](std::int32_t a, std::int32_t b, std::int32_t c) {
    return raw(a) + raw(b) + raw(c);
  };
  const auto file = read_gguf_bytes(
      craft::gguf({craft::gguf_array("comfy.gguf.orig_shape.conv", kI32, 3, shape(4, 8, 2)),
                   craft::gguf_array("comfy.gguf.orig_shape.lies", kI32, 3, shape(4, 8, 3))},
                  {{"conv", {64}, 0, 0}, {"lies", {64}, 0, 256}}, 512));
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_THAT(file->find("conv")->shape.span(), ElementsAre(4, 8, 2));
  EXPECT_THAT(file->find("lies")->shape.span(), ElementsAre(64));
  EXPECT_TRUE(file->metadata.empty());
}

TEST(Gguf, ReadsVersion1WithItsNarrowCounts) {
  const auto text = [](std::string_view s) {
    return raw(static_cast<std::uint32_t>(s.size())) + std::string(s);
  };
  std::string bytes = "GGUF" + raw(std::uint32_t{1}) + raw(std::uint32_t{1}) +
                      raw(std::uint32_t{1}) + text("k") + raw(kString) + text("v") + text("t") +
                      raw(std::uint32_t{2}) + raw(std::uint32_t{3}) + raw(std::uint32_t{2}) +
                      raw(std::uint32_t{0}) + raw(std::uint64_t{0});
  bytes.resize((bytes.size() + 31) / 32 * 32 + 24);
  const auto file = read_gguf_bytes(bytes);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_THAT(file->tensors[0].shape.span(), ElementsAre(2, 3));
  EXPECT_EQ(file->meta("k"), "v");
}

TEST(Gguf, PassesOverLargeArrays) {
  std::string tokens;
  for (int i = 0; i < 150'000; ++i) tokens += craft::gguf_text("token" + std::to_string(i));
  const auto file = read_gguf_bytes(craft::gguf(
      {craft::gguf_array("t", kString, 150'000, tokens), craft::gguf_pair("after", "here")}, {},
      0));
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->meta("t"), "array[150000]");
  EXPECT_EQ(file->meta("after"), "here");
}

TEST(Gguf, FoldsDimensionsBeyondTheEighth) {
  const auto file =
      read_gguf_bytes(craft::gguf({}, {{"w", {2, 3, 1, 1, 1, 1, 1, 1, 1}, 0, 0}}, 24));
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->tensors[0].shape.rank, 8);
  EXPECT_EQ(file->tensors[0].shape.elements(), 6u);
  EXPECT_EQ(file->notes.size(), 1u);
}

TEST(Gguf, CountsTheBytesOfAnUnknownType) {
  const auto file = read_gguf_bytes(craft::gguf({}, {{"w", {5}, 4000, 0}, {"x", {2}, 0, 32}}, 40));
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->tensors[0].bytes, 32u);
  EXPECT_EQ(file->notes.size(), 1u);
}

TEST(GgufHostile, CountsOf2To63) {
  const std::uint64_t huge = std::uint64_t{1} << 63;
  EXPECT_THAT(gguf_fault("GGUF" + raw(std::uint32_t{3}) + raw(huge) + raw(std::uint64_t{0}) +
                         std::string(100, '\0')),
              gguf_complains("9223372036854775808 tensors do not fit"));
  EXPECT_THAT(gguf_fault("GGUF" + raw(std::uint32_t{3}) + raw(std::uint64_t{0}) + raw(huge) +
                         std::string(100, '\0')),
              gguf_complains("metadata pairs do not fit"));
  for (const std::uint32_t type : {kU32, kString, kArray}) {
    EXPECT_THAT(gguf_fault(craft::gguf({craft::gguf_array("a", type, huge, "")}, {}, 64)),
                gguf_complains("does not fit"));
  }
}

TEST(GgufHostile, StringPastTheEnd) {
  EXPECT_THAT(gguf_fault(craft::gguf({raw(std::uint64_t{1} << 62) + "key"}, {}, 64)),
              gguf_complains("bytes are expected here"));
  EXPECT_THAT(
      gguf_fault(craft::gguf({craft::gguf_array("a", kString, 1, raw(~std::uint64_t{0}))}, {}, 64)),
      gguf_complains("bytes are expected here"));
}

TEST(GgufHostile, ArraysInArrays) {
  std::string nested;
  for (int i = 0; i < 100'000; ++i) nested += raw(kArray) + raw(std::uint64_t{1});
  EXPECT_THAT(gguf_fault(craft::gguf({craft::gguf_array("a", kArray, 1, nested)}, {}, 64)),
              gguf_complains("nested too deeply"));
}

TEST(GgufHostile, VersionsAndTypesThatDoNotExist) {
  EXPECT_THAT(gguf_fault(craft::gguf({}, {}, 0, 4)),
              HasSubstr("m.gguf: byte 8: GGUF of version 4"));
  EXPECT_THAT(gguf_fault(craft::gguf({}, {}, 0, 0)), HasSubstr("version 0"));
  EXPECT_THAT(gguf_fault(craft::gguf({}, {}, 0, 0x03000000)), HasSubstr("big-endian"));
  EXPECT_THAT(gguf_fault(craft::gguf({craft::gguf_text("k") + raw(std::uint32_t{13})}, {}, 64)),
              gguf_complains("type 13"));
}

TEST(GgufHostile, ShapesAndPlacesThatCannotBe) {
  EXPECT_THAT(gguf_fault(craft::gguf({}, {{"w", {1ull << 32, 1ull << 32}, 0, 0}}, 64)),
              gguf_complains("64 bits"));
  EXPECT_THAT(gguf_fault(craft::gguf({}, {{"w", {1ull << 63}, 0, 0}}, 64)),
              gguf_complains("2^64 bytes"));
  EXPECT_THAT(gguf_fault(craft::gguf({}, {{"w", std::vector<std::uint64_t>(65, 1), 0, 0}}, 64)),
              gguf_complains("65 dimensions"));
  EXPECT_THAT(gguf_fault(craft::gguf({}, {{"w", {33}, 8, 0}}, 64)),
              gguf_complains("no whole blocks"));
  EXPECT_THAT(gguf_fault(craft::gguf({}, {{"w", {16}, 0, 32}}, 64)), gguf_complains("ends behind"));
  EXPECT_THAT(gguf_fault(craft::gguf({}, {{"w", {16}, 0, ~std::uint64_t{31}}}, 64)),
              gguf_complains("ends behind"));
  EXPECT_THAT(gguf_fault(craft::gguf({}, {{"w", {4}, 0, 8}}, 64)), gguf_complains("not aligned"));
  EXPECT_THAT(gguf_fault(craft::gguf({}, {{"a", {16}, 0, 0}, {"b", {4}, 0, 32}}, 64)),
              gguf_complains("overlaps"));
  EXPECT_THAT(gguf_fault(craft::gguf({}, {{"a", {4}, 0, 0}, {"a", {4}, 0, 32}}, 64)),
              gguf_complains("\"a\" twice"));
}

TEST(GgufHostile, AlignmentThatIsNone) {
  for (const std::uint32_t alignment : {0u, 3u, 1u << 31}) {
    EXPECT_THAT(gguf_fault(craft::gguf(
                    {craft::gguf_text("general.alignment") + raw(kU32) + raw(alignment)}, {}, 64)),
                gguf_complains("not a power of two"));
  }
}

TEST(GgufSplit, CountsAllFilesAndNamesMissingOnes) {
  const testing::TempDir dir;
  const auto part = [](const char* name) {
    return craft::gguf(
        {craft::gguf_text("split.count") + raw(std::uint32_t{2}) + raw(std::uint16_t{3})},
        {{name, {4}, 0, 0}}, 16);
  };
  craft::write(dir / "m-00001-of-00003.gguf", part("a"));
  craft::write(dir / "m-00002-of-00003.gguf", part("b"));
  const auto some = read_tensor_file(dir / "m-00002-of-00003.gguf");
  ASSERT_TRUE(some.ok()) << some.error().message;
  EXPECT_EQ(some->tensors.size(), 2u);
  ASSERT_EQ(some->notes.size(), 1u);
  EXPECT_THAT(some->notes[0], HasSubstr("1 of 3 files"));
  craft::write(dir / "m-00003-of-00003.gguf", part("c"));
  const auto all = read_tensor_file(dir / "m-00001-of-00003.gguf");
  ASSERT_TRUE(all.ok()) << all.error().message;
  EXPECT_EQ(all->tensors.size(), 3u);
  EXPECT_EQ(all->tensors[2].name, "c");
  EXPECT_TRUE(all->notes.empty());
}

}  // namespace
}  // namespace genscope::inspect
