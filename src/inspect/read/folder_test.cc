#include "inspect/read/folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include <filesystem>

#include "inspect/read/craft.h"
#include "inspect/read/weights_choice.h"
#include "testing/temp_dir.h"

namespace genscope::inspect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(WeightsChoice, PrefersNoVariantAndSafetensors) {
  const auto chosen = [](std::vector<std::string> names) {
    return choose_weights(std::move(names)).files;
  };
  EXPECT_THAT(chosen({"model.fp16.safetensors", "model.safetensors", "pytorch_model.bin"}),
              ElementsAre("model.safetensors"));
  EXPECT_THAT(chosen({"diffusion_pytorch_model.non_ema.safetensors",
                      "diffusion_pytorch_model.fp16.safetensors"}),
              ElementsAre("diffusion_pytorch_model.fp16.safetensors"));
  EXPECT_THAT(chosen({"diffusion_pytorch_model-00001-of-00002.safetensors",
                      "diffusion_pytorch_model-00002-of-00002.safetensors",
                      "diffusion_pytorch_model.safetensors.index.json"}),
              ElementsAre("diffusion_pytorch_model.safetensors.index.json"));
  EXPECT_THAT(chosen({"model.safetensors.index.fp16.json", "model.fp16-00001-of-00002.safetensors",
                      "model.fp16-00002-of-00002.safetensors"}),
              ElementsAre("model.safetensors.index.fp16.json"));
  EXPECT_THAT(chosen({"model-00002-of-00002.safetensors", "model-00001-of-00002.safetensors"}),
              ElementsAre("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"));
  EXPECT_THAT(chosen({"m-00001-of-00002.gguf", "m-00002-of-00002.gguf"}),
              ElementsAre("m-00001-of-00002.gguf"));
  EXPECT_THAT(chosen({"pytorch_model.bin", "flax_model.msgpack", "config.json"}),
              ElementsAre("pytorch_model.bin"));
  EXPECT_THAT(chosen({"consolidated.safetensors", "model.safetensors"}),
              ElementsAre("model.safetensors"));
  EXPECT_THAT(chosen({"config.json", "README.md", ".hidden.safetensors"}), IsEmpty());
}

TEST(WeightsChoice, KnowsWhenItGuesses) {
  EXPECT_TRUE(choose_weights({"a.safetensors", "b.safetensors"}).ambiguous);
  EXPECT_FALSE(choose_weights({"a.safetensors"}).ambiguous);
  EXPECT_FALSE(choose_weights({"a.safetensors", "model.safetensors"}).ambiguous);
  EXPECT_THAT(choose_weights({"model.safetensors", "model.fp16.safetensors"}).others,
              ElementsAre("model.fp16.safetensors"));
}

TEST(Config, IsFlatText) {
  const std::string json =
      R"({"_class_name":"X","n":3072,"rate":0.5,"on":true,"none":null,"text":"null",)"
      R"("axes":[16,56,56],"long":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17],"of":[{"a":1}],)"
      R"("empty":[],"text_config":{"hidden_size":2560,"deep":{"x":1}}})";
  const auto values = parse_config(MemorySource("config.json", json));
  ASSERT_TRUE(values.ok()) << values.error().message;
  EXPECT_EQ(value_of(*values, "n"), "3072");
  EXPECT_EQ(value_of(*values, "rate"), "0.5");
  EXPECT_EQ(value_of(*values, "on"), "true");
  EXPECT_EQ(value_of(*values, "none"), "");
  EXPECT_EQ(value_of(*values, "text"), "null");
  EXPECT_EQ(value_of(*values, "axes"), "16,56,56");
  EXPECT_EQ(value_of(*values, "long"), "array[17]");
  EXPECT_EQ(value_of(*values, "of"), "array[1]");
  EXPECT_EQ(value_of(*values, "empty"), "array[0]");
  EXPECT_EQ(value_of(*values, "text_config.hidden_size"), "2560");
  EXPECT_EQ(value_of(*values, "text_config.deep.x"), "1");
}

class FolderTest : public ::testing::Test {
 protected:
  void put(const std::string& name, std::string_view bytes) { craft::write(dir_ / name, bytes); }
  std::string fault() {
    const auto folder = read_folder(dir_.path());
    return folder.ok() ? "" : folder.error().message;
  }
  testing::TempDir dir_;
};

