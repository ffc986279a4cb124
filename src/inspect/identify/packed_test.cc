// Packed weights: shapes before packing, and shapes that no quantiser makes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "inspect/identify/packed.h"
#include "inspect/identify/tensor_view.h"
#include "inspect/identify/test_file.h"

namespace genscope::inspect {
namespace {

// The weight that a file's first tensor stands for.
std::optional<Packed> first(const TestFile& file) {
  const TensorIndex index(file.file());
  return unpack(index, file.file().tensors.front());
}

TEST(Packed, NunchakuHasEightWeightsInAnInt32OfItsModulations) {
  TestFile file;
  file.add("norm1.linear.qweight", {96, 32}, Dtype::i32).add("norm1.linear.wscales", {1, 384});
  const std::optional<Packed> packed = first(file);
  ASSERT_TRUE(packed);
  EXPECT_EQ(packed->rows, 384U);
  EXPECT_EQ(packed->columns, 64U);
  EXPECT_EQ(packed->weights, 384U * 64);
}

TEST(Packed, GptqAndAwqAreToldByTheAxisThatIsPacked) {
  TestFile gptq;
  gptq.add("q.qweight", {32, 512}, Dtype::i32).add("q.scales", {2, 512}, Dtype::f16);
  gptq.add("q.qzeros", {2, 64}, Dtype::i32);
  EXPECT_EQ(first(gptq)->scheme, "gptq");
  EXPECT_EQ(first(gptq)->rows, 512U);
  EXPECT_EQ(first(gptq)->columns, 256U);
  TestFile awq;
  awq.add("q.qweight", {256, 64}, Dtype::i32).add("q.scales", {2, 512}, Dtype::f16);
  awq.add("q.qzeros", {2, 64}, Dtype::i32);
  EXPECT_EQ(first(awq)->scheme, "awq");
  EXPECT_EQ(first(awq)->rows, 512U);
  EXPECT_EQ(first(awq)->columns, 256U);
}

// Scales tell bits times group; the norms tell which of both.
TEST(Packed, MlxTakesItsBitsFromTheWidthOfTheModel) {
  for (const auto& [bits, group] : {std::pair{4U, 64U}, {8U, 64U}, {4U, 128U}, {8U, 32U}}) {
    TestFile file;
    file.add("q.weight", {512, 256U * bits / 32}, Dtype::u32).add("q.scales", {512, 256 / group});
    file.add("norm.weight", {256});
    EXPECT_EQ(first(file)->bits, bits);
    EXPECT_EQ(first(file)->weights, 512U * 256);
  }
}

TEST(Packed, OrdinaryWeightsAreNot) {
  TestFile file;
  file.add("q.weight", {512, 256});
  EXPECT_FALSE(first(file));
  TestFile codes;  // a table of indices is no packed weight
  codes.add("table.weight", {512, 256}, Dtype::u32);
  EXPECT_FALSE(first(codes));
}

// Ranks, sizes of 0 and large ones, and any types: no crash, and no more tensors than there are.
TEST(Packed, ShapesThatNoQuantiserMakesDoNoHarm) {
  std::mt19937 random(18);
  const auto any = [&](const auto& choices) {
    return *(std::begin(choices) + random() % std::size(choices));
  };
  const std::initializer_list<std::uint64_t> sizes = {0, 1, 3, 32, 64, 128, 1'000'003};
  const std::initializer_list<Dtype> dtypes = {Dtype::i32, Dtype::u32,  Dtype::u8,
                                               Dtype::i8,  Dtype::bf16, Dtype::f8_e4m3};
  const std::initializer_list<const char*> ends = {
      "weight",         "qweight",       "weight._data", "weight._data._data",
      "_weight_qdata",  "weight_packed", "scales",       "qzeros",
      "g_idx",          "wscales",       "biases",       "weight._scale",
      "weight.__qdata", "weight_scale",  "bias",         "weight_scales"};
  for (int round = 0; round < 2'000; ++round) {
    TestFile file;
    for (const char* const end : ends) {
      if (random() % 2 == 0) continue;
      std::vector<std::uint64_t> shape(random() % 4);
      for (std::uint64_t& size : shape) size = any(sizes);
      file.add(std::string("layers.0.self_attn.q_proj.") + end, shape, any(dtypes));
    }
    std::size_t tensors = 0;
    for (const Component& part : identify(file.file())) tensors += part.tensors;
    EXPECT_EQ(tensors, file.file().tensors.size());
  }
}

}  // namespace
}  // namespace genscope::inspect
