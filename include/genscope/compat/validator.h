// PerformanceValidator: a generator function measured, judged against targets, compared with
// another (document 001). Python has the same names in genscope.compat.validator.
//
//   genscope::compat::PerformanceValidator validator({.target_improvement_factor = 50});
//   auto speed = validator.run_speed_improvement_validation(slow, fast, "a cat");
//   if (speed.validation_status != "PASSED") puts(speed.reason.c_str());
//
// Times are seconds, rates percent, memory 10^9 bytes, as in the document. What was not measured is
// absent. A target counts as met if the conservative end of the interval meets it.
//
// Threads: all of it from any thread; runs of several threads disturb each other's times, not their
// results.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <genscope/analyze.h>
#include <genscope/error.h>

namespace genscope::compat {

struct Resolution {
  int width = 1024, height = 1024;
};

// What a generator is asked for. Absent: the test does not say.
struct GenerationCall {
  std::string prompt = {};
  std::string image_path = {};  // of multimodal calls that have one
  std::string model_name = {};
  std::optional<Resolution> resolution = {};
  std::optional<int> num_steps = {}, batch_size = {};
};
struct CallOutcome {
  std::string error = {};              // empty: it worked
  std::optional<double> seconds = {};  // absent: the time around the call
};
// What it throws counts as an error.
using GeneratorFunction = std::function<CallOutcome(const GenerationCall&)>;

struct BenchmarkResult {
  std::string test_name, model_name, architecture_type, test_timestamp;
  // Of the calls that worked: the median, of different prompts the mean, with its interval.
  std::optional<double> total_time;
  std::optional<stats::Interval> total_time_interval;
  std::optional<double> per_step_time;  // where num_steps reached the function
  double target_time = 5;
  bool target_met = false;
  double performance_score = 0;              // 0 to 100
  std::optional<double> improvement_factor;  // baseline / total_time; absent without a baseline
  std::optional<double> gpu_utilization_percent, gpu_memory_used_gb, gpu_memory_peak_gb;
  std::optional<double> gpu_memory_efficiency;  // percent of the memory that there is
  std::string gpu_absent;                       // why the figures of the GPU are
  std::optional<int> num_steps, batch_size;
  std::optional<Resolution> resolution;
  bool multimodal_enabled = false;
  std::optional<double> text_processing_time, image_analysis_time;  // means over calls of the kind
  std::optional<double> success_rate;                               // percent of the calls
  std::optional<stats::Interval> success_rate_interval;             // Wilson's, percent
  std::uint64_t error_count = 0;
  std::vector<std::string> warnings;
  std::vector<std::string> notes;  // what the figures show and do not show
  std::string gpu_name, driver_version, cuda_version;
  std::vector<double> times;  // of each call that worked, in order
  std::optional<double> generations_per_second;
  std::string verdict;  // against a stored baseline, by name(Verdict); empty without one
};
std::string to_json(const BenchmarkResult& result);

struct BenchmarkSuite {
  std::string name = "Benchmark suite";
  double target_improvement_factor = 50, target_generation_time = 5;
  std::vector<Resolution> test_resolutions{{512, 512}, {768, 768}, {1024, 1024}, {1280, 1280}};
  std::vector<int> test_step_counts{10, 20, 30}, test_batch_sizes{1, 2};
  std::vector<std::string> models_to_test;  // empty: the function has one model
  bool include_multimodal_tests = true;
  std::string qwen2vl_model = "Qwen2-VL-7B-Instruct";
  std::size_t runs_per_test = 3;
  std::string baseline_path;  // an export: each test is also judged against its namesake there
};
BenchmarkSuite create_default_benchmark_suite();

struct SpeedValidation {
  BenchmarkResult before, after;
  std::optional<double> improvement_factor;  // before / after; absent if a side never worked
  std::optional<stats::Interval> improvement_interval;
  double target_improvement_factor = 50;
  bool target_met = false;                   // the lower end of the interval reaches the target
  std::string validation_status = "FAILED";  // PASSED, FAILED
  std::string reason;                        // in a sentence
  std::optional<double> time_saved_seconds;
  Judgement judgement;
};
std::string to_json(const SpeedValidation& validation);

struct SuiteResult {
  std::string suite_name, start_time, end_time;
  double target_improvement_factor = 50, target_generation_time = 5;
  std::vector<BenchmarkResult> test_results;
  std::size_t total_tests = 0, passed_tests = 0;
  double pass_rate = 0;                   // percent
  std::string overall_status = "FAILED";  // PASSED if all did
  std::vector<std::string> notes;
};

struct ValidatorOptions {
  double target_improvement_factor = 50, target_generation_time = 5;
  std::size_t runs_min = 5, runs_max = 20;  // a side, of speed validations
  double budget_seconds = 60;               // no further runs after this
  std::size_t warmup = 1;                   // calls that do not count, before each test
  bool gpu = true;                          // watch GPUs
  double sampling_interval = 0.1;
  // Asked between calls; true ends the test, which keeps what it has.
  std::function<bool()> cancelled = {};
};

struct ValidatorState;

// One generation, timed by its scope or until end().
class Benchmark {
 public:
  Benchmark(Benchmark&&) noexcept;
  ~Benchmark();
  void fail(std::string error);  // it did not work: score 0
  const BenchmarkResult& end();  // later calls change nothing

