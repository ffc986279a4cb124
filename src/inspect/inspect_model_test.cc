#include <genscope/inspect.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "inspect/read/craft.h"
#include "testing/temp_dir.h"

namespace genscope {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// FLUX in three tensors.
constexpr std::string_view kFlux =
    R"({"double_blocks.0.img_attn.norm.key_norm.scale":)"
    R"({"dtype":"BF16","shape":[16],"data_offsets":[0,32]},)"
    R"("img_in.weight":{"dtype":"BF16","shape":[2,64],"data_offsets":[32,288]},)"
    R"("txt_in.weight":{"dtype":"BF16","shape":[2,2],"data_offsets":[288,296]}})";
constexpr std::size_t kFluxBytes = 296;
constexpr std::string_view kVae =
    R"({"decoder.conv_in.weight":{"dtype":"F32","shape":[8,16,1,1],"data_offsets":[0,512]},)"
    R"("decoder.mid.block_1.norm1.weight":{"dtype":"F32","shape":[8],"data_offsets":[512,544]}})";

TEST(InspectModel, AFile) {
  const testing::TempDir dir;
  inspect::craft::write(dir / "m.safetensors", inspect::craft::safetensors(kFlux, kFluxBytes));
  const Result<Model> model = inspect_model(dir / "m.safetensors");
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->identity.architecture, "flux");
  EXPECT_EQ(model->container, Container::safetensors);
  EXPECT_EQ(model->parameters, kFluxBytes / 2);
  EXPECT_EQ(model->bytes, kFluxBytes);
  ASSERT_NE(model->denoiser(), nullptr);
  EXPECT_EQ(model->denoiser(), model->components.data());
}

TEST(InspectModel, APipelineIsWhatItsDenoiserIs) {
  const testing::TempDir dir;
  inspect::craft::write(dir / "model_index.json",
                        R"({"_class_name":"FluxPipeline","vae":["diffusers","AutoencoderKL"],)"
                        R"("scheduler":["diffusers","FlowMatchEulerDiscreteScheduler"],)"
                        R"("transformer":["diffusers","FluxTransformer2DModel"]})");
  inspect::craft::write(dir / "vae/diffusion_pytorch_model.safetensors",
                        inspect::craft::safetensors(kVae, 544));
  inspect::craft::write(dir / "transformer/diffusion_pytorch_model.safetensors",
                        inspect::craft::safetensors(kFlux, kFluxBytes));
  inspect::craft::write(dir / "scheduler/scheduler_config.json", "{}");
  const Result<Model> model = inspect_model(dir.path());
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->pipeline_class, "FluxPipeline");
  EXPECT_EQ(model->container, Container::folder);
  EXPECT_EQ(model->identity.architecture, "flux");
  ASSERT_EQ(model->components.size(), 3U);
  ASSERT_NE(model->denoiser(), nullptr);
  EXPECT_EQ(model->denoiser()->name, "transformer");
  EXPECT_EQ(model->bytes, kFluxBytes + 544);
  std::set<Family> families;
  for (const Component& part : model->components) families.insert(part.identity.family);
  EXPECT_EQ(families, (std::set<Family>{Family::vae, Family::scheduler, Family::mmdit}));
}

TEST(InspectModel, AClassAloneGivesLowConfidence) {
  const testing::TempDir dir;
  inspect::craft::write(dir / "model.safetensors",
                        inspect::craft::safetensors(
                            R"({"odd":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4));
  inspect::craft::write(dir / "config.json", R"({"_class_name":"MochiTransformer3DModel"})");
  const Result<Model> model = inspect_model(dir.path());
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->identity.architecture, "mochi");
  EXPECT_EQ(model->identity.confidence, Confidence::low);
  EXPECT_THAT(model->identity.evidence, Contains(HasSubstr("class MochiTransformer3DModel")));
  EXPECT_EQ(model->denoiser(), model->components.data());
}

TEST(InspectModel, APathThatIsNotThere) {
  const Result<Model> model = inspect_model("/nonexistent/m.safetensors");
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message, HasSubstr("/nonexistent/m.safetensors"));
}

TEST(InspectModel, NamesOfFamiliesAndConfidencesAreDistinct) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(Family::other); ++i) {
    names.insert(name(static_cast<Family>(i)));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(Family::other) + 1);
  names.clear();
  for (int i = 0; i <= static_cast<int>(Confidence::high); ++i) {
    names.insert(name(static_cast<Confidence>(i)));
  }
  EXPECT_EQ(names.size(), 4U);
}

}  // namespace
}  // namespace genscope
