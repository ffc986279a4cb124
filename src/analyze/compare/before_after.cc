#include "analyze/compare/before_after.h"

#include <algorithm>

namespace genscope::analysis {
namespace {

constexpr double kSecond = 1e9;

std::optional<double> median_seconds(const Sample& sample) {
  if (sample.count == 0 || !(sample.median_ns > 0)) return std::nullopt;
  return sample.median_ns / kSecond;
}

std::optional<double> total_seconds(const Side& side) {
  for (const SpanKind kind : {SpanKind::request, SpanKind::session}) {
    const Sample& all = side.samples.of(kind).sample;
    if (all.present()) return median_seconds(all);  // all failed: there is no time to tell
  }
  if (side.analysis.wall_ns <= 0) return std::nullopt;
  return static_cast<double>(side.analysis.wall_ns) / kSecond;
}

std::optional<double> step_seconds(const Side& side) {
  const std::optional<double> steady = median_seconds(side.samples.steady);
  return steady ? steady : median_seconds(side.samples.of(SpanKind::step).sample);
}

std::optional<std::string> model_of(const RunFacts& facts) {
  for (const char* key : {"model", "model.arch[denoiser]", "arch"}) {
    if (const auto it = facts.find(key); it != facts.end()) return it->second.text;
  }
  return std::nullopt;
}

std::optional<double> improvement(std::optional<double> before, std::optional<double> after) {
  if (!before || !after) return std::nullopt;
  return (*before - *after) / *before * 100;
}

std::optional<double> score(std::optional<double> target, std::optional<double> seconds) {
  if (!target || !seconds) return std::nullopt;
  return std::min(100.0, *target / *seconds * 100);
}

std::optional<bool> met(std::optional<double> target, std::optional<double> seconds) {
  if (!target || !seconds) return std::nullopt;
  return *seconds <= *target;
}

}  // namespace

BeforeAfter before_after(const Side& before, const RunFacts& before_facts, const Side& after,
                         const RunFacts& after_facts, std::optional<double> target_seconds) {
  BeforeAfter result;
  result.before_seconds = total_seconds(before);
  result.after_seconds = total_seconds(after);
  result.before_step_seconds = step_seconds(before);
  result.after_step_seconds = step_seconds(after);
  result.before_model = model_of(before_facts);
  result.after_model = model_of(after_facts);
  result.total_time_percent = improvement(result.before_seconds, result.after_seconds);
  result.per_step_time_percent = improvement(result.before_step_seconds, result.after_step_seconds);
  if (result.total_time_percent) {
    result.improvement_factor = *result.before_seconds / *result.after_seconds;
    result.faster = *result.total_time_percent > 0;
    result.significant_improvement = *result.total_time_percent > kSignificantPercent;
  }
  result.before_score = score(target_seconds, result.before_seconds);
  result.after_score = score(target_seconds, result.after_seconds);
  result.before_target_met = met(target_seconds, result.before_seconds);
  result.after_target_met = met(target_seconds, result.after_seconds);
  result.meets_target_now = result.after_target_met;
  if (result.before_target_met && result.after_target_met) {
    result.target_status_change = *result.after_target_met && !*result.before_target_met;
  }
  return result;
}

}  // namespace genscope::analysis
