#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inspect/identify/test_file.h"

namespace genscope::inspect {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TestFile flux(const std::string& prefix = "") {
  TestFile file;
  file.add(prefix + "double_blocks.0.img_attn.norm.key_norm.scale", {16});
  file.add(prefix + "double_blocks.0.img_attn.qkv.weight", {96, 32});
  file.add(prefix + "double_blocks.0.img_mlp.0.weight", {128, 32});
  file.add(prefix + "single_blocks.1.linear1.weight", {224, 32});
  file.add(prefix + "img_in.weight", {32, 64});
  file.add(prefix + "txt_in.weight", {32, 24});
  file.add(prefix + "final_layer.linear.weight", {64, 32});
  file.add(prefix + "vector_in.in_layer.weight", {32, 16});
  return file;
}

TEST(Identify, FindsNamesUnderEveryPrefix) {
  for (const char* const prefix :
       {"", "model.diffusion_model.", "diffusion_model.", "model.", "transformer.", "net."}) {
    const Component component = flux(prefix).only();
    EXPECT_EQ(component.identity.architecture, "flux") << prefix;
    EXPECT_EQ(component.identity.variant, "schnell") << prefix;
    EXPECT_EQ(component.identity.naming, "original") << prefix;
    EXPECT_EQ(component.tensors, 8U) << prefix;
  }
}

TEST(Identify, ReadsSizesFromShapes) {
  const Dimensions d = flux().only().identity.dimensions;
  EXPECT_EQ(d.width, 32U);
  EXPECT_EQ(d.layers, 1U);
  EXPECT_EQ(d.single_layers, 2U);
  EXPECT_EQ(d.heads, 2U);
  EXPECT_EQ(d.ffn_width, 128U);
  EXPECT_EQ(d.in_channels, 16U);
  EXPECT_EQ(d.out_channels, 16U);
  EXPECT_EQ(d.patch, 2U);
  EXPECT_EQ(d.text_width, 24U);
  EXPECT_EQ(d.pooled_width, 16U);
  EXPECT_FALSE(d.guidance_embedding);
}

TEST(Identify, TellsItsEvidence) {
  EXPECT_THAT(flux().only().identity.evidence,
              Contains("double_blocks.0.img_attn.norm.key_norm.scale [16]"));
}

TEST(Identify, SplitsACheckpointIntoItsParts) {
  TestFile file = flux("model.diffusion_model.");
  file.add("first_stage_model.decoder.conv_in.weight", {32, 16, 3, 3});
  file.add("first_stage_model.decoder.mid.block_1.norm1.weight", {32});
  for (const char* const name : {"clip_l", "clip_g"}) {
    const std::string prefix = "text_encoders." + std::string(name) + ".transformer.text_model.";
    const std::uint64_t width = name == std::string("clip_l") ? 768 : 1280;
    file.add(prefix + "embeddings.token_embedding.weight", {10, width});
    file.add(prefix + "embeddings.position_ids", {1, 77}, Dtype::i64);
    for (const char* const layer : {"0", "1"}) {
      file.add(prefix + "encoder.layers." + layer + ".mlp.fc1.weight", {4 * width, width});
      file.add(prefix + "encoder.layers." + layer + ".mlp.fc2.weight", {width, 4 * width});
    }
  }
  file.add("betas", {1000}, Dtype::f32);
  const std::vector<Component> parts = identify(file.file());
  ASSERT_EQ(parts.size(), 5U);
  EXPECT_EQ(parts[0].name, "diffusion_model");
  EXPECT_EQ(parts[0].identity.architecture, "flux");
  EXPECT_EQ(parts[1].name, "vae");
  EXPECT_EQ(parts[1].identity.variant, "16 channels");
  EXPECT_EQ(parts[2].name, "clip_l");
  EXPECT_EQ(parts[2].identity.variant, "L");
  EXPECT_EQ(parts[2].elements - parts[2].parameters, 77U);
  EXPECT_EQ(parts[3].identity.variant, "bigG");
  EXPECT_EQ(parts[4].name, "rest");
  EXPECT_EQ(parts[4].identity.family, Family::unknown);
}

TEST(Identify, BelievesNamesMoreThanGgufMetadata) {
  TestFile file = flux();
  file.container(Container::gguf).meta("general.architecture", "wan");
  const Identity identity = file.only().identity;
  EXPECT_EQ(identity.architecture, "flux");
  EXPECT_EQ(identity.confidence, Confidence::medium);
  EXPECT_THAT(identity.evidence,
              Contains(HasSubstr("general.architecture = wan; the names decide")));
}

TEST(Identify, AgreesWithGgufMetadata) {
  TestFile file = flux();
  file.container(Container::gguf).meta("general.architecture", "flux");
  EXPECT_EQ(file.only().identity.confidence, Confidence::high);
}

TEST(Identify, FallsBackToGgufMetadataWithLowConfidence) {
  TestFile file;
  file.container(Container::gguf).meta("general.architecture", "ltxv").add("odd.name", {4, 4});
  const Identity identity = file.only().identity;
  EXPECT_EQ(identity.architecture, "ltx");
  EXPECT_EQ(identity.confidence, Confidence::low);
}

TEST(Identify, GgufLanguageModels) {
  TestFile qwen;
  qwen.container(Container::gguf).meta("general.architecture", "qwen3");
  qwen.meta("qwen3.attention.head_count", "32");
  qwen.add("token_embd.weight", {100, 2560}, Dtype::q4_k).add("blk.0.attn_q.weight", {64, 2560});
  qwen.add("blk.0.attn_k.weight", {16, 2560}).add("blk.0.attn_q_norm.weight", {16});
  EXPECT_EQ(qwen.only().identity.architecture, "qwen3");
  EXPECT_EQ(qwen.only().identity.variant, "4B");
  EXPECT_EQ(qwen.only().identity.dimensions.heads, 32U);

  TestFile t5;
  t5.container(Container::gguf).meta("general.architecture", "t5encoder");
  t5.add("token_embd.weight", {100, 4096}).add("enc.blk.0.attn_q.weight", {64, 4096});
  EXPECT_EQ(t5.only().identity.title, "T5-XXL encoder");
}

// Wan's patch convolution as GGUF writers fold it, channels into the first axis.
TEST(Identify, UnfoldsAPatchConvolutionOfGguf) {
  TestFile file;
  file.add("patch_embedding.weight", {128 * 36, 1, 2, 2}).add("head.modulation", {1, 2, 128});
  file.add("blocks.0.self_attn.q.weight", {128, 128});
  EXPECT_EQ(file.only().identity.dimensions.in_channels, 36U);
  EXPECT_EQ(file.only().identity.variant, "i2v 2.2");
}

TEST(Identify, VisionTowerMakesALanguageModelAVisionLanguageModel) {
  TestFile file;
  for (int i = 0; i < 3; ++i) {
    const std::string layer = "model.layers." + std::to_string(i);
    file.add(layer + ".self_attn.q_proj.weight", {64, 3584});
    file.add(layer + ".self_attn.k_proj.bias", {16});
    file.add(layer + ".mlp.gate_proj.weight", {64, 3584});
  }
  file.add("model.embed_tokens.weight", {10, 3584}).add("lm_head.weight", {10, 3584});
  EXPECT_EQ(file.only().identity.title, "Qwen2.5-7B");
  file.add("visual.blocks.0.mlp.gate_proj.weight", {32, 16});
  EXPECT_EQ(file.only().identity.title, "Qwen2.5-VL-7B");
  EXPECT_EQ(file.only().identity.family, Family::vision_language);
}

TEST(Identify, AnEmptyFileHasOneUnknownPart) {
  const Component component = TestFile().only();
  EXPECT_EQ(component.identity.confidence, Confidence::none);
  EXPECT_EQ(component.parameters, 0U);
}

TEST(Identify, CausalVideoModelsAreNotPlainWan) {
  TestFile file;
  file.add("condition_embedder.time_proj.weight", {768, 128});
  file.add("patch_embedding.weight", {128, 16, 1, 2, 2})
      .add("blocks.0.scale_shift_table", {1, 6, 128});
  EXPECT_EQ(file.only().identity.family, Family::dit);
  file.add("patch_short.weight", {128, 16, 1, 2, 2}).add("patch_mid.weight", {128, 16, 2, 4, 4});
  EXPECT_EQ(file.only().identity.family, Family::causal_video);
  EXPECT_EQ(file.only().identity.variant, "helios");
}

}  // namespace
}  // namespace genscope::inspect
