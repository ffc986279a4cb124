// What the results of a validator add up to, and the file of all of them.
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/file.h"
#include "bench/result/timestamp.h"
#include "compat/validator/json.h"
#include "compat/validator/state.h"

namespace genscope::compat {
namespace {

// The document's limits.
constexpr double kLowUtilization = 70, kLowEfficiency = 50, kSlowStep = 1.0, kShareOfTests = 0.8;

// The mean of what is known; nothing where nothing is.
template <class Figure>
std::optional<double> mean_known(const std::vector<BenchmarkResult>& results, Figure figure) {
  double sum = 0;
  std::size_t n = 0;
  for (const BenchmarkResult& result : results) {
    if (const std::optional<double> value = figure(result)) {
      sum += *value;
      ++n;
    }
  }
  if (n == 0) return std::nullopt;
  return sum / static_cast<double>(n);
}

std::size_t count_passed(const std::vector<BenchmarkResult>& results) {
  return static_cast<std::size_t>(
      std::count_if(results.begin(), results.end(),
                    [](const BenchmarkResult& result) { return result.target_met; }));
}

double mean_score(const std::vector<BenchmarkResult>& results) {
  return mean_known(results, [](const auto& r) { return std::optional(r.performance_score); })
      .value_or(0);
}
std::optional<double> mean_improvement(const std::vector<BenchmarkResult>& results) {
  return mean_known(results, [](const auto& r) { return r.improvement_factor; });
}

Json extreme(const BenchmarkResult& result) {
  return {{"test_name", result.test_name},
          {"performance_score", result.performance_score},
          {"total_time", or_null(result.total_time)},
          {"improvement_factor", or_null(result.improvement_factor)}};
}

Json hardware(const std::optional<bench::GpuWatched>& seen) {
  Json info{{"cpu_count", ::sysconf(_SC_NPROCESSORS_ONLN)},
            {"memory_total_gb", static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
                                    static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1e9}};
  if (!seen) {
    info["gpu_available"] = nullptr;  // nobody has looked
    return info;
  }
  info["gpu_available"] = !seen->gpus.empty();
  if (seen->gpus.empty()) {
    info["gpu_absent"] = seen->absent;
    return info;
  }
  const bench::WatchedGpu& gpu = seen->gpus.front();
  info["gpu_name"] = gpu.name;
  info["gpu_memory_total_gb"] =
      gpu.memory_total_bytes ? Json(*gpu.memory_total_bytes / 1e9) : Json();
  info["cuda_version"] = gpu.cuda.empty() ? Json() : Json(gpu.cuda);
  info["driver_version"] = gpu.driver.empty() ? Json() : Json(gpu.driver);
  return info;
}

}  // namespace

std::string PerformanceValidator::hardware_json() const {
  std::optional<bench::GpuWatched> seen;
  {
    const std::lock_guard lock(impl_->mutex);
    seen = impl_->hardware;
  }
  if (!seen && impl_->options.gpu) {
    BenchmarkResult ignored;
    GpuDuring(*impl_).put(ignored);
    const std::lock_guard lock(impl_->mutex);
    seen = impl_->hardware;
  }
  return text_of(hardware(seen));
}

// Never about what was not measured.
std::vector<std::string> PerformanceValidator::recommendations() const {
  const std::vector<BenchmarkResult> all = results();
  if (all.empty()) return {"No benchmark data available for recommendations"};
  std::vector<std::string> advice;
  const auto busy = mean_known(all, [](const auto& r) { return r.gpu_utilization_percent; });
  if (busy && *busy < kLowUtilization) {
    advice.push_back(fmt::format(
        "Low GPU utilization ({:.0f} %): look for time outside of the GPU with `genscope run`",
        *busy));
  }
  const auto memory = mean_known(all, [](const auto& r) { return r.gpu_memory_efficiency; });
  if (memory && *memory < kLowEfficiency) {
    advice.push_back(
        fmt::format("{:.0f} % of the GPU's memory is in use: a larger batch may fit", *memory));
  }
  const auto step = mean_known(all, [](const auto& r) {
    return r.architecture_type == "MMDiT" ? r.per_step_time : std::nullopt;
  });
  if (step && *step > kSlowStep) {
    advice.push_back(
        fmt::format("A step takes {:.2f} s: check which attention the model uses", *step));
  }
  const std::size_t missed = all.size() - count_passed(all);
  if (missed > 0)
    advice.push_back(fmt::format("{} of {} tests missed the target or failed", missed, all.size()));
  if (advice.empty()) advice.push_back("Every target was met");
  return advice;
}

std::string PerformanceValidator::get_performance_summary() const {
  const std::vector<BenchmarkResult> all = results();
  if (all.empty()) return text_of({{"error", "No benchmark results available"}});
  const std::size_t passed = count_passed(all);
  const double share = static_cast<double>(passed) / static_cast<double>(all.size());
  const std::optional<double> improvement = mean_improvement(all);
  const auto by_score = [](const BenchmarkResult& a, const BenchmarkResult& b) {
    return a.performance_score < b.performance_score;
  };
  Json improvement_met;
  if (improvement) improvement_met = *improvement >= impl_->options.target_improvement_factor;
  return text_of(
      {{"overall_status", passed == all.size() ? "PASSED" : "FAILED"},
       {"test_statistics",
        {{"total_tests", all.size()},
         {"passed_tests", passed},
         {"failed_tests", all.size() - passed},
         {"pass_rate", share * 100},
         {"average_performance_score", mean_score(all)},
         {"average_improvement_factor", or_null(improvement)}}},
       {"performance_targets",
        {{"target_improvement_factor", impl_->options.target_improvement_factor},
         {"target_generation_time", impl_->options.target_generation_time},
         {"improvement_target_met", std::move(improvement_met)},
         {"time_target_met", share >= kShareOfTests}}},
       {"best_performance", extreme(*std::max_element(all.begin(), all.end(), by_score))},
       {"worst_performance", extreme(*std::min_element(all.begin(), all.end(), by_score))},
       {"hardware_info", Json::parse(hardware_json())},
       {"recommendations", recommendations()}});
}

std::string PerformanceValidator::to_json(const SuiteResult& suite) const {
  Json tests = Json::array();
  for (const BenchmarkResult& test : suite.test_results) tests.push_back(json_of(test));
  return text_of({{"suite_name", suite.suite_name},
                  {"start_time", suite.start_time},
                  {"target_improvement_factor", suite.target_improvement_factor},
                  {"target_generation_time", suite.target_generation_time},
                  {"test_results", std::move(tests)},
                  {"summary",
                   {{"total_tests", suite.total_tests},
                    {"passed_tests", suite.passed_tests},
                    {"failed_tests", suite.total_tests - suite.passed_tests},
                    {"pass_rate", suite.pass_rate},
                    {"overall_status", suite.overall_status},
                    {"end_time", suite.end_time},
                    {"notes", suite.notes}}},
                  {"hardware_info", Json::parse(hardware_json())}});
}

Status PerformanceValidator::export_benchmark_results(const std::string& path) const {
  const std::vector<BenchmarkResult> all = results();
  std::optional<double> baseline;
  {
    const std::lock_guard lock(impl_->mutex);
    baseline = impl_->baseline_s;
  }
  Json rows = Json::array(), metrics;
  for (const BenchmarkResult& result : all) rows.push_back(json_of(result));
  if (baseline) metrics = {{"total_generation_time", *baseline}};
  const Json whole{{"export_timestamp", document_time()},
                   {"hardware_info", Json::parse(hardware_json())},
                   {"target_improvement_factor", impl_->options.target_improvement_factor},
                   {"target_generation_time", impl_->options.target_generation_time},
                   {"baseline_metrics", std::move(metrics)},
                   {"benchmark_results", std::move(rows)},
                   {"summary",
                    {{"total_benchmarks", all.size()},
                     {"passed_benchmarks", count_passed(all)},
                     {"average_performance_score", all.empty() ? Json() : Json(mean_score(all))},
                     {"average_improvement_factor", or_null(mean_improvement(all))}}}};
  return base::write_file(path, text_of(whole, 2) + "\n");
}

Result<SpeedValidation> validate_performance_improvement(const GeneratorFunction& before,
                                                         const GeneratorFunction& after,
                                                         const std::string& test_prompt,
                                                         double target_improvement,
                                                         const std::string& folder) {
  PerformanceValidator validator(ValidatorOptions{.target_improvement_factor = target_improvement});
  SpeedValidation validation =
      validator.run_speed_improvement_validation(before, after, test_prompt);
  std::string stamp = bench::timestamp_now().substr(0, 19);  // 2026-01-31T12:00:00
  std::erase_if(stamp, [](char c) { return c == '-' || c == ':'; });
  std::replace(stamp.begin(), stamp.end(), 'T', '_');
  const Status written = validator.export_benchmark_results(
      fmt::format("{}/performance_validation_{}.json", folder, stamp));
  if (!written) return written.error();
  return validation;
}

}  // namespace genscope::compat
