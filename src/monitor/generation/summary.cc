#include "analyze/statistics/statistics.h"

#include "monitor/generation/hub.h"

namespace genscope::monitor {
namespace {

constexpr std::size_t kMinTrend = 5;

std::optional<ScoreTrend> score_trend(const std::vector<double>& scores) {
  if (scores.size() < kMinTrend) return std::nullopt;
  std::vector<double> index(scores.size());
  for (std::size_t i = 0; i < index.size(); ++i) index[i] = static_cast<double>(i);
  const auto trend = stats::trend(index, scores);
  if (!trend) return std::nullopt;
  return ScoreTrend{trend->slope, trend->low, trend->high};
}

}  // namespace

GenerationSummary GenerationHub::summary() const {
  GenerationSummary summary;
  summary.target = options.target;
  std::vector<GenerationMetrics> history;
  std::vector<double> steps;
  {
    const std::lock_guard lock(mutex_);
    summary.current_generation = last_;
    summary.lifetime_generations = lifetime_;
    summary.lifetime_failed = lifetime_failed_;
    history = history_.items();
    steps = steps_.items();
  }
  std::vector<double> seconds, scores;
  std::uint64_t met = 0;
  for (const GenerationMetrics& metrics : history) {
    scores.push_back(metrics.performance_score);
    if (metrics.target_met) met++;
    if (metrics.status == TargetStatus::failed) {
      summary.failed_generations++;
    } else {
      seconds.push_back(metrics.total_generation_time);
    }
  }
  summary.total_generations = history.size();
  summary.generation_time = time_figures(seconds);
  summary.step_time = time_figures(steps);
  summary.avg_performance_score = stats::describe(scores).mean;
  summary.score_trend = score_trend(scores);
  if (!history.empty()) {
    summary.success_rate = 100 * static_cast<double>(met) / static_cast<double>(history.size());
  }
  return summary;
}

}  // namespace genscope::monitor
