#include "inspect/read/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inspect/read/craft.h"

namespace genscope::inspect {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Result<TensorFile> read_safetensors_bytes(const std::string& bytes) {
  return read_safetensors(MemorySource("m.safetensors", bytes));
}

// The error of a file with this header.
std::string safetensors_fault(std::string_view json, std::size_t data_bytes = 0) {
  const auto file = read_safetensors_bytes(craft::safetensors(json, data_bytes));
  return file.ok() ? "" : file.error().message;
}

// A message must name the file, the place, what is wrong and what to do.
auto safetensors_complains(const char* what) {
  return AllOf(StartsWith("m.safetensors: byte "), HasSubstr(what), HasSubstr("fetch it again"));
}

std::string entry(std::string_view shape, std::string_view offsets,
                  std::string_view dtype = "F32") {
  return R"({"w":{"dtype":")" + std::string(dtype) + R"(","shape":)" + std::string(shape) +
         R"(,"data_offsets":)" + std::string(offsets) + "}}";
}

TEST(Safetensors, GivesNamesShapesDtypesAndBytes) {
  const auto file = read_safetensors_bytes(craft::safetensors(
      R"({"__metadata__":{"format":"pt","n":"3"},"a.weight":{"dtype":"BF16","shape":[2,3],)"
      R"("data_offsets":[0,12]},"b":{"dtype":"F32","shape":[],"data_offsets":[12,16]}}  )",
      16));
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_EQ(file->tensors.size(), 2u);
  const Tensor& a = file->tensors[0];
  EXPECT_EQ(a.name, "a.weight");
  EXPECT_EQ(a.dtype, Dtype::bf16);
  EXPECT_EQ(a.bytes, 12u);
  ASSERT_EQ(a.shape.rank, 2);
  EXPECT_EQ(a.shape[0], 2u);
  EXPECT_EQ(a.shape[1], 3u);
  EXPECT_EQ(a.shape.elements(), 6u);
  EXPECT_EQ(file->tensors[1].shape.rank, 0);
  EXPECT_EQ(file->tensors[1].shape.elements(), 1u);
  EXPECT_EQ(file->meta("format"), "pt");
  EXPECT_EQ(file->meta("none"), "");
  EXPECT_EQ(file->find("b"), &file->tensors[1]);
  EXPECT_EQ(file->find("c"), nullptr);
  EXPECT_EQ(file->container, Container::safetensors);
  EXPECT_EQ(file->file_bytes, file->header_bytes + 16);
}

TEST(Safetensors, AcceptsAnyOrderEmptyTensorsAndEscapedNames) {
  const auto file = read_safetensors_bytes(craft::safetensors(
      R"({"z\u00e9":{"data_offsets":[4,8],"shape":[1],"dtype":"F32"},)"
      R"("empty":{"dtype":"F32","shape":[0,7],"data_offsets":[4,4]},)"
      R"("a":{"shape":[4],"dtype":"U8","data_offsets":[0,4],"later":{"added":[1]}}})",
      8));
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->tensors[0].name, "z\xC3\xA9");
  EXPECT_EQ(file->find("empty")->bytes, 0u);
  EXPECT_EQ(file->find("a")->bytes, 4u);
}

TEST(Safetensors, AcceptsAnEmptyHeader) {
  const auto file = read_safetensors_bytes(craft::safetensors("{}"));
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->tensors.empty());
}

TEST(Safetensors, CountsTheBytesOfAnUnknownDtype) {
  const auto file = read_safetensors_bytes(craft::safetensors(entry("[3]", "[0,5]", "F5_NEW"), 5));
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->tensors[0].dtype, Dtype::unknown);
  EXPECT_EQ(file->tensors[0].bytes, 5u);
  ASSERT_EQ(file->notes.size(), 1u);
  EXPECT_THAT(file->notes[0], HasSubstr("\"w\""));
}

TEST(Safetensors, FoldsDimensionsBeyondTheEighth) {
  const auto file =
      read_safetensors_bytes(craft::safetensors(entry("[1,1,1,1,1,1,1,2,3,5]", "[0,120]"), 120));
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->tensors[0].shape.rank, 8);
  EXPECT_EQ(file->tensors[0].shape[7], 30u);
  EXPECT_EQ(file->tensors[0].shape.elements(), 30u);
  EXPECT_EQ(file->notes.size(), 1u);
}

TEST(Safetensors, KeepsNamesAliveWithoutTheSource) {
  TensorFile copy;
  {
    const auto file = read_safetensors_bytes(craft::safetensors_of({"first", "second"}));
    ASSERT_TRUE(file.ok());
    copy = *file;
  }
  EXPECT_EQ(copy.tensors[1].name, "second");
}

TEST(SafetensorsHostile, LengthBeyondTheFile) {
  std::string bytes = craft::safetensors("{}");
  bytes[0] = 100;
  EXPECT_THAT(read_safetensors_bytes(bytes).error().message,
              safetensors_complains("claims 100 bytes, the file has 2"));
}

