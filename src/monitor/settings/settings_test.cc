#include <genscope/monitor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "monitor/settings/placement.h"

namespace genscope {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

PipelineSettings recommended(std::string_view architecture, std::string_view gpu,
                             std::string_view model) {
  Result<PipelineSettings> settings = recommend_settings(architecture, gpu, model);
  if (!settings) {
    ADD_FAILURE() << settings.error().message;
    return {};
  }
  return *std::move(settings);
}

bool warns(const PipelineSettings& settings, std::string_view of) {
  for (const VoidAdvice& warning : settings.warnings) {
    if (warning.advice.find(of) != std::string::npos) return true;
  }
  return false;
}

TEST(PipelineSettings, GuidanceHasTheKeyOfTheModelsPipeline) {
  EXPECT_EQ(recommended("MMDiT", "H100 SXM", "qwen-image").value("true_cfg_scale"), "4.0");
  const PipelineSettings flux = recommended("MMDiT", "H100 SXM", "flux-dev");
  EXPECT_EQ(flux.value("guidance_scale"), "3.5");
  EXPECT_EQ(flux.find("true_cfg_scale"), nullptr);
  EXPECT_THAT(flux.find("guidance_scale")->reason, HasSubstr("one pass"));
  EXPECT_EQ(recommended("", "H100 SXM", "flux-schnell").value("guidance_scale"), "1.0");
  EXPECT_EQ(recommended("UNet", "H100 SXM", "sdxl").value("guidance_scale"), "5.0");
}

TEST(PipelineSettings, PlacementFollowsTheMemory) {
  const PipelineSettings large = recommended("", "H100 SXM", "qwen-image");
  EXPECT_EQ(large.value("offload"), "none");
  EXPECT_EQ(large.value("vae_tiling"), "false");
  ASSERT_TRUE(large.prediction);
  EXPECT_EQ(large.prediction->fits, true);
  const PipelineSettings middle = recommended("", "RTX 4090", "flux-dev");
  EXPECT_EQ(middle.value("offload"), "group");  // 22.2 GiB of weights leave no room
  EXPECT_EQ(middle.value("compile"), "none");
  EXPECT_EQ(middle.value("width"), "1024");
  const PipelineSettings small = recommended("", "RTX 3060", "sdxl");
  EXPECT_EQ(small.value("offload"), "none");
}

TEST(PipelineSettings, TheKindestThatFitsIsTaken) {
  const CostSpec spec = *cost_spec("sdxl");
  Hardware gpu = *find_hardware("RTX 3090");
  const Workload usual = predict(spec, {}, gpu)->workload;
  Offload before = Offload::none;
  double limit = 1e30;
  for (const double gib : {24.0, 12.0, 8.0, 6.0, 4.0, 2.0, 1.0, 0.5}) {
    gpu.memory_gib = gib;
    const Result<monitor::Placement> at = monitor::place(spec, usual, gpu);
    ASSERT_TRUE(at) << at.error().message;
    EXPECT_LE(at->limit_bytes, limit);
    EXPECT_GE(at->offload, before) << gib;  // less memory never means less offload
    if (at->fits) {
      EXPECT_LE(at->peak_bytes, at->limit_bytes) << gib;
    } else {
      EXPECT_LT(at->width, 512U) << gib;  // all was tried
    }
    before = at->offload;
    limit = at->limit_bytes;
  }
}

TEST(PipelineSettings, WhatDoesNotFitIsSaid) {
  Hardware gpu = *find_hardware("RTX 3060");
  gpu.memory_gib = 0.25;
  const Result<PipelineSettings> settings = recommend_settings("", &gpu, "flux2-dev");
  ASSERT_TRUE(settings);
  EXPECT_TRUE(warns(*settings, "run it on this GPU at all"));
}

TEST(PipelineSettings, PrecisionFollowsTheUnits) {
  EXPECT_EQ(recommended("", "T4", "sdxl").value("torch_dtype"), "float16");
  EXPECT_EQ(recommended("", "RTX 4090", "sdxl").value("torch_dtype"), "bfloat16");
  EXPECT_EQ(recommended("", "", "sdxl").value("torch_dtype"), "float32");
}

TEST(PipelineSettings, EveryOneHasAReasonAndASource) {
  for (const char* model : {"qwen-image", "flux-dev", "sdxl", "wan-14b", ""}) {
    for (const char* gpu : {"RTX 4090", "T4", ""}) {
      const PipelineSettings settings = recommended("MMDiT", gpu, model);
      EXPECT_FALSE(settings.settings.empty());
      for (const PipelineSetting& row : settings.settings) {
        EXPECT_FALSE(row.value.empty()) << row.key;
        EXPECT_FALSE(row.reason.empty()) << row.key;
        EXPECT_THAT(row.source, AnyOf(HasSubstr("rule "), HasSubstr("cost model"),
                                      HasSubstr("diffusers"), HasSubstr("no GPU")))
            << row.key;
        if (row.source.starts_with("rule ")) {
          EXPECT_THAT(row.source, HasSubstr("(")) << row.source << ": no such rule";
        }
      }
    }
  }
}

TEST(Originals000, AdviceThatIsVoidTodayIsSaidToBe) {
  const PipelineSettings settings = configure_generation_settings("MMDiT");
  EXPECT_EQ(settings.value("true_cfg_scale"), "4.0");
  EXPECT_EQ(settings.value("attention_processor"), "default");
  EXPECT_TRUE(warns(settings, "attention_slicing"));
  EXPECT_TRUE(warns(settings, "gradient checkpointing"));
  EXPECT_TRUE(warns(settings, "never compile an MMDiT"));
  EXPECT_EQ(configure_generation_settings("UNet").value("attention_processor"), "AttnProcessor2_0");
  EXPECT_TRUE(configure_generation_settings("something else").find("torch_dtype") != nullptr);
}

TEST(PipelineSettings, TheModelKnowsItsArchitectureBetter) {
  const PipelineSettings settings = recommended("MMDiT", "RTX 4090", "sdxl");
  EXPECT_EQ(settings.architecture, "UNet");
  EXPECT_TRUE(warns(settings, "settings for MMDiT"));
  EXPECT_THAT(to_text(settings), HasSubstr("not: settings for MMDiT"));
  EXPECT_THAT(to_json(settings), HasSubstr("\"key\": \"guidance_scale\""));
}

TEST(PipelineSettings, UnknownNamesAreRefusedWithTheNearest) {
  EXPECT_THAT(recommend_settings("", "RTX 4091", "sdxl").error().message, HasSubstr("4090"));
  EXPECT_THAT(recommend_settings("", "RTX 4090", "flux-dvv").error().message,
              HasSubstr("flux-dev"));
}

}  // namespace
}  // namespace genscope
