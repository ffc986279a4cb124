#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inspect/identify/test_file.h"

namespace genscope::inspect {
namespace {

TestFile qwen(Dtype dtype) {
  TestFile file;
  file.add("txt_norm.weight", {24}).add("img_in.weight", {32, 64}).add("txt_in.weight", {32, 24});
  file.add("transformer_blocks.0.img_mod.1.weight", {192, 32}, dtype);
  return file;
}
constexpr std::uint64_t kPlain = 24 + 32 * 64 + 32 * 24;
constexpr std::uint64_t kModulation = 192 * 32;

TEST(Quantisation, PlainWeightsHaveNone) {
  EXPECT_EQ(qwen(Dtype::bf16).only().quantisation, "");
  EXPECT_EQ(qwen(Dtype::bf16).only().parameters, kPlain + kModulation);
}

TEST(Quantisation, Fp8) { EXPECT_EQ(qwen(Dtype::f8_e4m3).only().quantisation, "fp8 e4m3"); }

TEST(Quantisation, ScalesOfFp8AreNotParameters) {
  TestFile file = qwen(Dtype::f8_e4m3);
  file.add("scaled_fp8", {2}, Dtype::f8_e4m3);
  file.add("transformer_blocks.0.img_mod.1.scale_weight", {1}, Dtype::f32);
  const Component component = file.only();
  EXPECT_EQ(component.identity.architecture, "qwen_image");
  EXPECT_EQ(component.quantisation, "fp8 scaled");
  EXPECT_EQ(component.parameters, kPlain + kModulation);
  EXPECT_EQ(component.elements, component.parameters + 3);
}

TEST(Quantisation, BitsandbytesPacksTwoWeightsInAByte) {
  TestFile file;
  file.add("txt_norm.weight", {24}).add("img_in.weight", {32 * 64 / 2, 1}, Dtype::u8);
  file.add("img_in.weight.absmax", {32}, Dtype::u8).add("img_in.bias", {32});
  file.add("img_in.weight.quant_map", {16}, Dtype::f32);
  file.add("img_in.weight.nested_absmax", {1}, Dtype::f32);
  file.add("img_in.weight.quant_state.bitsandbytes__nf4", {85}, Dtype::u8);
  file.add("txt_in.weight", {32 * 24 / 2, 1}, Dtype::u8);
  file.add("transformer_blocks.0.img_mod.1.weight", {kModulation / 2, 1}, Dtype::u8);
  const Component component = file.only();
  EXPECT_EQ(component.identity.architecture, "qwen_image");
  EXPECT_EQ(component.quantisation, "bnb nf4");
  EXPECT_EQ(component.parameters, kPlain + kModulation + 32);
  EXPECT_EQ(component.identity.dimensions.width, 32U) << "from the bias: the weight is flat";
}

TEST(Quantisation, BitsandbytesInt8) {
  TestFile file = qwen(Dtype::i8);
  file.add("transformer_blocks.0.img_mod.1.SCB", {192}, Dtype::f32);
  EXPECT_EQ(file.only().quantisation, "bnb int8");
  EXPECT_EQ(file.only().parameters, kPlain + kModulation);
}

TEST(Quantisation, GgufIsNamedAfterTheTypeOfMostWeights) {
  TestFile file = qwen(Dtype::q4_k);
  file.container(Container::gguf);
  EXPECT_EQ(file.only().quantisation, "gguf q4_k");
  TestFile plain = qwen(Dtype::f16);
  plain.container(Container::gguf);
  EXPECT_EQ(plain.only().quantisation, "");
}

TEST(Quantisation, SvdquantLowRankBranchIsNotParameters) {
  TestFile file;
  file.add("txt_norm.weight", {24}).add("img_in.weight", {32, 64});
  file.add("transformer_blocks.0.img_mod.1.qweight", {192, 16}, Dtype::i8);
  file.add("transformer_blocks.0.img_mod.1.wscales", {1, 192});
  file.add("transformer_blocks.0.img_mod.1.proj_down", {32, 8});
  file.add("transformer_blocks.0.img_mod.1.proj_up", {192, 8});
  const Component component = file.only();
  EXPECT_EQ(component.identity.architecture, "qwen_image");
  EXPECT_EQ(component.identity.naming, "nunchaku");
  EXPECT_EQ(component.quantisation, "svdquant");
  EXPECT_EQ(component.parameters, 24U + 32 * 64 + kModulation);
}

TEST(Quantisation, SharesOfDtypesAreLargestFirst) {
  const Component component = qwen(Dtype::f8_e4m3).only();
  ASSERT_EQ(component.dtypes.size(), 2U);
  EXPECT_EQ(component.dtypes[0].dtype, Dtype::f8_e4m3);
  EXPECT_EQ(component.dtypes[0].parameters, kModulation);
  EXPECT_EQ(component.dtypes[1].bytes, 2 * kPlain);
  EXPECT_EQ(component.bytes, kModulation + 2 * kPlain);
}

}  // namespace
}  // namespace genscope::inspect
