// Tests of one function: one generation, a list of prompts, a while of the same, text and images.
#include <cmath>

#include <fmt/format.h>

#include "base/clock.h"
#include "compat/validator/state.h"

namespace genscope::compat {
namespace {

// Of all prompts: as many have to meet the target by themselves.
constexpr double kShareInTime = 0.8;

}  // namespace

struct Benchmark::State {
  State(ValidatorState& owner, BenchmarkResult begun)
      : impl(owner), result(std::move(begun)), gpu(owner), began_ns(base::monotonic_ns()) {}
  ValidatorState& impl;
  BenchmarkResult result;
  GpuDuring gpu;
  std::int64_t began_ns;
  std::string error;
  bool ended = false;
};

Benchmark::Benchmark(std::unique_ptr<State> state) : state_(std::move(state)) {}
Benchmark::Benchmark(Benchmark&&) noexcept = default;
Benchmark::~Benchmark() {
  if (state_ != nullptr) end();
}

void Benchmark::fail(std::string error) { state_->error = std::move(error); }

const BenchmarkResult& Benchmark::end() {
  State& state = *state_;
  if (state.ended) return state.result;
  state.ended = true;
  const double seconds = static_cast<double>(base::monotonic_ns() - state.began_ns) * 1e-9;
  Calls calls;
  if (state.error.empty()) {
    calls.times.push_back(seconds);
  } else {
    calls.add_error("Generation error: " + state.error);
  }
  calls.put(state.result);
  set_time(state.result, false);
  state.gpu.put(state.result);
  if (state.result.total_time && state.result.num_steps.value_or(0) > 0) {
    state.result.per_step_time = *state.result.total_time / *state.result.num_steps;
  }
  state.result = state.impl.finish(std::move(state.result));
  state.impl.keep(state.result);
  return state.result;
}

PerformanceValidator::PerformanceValidator(ValidatorOptions options)
    : impl_(std::make_unique<ValidatorState>(std::move(options))) {}
PerformanceValidator::~PerformanceValidator() = default;

Benchmark PerformanceValidator::benchmark_generation(BenchmarkSettings settings) {
  BenchmarkResult result =
      new_result(std::move(settings.test_name), std::move(settings.model_name),
                 std::move(settings.architecture_type), impl_->options.target_generation_time);
  result.num_steps = settings.num_steps;
  result.resolution = settings.resolution;
  result.multimodal_enabled = settings.multimodal_enabled;
  return Benchmark(std::make_unique<Benchmark::State>(*impl_, std::move(result)));
}

void PerformanceValidator::set_baseline_metrics(double total_generation_time) {
  const std::lock_guard lock(impl_->mutex);
  impl_->baseline_s.reset();
  if (std::isfinite(total_generation_time) && total_generation_time > 0) {
    impl_->baseline_s = total_generation_time;
  }
}

BenchmarkResult PerformanceValidator::run_end_to_end_performance_test(
    const GeneratorFunction& generator, const std::vector<std::string>& test_prompts,
    const std::string& model_name) {
  BenchmarkResult result =
      new_result("end_to_end_test", model_name, "MMDiT", impl_->options.target_generation_time);
  if (!test_prompts.empty()) {
    warm_up(generator, {.prompt = test_prompts[0], .model_name = model_name},
            impl_->options.warmup);
  }
  GpuDuring gpu(*impl_);
  Calls calls;
  for (const std::string& prompt : test_prompts) {
    if (impl_->cancelled()) break;
    calls.call(generator, {.prompt = prompt, .model_name = model_name});
  }
  gpu.put(result);
  calls.put(result);
  set_time(result, true);
  result = impl_->finish(std::move(result));
  std::size_t in_time = 0;
  for (const double time : calls.times) in_time += time <= result.target_time ? 1 : 0;
  const double share = static_cast<double>(in_time) / static_cast<double>(std::max<std::uint64_t>(
                                                          1, calls.times.size() + calls.errors));
  if (share < kShareInTime) result.target_met = false;
  impl_->keep(result);
  return result;
}

BenchmarkResult PerformanceValidator::run_gpu_utilization_benchmark(
    const GeneratorFunction& generator, const std::string& test_prompt, double duration_seconds) {
  BenchmarkResult result = new_result("gpu_utilization_benchmark", "GPU_Test", "MMDiT",
                                      impl_->options.target_generation_time);
  warm_up(generator, {.prompt = test_prompt}, impl_->options.warmup);
  GpuDuring gpu(*impl_);
  Calls calls;
  const std::int64_t began = base::monotonic_ns();
  double passed = 0;
  do {
    calls.call(generator, {.prompt = test_prompt});
    passed = static_cast<double>(base::monotonic_ns() - began) * 1e-9;
    // A function that fails at once would only be called millions of times.
    if (calls.times.empty() && calls.errors >= 3) break;
  } while (passed < duration_seconds && !impl_->cancelled());
  gpu.put(result);
  calls.put(result);
  set_time(result, false);
  if (passed > 0 && !calls.times.empty()) {
    result.generations_per_second = static_cast<double>(calls.times.size()) / passed;
  }
  result = impl_->finish(std::move(result));
  impl_->keep(result);
  return result;
}

BenchmarkResult PerformanceValidator::run_multimodal_performance_benchmark(
    const GeneratorFunction& qwen2vl, const std::vector<std::string>& text_prompts,
    const std::vector<std::string>& image_paths, const std::string& model_name) {
  BenchmarkResult result =
      new_result("multimodal_benchmark", model_name.empty() ? "Qwen2-VL-7B-Instruct" : model_name,
                 "Multimodal", impl_->options.target_generation_time);
  result.multimodal_enabled = true;
  if (!text_prompts.empty()) {
    warm_up(qwen2vl, {.prompt = text_prompts[0], .model_name = model_name}, impl_->options.warmup);
  }
  GpuDuring gpu(*impl_);
  Calls calls;
  double text_s = 0, image_s = 0;
  std::size_t texts = 0, images = 0;  // calls of each kind that worked: what their means are over
  for (std::size_t i = 0; i < text_prompts.size() && !impl_->cancelled(); ++i) {
    GenerationCall what{.prompt = text_prompts[i], .model_name = model_name};
    if (i < image_paths.size()) what.image_path = image_paths[i];
    const std::optional<double> took = calls.call(qwen2vl, what);
    if (!took) continue;
    (what.image_path.empty() ? text_s : image_s) += *took;
    ++(what.image_path.empty() ? texts : images);
  }
  gpu.put(result);
  calls.put(result);
  set_time(result, true);
  if (texts > 0) result.text_processing_time = text_s / static_cast<double>(texts);
  if (images > 0) result.image_analysis_time = image_s / static_cast<double>(images);
  if (texts == 0)
    result.notes.push_back("every prompt had an image: the time of text alone was not measured");
  if (images == 0)
    result.notes.push_back("no prompt had an image: the time of images was not measured");
  result = impl_->finish(std::move(result));
  impl_->keep(result);
  return result;
}

std::vector<BenchmarkResult> PerformanceValidator::results() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->results;
}

void PerformanceValidator::clear_results() {
  const std::lock_guard lock(impl_->mutex);
  impl_->results.clear();
  impl_->baseline_s.reset();
}

std::unique_ptr<PerformanceValidator> create_performance_validator(double target_improvement,
                                                                   double target_time) {
  ValidatorOptions options;
  options.target_improvement_factor = target_improvement;
  options.target_generation_time = target_time;
  return std::make_unique<PerformanceValidator>(std::move(options));
}

}  // namespace genscope::compat
