#include "cli/predict/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace genscope::cli::predict {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Shown flux(const Workload& workload = {}) {
  return {*genscope::predict(*cost_spec("flux-dev"), workload, *find_hardware("RTX 4090"))};
}

std::string text(const Shown& shown, bool explain = false, std::size_t width = 100) {
  return shown_text(shown, explain, {.width = width, .color = false, .unicode = true});
}

TEST(PredictText, SaysWorkFloorMemoryAndRemedies) {
  const std::string shown = text(flux());
  EXPECT_THAT(shown, HasSubstr("FLUX.1-dev on RTX 4090\n"));
  EXPECT_THAT(shown, HasSubstr("1024x1024, batch 1, 50 steps, 1 guidance pass, bf16 weights"));
  EXPECT_THAT(shown, HasSubstr("Tokens    4096 of the image, 512 of the text"));
  EXPECT_THAT(shown, HasSubstr("74.4 TFLOP a forward (20% of it attention)"));
  EXPECT_THAT(shown, HasSubstr("3.73 PFLOP in all"));
  EXPECT_THAT(shown, HasSubstr("450 ms a step, bound by compute"));
  EXPECT_THAT(shown, HasSubstr("of 24.0 GiB: does not fit"));
  EXPECT_THAT(shown, HasSubstr("Remedies  "));
  EXPECT_THAT(shown, HasSubstr("--explain"));
  EXPECT_THAT(shown, Not(HasSubstr("Without")));
}

TEST(PredictText, ExplainsOnRequest) {
  const std::string shown = text(flux(), true);
  EXPECT_THAT(shown, HasSubstr("NVIDIA's specification: 16384 CUDA cores"));
  EXPECT_THAT(shown, HasSubstr("Without   norms"));
}

TEST(PredictText, RoundedSizesAreAlwaysSaid) {
  EXPECT_THAT(text(flux({.width = 1000, .height = 1000, .round = true})),
              HasSubstr("taken as 992x992"));
}

TEST(PredictText, StaysInsideTheTerminal) {
  const std::string shown = text(flux(), true, 60);
  std::size_t begin = 0;
  while (begin < shown.size()) {
    const std::size_t end = shown.find('\n', begin);
    EXPECT_LE(watch::columns(shown.substr(begin, end - begin)), 60u);
    begin = end + 1;
  }
}

TEST(PredictText, AMeasuredStepIsJudged) {
  Shown shown = flux();
  shown.measured_seconds = 0.62;
  shown.mfu = judge(shown.prediction, 0.62);
  EXPECT_THAT(text(shown), HasSubstr("620 ms a step: MFU 73%, good"));
}

TEST(PredictJson, HasEveryPart) {
  Shown shown = flux({.offload = Offload::group});
  const std::string json = to_json(shown.prediction, shown.measured_seconds);
  for (const char* part :
       {"\"schema\": \"genscope.predict/1\"", "\"bound\": \"link\"", "\"offload\": \"group\"",
        "\"measured\": null", "\"fits\": true", "\"sources\": [", "\"not_modelled\": ["}) {
    EXPECT_THAT(json, HasSubstr(part));
  }
  shown.measured_seconds = 1.9;
  shown.mfu = judge(shown.prediction, 1.9);
  EXPECT_THAT(to_json(shown.prediction, shown.measured_seconds), HasSubstr("\"band\": \"poor\""));
}

TEST(PredictLists, NameEveryRow) {
  const std::string devices = hardware_text(hardware_table());
  for (const Hardware& row : hardware_table()) EXPECT_THAT(devices, HasSubstr(row.name));
  const std::string models = models_text({flux().prediction});
  EXPECT_THAT(models, HasSubstr("flux-dev"));
  EXPECT_THAT(models, HasSubstr("11.9B"));
}

}  // namespace
}  // namespace genscope::cli::predict
