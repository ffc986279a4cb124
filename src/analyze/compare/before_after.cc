#include "analyze/compare/before_after.h"

#include <algorithm>
#include <vector>

#include "analyze/statistics/statistics.h"

namespace genscope::analysis {
namespace {

// Of the runs that have it.
std::optional<double> median_of(const Records& runs, std::optional<double> RunRecord::*figure) {
  std::vector<double> values;
  for (const RunRecord* run : runs) {
    if (run->*figure) values.push_back(*(run->*figure));
  }
  return stats::quantile(values, 0.5);
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

BeforeAfter before_after(const Records& before, const RunFacts& before_facts, const Records& after,
                         const RunFacts& after_facts, std::optional<double> target_seconds) {
  BeforeAfter result;
  result.before_seconds = median_of(before, &RunRecord::generation_seconds);
  result.after_seconds = median_of(after, &RunRecord::generation_seconds);
  result.before_step_seconds = median_of(before, &RunRecord::step_seconds);
  result.after_step_seconds = median_of(after, &RunRecord::step_seconds);
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