 private:
  friend class PerformanceValidator;
  struct State;
  explicit Benchmark(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

struct BenchmarkSettings {
  std::string test_name = {}, model_name = {}, architecture_type = "MMDiT";
  int num_steps = 20;
  Resolution resolution = {};
  bool multimodal_enabled = false;
};

class PerformanceValidator {
 public:
  explicit PerformanceValidator(ValidatorOptions options = {});
  ~PerformanceValidator();
  PerformanceValidator(const PerformanceValidator&) = delete;
  PerformanceValidator& operator=(const PerformanceValidator&) = delete;

  // Must not outlive the validator.
  Benchmark benchmark_generation(BenchmarkSettings settings);
  // Seconds of a generation before; every later result has an improvement_factor.
  void set_baseline_metrics(double total_generation_time);

  // Each prompt once. total_time is the mean; the target is met if the interval's upper end and 80
  // % of all prompts meet it.
  BenchmarkResult run_end_to_end_performance_test(const GeneratorFunction& generator,
                                                  const std::vector<std::string>& test_prompts,
                                                  const std::string& model_name = "Qwen-Image");
  // Calls it again and again for that long. Nothing is added between calls.
  BenchmarkResult run_gpu_utilization_benchmark(
      const GeneratorFunction& generator, const std::string& test_prompt = "A beautiful landscape",
      double duration_seconds = 30);
  // In turns (ABBA), until the interval is narrow or the budget is spent.
  SpeedValidation run_speed_improvement_validation(
      const GeneratorFunction& before, const GeneratorFunction& after,
      const std::string& test_prompt = "A beautiful landscape");
  // The n-th prompt goes with the n-th image; prompts beyond the images are text alone. A model
  // that is named reaches the function; without one the result is called Qwen2-VL-7B-Instruct.
  BenchmarkResult run_multimodal_performance_benchmark(
      const GeneratorFunction& qwen2vl, const std::vector<std::string>& text_prompts,
      const std::vector<std::string>& image_paths = {}, const std::string& model_name = {});
  // Every resolution, step count, batch size and model, which are given to the function, and the
  // multimodal function with the suite's qwen2vl_model.
  SuiteResult run_regression_test_suite(const GeneratorFunction& generator,
                                        const BenchmarkSuite& suite,
                                        const GeneratorFunction& multimodal = {});

  std::vector<BenchmarkResult> results() const;
  std::string hardware_json() const;
  std::string to_json(const SuiteResult& result) const;
  std::string get_performance_summary() const;  // JSON
  std::vector<std::string> recommendations() const;
  Status export_benchmark_results(const std::string& path) const;  // whole or not at all
  void clear_results();

 private:
  std::unique_ptr<ValidatorState> impl_;
};

std::unique_ptr<PerformanceValidator> create_performance_validator(double target_improvement = 50,
                                                                   double target_time = 5);
// Runs the validation, and writes performance_validation_<time>.json into `folder`.
Result<SpeedValidation> validate_performance_improvement(const GeneratorFunction& before,
                                                         const GeneratorFunction& after,
                                                         const std::string& test_prompt,
                                                         double target_improvement = 50,
                                                         const std::string& folder = ".");

// What GPUs did between two moments, in document 001's words; empty without a GPU, `absent` says
// why. avg_gpu_utilization_percent, peak_..., min_..., avg_memory_usage_gb, peak_..., min_...,
// memory_efficiency, sample_count, monitoring_duration.
class GPUMonitor {
 public:
  explicit GPUMonitor(double sampling_interval = 0.1);
  ~GPUMonitor();
  Status start_monitoring();
  std::map<std::string, double> stop_monitoring();
  const std::string& absent() const noexcept { return absent_; }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  double interval_;
  std::string absent_;
};

}  // namespace genscope::compat
