// A target is a statistic of a cell's units against a limit. Percentiles are over samples, and only
// those that so many samples can show; a target that cannot be judged says why and has no score. A
// speed-up is judged by the conservative end of its interval, so that noise meets no target.
#include "bench/suite/targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyze/inference/inference.h"
#include "analyze/statistics/statistics.h"
#include "analyze/verdict/verdict.h"
#include "base/suggest.h"
#include "bench/run/quantities.h"

namespace genscope::bench {
namespace {

struct Stat {
  std::optional<double> value;
  std::optional<stats::Interval> ci;
  std::string absent;
};

std::string why_absent(const Cell& cell, const std::string& metric) {
  const auto said = cell.absent.find(metric);
  if (said != cell.absent.end()) return said->second;
  const std::string meant = base::nearest(metric, metrics_of(cell, 'A'));
  return fmt::format("{} was not measured{}", metric,
                     meant.empty() ? "" : fmt::format("; did you mean {}?", meant));
}

std::vector<double> all_samples(const Cell& cell, const std::string& metric) {
  std::vector<double> values;
  for (const Unit& unit : cell.units) {
    for (const Sample& sample : unit.samples) {
      if (unit.failure || sample.failure) continue;
      if (const auto value = value_of(sample, metric)) values.push_back(*value);
    }
  }
  return values;
}

// Of a load: over its requests, "latency_p99_s" of ("latency_s", "p99"). The run has judged whether
// there are enough of them.
Stat load_percentile(const Cell& cell, const SuiteTarget& target) {
  const std::size_t unit = target.metric.rfind('_');
  if (unit == std::string::npos) return {{}, {}, why_absent(cell, target.metric)};
  const std::string metric = fmt::format("{}_{}{}", target.metric.substr(0, unit), target.stat,
                                         target.metric.substr(unit));
  const std::vector<double> values = unit_values(cell, 'A', metric);
  if (values.empty()) {
    return {{}, {}, fmt::format("{}: the load has too few requests for it", metric)};
  }
  return {stats::quantile(values, 0.5), stats::median_interval(values), {}};
}

// Only what so many samples can show; never a p99 of 20 images.
Stat percentile_stat(const Cell& cell, const SuiteTarget& target, double confidence) {
  const std::vector<double> values = all_samples(cell, target.metric);
  const double percentile = number_in(std::string_view(target.stat).substr(1)).value_or(50) / 100;
  const auto claim = stats::claim_percentile(values, percentile, confidence);
  if (!claim) return {{}, {}, why_absent(cell, target.metric)};
  if (claim->estimate) return {claim->estimate, {}, {}};
  return {
      {},
      {},
      fmt::format("{} needs {} samples, there are {}", target.stat, claim->least, values.size())};
}

Stat stat_of(const Cell& cell, const SuiteTarget& target, bool load, double confidence) {
  if (load && target.stat.starts_with('p')) return load_percentile(cell, target);
  if (target.stat.starts_with('p')) return percentile_stat(cell, target, confidence);
  const std::vector<double> values = unit_values(cell, 'A', target.metric);
  if (values.empty()) return {{}, {}, why_absent(cell, target.metric)};
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  if (target.stat == "min") return {*least, {}, {}};
  if (target.stat == "max") return {*most, {}, {}};
  if (target.stat == "median") {
    return {stats::quantile(values, 0.5), stats::median_interval(values, confidence), {}};
  }
  double sum = 0;
  for (const double value : values) sum += value;
  return {sum / static_cast<double>(values.size()), stats::mean_interval(values, confidence), {}};
}

TargetResult target_for(const Cell& cell, const SuiteTarget& target) {
  TargetResult out;
  out.cell = cell.id;
  out.metric = target.metric;
  out.stat = target.stat;
  out.limit_max = target.max;
  out.limit_min = target.min;
  out.weight = target.weight;
  return out;
}

TargetResult judge_plain(const Cell& cell, const SuiteTarget& target, bool load,
                         double confidence) {
  TargetResult out = target_for(cell, target);
  Stat stat = stat_of(cell, target, load, confidence);
  out.value = stat.value;
  out.ci = stat.ci;
  out.absent = std::move(stat.absent);
  if (!out.value) return out;
  const Direction direction = target.max ? Direction::lower_is_better : Direction::higher_is_better;
  out.score = target_score(target.max ? *target.max : *target.min, *out.value, direction, out.ci);
  if (!out.score) out.absent = "a value below 0 has no score";
  return out;
}

// Judged on the conservative end: only what the whole interval shows is met.
TargetResult judge_speed(const Cell& cell, const SuiteTarget& target, const Cell* before,
                         std::string_view why, double confidence) {
  TargetResult out = target_for(cell, target);
  out.metric = fmt::format("speedup_vs.{}", target.speedup_vs);
  out.stat = "ratio";
  out.absent = why;
  if (before == nullptr) return out;
  JudgeOptions options;
  options.confidence = confidence;
  options.direction = metric(target.metric).direction;
  const Judgement judgement =
      judge(measured(*before, 'A', target.metric), measured(cell, 'A', target.metric), options);
  const double least = target.min.value_or(1);
  const auto speedup = judge_speedup(judgement, least, options.direction);
  if (!speedup) {
    out.absent = judgement.reason;
    return out;
  }
  out.value = speedup->speedup;
  out.ci = speedup->interval;
  if (!out.ci) {
    out.absent = fmt::format("{:.3g} x as fast, without an interval: more units are needed",
                             speedup->speedup);
    return out;
  }
  out.score = target_score(least, out.ci->low, Direction::higher_is_better);
  if (out.score) {
    out.score->met = speedup->confident;
    out.score->confident = speedup->confident;
  }
  return out;
}

struct Baseline {
  std::optional<BenchResult> result;
  std::string why;  // it is not there
};

}  // namespace

std::vector<TargetResult> judge_targets(const Suite& suite, const BenchResult& result,
                                        const FindBaseline& find,
                                        std::vector<std::string>& missing) {
  std::map<std::string, Baseline> baselines;
  for (const SuiteTarget& target : suite.targets) {
    if (target.speedup_vs.empty() || baselines.contains(target.speedup_vs)) continue;
    Result<BenchResult> found = find(target.speedup_vs);
    Baseline& baseline = baselines[target.speedup_vs];
    if (found) {
      baseline.result = std::move(*found);
    } else {
      baseline.why = found.error().message;
      missing.push_back(found.error().message);
    }
  }
  std::vector<TargetResult> out;
  for (const SuiteTarget& target : suite.targets) {
    for (const Cell& cell : result.cells) {
      if (cell.status == "skipped" && cell.units.empty()) continue;
      if (target.speedup_vs.empty()) {
        out.push_back(judge_plain(cell, target, suite.load.has_value(), suite.stop.confidence));
        continue;
      }
      const Baseline& baseline = baselines[target.speedup_vs];
      const Cell* before = nullptr;
      std::string why = baseline.why;
      if (baseline.result) {
        for (const Cell& one : baseline.result->cells) {
          if (one.id == cell.id) before = &one;
        }
        if (before == nullptr) why = fmt::format("{} has no such cell", target.speedup_vs);
      }
      out.push_back(judge_speed(cell, target, before, why, suite.stop.confidence));
    }
  }
  return out;
}

void score_targets(BenchResult& result) {
  std::vector<ScorePart> all;
  std::map<std::string, std::vector<ScorePart>> by_metric;
  for (const TargetResult& target : result.targets) {
    if (!target.score) continue;
    const ScorePart part{target.score->score, target.weight};
    all.push_back(part);
    by_metric[target.metric].push_back(part);
  }
  result.score = composite_score(all);
  result.score_parts.clear();
  for (const auto& [metric, parts] : by_metric) {
    if (const auto score = composite_score(parts)) result.score_parts[metric] = *score;
  }
}

}  // namespace genscope::bench
