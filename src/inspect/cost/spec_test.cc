#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <genscope/predict.h>

namespace genscope {
namespace {

using ::testing::HasSubstr;

std::string title(std::string_view name) {
  const Result<CostSpec> spec = cost_spec(name);
  return spec ? spec->title : spec.error().message;
}

TEST(CostSpec, ForgivingNames) {
  for (const char* name : {"flux", "FLUX.1-dev", "flux-dev", "flux_dev", "Flux.1 Dev", "FLUX1",
                           "black-forest-labs/FLUX.1-dev"}) {
    EXPECT_EQ(title(name), "FLUX.1-dev") << name;
  }
  EXPECT_EQ(title("schnell"), "FLUX.1-schnell");
  EXPECT_EQ(title("sd15"), "Stable Diffusion 1.5");
  EXPECT_EQ(title("Wan2.1-T2V-14B"), "Wan2.1-T2V-14B");
  EXPECT_EQ(title("SDXL"), "Stable Diffusion XL");
}

TEST(CostSpec, EveryKnownNameAndTitleIsFound) {
  for (const std::string& name : known_models()) {
    const Result<CostSpec> spec = cost_spec(name);
    ASSERT_TRUE(spec.ok()) << name;
    EXPECT_EQ(spec->profile, name);
    EXPECT_EQ(title(spec->title), spec->title);
  }
}

TEST(CostSpec, UnknownNamesAreAnsweredWithTheNearest) {
  EXPECT_THAT(title("flux-dve"), HasSubstr("did you mean 'flux-dev'?"));
  EXPECT_THAT(title("flx"), HasSubstr("did you mean 'flux-dev'?")) << "by an alias";
  EXPECT_THAT(title("zzzzzzzz"), HasSubstr("known: flux-dev"));
  EXPECT_THAT(title(""), HasSubstr("known: "));
  EXPECT_THAT(title("///"), HasSubstr("known: "));
}

TEST(CostSpec, TypicalPartsOfAKnownModel) {
  const CostSpec flux = *cost_spec("flux");
  EXPECT_EQ(flux.largest_other_bytes, 2u * 4'762'310'656);
  EXPECT_EQ(flux.vae_bytes, 2u * 83'819'683);
  EXPECT_EQ(flux.other_bytes, 2u * (4'762'310'656 + 123'060'480 + 83'819'683));
  EXPECT_EQ(cost_spec("wan2.2-a14b")->further_experts, 1u);
  EXPECT_EQ(cost_spec("wan2.2-a14b")->largest_other_bytes, 2u * 5'680'910'336)
      << "its other expert is counted apart, as it is quantised like the first";
}

Model folder() {
  Component denoiser;
  denoiser.name = "transformer";
  denoiser.identity.architecture = "flux";
  denoiser.identity.title = "FLUX.1-dev";
  denoiser.identity.family = Family::mmdit;
  denoiser.identity.dimensions.width = 3072;
  denoiser.identity.dimensions.layers = 19;
  denoiser.identity.dimensions.single_layers = 38;
  denoiser.identity.dimensions.guidance_embedding = true;
  denoiser.parameters = 11'901'408'320;
  denoiser.bytes = 12'000'000'000;
  Component vae;
  vae.identity.family = Family::vae;
  vae.bytes = 170'000'000;
  Model model;
  model.path = "models/flux";
  model.identity = denoiser.identity;
  model.components = {denoiser, vae};
  return model;
}

TEST(CostSpec, OfAModelTakesItsBytesAndFillsInWhatTensorsDoNotTell) {
  const CostSpec spec = *cost_spec(folder());
  EXPECT_EQ(spec.profile, "flux-dev");
  EXPECT_EQ(spec.weight_bytes, 12'000'000'000u);
  EXPECT_EQ(spec.other_bytes, 170'000'000u);
  EXPECT_EQ(spec.vae_bytes, 170'000'000u);
  EXPECT_EQ(spec.dimensions.ffn_width, 12288u);
  EXPECT_EQ(spec.origin, "file models/flux");
  const Prediction p = *predict(spec, {}, *find_hardware("RTX 4090"));
  EXPECT_DOUBLE_EQ(p.denoiser_bytes, 12e9);
  EXPECT_FALSE(p.workload.dtype.has_value()) << "as stored";
  EXPECT_NEAR(p.forward_flops, 74.385e12, 1e9);
}

TEST(CostSpec, ALoneDenoiserGetsTypicalParts) {
  Model model = folder();
  model.components.pop_back();
  EXPECT_EQ(cost_spec(model)->other_bytes, cost_spec("flux")->other_bytes);
}

std::string refused(const Model& model) {
  const Result<CostSpec> spec = cost_spec(model);
  EXPECT_FALSE(spec.ok());
  if (spec.ok()) return "";
  EXPECT_EQ(spec.error().code, ErrorCode::unsupported);
  EXPECT_THAT(spec.error().message, HasSubstr(model.path));
  return spec.error().message;
}

TEST(CostSpec, UnknownArchitecturesNameTheKnownOnes) {
  Model model = folder();
  model.components[0].identity.architecture = "krea2";
  EXPECT_THAT(refused(model), HasSubstr("no cost formula for architecture 'krea2'; known: flux, "));
}

TEST(CostSpec, RelativesThatAreBuiltOtherwiseAreNotGuessed) {
  Model model = folder();
  model.components[0].identity.architecture = "wan";
  model.components[0].identity.variant = "14B vace";
  EXPECT_THAT(refused(model), HasSubstr("variant 14B vace"));
}

TEST(CostSpec, WhatIsNoDenoiserIsSaid) {
  Model model;
  model.path = "thing";
  EXPECT_THAT(refused(model), HasSubstr("not recognised"));
  model.parameters = 7'000'000'000;
  model.identity.family = Family::language;
  EXPECT_THAT(refused(model), HasSubstr("14 GFLOP"));
  model.identity.family = Family::vae;
  EXPECT_THAT(refused(model), HasSubstr("no denoiser"));
}

}  // namespace
}  // namespace genscope
