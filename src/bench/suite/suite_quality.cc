#include "bench/suite/suite_quality.h"

#include <fmt/format.h>

namespace genscope::bench {
namespace {

QualityOptions quality_options(const SuiteQuality& asked, double confidence) {
  QualityOptions options;
  options.confidence = confidence;
  for (const auto& [name, limit] : asked.metrics) {
    QualityRule& rule = options.rules[name];
    rule.min = limit.min;
    rule.max = limit.max;
    rule.margin = limit.margin;
    rule.relative = limit.margin.has_value();  // margins are shares: 0.2%
  }
  options.command = asked.command;
  return options;
}

std::vector<Output> all_outputs(const BenchResult& result) {
  std::vector<Output> all;
  for (const Cell& cell : result.cells) {
    for (Output& output : outputs_of(cell, 'A')) all.push_back(std::move(output));
  }
  return all;
}

QualityResult not_compared(std::string why) {
  QualityResult quality;
  quality.verdict = "not_compared";
  quality.reason = std::move(why);
  return quality;
}

}  // namespace

void judge_suite_quality(const Suite& suite, const FindBaseline& find, BenchResult& result,
                         std::vector<std::string>& missing) {
  if (!suite.quality) return;
  std::string reference = suite.quality->reference;
  if (reference == "baseline" && suite.compare) reference = suite.compare->baseline;
  const Result<BenchResult> base = find(reference);
  if (!base) {
    missing.push_back(base.error().message);
    result.quality = not_compared(fmt::format("{} was not found", reference));
    return;
  }
  const std::vector<Output> before = all_outputs(*base), after = all_outputs(result);
  if (before.empty() || after.empty()) {
    result.quality =
        not_compared(fmt::format("{} kept no files; name them in defaults.runner.outputs",
                                 after.empty() ? "this run" : reference));
    return;
  }
  result.quality =
      compare_outputs(before, after, quality_options(*suite.quality, suite.stop.confidence));
}

}  // namespace genscope::bench
