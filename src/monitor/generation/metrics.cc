// The pure part: scores, figures of a column, two generations compared.
#include <algorithm>
#include <cmath>

#include <genscope/monitor.h>

#include "analyze/statistics/statistics.h"

namespace genscope {
namespace {

// By how many percent `after` is below `before`; nothing where that has no meaning.
std::optional<double> gained(std::optional<double> before, std::optional<double> after) {
  if (!before || !after || !(*before > 0)) return std::nullopt;
  return (*before - *after) / *before * 100;
}

std::optional<double> time_of(const GenerationMetrics& metrics) {
  if (metrics.status == TargetStatus::failed) return std::nullopt;
  return metrics.total_generation_time;
}

}  // namespace

std::string_view name(TargetStatus status) noexcept {
  switch (status) {
    case TargetStatus::met:
      return "met";
    case TargetStatus::missed:
      return "missed";
    case TargetStatus::missed_2x:
      return "missed_2x";
    case TargetStatus::failed:
      break;
  }
  return "failed";
}

double performance_score(double total_seconds, double target_seconds) noexcept {
  if (!(target_seconds > 0)) return 0;
  if (!(total_seconds > target_seconds)) return 100;
  return 100 * target_seconds / total_seconds;
}

TargetStatus target_status(double total_seconds, double target_seconds) noexcept {
  if (total_seconds <= target_seconds) return TargetStatus::met;
  return total_seconds > 2 * target_seconds ? TargetStatus::missed_2x : TargetStatus::missed;
}

TimeFigures time_figures(const std::vector<double>& seconds) {
  TimeFigures figures;
  figures.count = seconds.size();
  const stats::Description described = stats::describe(seconds);
  figures.mean = described.mean;
  figures.min = described.min;
  figures.max = described.max;
  figures.p50 = described.median;
  figures.p95 = stats::quantile(seconds, 0.95);
  return figures;
}

GenerationComparison compare_generations(const GenerationMetrics& before,
                                         const GenerationMetrics& after) {
  GenerationComparison c;
  c.before = before;
  c.after = after;
  c.total_time_percent = gained(time_of(before), time_of(after));
  if (time_of(before) && time_of(after)) {
    c.per_step_time_percent =
        gained(before.generation_time_per_step, after.generation_time_per_step);
    c.faster = *time_of(after) < *time_of(before);
    if (after.total_generation_time > 0 && before.total_generation_time > 0) {
      c.improvement_factor = before.total_generation_time / after.total_generation_time;
    }
  }
  c.performance_score_change = after.performance_score - before.performance_score;
  c.target_status_change = after.target_met && !before.target_met;
  c.meets_target_now = after.target_met;
  c.significant_improvement =
      c.total_time_percent && *c.total_time_percent > GenerationComparison::kSignificantPercent;
  return c;
}

}  // namespace genscope
