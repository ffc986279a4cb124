// The matrix: every resolution, step count, batch size and model reaches the function.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "compat/validator/state.h"

namespace genscope::compat {
namespace {

using Baseline = std::map<std::string, std::vector<double>>;  // test -> times

// The times of an earlier export; what is wrong with it is told.
Result<Baseline> read_baseline(const std::string& path) {
  const Result<std::string> text = base::read_file(path);
  if (!text) return text.error();
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  const auto wrong = [&](const char* what) {
    return Error{ErrorCode::bad_data,
                 fmt::format("{}: {}; give a file of export_benchmark_results()", path, what)};
  };
  if (!json.is_object() || !json.contains("benchmark_results"))
    return wrong("benchmark_results is missing");
  Baseline baseline;
  for (const auto& row : json["benchmark_results"]) {
    if (!row.is_object() || !row.contains("times") || !row.contains("test_name")) continue;
    if (!row["test_name"].is_string() || !row["times"].is_array())
      return wrong("a result has wrong types");
    std::vector<double>& times = baseline[row["test_name"].get<std::string>()];
    times.clear();
    for (const auto& time : row["times"]) {
      if (!time.is_number()) return wrong("a time is not a number");
      times.push_back(time.get<double>());
    }
  }
  return baseline;
}

class SuiteRun {
 public:
  SuiteRun(ValidatorState& impl, const GeneratorFunction& generator, const BenchmarkSuite& suite)
      : impl_(impl), generator_(generator), suite_(suite) {
    result_.suite_name = suite.name;
    result_.start_time = document_time();
    result_.target_improvement_factor = suite.target_improvement_factor;
    result_.target_generation_time = suite.target_generation_time;
  }

  void read() {
    if (suite_.baseline_path.empty()) return;
    Result<Baseline> found = read_baseline(suite_.baseline_path);
    if (found) {
      baseline_ = std::move(*found);
    } else {
      result_.notes.push_back(found.error().message);
      bad_baseline_ = true;
    }
  }

  void run() {
    std::vector<std::string> models = suite_.models_to_test;
    if (models.empty()) models.emplace_back();
    for (const std::string& model : models) {
      for (const Resolution resolution : suite_.test_resolutions) {
        for (const int steps : suite_.test_step_counts) {
          for (const int batch : suite_.test_batch_sizes) {
            if (impl_.cancelled()) return result_.notes.push_back("it was interrupted");
            one(model, models.size() > 1, resolution, steps, batch);
          }
        }
      }
    }
  }

  void add(const BenchmarkResult& test, bool passed) {
    result_.test_results.push_back(test);
    ++result_.total_tests;
    result_.passed_tests += passed ? 1 : 0;
  }

  SuiteResult finish() {
    if (result_.total_tests > 0) {
      result_.pass_rate = 100 * static_cast<double>(result_.passed_tests) /
                          static_cast<double>(result_.total_tests);
    }
    const bool all = result_.total_tests > 0 && result_.passed_tests == result_.total_tests;
    result_.overall_status = all && !bad_baseline_ ? "PASSED" : "FAILED";
    result_.end_time = document_time();
    return std::move(result_);
  }
  void note(std::string text) { result_.notes.push_back(std::move(text)); }

 private:
  void one(const std::string& model, bool name_model, Resolution resolution, int steps, int batch) {
    BenchmarkResult test = new_result(fmt::format("regression_test_{}x{}_{}steps_batch{}{}{}",
                                                  resolution.width, resolution.height, steps, batch,
                                                  name_model ? "_" : "", name_model ? model : ""),
                                      model.empty() ? "Regression_Test" : model, "MMDiT",
                                      suite_.target_generation_time);
    test.num_steps = steps;
    test.resolution = resolution;
    test.batch_size = batch;
    const GenerationCall what{.prompt = fmt::format("A test image at {}x{} resolution",
                                                    resolution.width, resolution.height),
                              .image_path = "",
                              .model_name = model,
                              .resolution = resolution,
                              .num_steps = steps,
                              .batch_size = batch};
    warm_up(generator_, what, impl_.options.warmup);
    GpuDuring gpu(impl_);
    Calls calls;
    for (std::size_t i = 0;
         i < std::max<std::size_t>(1, suite_.runs_per_test) && !impl_.cancelled(); ++i) {
      calls.call(generator_, what);
    }
    gpu.put(test);
    calls.put(test);
    set_time(test, false);
    if (test.total_time && steps > 0) test.per_step_time = *test.total_time / steps;
    test = impl_.finish(std::move(test));
    const bool regressed = against_baseline(test);
    impl_.keep(test);
    add(test, test.target_met && calls.errors == 0 && !regressed);
  }

  // True if it is slower than its namesake, beyond the noise.
  bool against_baseline(BenchmarkResult& test) {
    const auto found = baseline_.find(test.test_name);
    if (found == baseline_.end() || found->second.empty() || test.times.empty()) {
      if (!suite_.baseline_path.empty() && !bad_baseline_) {
        test.notes.push_back("the baseline has no such test");
      }
      return false;
    }
    JudgeOptions options;
    options.few_by_student = true;
    const Judgement judgement = judge(found->second, test.times, options);
    test.verdict = name(judgement.verdict);
    test.notes.push_back("against the baseline: " + judgement.reason);
    if (judgement.ratio && *judgement.ratio > 0) test.improvement_factor = 1 / *judgement.ratio;
    return judgement.verdict == Verdict::regressed;
  }

  ValidatorState& impl_;
  const GeneratorFunction& generator_;
  const BenchmarkSuite& suite_;
  SuiteResult result_;
  Baseline baseline_;
  bool bad_baseline_ = false;
};

}  // namespace

BenchmarkSuite create_default_benchmark_suite() {
  BenchmarkSuite suite;
  suite.name = "Default MMDiT Performance Benchmark";
  return suite;
}

SuiteResult PerformanceValidator::run_regression_test_suite(const GeneratorFunction& generator,
                                                            const BenchmarkSuite& suite,
                                                            const GeneratorFunction& multimodal) {
  SuiteRun run(*impl_, generator, suite);
  run.read();
  run.run();
  if (suite.include_multimodal_tests && multimodal) {
    const BenchmarkResult test = run_multimodal_performance_benchmark(
        multimodal, {"Describe a landscape", "Describe a city"}, {}, suite.qwen2vl_model);
    run.add(test, test.target_met && test.error_count == 0);
  } else if (suite.include_multimodal_tests) {
    run.note(
        "multimodal tests were asked for, and no multimodal function was given: none were run");
  }
  return run.finish();
}

}  // namespace genscope::compat
