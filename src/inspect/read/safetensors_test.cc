#include "inspect/read/safetensors.h"

#include <gtest/gtest.h>

#include "inspect/read/craft.h"

namespace genscope::inspect {
namespace {

Result<TensorFile> read(const std::string& bytes) {
  return read_safetensors(MemorySource("m.safetensors", bytes));
}

TEST(Safetensors, GivesNamesShapesDtypesAndBytes) {
  const auto file = read(craft::safetensors(
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

}  // namespace
}  // namespace genscope::inspect
