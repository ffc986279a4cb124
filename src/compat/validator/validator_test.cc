// Each fault of the original is a test.
#include "genscope/compat/validator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

namespace genscope::compat {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

// Functions say their times themselves: nothing here depends on the machine.
GeneratorFunction takes(double seconds) {
  return [seconds](const GenerationCall&) { return CallOutcome{"", seconds}; };
}
GeneratorFunction throws() {
  return [](const GenerationCall&) -> CallOutcome { throw std::runtime_error("out of memory"); };
}

ValidatorOptions quick() {
  ValidatorOptions options;
  options.gpu = false;
  return options;
}

class Validator : public ::testing::Test {
 protected:
  PerformanceValidator validator_{quick()};
};

TEST_F(Validator, ResultsHaveATime) {  // the original: every result 0.0 s
  const BenchmarkResult result =
      validator_.run_end_to_end_performance_test(takes(2), {"a", "b", "c"});
  EXPECT_DOUBLE_EQ(result.total_time.value_or(0), 2);
  EXPECT_TRUE(result.target_met);
  EXPECT_DOUBLE_EQ(result.performance_score, 100);
  auto benchmark = validator_.benchmark_generation({.test_name = "one", .num_steps = 4});
  EXPECT_GT(benchmark.end().total_time.value_or(0), 0);
  EXPECT_GT(benchmark.end().per_step_time.value_or(0), 0);
  EXPECT_EQ(validator_.results().size(), 2U);
}

TEST_F(Validator, ThirtyTimesIsThirtyTimes) {  // the original: 1.0 x
  ValidatorOptions options = quick();
  options.target_improvement_factor = 25;
  PerformanceValidator validator(options);
  const SpeedValidation speed = validator.run_speed_improvement_validation(takes(0.3), takes(0.01));
  ASSERT_TRUE(speed.improvement_factor);
  EXPECT_NEAR(*speed.improvement_factor, 30, 1e-9);
  ASSERT_TRUE(speed.improvement_interval);
  EXPECT_EQ(speed.validation_status, "PASSED");
  EXPECT_THAT(speed.reason, HasSubstr("30.0 x (9"));
  EXPECT_NEAR(*speed.time_saved_seconds, 0.29, 1e-9);
}

TEST_F(Validator, TheConservativeEndDecides) {
  std::size_t call = 0;
  const GeneratorFunction noisy = [&](const GenerationCall&) {
    const double spread[] = {0.004, 0.006, 0.005, 0.0075, 0.0035};
    return CallOutcome{"", spread[call++ % 5]};
  };
  const SpeedValidation speed = validator_.run_speed_improvement_validation(takes(0.26), noisy);
  EXPECT_LT(speed.improvement_interval->low, 50);
  EXPECT_EQ(speed.validation_status, "FAILED");
}

TEST_F(Validator, ASideThatFailsHasNoFactor) {
  const SpeedValidation speed = validator_.run_speed_improvement_validation(takes(1), throws());
  EXPECT_FALSE(speed.improvement_factor);
  EXPECT_EQ(speed.validation_status, "FAILED");
  EXPECT_THAT(speed.reason, HasSubstr("After test failed: out of memory"));
  EXPECT_NE(to_json(speed).find("\"improvement_factor\":null"), std::string::npos);
}

TEST_F(Validator, WithoutABaselineThereIsNoImprovement) {  // the original: 1.0
  EXPECT_FALSE(validator_.run_end_to_end_performance_test(takes(2), {"a"}).improvement_factor);
  validator_.set_baseline_metrics(16);
  EXPECT_DOUBLE_EQ(*validator_.run_end_to_end_performance_test(takes(2), {"a"}).improvement_factor,
                   8);
  validator_.clear_results();
  EXPECT_TRUE(validator_.results().empty());
  EXPECT_FALSE(validator_.run_end_to_end_performance_test(takes(2), {"a"}).improvement_factor);
}

TEST_F(Validator, SuccessHasAnInterval) {
  int call = 0;
  const BenchmarkResult result = validator_.run_end_to_end_performance_test(
      [&](const GenerationCall&) {
        return CallOutcome{++call == 3 ? "broken" : "", 1};
      },
      {"a", "b", "c", "d"});
  EXPECT_DOUBLE_EQ(*result.success_rate, 75);
  EXPECT_LT(result.success_rate_interval->low, 40);
  EXPECT_EQ(result.error_count, 1U);
  EXPECT_FALSE(result.target_met) << "three of four are not 80 %";
  const BenchmarkResult good =
      validator_.run_end_to_end_performance_test(takes(1), std::vector<std::string>(10, "a"));
  EXPECT_THAT(good.notes.front(), HasSubstr("at least 72 %"));
}

TEST_F(Validator, ParametersReachTheFunction) {  // the original passed none
  std::set<std::string> seen;
  BenchmarkSuite suite = create_default_benchmark_suite();
  const SuiteResult result = validator_.run_regression_test_suite(
      [&](const GenerationCall& call) {
        seen.insert(std::to_string(call.resolution->width) + "/" + std::to_string(*call.num_steps) +
                    "/" + std::to_string(*call.batch_size));
        return CallOutcome{"", 1};
      },
      suite);
  EXPECT_EQ(seen.size(), 24U);
  EXPECT_EQ(result.total_tests, 24U);
  EXPECT_DOUBLE_EQ(result.pass_rate, 100);  // the original: 0
  EXPECT_EQ(result.overall_status, "PASSED");
  EXPECT_EQ(result.test_results[0].test_name, "regression_test_512x512_10steps_batch1");
  EXPECT_EQ(result.test_results[0].times.size(), 3U);
  EXPECT_THAT(result.notes.front(), HasSubstr("no multimodal function was given"));
}

TEST_F(Validator, ModelsReachTheFunction) {
  BenchmarkSuite suite;
  suite.test_resolutions = {{64, 64}};
  suite.test_step_counts = {1};
  suite.test_batch_sizes = {1};
  suite.models_to_test = {"a", "b"};
  std::set<std::string> seen;
  const SuiteResult result = validator_.run_regression_test_suite(
      [&](const GenerationCall& call) {
        seen.insert(call.model_name);
        return CallOutcome{"", call.model_name == "a" ? 1.0 : 9.0};
      },
      suite);
  EXPECT_THAT(seen, ::testing::ElementsAre("a", "b"));
  EXPECT_DOUBLE_EQ(result.pass_rate, 50);
  EXPECT_EQ(result.overall_status, "FAILED");
}

TEST_F(Validator, TheMultimodalTestHasTheModelOfTheSuite) {  // the original used none of the three
  BenchmarkSuite suite;
  suite.test_resolutions = {{64, 64}};
  suite.test_step_counts = {1};
  suite.test_batch_sizes = {1};
  suite.qwen2vl_model = "my-vl";
  std::set<std::string> seen;
  const GeneratorFunction multimodal = [&](const GenerationCall& call) {
    seen.insert(call.model_name);
    return CallOutcome{"", 1};
  };
  const SuiteResult result = validator_.run_regression_test_suite(takes(1), suite, multimodal);
  EXPECT_THAT(seen, ::testing::ElementsAre("my-vl"));
  ASSERT_EQ(result.test_results.size(), 2U);
  EXPECT_EQ(result.test_results.back().model_name, "my-vl");
  suite.include_multimodal_tests = false;
  EXPECT_EQ(validator_.run_regression_test_suite(takes(1), suite, multimodal).total_tests, 1U);
  seen.clear();
  validator_.run_multimodal_performance_benchmark(multimodal, {"a"});
  EXPECT_THAT(seen, ::testing::ElementsAre("")) << "nobody named a model";
}

TEST_F(Validator, ARegressionIsAgainstAStoredBaseline) {  // the original had none
  const std::string path =
      (std::filesystem::temp_directory_path() / "genscope-validator-base.json").string();
  BenchmarkSuite suite;
  suite.test_resolutions = {{64, 64}};
  suite.test_step_counts = {1};
  suite.test_batch_sizes = {1};
  suite.runs_per_test = 6;
  double base = 1;
  int call = 0;
  const GeneratorFunction function = [&](const GenerationCall&) {
    return CallOutcome{"", base * (1 + 0.001 * (++call % 5))};
  };
  validator_.run_regression_test_suite(function, suite);
  ASSERT_TRUE(validator_.export_benchmark_results(path).ok());
  suite.baseline_path = path;
  EXPECT_EQ(validator_.run_regression_test_suite(function, suite).test_results[0].verdict,
            "unchanged");
  base = 1.2;
  const SuiteResult slower = validator_.run_regression_test_suite(function, suite);
  EXPECT_EQ(slower.test_results[0].verdict, "regressed");
  EXPECT_TRUE(slower.test_results[0].target_met) << "1.2 s is within 5 s, and yet slower";
  EXPECT_EQ(slower.overall_status, "FAILED");
  suite.baseline_path = "/nonexistent.json";
  EXPECT_EQ(validator_.run_regression_test_suite(function, suite).overall_status, "FAILED");
  std::filesystem::remove(path);
}

TEST_F(Validator, TextAndImagesHaveTheirOwnDenominators) {  // the original divided by all prompts
  const GeneratorFunction function = [](const GenerationCall& call) {
    return CallOutcome{"", call.image_path.empty() ? 1.0 : 3.0};
  };
  const BenchmarkResult result =
      validator_.run_multimodal_performance_benchmark(function, {"a", "b", "c", "d"}, {"x.png"});
  EXPECT_DOUBLE_EQ(*result.text_processing_time, 1);
  EXPECT_DOUBLE_EQ(*result.image_analysis_time, 3);
  const BenchmarkResult texts = validator_.run_multimodal_performance_benchmark(function, {"a"});
  EXPECT_FALSE(texts.image_analysis_time);
}

TEST_F(Validator, ThroughputIsAFigureNotAWarning) {
  int calls = 0;
  ValidatorOptions options = quick();
  options.cancelled = [&] { return calls > 5; };
  PerformanceValidator validator(options);
  const BenchmarkResult result = validator.run_gpu_utilization_benchmark(
      [&](const GenerationCall&) {
        ++calls;
        return CallOutcome{};
      },
      "a cat", 3600);
  EXPECT_TRUE(result.generations_per_second);
  EXPECT_TRUE(result.warnings.empty());
  // Of a generation, not of the whole.
  EXPECT_LT(*result.total_time, 1 / *result.generations_per_second + 1);
}

TEST(ValidatorGpu, AbsentIsNotZeroAndGivesNoAdvice) {
  setenv("GENSCOPE_NVML_LIBRARY", "/nonexistent/libnvidia-ml.so.1", 1);
  setenv("GENSCOPE_SYS_ROOT", "/nonexistent", 1);
  PerformanceValidator validator;
  const BenchmarkResult result = validator.run_end_to_end_performance_test(takes(1), {"a", "b"});
  EXPECT_FALSE(result.gpu_utilization_percent);
  EXPECT_FALSE(result.gpu_absent.empty());
  EXPECT_THAT(validator.recommendations(), Each(Not(HasSubstr("GPU"))));
  GPUMonitor monitor;
  ASSERT_TRUE(monitor.start_monitoring().ok());
  EXPECT_TRUE(monitor.stop_monitoring().empty());
  EXPECT_FALSE(monitor.absent().empty());
  unsetenv("GENSCOPE_NVML_LIBRARY");
  unsetenv("GENSCOPE_SYS_ROOT");
}

TEST_F(Validator, AFailedGenerationScoresZero) {
  const BenchmarkResult result = validator_.run_end_to_end_performance_test(throws(), {"a", "b"});
  EXPECT_FALSE(result.total_time);
  EXPECT_EQ(result.performance_score, 0);
  EXPECT_FALSE(result.target_met);
  EXPECT_THAT(result.warnings.front(), HasSubstr("out of memory"));
  const auto summary = nlohmann::json::parse(validator_.get_performance_summary());
  EXPECT_EQ(summary["overall_status"], "FAILED");
}

TEST_F(Validator, ThreadsLoseNothing) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i) validator_.run_end_to_end_performance_test(takes(1), {"a"});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(validator_.results().size(), 100U);
  for (const BenchmarkResult& result : validator_.results())
    EXPECT_DOUBLE_EQ(*result.total_time, 1);
}

TEST(ValidatePerformanceImprovement, ReallyWritesItsFile) {  // the original wrote nothing
  const auto folder = std::filesystem::temp_directory_path() / "genscope-validate-improvement";
  std::filesystem::create_directories(folder);
  const auto speed =
      validate_performance_improvement(takes(1), takes(0.01), "a cat", 50, folder.string());
  ASSERT_TRUE(speed.ok());
  EXPECT_EQ(speed->validation_status, "PASSED");
  std::size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const auto json = nlohmann::json::parse(std::ifstream(file.path()));
    EXPECT_EQ(json["benchmark_results"].size(), 2U);
    ++files;
  }
  EXPECT_EQ(files, 1U);
  std::filesystem::remove_all(folder);
}

TEST_F(Validator, AnExportThatCannotBeWrittenIsAnError) {
  EXPECT_FALSE(validator_.export_benchmark_results("/nonexistent/x.json").ok());
}

}  // namespace
}  // namespace genscope::compat
