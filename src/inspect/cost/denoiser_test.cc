// FLOPs against counts of the public model classes, which were run on tensors without data and had
// all their matrix products and convolutions summed; against closed forms, derived by hand; and
// against the parameters of the released models.
#include "inspect/cost/denoiser.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "inspect/cost/plan.h"

namespace genscope::inspect {
namespace {

constexpr double kTera = 1e12;

struct Counted {
  const char* model;
  std::uint64_t width, height, frames;
  std::optional<std::uint64_t> text;
  double tflop;
  double half_digit;  // of the count, as it was noted
};

Work work_of(const char* model, const Workload& workload) {
  const Result<CostSpec> spec = cost_spec(model);
  EXPECT_TRUE(spec.ok()) << model;
  const Result<Plan> plan = make_plan(*spec, workload);
  EXPECT_TRUE(plan.ok()) << model;
  return plan->denoiser->work(spec->dimensions, plan->extent);
}

constexpr Counted kCounted[] = {
    {"flux-dev", 1024, 1024, 0, 512, 74.385, 5e-4},
    {"flux-dev", 512, 512, 0, 512, 21.503, 5e-4},
    {"flux-dev", 2048, 2048, 0, 512, 418.112, 5e-4},
    {"qwen-image", 1024, 1024, 0, 20, 68.442, 5e-4},
    {"qwen-image", 1328, 1328, 0, 64, 130.152, 5e-4},
    {"qwen-image", 1328, 1328, 0, 256, 134.761, 5e-4},
    {"sd1.5", 512, 512, 0, 77, 1.607 / 2, 2.5e-4},  // noted for a batch of two
    {"sd3-medium", 1024, 1024, 0, 333, 8.904, 5e-4},
    {"sd3.5-medium", 1024, 1024, 0, 333, 11.250, 5e-4},
    {"sd3.5-large", 1024, 1024, 0, 333, 31.121, 5e-4},
    {"sdxl", 1024, 1024, 0, 77, 6.761, 5e-4},
    {"sdxl", 512, 512, 0, 77, 1.589, 5e-4},
    {"wan-1.3b", 832, 480, 81, 512, 283.0, 5e-2},
    {"wan-14b", 832, 480, 81, 512, 1678.4, 5e-2},
    {"wan-14b", 1280, 720, 81, 512, 6523.4, 5e-2},
    {"wan-5b", 1280, 704, 121, 512, 517.0, 5e-2},
    {"hunyuan-video", 848, 480, 129, 256, 2766, 0.5},
    {"hunyuan-video", 1280, 720, 129, 256, 12069, 0.5},
    {"cogvideox-2b", 720, 480, 49, 226, 120.0, 5e-2},
    {"cogvideox-5b", 720, 480, 49, 226, 332.2, 5e-2},
    {"flux2-dev", 1024, 1024, 0, 512, 282.6, 5e-2},
    {"flux2-klein-4b", 1024, 1024, 0, 512, 34.8, 5e-2},
    {"auraflow", 1024, 1024, 0, 256, 43.97, 5e-3},
    {"lumina2", 1024, 1024, 0, 256, 23.83, 5e-3},
    {"pixart-sigma", 1024, 1024, 0, 300, 6.63, 5e-3},
    {"sana-1.6b", 1024, 1024, 0, 300, 2.97, 5e-3},
};

// Within 0.1 %, or within the rounding of the count where that is coarser (Sana).
TEST(Denoiser, MatchesCountsOfThePublicClasses) {
  std::printf("%-16s %11s %6s %5s %11s %11s %8s\n", "model", "size", "frames", "text", "counted",
              "here", "off");
  for (const Counted& row : kCounted) {
    const Workload workload = {
        .width = row.width, .height = row.height, .frames = row.frames, .text_tokens = row.text};
    const double here = work_of(row.model, workload).flops() / kTera;
    const std::string size = std::to_string(row.width) + "x" + std::to_string(row.height);
    std::printf("%-16s %11s %6d %5d %11.4f %11.4f %+7.3f%%\n", row.model, size.c_str(),
                static_cast<int>(row.frames), static_cast<int>(*row.text), row.tflop, here,
                100 * (here / row.tflop - 1));
    EXPECT_NEAR(here, row.tflop, std::max(1e-3 * row.tflop, row.half_digit)) << row.model << size;
  }
}

// N image, T text tokens, S both, L blocks, width d, feed-forward width f: the sums below are the
// formulas of the literature, written without the code under test.
TEST(Denoiser, MatchesTheClosedFormOfTwoStreams) {
  const double n = 64 * 64, t = 512, s = n + t, d = 3072;
  const double blocks =
      (19 + 38) * (24 * d * d * s + 4 * s * s * d) + 19 * 24 * d * d + 38 * 6 * d * d;
  const double ends = 2 * n * 128 * d + 2 * t * 4096 * d + 2 * 2 * (256 * d + d * d) +
                      2 * (768 * d + d * d) + 4 * d * d;
  const Work work = work_of("flux-dev", {.width = 1024, .height = 1024});
  EXPECT_NEAR(work.flops(), blocks + ends, 1e-9 * blocks);
  EXPECT_DOUBLE_EQ(work.attention, 57 * 4 * s * s * d);
}

TEST(Denoiser, MatchesTheClosedFormOfSd3) {
  const double n = 64 * 64, t = 333, s = n + t, d = 1536, layers = 24;
  double expected = layers * (24 * d * d * s + 4 * s * s * d + 24 * d * d);
  expected -= 18 * d * d * t + 8 * d * d;                        // the last writes no text
  expected += 13 * (8 * d * d * n + 4 * n * n * d + 6 * d * d);  // second attention of 3.5-M
  expected += 2 * n * 128 * d + 2 * t * 4096 * d + 2 * (256 * d + d * d) + 2 * (2048 * d + d * d);
  expected += 4 * d * d;
  EXPECT_NEAR(work_of("sd3.5-medium", {}).flops(), expected, 1e-9 * expected);
}

TEST(Denoiser, MatchesTheClosedFormOfCrossAttention) {
  const double n = 21 * 30 * 52, t = 512, d = 5120, f = 13824, layers = 40;
  double expected =
      layers * (2 * n * (6 * d * d + 2 * d * f) + 4 * t * d * d + 4 * n * n * d + 4 * n * t * d);
  expected += 2 * n * 128 * d + 2 * t * (4096 * d + d * d) + 2 * (256 * d + d * d) + 12 * d * d;
  const Work work = work_of("wan-14b", {.width = 832, .height = 480});
  EXPECT_NEAR(work.flops(), expected, 1e-9 * expected);
}

TEST(Denoiser, MatchesTheNotedFormOfSdxl) {
  for (const double side : {512.0, 768.0, 1024.0, 1536.0}) {
    const double pixels = side * side, quarter = pixels / 256, eighth = pixels / 1024;
    const double expected = 5.9245e12 * pixels / (1024 * 1024) + 0.0525e12 +
                            10 * 4 * quarter * (quarter + 77) * 640 +
                            60 * 4 * eighth * (eighth + 77) * 1280;
    const auto s = static_cast<std::uint64_t>(side);
    EXPECT_NEAR(work_of("sdxl", {.width = s, .height = s}).flops(), expected, 1e-3 * expected);
  }
}

TEST(Denoiser, Sd15SplitsIntoConvolutionsAndAttention) {
  const Work work = work_of("sd1.5", {});
  EXPECT_NEAR(work.linear, 0.677e12, 1e-3 * 0.677e12);
  EXPECT_NEAR(work.attention, 0.126e12, 1e-3 * 0.126e12);
}

// Every product's weights are counted once: their sum is the model but for biases, norms, tables
// and what no product uses. This checks the structures of those that were never counted by running
// them.
TEST(Denoiser, WeightsAddUpToTheParameters) {
  for (const Profile& profile : profiles()) {
    const Work work = work_of(std::string(profile.name).c_str(), {});
    const auto parameters = static_cast<double>(profile.parameters);
    EXPECT_LT(work.weights, parameters) << profile.name;
    EXPECT_GT(work.weights, 0.99 * parameters) << profile.name;
  }
}

TEST(Denoiser, EveryProfileHasAFormulaAndEveryFormulaAProfile) {
  for (const Profile& profile : profiles()) {
    EXPECT_NE(find_denoiser(profile.architecture), nullptr) << profile.name;
  }
  for (const Denoiser& denoiser : denoisers()) {
    EXPECT_NE(nearest_profile(denoiser.architecture, 0), nullptr) << denoiser.architecture;
  }
}

TEST(Vae, MatchesCountsOfThePublicClasses) {
  EXPECT_NEAR(decode_work(VaeKind::kl4, {512, 512, 1}).flops() / kTera, 2.515, 2.5e-3);
  EXPECT_NEAR(decode_work(VaeKind::kl4, {1024, 1024, 1}).flops() / kTera, 10.47, 1e-2);
  EXPECT_NEAR(decode_work(VaeKind::kl16, {1024, 1024, 1}).flops() / kTera, 10.47, 1e-2);
  EXPECT_NEAR(decode_work(VaeKind::wan, {1024, 1024, 1}).flops() / kTera, 11.68, 1e-2);
  EXPECT_NEAR(decode_work(VaeKind::wan, {832, 480, 21}).flops() / kTera, 275, 0.5);
}

TEST(Vae, PeakIsWhatComfyUiBudgets) {
  constexpr double kGib = 1024.0 * 1024 * 1024;
  EXPECT_NEAR(decode_peak_bytes(VaeKind::wan, {2560, 1440, 1}) / kGib, 15.1, 0.05);
  EXPECT_DOUBLE_EQ(decode_peak_bytes(VaeKind::ltx, {704, 512, 21}), 450.0 * 21 * 704 * 512 * 2);
  EXPECT_DOUBLE_EQ(decode_peak_bytes(VaeKind::hunyuan, {1280, 720, 33}),
                   2800.0 * 8 * 1280 * 720 * 2);
}

}  // namespace
}  // namespace genscope::inspect
