// What other detectors take for something else. Each test has the names that mislead them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inspect/identify/test_file.h"

namespace genscope::inspect {
namespace {

// Joint attention with normalised keys: FLUX, FLUX.2, Qwen-Image, SD 3.5, HunyuanVideo and Chroma
// all have it.
TestFile joint_attention() {
  TestFile file;
  for (const char* const part :
       {"to_q", "to_k", "to_v", "add_q_proj", "add_k_proj", "add_v_proj"}) {
    file.add("transformer_blocks.0.attn." + std::string(part) + ".weight", {32, 32});
  }
  file.add("transformer_blocks.0.attn.norm_q.weight", {16});
  file.add("transformer_blocks.0.attn.norm_added_k.weight", {16});
  return file;
}

TEST(Collisions, QwenImageIsNotFlux) {
  TestFile file = joint_attention();
  file.add("txt_norm.weight", {24}).add("img_in.weight", {32, 64}).add("txt_in.weight", {32, 24});
  file.add("transformer_blocks.0.img_mod.1.weight", {192, 32});
  EXPECT_EQ(file.only().identity.architecture, "qwen_image");
  EXPECT_EQ(file.only().identity.dimensions.heads, 2U);
}

TEST(Collisions, JointAttentionAloneIsUnknown) {
  const Component component = joint_attention().only();
  EXPECT_EQ(component.identity.architecture, "");
  EXPECT_EQ(component.identity.family, Family::unknown);
  EXPECT_EQ(component.identity.confidence, Confidence::none);
  EXPECT_FALSE(component.identity.evidence.empty());
}

TEST(Collisions, Lumina2IsNotZImage) {
  TestFile lumina;
  lumina.add("cap_embedder.0.weight", {32}).add("cap_embedder.1.weight", {48, 32});
  lumina.add("x_embedder.weight", {48, 64});
  lumina.add("layers.0.adaLN_modulation.1.weight", {192, 64});
  EXPECT_EQ(lumina.only().identity.architecture, "lumina2");

  TestFile z_image;
  z_image.add("cap_embedder.0.weight", {32}).add("cap_embedder.1.weight", {48, 32});
  z_image.add("x_embedder.weight", {48, 64});
  z_image.add("layers.0.adaLN_modulation.0.weight", {192, 64});
  EXPECT_EQ(z_image.only().identity.architecture, "z_image");
}

TestFile captioned() {
  TestFile file;
  file.add("x_embedder.weight", {48, 64});
  file.add("time_caption_embed.timestep_embedder.linear_1.bias", {64});
  file.add("time_caption_embed.caption_embedder.1.weight", {48, 32});
  file.add("layers.0.norm1.linear.weight", {192, 64});
  return file;
}

TEST(Collisions, OmniGen2AndLumina2ShareTheirTimestepEmbedder) {
  EXPECT_EQ(captioned().only().identity.architecture, "lumina2");
  TestFile omnigen = captioned();
  omnigen.add("ref_image_patch_embedder.weight", {48, 64});
  EXPECT_EQ(omnigen.only().identity.architecture, "omnigen2");
}

TEST(Collisions, AuraFlowsSingleBlocksAreNotFlux) {
  TestFile file;
  file.add("register_tokens", {1, 8, 256});
  file.add("joint_transformer_blocks.0.attn.add_q_proj.weight", {256, 256});
  file.add("single_transformer_blocks.0.attn.to_q.weight", {256, 256});
  file.add("context_embedder.weight", {256, 24});
  EXPECT_EQ(file.only().identity.architecture, "auraflow");
}

TEST(Collisions, HunyuanVideosSingleBlocksAreNotFlux) {
  TestFile file = joint_attention();
  file.add("single_transformer_blocks.0.proj_mlp.weight", {128, 32});
  file.add("x_embedder.proj.weight", {32, 16, 1, 2, 2});
  file.add("context_embedder.proj_in.weight", {32, 24});
  file.add("context_embedder.token_refiner.refiner_blocks.0.attn.to_q.weight", {32, 32});
  EXPECT_EQ(file.only().identity.architecture, "hunyuan_video");
}

TestFile caption_projection(std::uint64_t width) {
  TestFile file;
  file.add("caption_projection.linear_1.weight", {width, 24});
  file.add("scale_shift_table", {2, width});
  file.add("transformer_blocks.0.scale_shift_table", {6, width});
  return file;
}

TEST(Collisions, CaptionProjectionIsInPixArtSanaAndLtx) {
  TestFile pixart = caption_projection(72);
  pixart.add("adaln_single.linear.weight", {432, 72}).add("pos_embed.proj.weight", {72, 4, 2, 2});
  pixart.add("proj_out.weight", {32, 72});
  EXPECT_EQ(pixart.only().identity.architecture, "pixart");

  TestFile sana = caption_projection(64);
  sana.add("caption_norm.weight", {64}).add("patch_embed.proj.weight", {64, 32, 1, 1});
  sana.add("time_embed.linear.weight", {384, 64});
  sana.add("transformer_blocks.0.ff.conv_depth.weight", {320, 1, 3, 3});
  EXPECT_EQ(sana.only().identity.architecture, "sana");

  TestFile ltx = caption_projection(64);
  ltx.add("proj_in.weight", {64, 128}).add("time_embed.linear.weight", {384, 64});
  EXPECT_EQ(ltx.only().identity.architecture, "ltx");

  EXPECT_EQ(caption_projection(64).only().identity.architecture, "");
}

TEST(Collisions, AllegroIsNotPixArt) {
  TestFile file = caption_projection(64);
  file.add("adaln_single.linear.weight", {384, 64}).add("pos_embed.proj.weight", {64, 4, 2, 2});
  file.add("proj_out.weight", {16, 64});
  EXPECT_EQ(file.only().identity.architecture, "allegro");
}

TEST(Collisions, AnUnknownUNetIsNotStableDiffusion1) {
  TestFile file;
  file.add("conv_in.weight", {16, 4, 3, 3}).add("time_embedding.linear_1.weight", {64, 16});
  file.add("down_blocks.0.resnets.0.conv1.weight", {16, 16, 3, 3});
  file.add("down_blocks.0.attentions.0.transformer_blocks.0.attn2.to_k.weight", {16, 512});
  const Component component = file.only();
  EXPECT_EQ(component.identity.architecture, "unet");
  EXPECT_EQ(component.identity.confidence, Confidence::medium);
}

TEST(Collisions, AnUnknownFileIsNotStableDiffusion1) {
  TestFile file;
  file.add("embedding.table", {100, 8}).add("tower.0.kernel", {8, 8}).add("tower.0.bias", {8});
  const Component component = file.only();
  EXPECT_EQ(component.identity.architecture, "");
  EXPECT_EQ(component.identity.title, "");
  EXPECT_EQ(component.parameters, 872U);
}

TEST(Collisions, CogViewIsNotCogVideoX) {
  TestFile file;
  file.add("patch_embed.proj.weight", {64, 64}).add("patch_embed.text_proj.weight", {64, 24});
  file.add("time_condition_embed.condition_embedder.linear_1.weight", {32, 16});
  EXPECT_EQ(file.only().identity.architecture, "cogview4");
}

}  // namespace
}  // namespace genscope::inspect
