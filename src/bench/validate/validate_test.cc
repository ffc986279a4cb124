#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/quality/test_images.h"
#include "bench/validate/gpu_watch.h"
#include "bench/validate/prompts.h"
#include "bench/validate/success.h"
#include "test_paths.h"

namespace genscope::bench {
namespace {

using ::testing::HasSubstr;

TEST(SuccessRate, TenOfTenShowsSeventyTwoPercent) {
  const auto rate = success_rate(10, 10);
  ASSERT_TRUE(rate);
  EXPECT_EQ(success_words(*rate), "10 of 10 succeeded, which shows at least 72 %");
  EXPECT_EQ(judge_success(*rate, 0.72), SuccessVerdict::shown);
  EXPECT_EQ(judge_success(*rate, 0.95), SuccessVerdict::not_shown);
  EXPECT_EQ(success_words(*success_rate(11, 12)),
            "11 of 12 succeeded (91.7 %; 95 %: 64.6 to 98.5)");
  EXPECT_EQ(judge_success(*success_rate(11, 12), 0.95), SuccessVerdict::failed);
  EXPECT_FALSE(success_rate(0, 0));
}

TEST(SuccessRate, SaysHowManyRunsShowIt) {
  for (const double least : {0.5, 0.9, 0.95, 0.99}) {
    const std::uint64_t n = runs_to_show(least);
    EXPECT_GE(success_rate(n, n)->interval.low, least);
    EXPECT_LT(success_rate(n - 1, n - 1)->interval.low, least);
  }
  EXPECT_EQ(runs_to_show(0.95), 73U);
  EXPECT_EQ(runs_to_show(1), 0U);
}

// A subject that fails on some prompts.
class Prompted final : public Subject {
 public:
  Sample measure(const Request& request) override {
    asked.push_back(request.prompt + (request.seed ? std::to_string(*request.seed) : ""));
    Sample sample;
    sample.prompt = request.prompt;
    if (request.prompt == "bad") {
      sample.failure = Failure{FailureClass::exit_nonzero, "exit 1"};
    } else {
      sample.metrics["latency_s"] = 1;
      sample.outputs = outputs;
    }
    return sample;
  }
  std::vector<std::string> asked, outputs;
};

TEST(RunPrompts, EveryPromptOnceWhetherItFailsOrNot) {
  Prompted subject;
  PromptOptions options;
  options.prompts = {"bad", "a", "bad", "bad", "b"};
  options.seeds = {1, 2};
  const Cell cell = run_prompts(subject, options);
  EXPECT_EQ(subject.asked.size(), 10U);
  EXPECT_EQ(subject.asked[2], "a1");
  EXPECT_EQ(subject.asked[3], "a2");
  const Cell cells[] = {cell};
  const auto rate = success_rate(cells);
  EXPECT_EQ(rate->successes, 4U);
  EXPECT_EQ(rate->trials, 10U);
}

TEST(RunPrompts, ABlankPictureIsAFailure) {
  const test::Folder folder;
  Prompted subject;
  subject.outputs = {
      folder.write("black.ppm", test::ppm({4, 4, 3, std::vector<std::uint8_t>(48, 0)}))};
  PromptOptions options;
  options.prompts = {"a"};
  const Cell cell = run_prompts(subject, options);
  ASSERT_TRUE(cell.units[0].samples[0].failure);
  EXPECT_EQ(cell.units[0].samples[0].failure->kind, FailureClass::blank_output);
}

TEST(RunPrompts, StopsWhenTold) {
  Prompted subject;
  PromptOptions options;
  options.prompts = {"a", "b", "c"};
  const Cell cell =
      run_prompts(subject, options, [](const Sample&, std::size_t done, std::size_t all) {
        EXPECT_EQ(all, 3U);
        return done < 2;
      });
  EXPECT_EQ(cell.status, "cancelled");
  EXPECT_EQ(subject.asked.size(), 2U);
}

TEST(ReadPrompts, LeavesOutBlanksAndComments) {
  const test::Folder folder;
  const auto prompts = read_prompts(folder.write("p.txt", "# list\n a cat \n\n\ndog\r\n"));
  ASSERT_TRUE(prompts.ok());
  EXPECT_THAT(*prompts, ::testing::ElementsAre(" a cat", "dog"));
  EXPECT_THAT(read_prompts(folder.write("e.txt", "#\n")).error().message,
              HasSubstr("has no prompt"));
  EXPECT_FALSE(read_prompts(folder.path + "/none").ok());
}

class GpuWatching : public ::testing::Test {
 protected:
  static GpuWatched watch(const std::string& scenario, const std::string& library) {
    const test::Folder folder;
    setenv("GENSCOPE_NVML_SCENARIO", folder.write("scenario", scenario).c_str(), 1);
    ProbeOptions options;
    options.nvml_library = library;
    std::vector<std::unique_ptr<Probe>> probes;
    probes.push_back(std::move(*make_probe("nvml", options)));
    GpuWatch watch(std::move(probes), 0.01);
    EXPECT_TRUE(watch.start().ok());
    GpuWatched watched = watch.stop();
    unsetenv("GENSCOPE_NVML_SCENARIO");
    return watched;
  }
};

TEST_F(GpuWatching, ReadsTheDriver) {
  std::ifstream file(GENSCOPE_SOURCE_DIR "/tests/nvml_double/two_gpus.scenario");
  const std::string scenario((std::istreambuf_iterator<char>(file)), {});
  const GpuWatched watched = watch(scenario, GENSCOPE_NVML_DOUBLE_DIR "/580/libnvidia-ml.so.1");
  ASSERT_EQ(watched.gpus.size(), 2U) << watched.absent;
  EXPECT_EQ(watched.gpus[0].name, "NVIDIA H100 80GB HBM3");
  EXPECT_NEAR(*watched.gpus[1].busy_ratio.mean, 0.6, 0.2);
  EXPECT_NEAR(*watched.gpus[0].memory_efficiency(), 20e9 / 85520809984.0, 0.02);
}

TEST_F(GpuWatching, WithoutADriverItSaysWhy) {
  const GpuWatched watched = watch("", "/nonexistent/libnvidia-ml.so.1");
  EXPECT_TRUE(watched.gpus.empty());
  EXPECT_THAT(watched.absent, HasSubstr("nvml: "));
}

}  // namespace
}  // namespace genscope::bench
