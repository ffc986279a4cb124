// Scores against targets: closed forms.
#include <algorithm>
#include <cmath>

#include "analyze/verdict/verdict.h"

namespace genscope {

std::optional<TargetScore> target_score(double target, double measured, Direction direction,
                                        const std::optional<stats::Interval>& interval) {
  if (!(target >= 0) || !(measured >= 0) || !std::isfinite(target) || !std::isfinite(measured)) {
    return std::nullopt;
  }
  const bool lower = direction == Direction::lower_is_better;
  const auto meets = [&](double value) { return lower ? value <= target : value >= target; };
  TargetScore score;
  score.met = meets(measured);
  const double good = lower ? target : measured, of = lower ? measured : target;
  score.score = score.met ? 100 : std::clamp(100 * (good / of), 0.0, 100.0);
  if (interval) score.confident = meets(lower ? interval->high : interval->low);
  return score;
}

std::optional<BeforeAfterScore> before_after_score(double before, double after) {
  if (!(before > 0) || !(after > 0) || !std::isfinite(before) || !std::isfinite(after)) {
    return std::nullopt;
  }
  return BeforeAfterScore{before / after, (before - after) / before * 100};
}

std::optional<double> composite_score(std::span<const ScorePart> parts) {
  constexpr double kLeastScore = 1e-6;
  double logs = 0, weights = 0;
  for (const ScorePart& part : parts) {
    if (!(part.weight >= 0) || !std::isfinite(part.weight) || !(part.score >= 0) ||
        !std::isfinite(part.score)) {
      return std::nullopt;
    }
    logs += part.weight * std::log(std::max(part.score, kLeastScore));
    weights += part.weight;
  }
  if (!(weights > 0)) return std::nullopt;
  return std::exp(logs / weights);
}

std::optional<SpeedupResult> judge_speedup(const Judgement& judgement, double least,
                                           Direction direction) {
  if (!judgement.ratio || !(least > 0)) return std::nullopt;
  const bool lower = direction == Direction::lower_is_better;
  SpeedupResult result;
  result.speedup = lower ? 1 / *judgement.ratio : *judgement.ratio;
  result.met = result.speedup >= least;
  if (judgement.interval) {
    const stats::Interval& i = *judgement.interval;
    result.interval = lower ? stats::Interval{1 / i.high, 1 / i.low, i.confidence} : i;
    result.confident = result.interval->low >= least;
  }
  return result;
}

}  // namespace genscope