TEST_F(FolderTest, DiffusersGivesOnePartForEachComponent) {
  put("model_index.json",
      R"({"_class_name":"FluxPipeline","_diffusers_version":"0.30","boundary_ratio":0.875,)"
      R"("scheduler":["diffusers","FlowMatchEulerDiscreteScheduler"],)"
      R"("safety_checker":[null,null],"feature_extractor":null,)"
      R"("tokenizer":["transformers","CLIPTokenizer"],)"
      R"("transformer":["diffusers","FluxTransformer2DModel"],)"
      R"("text_encoder":["transformers","CLIPTextModel"]})");
  put("scheduler/scheduler_config.json", R"({"_class_name":"S","shift":3.0})");
  put("tokenizer/tokenizer_config.json", "{}");
  put("transformer/config.json", R"({"_class_name":"FluxTransformer2DModel","num_layers":19})");
  put("transformer/diffusion_pytorch_model.safetensors.index.json",
      R"({"metadata":{"total_size":16},"weight_map":{"a":"1.safetensors","b":"2.safetensors"}})");
  put("transformer/1.safetensors", craft::safetensors_of({"a"}));
  put("transformer/2.safetensors", craft::safetensors_of({"b"}));
  put("text_encoder/config.json", R"({"architectures":["CLIPTextModel"]})");
  put("text_encoder/model.safetensors", craft::safetensors_of({"t"}));
  put("text_encoder/model.fp16.safetensors", craft::safetensors_of({"t"}));
  put("flux1-dev.safetensors", craft::safetensors_of({"x"}));
  const auto folder = read_folder(dir_.path() + "/");
  ASSERT_TRUE(folder.ok()) << folder.error().message;
  EXPECT_EQ(folder->pipeline_class, "FluxPipeline");
  EXPECT_EQ(value_of(folder->config_values, "boundary_ratio"), "0.875");
  ASSERT_EQ(folder->parts.size(), 4u);
  const Part& scheduler = folder->parts[0];
  EXPECT_EQ(scheduler.name, "scheduler");
  EXPECT_FALSE(scheduler.weights.has_value());
  EXPECT_THAT(scheduler.notes, IsEmpty());
  EXPECT_EQ(value_of(scheduler.config_values, "shift"), "3.0");
  EXPECT_THAT(folder->parts[1].notes, IsEmpty());
  const Part& transformer = folder->parts[2];
  EXPECT_EQ(transformer.class_name, "FluxTransformer2DModel");
  EXPECT_EQ(transformer.config, dir_ / "transformer/config.json");
  ASSERT_TRUE(transformer.weights.has_value());
  EXPECT_EQ(transformer.weights->tensors.size(), 2u);
  EXPECT_EQ(transformer.files.size(), 3u);
  const Part& text = folder->parts[3];
  EXPECT_EQ(text.weights->tensors.size(), 1u);
  EXPECT_THAT(text.notes, ElementsAre(HasSubstr("not counted: model.fp16.safetensors")));
  EXPECT_THAT(folder->notes, ElementsAre(HasSubstr("flux1-dev.safetensors")));
}

TEST_F(FolderTest, WhatIsMissingOrBrokenIsANoteOfItsPart) {
  put("model_index.json",
      R"({"_class_name":"P","vae":["d","AutoencoderKL"],"unet":["d","U"],"te":["t","T"]})");
  put("vae/config.json", R"({"_class_name":)");
  put("vae/diffusion_pytorch_model.safetensors", "short");
  put("unet/config.json", "{}");
  const auto folder = read_folder(dir_.path());
  ASSERT_TRUE(folder.ok()) << folder.error().message;
  ASSERT_EQ(folder->parts.size(), 3u);
  EXPECT_THAT(folder->parts[0].notes,
              ElementsAre(HasSubstr("not valid JSON"), HasSubstr("vae/diffusion_pytorch_model")));
  EXPECT_THAT(folder->parts[1].notes, ElementsAre(HasSubstr("holds no weights")));
  EXPECT_THAT(folder->parts[2].notes, ElementsAre(HasSubstr("cannot list folder")));
}

TEST_F(FolderTest, TransformersIsOnePart) {
  put("config.json", R"({"architectures":["Qwen3ForCausalLM"],"model_type":"qwen3"})");
  put("model-00001-of-00003.safetensors", craft::safetensors_of({"a"}));
  put("model-00002-of-00003.safetensors", craft::safetensors_of({"b"}));
  const auto folder = read_folder(dir_.path());
  ASSERT_TRUE(folder.ok()) << folder.error().message;
  ASSERT_EQ(folder->parts.size(), 1u);
  EXPECT_EQ(folder->parts[0].class_name, "Qwen3ForCausalLM");
  EXPECT_EQ(folder->parts[0].weights->tensors.size(), 2u);
  EXPECT_EQ(folder->parts[0].weights->tensors[1].name, "b");
  EXPECT_THAT(folder->parts[0].notes, ElementsAre(HasSubstr("2 of 3 shards")));
}

TEST_F(FolderTest, OneModelFileIsEnoughAndTwoAreTooMany) {
  EXPECT_THAT(fault(), HasSubstr("holds no model_index.json"));
  put("a.safetensors", craft::safetensors_of({"a"}));
  const auto folder = read_folder(dir_.path());
  ASSERT_TRUE(folder.ok()) << folder.error().message;
  EXPECT_EQ(folder->parts[0].weights->tensors.size(), 1u);
  put("b.gguf", craft::gguf({}, {}, 0));
  EXPECT_THAT(fault(), HasSubstr("several models (a.safetensors, b.gguf)"));
}

TEST_F(FolderTest, HostileComponentsLeadNowhere) {
  for (const char* const name : {"..", ".", "a/b", "../x", "/etc", ""}) {
    put("model_index.json", "{\"" + std::string(name) + R"(":["a","B"]})");
    EXPECT_THAT(fault(), HasSubstr("not the name of a sub-folder")) << name;
  }
  put("model_index.json", "{\"a\":" + std::string(100'000, '['));
  EXPECT_THAT(fault(), HasSubstr("nested too deeply"));
}

TEST_F(FolderTest, WithoutPermissionIsAnError) {
  // Root may read everything, but not as another user of the file system.
  constexpr uid_t kNobody = 65534;
  std::filesystem::permissions(dir_.path(), std::filesystem::perms::none);
  const bool root = ::geteuid() == 0;
  if (root) ::setfsuid(kNobody);
  const bool denied = !root || ::setfsuid(kNobody) == static_cast<int>(kNobody);
  const auto folder = read_folder(dir_.path());
  if (root) ::setfsuid(0);
  std::filesystem::permissions(dir_.path(), std::filesystem::perms::owner_all);
  if (!denied) GTEST_SKIP() << "this root cannot act as another user";
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().code, ErrorCode::permission);
  EXPECT_THAT(folder.error().message, HasSubstr(dir_.path()));
}

}  // namespace
}  // namespace genscope::inspect
