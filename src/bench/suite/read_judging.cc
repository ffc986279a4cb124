// Prompts, metrics, targets, and all that judges: quality, cost, environment, compare.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "base/file.h"
#include "bench/run/metric_names.h"
#include "bench/suite/check_environment.h"
#include "bench/suite/sections.h"
#include "config/scalars.h"

namespace genscope::bench {
namespace {

using config::YamlEntry;
using config::YamlValue;

constexpr std::size_t kMaxPromptFile = std::size_t{8} << 20;
constexpr double kHuge = 1e300;

void read_prompt_file(Section& section, const std::string& path, int line, SuitePrompts& prompts) {
  const Result<std::string> content = base::read_file(path, kMaxPromptFile);
  if (!content) {
    section.wrong(line, "file", content.error().message);
    return;
  }
  std::istringstream lines(*content);
  for (std::string prompt; std::getline(lines, prompt);) {
    if (prompt.ends_with('\r')) prompt.pop_back();
    if (!prompt.empty() && !prompt.starts_with('#')) prompts.texts.push_back(prompt);
  }
  if (prompts.texts.empty()) section.wrong(line, "file", fmt::format("{} has no prompt", path));
}

void read_seeds(Section& section, SuitePrompts& prompts) {
  const YamlValue* const seeds = section.any("seeds");
  if (seeds == nullptr) return;
  if (seeds->kind != YamlValue::Kind::list) {
    section.wrong(seeds->line, "seeds", "expected a list of whole numbers, such as [1, 2, 3]");
    return;
  }
  for (const YamlValue& item : seeds->items) {
    const auto seed = config::number_of<std::int64_t>(item);
    if (seed) {
      prompts.seeds.push_back(*seed);
    } else {
      section.wrong(item.line, "seeds", "expected a whole number");
    }
  }
}

// A mistyped metric is never measured, and its target never judged. Functions, endpoints and loads
// may have metrics of their own, whatever they are called; of a command all are known.
void check_metric(std::string_view name, int line, const std::string& path, const Suite& suite,
                  Mistakes& mistakes) {
  const std::string& kind = suite.runner.kind;
  if (kind != "command" && kind != "recorder") return;
  const std::string meant = meant_metric(name);
  if (meant.empty()) return;
  mistakes.add(line, fmt::format("{}: no metric is called '{}'; did you mean '{}'?", path,
                                 config::printable(name), meant));
}

void read_metric(const YamlEntry& entry, Suite& suite, Mistakes& mistakes) {
  check_metric(entry.name, entry.line, "metrics", suite, mistakes);
  Section section(entry.value, "metrics." + config::printable(entry.name), mistakes);
  SuiteMetric metric;
  metric.name = entry.name;
  metric.direction = bench::metric(entry.name).direction;
  std::string direction;
  if (section.word("direction", direction, {"lower", "higher"})) {
    metric.direction =
        direction == "lower" ? Direction::lower_is_better : Direction::higher_is_better;
  }
  section.share("min_effect", metric.min_effect);
  section.quantity("abs_floor", metric.abs_floor, entry.name);
  section.flag("gate", metric.gate);
  suite.metrics.push_back(std::move(metric));
}

bool is_stat(const std::string& stat) {
  static const std::vector<std::string> kStats = {"median", "mean", "min", "max"};
  if (std::find(kStats.begin(), kStats.end(), stat) != kStats.end()) return true;
  double percentile = 0;
  if (!stat.starts_with('p')) return false;
  const char* const end = stat.data() + stat.size();
  const auto [stop, failed] = std::from_chars(stat.data() + 1, end, percentile);
  return failed == std::errc{} && stop == end && percentile > 0 && percentile < 100;
}

// `metric: latency_s`, or `metric: {speedup_vs: {baseline: before}}`.
void read_target_metric(Section& section, SuiteTarget& target, Mistakes& mistakes) {
  const YamlValue* const value = section.any("metric");
  if (value == nullptr) return;
  if (value->kind != YamlValue::Kind::map) {
    section.text("metric", target.metric);
    return;
  }
  Section inside(*value, section.path() + ".metric", mistakes);
  const YamlValue* const speedup = inside.any("speedup_vs");
  if (speedup == nullptr) {
    inside.wrong(value->line, "speedup_vs", "missing");
    return;
  }
  if (speedup->kind == YamlValue::Kind::scalar) {
    inside.text("speedup_vs", target.speedup_vs);
    return;
  }
  Section baseline(*speedup, inside.path() + ".speedup_vs", mistakes);
  baseline.text("baseline", target.speedup_vs);
}

void read_target(Section& section, Suite& suite, Mistakes& mistakes) {
  SuiteTarget target;
  read_target_metric(section, target, mistakes);
  section.text("speedup_vs", target.speedup_vs);
  check_metric(target.metric, section.line(), section.path() + ".metric", suite, mistakes);
  const bool named = section.has("metric") || section.has("speedup_vs");
  if (!named) section.wrong(section.line(), "metric", "missing; write latency_s or another metric");
  if (section.text("stat", target.stat) && !is_stat(target.stat)) {
    section.wrong(section.line(), "stat",
                  fmt::format("'{}' is none of median, mean, min, max, p50, p90, p99",
                              config::printable(target.stat)));
  }
  const std::string_view unit = target.speedup_vs.empty() ? target.metric : std::string_view();
  section.quantity("max", target.max, unit);
  section.quantity("min", target.min, unit);
  section.number("score_weight", target.weight, 0, 1e6);
  if (!section.has("max") && !section.has("min")) {
    section.wrong(section.line(), "", "has neither max nor min; one of them is the target");
  }
  if (section.has("max") && section.has("min")) {
    section.wrong(section.line(), "", "has both max and min; make it two targets");
  }
  suite.targets.push_back(std::move(target));
}

void read_quality(Section& root, Suite& suite, Mistakes& mistakes) {
  const YamlValue* const value = root.any("quality");
  if (value == nullptr) return;
  Section section(*value, "quality", mistakes);
  SuiteQuality quality;
  section.text("reference", quality.reference);
  section.word("mode", quality.mode, {"non_inferiority"});
  section.text("command", quality.command);
  if (quality.reference.empty()) {
    section.wrong(value->line, "reference",
                  "missing; name the result to compare with, or baseline");
  }
  if (const YamlValue* metrics = section.any("metrics")) {
    if (metrics->kind != YamlValue::Kind::map) {
      section.wrong(metrics->line, "metrics", "expected `name: {min: ...}`");
    }
    for (const YamlEntry& entry : metrics->entries) {
      const std::string name = config::printable(entry.name);
      Section one(entry.value, "quality.metrics." + name, mistakes);
      SuiteQualityLimit& limit = quality.metrics[entry.name];
      one.share("margin", limit.margin);
      one.number("min", limit.min, -kHuge, kHuge);
      one.number("max", limit.max, -kHuge, kHuge);
    }
  }
  suite.quality = std::move(quality);
}

void read_environment(Section& root, Suite& suite, Mistakes& mistakes) {
  const YamlValue* const value = root.any("environment");
  if (value == nullptr) return;
  Section section(*value, "environment", mistakes);
  section.pairs("require", suite.environment.require);
  for (const auto& [name, pattern] : suite.environment.require) {
    const std::vector<std::string>& known = required_names();
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    section.wrong(section.any("require")->line, "require",
                  fmt::format("unknown name '{}'{}", config::printable(name), remedy(name, known)));
  }
  section.texts("warn", suite.environment.warn);
  for (const std::string& text : suite.environment.warn) {
    if (warn_rule(text)) continue;
    const std::string word = text.substr(0, text.find_first_of("<> "));
    section.wrong(section.any("warn")->line, "warn",
                  fmt::format("'{}' is not a check; write governor or load>0.3{}",
                              config::printable(text), remedy(word, warned_names())));
  }
  std::string violation = "mark";
  section.word("on_violation", violation, {"mark", "fail"});
  suite.environment.fail_on_violation = violation == "fail";
}

void read_compare(Section& root, Suite& suite, Mistakes& mistakes) {
  const YamlValue* const value = root.any("compare");
  if (value == nullptr) return;
  Section section(*value, "compare", mistakes);
  SuiteCompare compare;
  section.text("baseline", compare.baseline);
  if (compare.baseline.empty()) {
    section.wrong(value->line, "baseline", "missing; name the result to compare with");
  }
  section.number("alpha", compare.alpha, 1e-6, 0.5);
  section.word("correction", compare.correction, {"holm"});
  section.texts("verdict", compare.verdict);
  const std::vector<std::string> known = {"regressed",    "improved",      "unchanged",
                                          "inconclusive", "insufficient",  "incomparable",
                                          "clock_shift",  "slower_machine"};
  for (const std::string& verdict : compare.verdict) {
    if (std::find(known.begin(), known.end(), verdict) != known.end()) continue;
    section.wrong(section.any("verdict")->line, "verdict",
                  fmt::format("no verdict is called '{}'{}", config::printable(verdict),
                              remedy(verdict, known)));
  }
  suite.compare = std::move(compare);
}

}  // namespace

void read_prompts(Section& root, const std::string& folder, Suite& suite, Mistakes& mistakes) {
  const YamlValue* const value = root.any("prompts");
  if (value == nullptr) return;
  Section section(*value, "prompts", mistakes);
  std::string file;
  section.texts("list", suite.prompts.texts);
  if (section.text("file", file)) {
    const std::string path = file.starts_with('/') ? file : folder + "/" + file;
    read_prompt_file(section, path, section.any("file")->line, suite.prompts);
  }
  read_seeds(section, suite.prompts);
  section.word("pairing", suite.prompts.pairing, {"prompt_seed"});
  section.share("min_success", suite.prompts.min_success);
}

void read_metrics(Section& root, Suite& suite, Mistakes& mistakes) {
  const YamlValue* const value = root.any("metrics");
  if (value == nullptr || value->kind == YamlValue::Kind::null) return;
  if (value->kind != YamlValue::Kind::map) {
    root.wrong(value->line, "metrics", "expected `latency_s: {min_effect: 2%, gate: true}`");
    return;
  }
  for (const YamlEntry& entry : value->entries) {
    const auto same = [&](const SuiteMetric& metric) { return metric.name == entry.name; };
    if (std::any_of(suite.metrics.begin(), suite.metrics.end(), same)) {
      root.wrong(entry.line, "metrics." + config::printable(entry.name), "given twice");
      continue;
    }
    read_metric(entry, suite, mistakes);
  }
}

void read_targets(Section& root, Suite& suite, Mistakes& mistakes) {
  each_in_list(root, "targets", mistakes,
               [&](Section& section) { read_target(section, suite, mistakes); });
}

void read_judging(Section& root, Suite& suite, Mistakes& mistakes) {
  read_quality(root, suite, mistakes);
  if (const YamlValue* value = root.any("cost")) {
    Section section(*value, "cost", mistakes);
    section.number("usd_per_hour", suite.cost.usd_per_hour, 0, 1e9);
    section.number("usd_per_kwh", suite.cost.usd_per_kwh, 0, 1e9);
  }
  read_environment(root, suite, mistakes);
  read_compare(root, suite, mistakes);
}

}  // namespace genscope::bench