TEST(SafetensorsHostile, LengthBeyondTheLimitOfTheFormat) {
  for (const std::uint64_t length :
       {std::uint64_t{100'000'001}, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
    EXPECT_THAT(read_safetensors_bytes(craft::raw(length) + "{}").error().message,
                safetensors_complains("the format allows 100000000"));
  }
}

TEST(SafetensorsHostile, OffsetsOutOfRange) {
  EXPECT_THAT(safetensors_fault(entry("[2]", "[0,8]"), 4),
              safetensors_complains("the file has 4 bytes of data"));
  EXPECT_THAT(safetensors_fault(entry("[2]", "[8,0]"), 8),
              safetensors_complains("the end before the begin"));
  EXPECT_THAT(safetensors_fault(entry("[2]", "[0,18446744073709551615]"), 8),
              safetensors_complains("8 bytes of data"));
  EXPECT_THAT(safetensors_fault(entry("[2]", "[0]"), 8), safetensors_complains("not two numbers"));
  EXPECT_THAT(safetensors_fault(entry("[2]", "[0,4,8]"), 8),
              safetensors_complains("not two numbers"));
}

TEST(SafetensorsHostile, OverlapsHolesAndBytesOfNobody) {
  const auto two = [](const char* second) {
    return R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],)"
           R"("data_offsets":)" +
           std::string(second) + "}}";
  };
  EXPECT_EQ(safetensors_fault(two("[4,8]"), 8), "");
  EXPECT_THAT(safetensors_fault(two("[2,6]"), 6), safetensors_complains("overlaps"));
  EXPECT_THAT(safetensors_fault(two("[0,4]"), 4), safetensors_complains("overlaps"));
  EXPECT_THAT(safetensors_fault(two("[6,10]"), 10), safetensors_complains("hole"));
  EXPECT_THAT(safetensors_fault(two("[4,8]"), 9),
              safetensors_complains("1 bytes at the end belong to no tensor"));
}

TEST(SafetensorsHostile, BytesThatDoNotFitTheShape) {
  EXPECT_THAT(safetensors_fault(entry("[3]", "[0,8]"), 8),
              safetensors_complains("3 elements of F32"));
}

TEST(SafetensorsHostile, DuplicateKeys) {
  EXPECT_THAT(safetensors_fault(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                                R"("\u0061":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})"),
              safetensors_complains("names tensor \"a\" twice"));
  EXPECT_THAT(safetensors_fault(R"({"__metadata__":{},"__metadata__":{}})"),
              safetensors_complains("twice"));
  EXPECT_THAT(
      safetensors_fault(R"({"a":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}})"),
      safetensors_complains("twice"));
}

TEST(SafetensorsHostile, SizesThatAreNoSizes) {
  EXPECT_THAT(safetensors_fault(entry("[-1]", "[0,8]"), 8), safetensors_complains("negative"));
  EXPECT_THAT(safetensors_fault(entry("[NaN]", "[0,8]"), 8), safetensors_complains("whole number"));
  EXPECT_THAT(safetensors_fault(entry("[2.5]", "[0,8]"), 8),
              safetensors_complains("not a whole one"));
  EXPECT_THAT(safetensors_fault(entry("[\"2\"]", "[0,8]"), 8),
              safetensors_complains("whole number"));
  EXPECT_THAT(safetensors_fault(entry("[18446744073709551616]", "[0,8]"), 8),
              safetensors_complains("64 bits"));
  EXPECT_THAT(safetensors_fault(entry("[4294967296,4294967296]", "[0,8]"), 8),
              safetensors_complains("64 bits"));
  EXPECT_THAT(safetensors_fault(entry("[4611686018427387904]", "[0,0]"), 0),
              safetensors_complains("do not fit"));
}

TEST(SafetensorsHostile, MissingFieldsAndForeignTypes) {
  EXPECT_THAT(safetensors_fault(R"({"a":{"dtype":"U8","shape":[0]}})"),
              safetensors_complains("lacks"));
  EXPECT_THAT(safetensors_fault(R"({"a":[]})"), safetensors_complains("an object is expected"));
  EXPECT_THAT(safetensors_fault(R"({"a":{"dtype":1}})"),
              safetensors_complains("a string is expected"));
  EXPECT_THAT(safetensors_fault(R"([])"), safetensors_complains("not valid JSON"));
  EXPECT_THAT(safetensors_fault(R"({"__metadata__":[]})"), safetensors_complains("__metadata__"));
  EXPECT_THAT(safetensors_fault("{} {}"), safetensors_complains("follows the end"));
}

TEST(SafetensorsHostile, DeepNesting) {
  EXPECT_THAT(safetensors_fault("{\"a\":" + std::string(100'000, '[')),
              safetensors_complains("object is expected"));
  EXPECT_THAT(safetensors_fault("{\"a\":{\"x\":" + std::string(100'000, '[')),
              safetensors_complains("nested too deeply"));
  EXPECT_THAT(safetensors_fault("{\"__metadata__\":{\"x\":" + std::string(100'000, '[')),
              safetensors_complains("nested too deeply"));
}

TEST(SafetensorsHostile, AMillionKeys) {
  constexpr int kKeys = 1'000'000;
  std::string json = "{";
  for (int i = 0; i < kKeys; ++i) {
    json += (i > 0 ? ",\"k" : "\"k") + std::to_string(i) +
            R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  }
  const auto file = read_safetensors_bytes(craft::safetensors(json + "}"));
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->tensors.size(), std::size_t{kKeys});
  EXPECT_EQ(file->tensors.back().name, "k999999");
}

TEST(SafetensorsHostile, AMillionEntriesOfMetadata) {
  std::string json = R"({"__metadata__":{)";
  for (int i = 0; i < 1'000'000; ++i) json += i > 0 ? R"(,"":"")" : R"("":"")";
  const auto file = read_safetensors_bytes(craft::safetensors(json + "}}"));
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_LE(file->metadata.size(), 4096u);
  ASSERT_EQ(file->notes.size(), 1u);
  EXPECT_THAT(file->notes[0], HasSubstr("995904 entries"));
}

}  // namespace
}  // namespace genscope::inspect
