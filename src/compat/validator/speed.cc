// Before against after: bench's own engine, in turns, judged on the conservative end.
#include <fmt/format.h>

#include "analyze/verdict/verdict.h"
#include "compat/validator/state.h"

namespace genscope::compat {
namespace {

std::unique_ptr<bench::Subject> subject_of(const GeneratorFunction& function,
                                           const std::string& prompt, const ValidatorState& impl,
                                           std::string& last_error) {
  return bench::callable_subject([&function, prompt, &impl, &last_error](const bench::Request&) {
    bench::Sample sample;
    if (impl.cancelled()) {
      sample.failure = bench::Failure{bench::FailureClass::cancelled, "it was interrupted"};
      return sample;
    }
    double seconds = 0;
    const CallOutcome outcome = call_safely(function, {.prompt = prompt}, seconds);
    if (outcome.error.empty()) {
      sample.metrics["latency_s"] = seconds;
    } else {
      last_error = outcome.error;
      sample.failure = bench::Failure{bench::FailureClass::crash, outcome.error};
    }
    return sample;
  });
}

BenchmarkResult result_of(const bench::Cell& cell, char slot, ValidatorState& impl) {
  BenchmarkResult result = new_result(slot == 'A' ? "before_optimization" : "after_optimization",
                                      slot == 'A' ? "Original" : "Optimized", "MMDiT",
                                      impl.options.target_generation_time);
  Calls calls;
  for (const bench::Unit& unit : cell.units) {
    if (unit.slot != slot) continue;
    for (const bench::Sample& sample : unit.samples) {
      if (!sample.failure) {
        calls.times.push_back(sample.metrics.at("latency_s"));
      } else if (sample.failure->kind != bench::FailureClass::cancelled) {
        calls.add_error(fmt::format("{} test failed: {}", slot == 'A' ? "Before" : "After",
                                    sample.failure->detail));
      }
    }
  }
  calls.put(result);
  set_time(result, false);
  return impl.finish(std::move(result));
}

// A side that fails in the warm-up has no unit: what it said last is told here.
void note_failure(const std::string& error, const char* side, BenchmarkResult& result) {
  if (error.empty() || !result.times.empty() || result.error_count > 0) return;
  result.error_count = 1;
  result.success_rate = 0;
  result.warnings.push_back(fmt::format("{} test failed: {}", side, error));
}

std::string sentence_of(const SpeedValidation& validation) {
  if (!validation.improvement_factor) {
    for (const BenchmarkResult* side : {&validation.before, &validation.after}) {
      if (side->error_count > 0) return side->warnings.front();
    }
    return "nothing was measured";
  }
  const std::string factor = fmt::format("{:.1f} x", *validation.improvement_factor);
  if (!validation.improvement_interval) {
    return fmt::format("{}, of too few runs for an interval: {}", factor,
                       validation.judgement.reason);
  }
  return fmt::format("{} ({:.0f} %: {:.1f} to {:.1f}), at least {:g} x is wanted", factor,
                     validation.improvement_interval->confidence * 100,
                     validation.improvement_interval->low, validation.improvement_interval->high,
                     validation.target_improvement_factor);
}

}  // namespace

SpeedValidation PerformanceValidator::run_speed_improvement_validation(
    const GeneratorFunction& before, const GeneratorFunction& after,
    const std::string& test_prompt) {
  std::string before_error, after_error;
  const auto first = subject_of(before, test_prompt, *impl_, before_error);
  const auto second = subject_of(after, test_prompt, *impl_, after_error);
  const bench::Side sides[] = {{'A', first.get(), {}}, {'B', second.get(), {}}};
  bench::MeasureOptions options;
  options.units_min = impl_->options.runs_min;
  options.units_max = std::max(impl_->options.runs_min, impl_->options.runs_max);
  options.warmup_max = impl_->options.warmup;
  options.budget_s = impl_->options.budget_seconds;
  GpuDuring gpu(*impl_);
  const bench::Cell cell = bench::measure("speed", {}, sides, options);

  SpeedValidation validation;
  validation.target_improvement_factor = impl_->options.target_improvement_factor;
  validation.before = result_of(cell, 'A', *impl_);
  validation.after = result_of(cell, 'B', *impl_);
  gpu.put(validation.after);
  note_failure(before_error, "Before", validation.before);
  note_failure(after_error, "After", validation.after);
  JudgeOptions judging;
  judging.paired = true;
  validation.judgement = judge(bench::measured(cell, 'A', "latency_s"),
                               bench::measured(cell, 'B', "latency_s"), judging);
  if (const auto speedup =
          judge_speedup(validation.judgement, validation.target_improvement_factor)) {
    validation.improvement_factor = speedup->speedup;
    validation.improvement_interval = speedup->interval;
    validation.target_met = speedup->confident;
    validation.after.improvement_factor = speedup->speedup;
  }
  if (validation.before.total_time && validation.after.total_time) {
    validation.time_saved_seconds = *validation.before.total_time - *validation.after.total_time;
  }
  validation.validation_status = validation.target_met ? "PASSED" : "FAILED";
  validation.reason = sentence_of(validation);
  impl_->keep(validation.before);
  impl_->keep(validation.after);
  return validation;
}

}  // namespace genscope::compat
