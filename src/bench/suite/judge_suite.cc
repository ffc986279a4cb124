// What a suite says about a result: comparisons, targets, score, exit.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/inference/inference.h"
#include "bench/suite/suite.h"
#include "bench/suite/suite_quality.h"
#include "bench/suite/targets.h"

namespace genscope::bench {
namespace {

bool lists(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

MetricRules rules_of(const Suite& suite, const JudgeOptions& common) {
  MetricRules rules;
  const bool gates = !suite.compare->verdict.empty();
  for (const SuiteMetric& metric : suite.metrics) {
    MetricRule& rule = rules[metric.name];
    rule.judge = common;
    rule.judge.min_effect = metric.min_effect;
    rule.judge.abs_floor = metric.abs_floor;
    rule.judge.direction = metric.direction;
    if (metric.name != "latency_s") rule.judge.noise.reset();
    rule.gate = gates && metric.gate;
  }
  return rules;
}

// A gate that nobody measured must not pass in silence.
void add_open_gates(const Suite& suite, const std::string& base, BenchResult& result) {
  for (const SuiteMetric& metric : suite.metrics) {
    if (!metric.gate) continue;
    for (const Cell& cell : result.cells) {
      if (cell.units.empty()) continue;
      const auto same = [&](const Comparison& one) {
        return one.cell == cell.id &&
               (one.metric == metric.name || one.judgement.verdict == Verdict::incomparable);
      };
      if (std::any_of(result.comparisons.begin(), result.comparisons.end(), same)) continue;
      Comparison open;
      open.cell = cell.id;
      open.metric = metric.name;
      open.base = base;
      open.gate = true;
      const auto why = cell.absent.find(metric.name);
      open.judgement.reason = why != cell.absent.end() ? why->second : "not measured on both sides";
      result.comparisons.push_back(std::move(open));
    }
  }
}

void compare_with(const Suite& suite, const BenchResult& base, BenchResult& result) {
  JudgeOptions common;
  common.confidence = 1 - suite.compare->alpha;
  common.noise = noise_floor_of(result.environment.klass, "");
  result.comparisons = compare_results(base, result, common, rules_of(suite, common));
  add_open_gates(suite, base.id, result);
}

void add_reason(BenchResult& result, int code, std::string sentence) {
  result.exit.code = worse_exit(result.exit.code, code);
  result.exit.reasons.insert(result.exit.reasons.begin(), std::move(sentence));
}

// The lower end of Wilson's interval: 10 of 10 show no more than 72 %.
void check_success(const Suite& suite, BenchResult& result) {
  if (!suite.prompts.min_success) return;
  std::uint64_t good = 0, all = 0;
  for (const Cell& cell : result.cells) {
    for (const Unit& unit : cell.units) {
      if (unit.failure) ++all;
      for (const Sample& sample : unit.samples) {
        ++all;
        good += sample.failure || unit.failure ? 0 : 1;
      }
    }
  }
  if (all == 0) return;
  const double least = *suite.prompts.min_success;
  const auto rate = stats::proportion(good, all, suite.stop.confidence);
  if (static_cast<double>(good) / static_cast<double>(all) < least) {
    add_reason(result, kProductFailed,
               fmt::format("{} of {} succeeded; the suite wants {:g} %.", good, all, least * 100));
  } else if (rate && rate->wilson.low < least) {
    result.exit.reasons.push_back(
        fmt::format("{} of {} succeeded, which shows {:.1f} % at the least; the suite wants {:g} "
                    "%: more samples would tell.",
                    good, all, rate->wilson.low * 100, least * 100));
  }
}

void check_verdicts(const Suite& suite, BenchResult& result) {
  if (!suite.compare) return;
  for (const Comparison& one : result.comparisons) {
    const std::string_view verdict = name(one.judgement.verdict);
    if (!one.gate || verdict == "regressed" || !lists(suite.compare->verdict, verdict)) continue;
    add_reason(result, kVerdictFailed,
               fmt::format("{} of {} is {}, which this suite does not accept.", one.metric,
                           one.cell, verdict));
  }
}

}  // namespace

void judge_suite(const Suite& suite, const SuiteOptions& options, BenchResult& result) {
  const FindBaseline find = options.find_baseline ? options.find_baseline : find_result;
  std::vector<std::string> missing;
  result.comparisons.clear();
  if (suite.compare) {
    Result<BenchResult> base = find(suite.compare->baseline);
    if (base) {
      compare_with(suite, *base, result);
    } else {
      missing.push_back(base.error().message);
    }
  }
  judge_suite_quality(suite, find, result, missing);
  result.targets = judge_targets(suite, result, find, missing);
  score_targets(result);
  result.exit = decide_exit(result, options.strict);
  check_verdicts(suite, result);
  check_success(suite, result);
  std::sort(missing.begin(), missing.end());
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  for (const std::string& why : missing) {
    add_reason(result, kNoBaseline, fmt::format("There is no baseline: {}.", why));
  }
}

}  // namespace genscope::bench
