#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inspect/identify/test_file.h"

namespace genscope::inspect {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One adapted layer as kohya's scripts write it.
void kohya(TestFile& file, const std::string& layer, std::uint64_t rank, std::uint64_t in,
           std::uint64_t out) {
  file.add(layer + ".lora_down.weight", {rank, in}).add(layer + ".lora_up.weight", {out, rank});
  file.add(layer + ".alpha", {});
}
// And as PEFT does.
void peft(TestFile& file, const std::string& layer, std::uint64_t rank, std::uint64_t in,
          std::uint64_t out) {
  file.add(layer + ".lora_A.weight", {rank, in}).add(layer + ".lora_B.weight", {out, rank});
}

TEST(Lora, FluxOfKohya) {
  TestFile file;
  kohya(file, "lora_unet_double_blocks_0_img_attn_qkv", 16, 3072, 9216);
  kohya(file, "lora_unet_single_blocks_37_linear1", 8, 3072, 21504);
  kohya(file, "lora_te1_text_model_encoder_layers_0_mlp_fc1", 8, 768, 3072);
  const Component component = file.only();
  ASSERT_TRUE(component.lora);
  EXPECT_EQ(component.identity.family, Family::lora);
  // Chroma has the same layers, and HunyuanVideo with two blocks more.
  EXPECT_EQ(component.identity.title, "LoRA for FLUX.1, Chroma or HunyuanVideo");
  EXPECT_EQ(component.identity.confidence, Confidence::medium);
  EXPECT_EQ(component.lora->kind, "lora");
  EXPECT_EQ(component.lora->target, "flux");
  EXPECT_THAT(component.lora->ranks, ElementsAre(8, 16));
  EXPECT_EQ(component.lora->modules, 3U);
  EXPECT_TRUE(component.lora->text_encoder);
}

TEST(Lora, MoreSingleBlocksThanFluxHasAreHunyuanVideos) {
  TestFile file;
  kohya(file, "lora_unet_double_blocks_0_img_attn_qkv", 16, 3072, 9216);
  kohya(file, "lora_unet_single_blocks_39_linear1", 16, 3072, 21504);
  EXPECT_EQ(file.only().lora->target, "hunyuan_video");
}

TEST(Lora, FluxOfPeft) {
  TestFile file;
  peft(file, "transformer.single_transformer_blocks.0.attn.to_q", 4, 3072, 3072);
  EXPECT_EQ(file.only().lora->target, "flux");
  EXPECT_FALSE(file.only().lora->text_encoder);
}

TEST(Lora, QwenImage) {
  TestFile file;
  peft(file, "transformer_blocks.0.attn.add_k_proj", 4, 3072, 3072);
  peft(file, "transformer_blocks.0.img_mlp.net.2", 4, 12288, 3072);
  EXPECT_EQ(file.only().lora->target, "qwen_image");
}

TEST(Lora, ALayerThatNoReleaseHasLeavesADoubt) {
  TestFile file;
  peft(file, "diffusion_model.blocks.0.self_attn.q", 32, 7168, 7168);
  EXPECT_EQ(file.only().lora->target, "wan");
  EXPECT_EQ(file.only().identity.confidence, Confidence::medium);
  EXPECT_THAT(file.only().identity.evidence, Contains(HasSubstr("as wide as these")));
}

TEST(Lora, ReleasesWithNamesOfTheirOwnAreCalledByThem) {
  for (const auto& [width, title] : {std::pair{2048, "LoRA for HunyuanVideo-1.5"},
                                     std::pair{3584, "LoRA for HunyuanImage-2.1"}}) {
    TestFile file;
    const auto wide = static_cast<std::uint64_t>(width);
    peft(file, "transformer.transformer_blocks.0.attn.to_q", 4, wide, wide);
    peft(file, "transformer.single_transformer_blocks.0.attn.to_q", 4, wide, wide);
    EXPECT_EQ(file.only().identity.title, title);
    EXPECT_EQ(file.only().lora->target, "hunyuan_video");
  }
}

TEST(Lora, Wan) {
  TestFile file;
  peft(file, "diffusion_model.blocks.0.self_attn.q", 32, 5120, 5120);
  EXPECT_EQ(file.only().lora->target, "wan");
}

TEST(Lora, UNetsDifferInTheWidthOfTheirText) {
  for (const auto& [width, target] :
       {std::pair{768, "sd1"}, std::pair{1024, "sd2"}, std::pair{2048, "sdxl"}}) {
    TestFile file;
    kohya(file, "lora_unet_input_blocks_4_1_transformer_blocks_0_attn2_to_k", 4,
          static_cast<std::uint64_t>(width), 640);
    EXPECT_EQ(file.only().lora->target, target);
  }
}

TEST(Lora, BelievesWhatTheTrainerWrote) {
  TestFile file;
  kohya(file, "lora_unet_some_layer", 4, 64, 64);
  EXPECT_EQ(file.only().lora->target, "");
  EXPECT_EQ(file.only().identity.confidence, Confidence::medium);
  EXPECT_EQ(file.only().identity.title, "LoRA for an unknown model");
  file.meta("ss_base_model_version", "sdxl_base_v1-0");
  EXPECT_EQ(file.only().lora->target, "sdxl");
  EXPECT_THAT(file.only().identity.evidence, Contains(HasSubstr("sdxl_base_v1-0")));
}

TEST(Lora, RelativesAreNamed) {
  TestFile loha;
  loha.add("a.hada_w1_a", {64, 4}).add("a.hada_w1_b", {4, 64});
  loha.add("a.hada_w2_a", {64, 4}).add("a.hada_w2_b", {4, 64});
  EXPECT_EQ(loha.only().lora->kind, "loha");
  EXPECT_THAT(loha.only().lora->ranks, ElementsAre(4));

  TestFile dora;
  kohya(dora, "lora_unet_double_blocks_0_img_mod", 4, 64, 64);
  dora.add("lora_unet_double_blocks_0_img_mod.dora_scale", {64, 1});
  EXPECT_EQ(dora.only().lora->kind, "dora");

  TestFile diff;
  diff.add("diffusion_model.head.diff", {4, 4}).add("diffusion_model.head.diff_b", {4});
  EXPECT_EQ(diff.only().lora->kind, "diff");
  EXPECT_TRUE(diff.only().lora->ranks.empty());
}

TEST(Lora, AModelWithAFewAdaptersIsAModel) {
  TestFile file;
  for (int i = 0; i < 40; ++i) file.add("layers." + std::to_string(i) + ".weight", {4, 4});
  peft(file, "layers.0", 2, 4, 4);
  EXPECT_FALSE(file.only().lora);
}

}  // namespace
}  // namespace genscope::inspect
