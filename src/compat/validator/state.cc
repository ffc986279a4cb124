#include "compat/validator/state.h"

#include <exception>

#include <fmt/format.h>

#include "analyze/inference/inference.h"
#include "analyze/statistics/statistics.h"
#include "analyze/verdict/verdict.h"
#include "base/clock.h"
#include "bench/result/timestamp.h"
#include "bench/validate/success.h"

namespace genscope::compat {
namespace {

constexpr std::size_t kMaxWarnings = 10;

}  // namespace

std::string document_time() { return bench::timestamp_now().substr(0, 26); }

CallOutcome call_safely(const GeneratorFunction& function, const GenerationCall& what,
                        double& seconds) {
  CallOutcome outcome;
  const std::int64_t began = base::monotonic_ns();
  try {
    outcome = function(what);
  } catch (const std::exception& error) {
    outcome.error = error.what();
    if (outcome.error.empty()) outcome.error = "it threw";
  } catch (...) {
    outcome.error = "it threw something unknown";
  }
  seconds = static_cast<double>(base::monotonic_ns() - began) * 1e-9;
  if (outcome.seconds) seconds = *outcome.seconds;
  return outcome;
}

void warm_up(const GeneratorFunction& function, const GenerationCall& what, std::size_t times) {
  double ignored = 0;
  for (std::size_t i = 0; i < times; ++i) call_safely(function, what, ignored);
}

std::optional<double> Calls::call(const GeneratorFunction& function, const GenerationCall& what) {
  double seconds = 0;
  CallOutcome outcome = call_safely(function, what, seconds);
  if (!outcome.error.empty()) {
    add_error(fmt::format("call {} failed: {}", times.size() + errors + 1, outcome.error));
    return std::nullopt;
  }
  times.push_back(seconds);
  return seconds;
}

void Calls::add_error(std::string text) {
  ++errors;
  if (warnings.size() < kMaxWarnings) warnings.push_back(std::move(text));
}

void Calls::put(BenchmarkResult& result) const {
  result.times = times;
  result.error_count = errors;
  result.warnings.insert(result.warnings.end(), warnings.begin(), warnings.end());
  const auto rate = bench::success_rate(times.size(), times.size() + errors);
  if (!rate) return;
  result.success_rate = rate->rate * 100;
  result.success_rate_interval = stats::Interval{
      rate->interval.low * 100, rate->interval.high * 100, rate->interval.confidence};
  result.notes.push_back(bench::success_words(*rate));
}

BenchmarkResult new_result(std::string test_name, std::string model_name, std::string architecture,
                           double target_s) {
  BenchmarkResult result;
  result.test_name = std::move(test_name);
  result.model_name = std::move(model_name);
  result.architecture_type = std::move(architecture);
  result.test_timestamp = document_time();
  result.target_time = target_s;
  return result;
}

void set_time(BenchmarkResult& result, bool mean) {
  if (result.times.empty()) return;
  if (mean) {
    double sum = 0;
    for (const double time : result.times) sum += time;
    result.total_time = sum / static_cast<double>(result.times.size());
    result.total_time_interval = stats::mean_interval(result.times);
  } else {
    result.total_time = stats::quantile(result.times, 0.5);
    // Too few for one of the median: Student's, which trusts the times to be near normal.
    result.total_time_interval = stats::median_interval(result.times);
    if (!result.total_time_interval)
      result.total_time_interval = stats::mean_interval(result.times);
  }
  if (!result.total_time_interval) {
    result.notes.push_back("one call has no interval: nothing is known about the next");
  }
}

BenchmarkResult ValidatorState::finish(BenchmarkResult result) {
  if (result.total_time) {
    const auto score = target_score(result.target_time, *result.total_time,
                                    Direction::lower_is_better, result.total_time_interval);
    if (score) {
      result.performance_score = score->score;
      result.target_met = score->confident.value_or(score->met);
    }
    const std::lock_guard lock(mutex);
    if (baseline_s && *result.total_time > 0)
      result.improvement_factor = *baseline_s / *result.total_time;
  }
  return result;
}

void ValidatorState::keep(const BenchmarkResult& result) {
  const std::lock_guard lock(mutex);
  results.push_back(result);
}

void ValidatorState::set_gpu(const bench::GpuWatched& watched, BenchmarkResult& result) {
  {
    const std::lock_guard lock(mutex);
    if (!hardware || hardware->gpus.empty()) hardware = watched;
  }
  result.gpu_absent = watched.absent;
  if (watched.gpus.empty()) return;
  double busy = 0, used = 0, peak = 0, total = 0;
  std::size_t with_busy = 0, with_memory = 0;
  for (const bench::WatchedGpu& gpu : watched.gpus) {
    if (gpu.busy_ratio.mean) {
      busy += *gpu.busy_ratio.mean;
      ++with_busy;
    }
    if (gpu.memory_used_bytes.mean && gpu.memory_total_bytes) {
      used += *gpu.memory_used_bytes.mean;
      peak += *gpu.memory_used_bytes.max;
      total += *gpu.memory_total_bytes;
      ++with_memory;
    }
  }
  const bench::WatchedGpu& first = watched.gpus.front();
  result.gpu_name = first.name;
  result.driver_version = first.driver;
  result.cuda_version = first.cuda;
  if (with_busy > 0) {
    result.gpu_utilization_percent = busy / static_cast<double>(with_busy) * 100;
  } else {
    result.gpu_absent = "utilization: " + first.busy_ratio.absent;
  }
  if (with_memory > 0) {
    result.gpu_memory_used_gb = used / 1e9;
    result.gpu_memory_peak_gb = peak / 1e9;
    if (total > 0) result.gpu_memory_efficiency = used / total * 100;
  } else if (result.gpu_absent.empty()) {
    result.gpu_absent = "memory: " + first.memory_used_bytes.absent;
  }
}

GpuDuring::GpuDuring(ValidatorState& impl) : impl_(impl) {
  if (!impl.options.gpu) return;
  watch_ =
      std::make_unique<bench::GpuWatch>(bench::make_gpu_probes(), impl.options.sampling_interval);
  if (!watch_->start()) watch_.reset();
}

void GpuDuring::put(BenchmarkResult& result) {
  if (watch_ == nullptr) {
    result.gpu_absent = impl_.options.gpu ? "no thread could be made that reads it" : "gpu is off";
    return;
  }
  impl_.set_gpu(watch_->stop(), result);
  watch_.reset();
}

}  // namespace genscope::compat
