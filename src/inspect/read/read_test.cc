// Any bytes in any file give a result or an error, and nothing else.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inspect/read/craft.h"
#include "inspect/read/readers.h"
#include "testing/random.h"
#include "testing/temp_dir.h"

namespace genscope::inspect {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<std::string> samples() {
  namespace pkl = craft::pkl;
  const std::string weights = pkl::dict({{"w", pkl::tensor("FloatStorage", 6, {2, 3})}});
  return {craft::safetensors_of({"a", "b\\u00e9"}),
          craft::gguf({craft::gguf_pair("k", "v"),
                       craft::gguf_array("t", 8, 2, craft::gguf_text("x") + craft::gguf_text(""))},
                      {{"w", {32, 2}, 8, 0}}, 68),
          craft::torch_zip(weights, 24), craft::torch_legacy(weights, 24)};
}

TEST(ReadTensorFile, KnowsContainersByTheirBytes) {
  const testing::TempDir dir;
  const Container expected[] = {Container::safetensors, Container::gguf, Container::torch_zip,
                                Container::torch_legacy};
  int i = 0;
  for (const std::string& bytes : samples()) {
    craft::write(dir / "model.anything", bytes);
    const auto file = read_tensor_file(dir / "model.anything");
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_EQ(file->container, expected[i++]);
    EXPECT_FALSE(file->tensors.empty());
    EXPECT_EQ(file->path, dir / "model.anything");
  }
}

TEST(ReadTensorFile, IsNotFooledByLengthsThatLookLikeSomethingElse) {
  // A header of 123 bytes starts with '{', one of 640 with the first bytes of a pickle.
  for (const std::size_t length : {123, 640}) {
    std::string json = R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
    json.resize(length, ' ');
    const testing::TempDir dir;
    craft::write(dir / "m", craft::safetensors(json, 8));
    const auto file = read_tensor_file(dir / "m");
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_EQ(file->tensors.size(), 1u);
  }
  // A GGUF of 123 tensors has a '{' where safetensors has one.
  std::vector<craft::GgufTensor> tensors;
  for (std::uint64_t i = 0; i < 123; ++i) tensors.push_back({std::to_string(i), {8}, 0, i * 32});
  const auto file = read_container(MemorySource("m", craft::gguf({}, tensors, 123 * 32)));
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->tensors.size(), 123u);
}

TEST(ReadTensorFile, SurvivesTruncationAtEveryByte) {
  for (const std::string& whole : samples()) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const auto file =
          read_container(MemorySource("cut", std::string_view(whole).substr(0, size)));
      if (!file.ok()) {
        EXPECT_THAT(file.error().message, StartsWith("cut: "));
        EXPECT_THAT(file.error().message, HasSubstr("byte "));
      } else {
        // Only the storages of a legacy checkpoint may be cut: nothing tells where they end.
        EXPECT_EQ(file->container, Container::torch_legacy) << size;
      }
    }
  }
}

TEST(ReadTensorFile, SurvivesEveryByteChanged) {
  for (const std::string& whole : samples()) {
    std::string bytes = whole;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      for (const char c : {'\0', '\xff', '\x7f', '{', '('}) {
        bytes[i] = c;
        const auto file = read_container(MemorySource("changed", bytes));
        if (file.ok()) {
          for (const Tensor& tensor : file->tensors) EXPECT_LE(tensor.bytes, bytes.size());
        }
      }
      bytes[i] = whole[i];
    }
  }
}

TEST(ReadTensorFile, RefusesRandomBytes) {
  testing::Random random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes(1 + random.below(300), '\0');
    for (char& c : bytes) c = static_cast<char>(random.below(256));
    const auto file = read_container(MemorySource("noise", bytes));
    EXPECT_FALSE(file.ok());
  }
}

TEST(ReadTensorFile, SaysWhatAFileIsNot) {
  const testing::TempDir dir;
  const auto fault = [&](std::string_view bytes) {
    craft::write(dir / "m", bytes);
    const auto file = read_tensor_file(dir / "m");
    return file.ok() ? "" : file.error().message;
  };
  EXPECT_THAT(fault(""), HasSubstr("m: byte 0: the file is empty; fetch it again"));
  EXPECT_THAT(fault("version https://git-lfs.github.com/spec/v1\n"), HasSubstr("git lfs pull"));
  EXPECT_THAT(fault("<!DOCTYPE html><html>"), HasSubstr("neither safetensors"));
  std::string tar(512, '\0');
  tar.replace(257, 5, "ustar");
  EXPECT_THAT(fault(tar), HasSubstr("tar archive"));
  EXPECT_THAT(fault("{\"a\": 1}"), HasSubstr("without a weight_map"));
}

TEST(ReadTensorFile, RefusesWhatIsNoRegularFileWithoutWaiting) {
  const testing::TempDir dir;
  ASSERT_EQ(::mkfifo((dir / "pipe").c_str(), 0600), 0);
  for (const std::string& path : {dir / "pipe", std::string("/dev/zero")}) {
    const auto file = read_tensor_file(path);
    ASSERT_FALSE(file.ok());
    EXPECT_THAT(file.error().message, HasSubstr(path + " is a pipe or device"));
  }
  const auto folder = read_tensor_file(dir.path());
  ASSERT_FALSE(folder.ok());
  EXPECT_THAT(folder.error().message, HasSubstr("is a folder"));
  const auto none = read_tensor_file(dir / "none");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::not_found);
}

TEST(ByteSource, SeesAFileThatShrinks) {
  const testing::TempDir dir;
  craft::write(dir / "m", std::string(100, 'x'));
  const auto source = FileSource::open(dir / "m");
  ASSERT_TRUE(source.ok());
  ASSERT_EQ(::truncate((dir / "m").c_str(), 10), 0);
  std::string out(50, '\0');
  const Status read = (*source)->read(0, out);
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(read.error().message, HasSubstr("m: byte 10: the file has become shorter"));
  EXPECT_FALSE((*source)->read(90, out).ok());
  EXPECT_FALSE((*source)->read(~std::uint64_t{0}, out).ok());
}

TEST(ReadTensorFile, ReadsOnlyTheHeaderOfASparseGiant) {
  const testing::TempDir dir;
  const std::uint64_t bytes = std::uint64_t{40} << 30;
  const std::string json = R"({"w":{"dtype":"U8","shape":[)" + std::to_string(bytes) +
                           R"(],"data_offsets":[0,)" + std::to_string(bytes) + "]}}";
  craft::write(dir / "m", craft::safetensors(json));
  if (::truncate((dir / "m").c_str(), static_cast<off_t>(8 + json.size() + bytes)) != 0) {
    GTEST_SKIP() << "no sparse files here";
  }
  const auto file = read_tensor_file(dir / "m");
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->tensors[0].bytes, bytes);
  EXPECT_EQ(file->header_bytes, 8 + json.size());
}

}  // namespace
}  // namespace genscope::inspect
