#include "bench/history/rows.h"

#include <algorithm>
#include <cmath>

#include "analyze/verdict/verdict.h"
#include "base/text.h"
#include "bench/result/private_paths.h"
#include "bench/result/timestamp.h"

namespace genscope::bench {
namespace {

namespace rows = store::history;

std::optional<std::int64_t> to_micros(const std::string& time) {
  const std::optional<std::int64_t> ns = parse_timestamp(time);
  if (!ns) return std::nullopt;
  return *ns / 1000;
}

std::string params_json(const Params& params) {
  std::string text = "{";
  for (const auto& [name, value] : params) {
    if (text.size() > 1) text += ",";
    text += base::json_quote(name) + ":" + base::json_quote(value);
  }
  return text + "}";
}

std::string text_at(const std::map<std::string, std::string>& of, const std::string& key) {
  const auto found = of.find(key);
  return found != of.end() ? found->second : std::string();
}

std::optional<double> percentile_of(const MetricStats& stats, const std::string& name) {
  const auto found = stats.p.find(name);
  if (found == stats.p.end()) return std::nullopt;
  return found->second;
}

rows::MetricRow metric_row(const Cell& cell, char slot, const std::string& name,
                           const MetricStats& stats, const std::string& source) {
  const Metric known = metric(name);
  rows::MetricRow row;
  row.cell = cell.id;
  row.slot = std::string(1, slot);
  row.name = name;
  row.unit = std::string(known.unit);
  row.direction = known.direction == Direction::lower_is_better ? "lower" : "higher";
  row.n_units = stats.n_units;
  row.median = stats.median;
  if (stats.ci) {
    row.lo = stats.ci->low;
    row.hi = stats.ci->high;
  }
  row.p50 = percentile_of(stats, "p50");
  row.p95 = percentile_of(stats, "p95");
  row.mad = stats.mad;
  row.source = source;
  return row;
}

rows::VerdictRow verdict_row(const Comparison& one) {
  const Judgement& judged = one.judgement;
  rows::VerdictRow row;
  row.cell = one.cell;
  row.metric = one.metric;
  row.base = one.base;
  row.verdict = std::string(name(judged.verdict));
  row.ratio = judged.ratio;
  if (judged.interval) {
    row.lo = judged.interval->low;
    row.hi = judged.interval->high;
  }
  row.floor = judged.floor;
  row.p_value = judged.p_value;
  row.p_adjusted = judged.p_adjusted;
  row.gate = one.gate;
  return row;
}

std::optional<rows::NoiseRow> noise_row(const BenchResult& result, const Cell& cell,
                                        std::int64_t started_us) {
  const std::vector<double> ratios = pair_ratios(cell);
  const std::optional<double> floor = noise_floor(ratios);
  if (!floor) return std::nullopt;
  rows::NoiseRow row;
  row.key = text_at(result.workload, "noise_key");
  row.environment_class = result.environment.klass;
  row.floor = *floor;
  JudgeOptions options;
  options.paired = true;
  row.mde =
      judge(unit_values(cell, 'A', "latency_s"), unit_values(cell, 'B', "latency_s"), options).mde;
  row.pairs = ratios.size();
  row.of_machine =
      row.key == kMachineKey && is_fit(result.environment) && *floor <= kLargestMachineFloor;
  row.measured_us = started_us;
  return row;
}

}  // namespace

std::string subject_of(const BenchResult& result) {
  const std::string command = text_at(result.labels, "A");
  return shareable(command.empty() ? text_at(result.workload, "command") : command, false);
}

std::vector<double> pair_ratios(const Cell& cell, std::string_view metric) {
  const std::vector<double> a = unit_values(cell, 'A', metric), b = unit_values(cell, 'B', metric);
  std::vector<double> ratios;
  if (a.size() != b.size()) return ratios;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] > 0) ratios.push_back(b[i] / a[i]);
  }
  return ratios;
}

bool is_fit(const Environment& environment) {
  return std::none_of(environment.checks.begin(), environment.checks.end(),
                      [](const EnvironmentCheck& check) { return check.status == "unfit"; });
}

rows::Entry entry_of(const BenchResult& result) {
  rows::Entry entry;
  rows::RunRow run;
  run.id = result.id;
  run.suite = result.suite;
  run.suite_hash = result.suite_hash;
  run.subject = subject_of(result);
  run.workload_hash = result.workload_hash;
  run.environment_class = result.environment.klass;
  run.commit_sha = result.git_sha;
  run.branch = result.git_branch;
  run.dirty = result.git_dirty;
  run.started_us = to_micros(result.started).value_or(0);
  run.ended_us = to_micros(result.ended);
  run.exit_code = result.exit.code;
  run.host_label = text_at(result.environment.fingerprint, "host");
  run.tool_version = result.tool_version;
  const std::string imported = text_at(result.workload, "imported_from");
  const std::string source = imported.empty() ? "measured" : imported;
  for (const Cell& cell : result.cells) {
    entry.cells.push_back({cell.id, params_json(cell.params), cell.status,
                           cell.failure ? std::string(name(cell.failure->kind)) : ""});
    for (const auto& [slot, metrics] : cell.stats) {
      for (const auto& [metric_name, stats] : metrics) {
        if (!std::isfinite(stats.median)) continue;
        entry.metrics.push_back(metric_row(cell, slot, metric_name, stats, source));
      }
    }
    if (result.suite != kSelfcheckSuite) continue;
    if (auto noise = noise_row(result, cell, run.started_us)) entry.noise.push_back(*noise);
  }
  for (const Comparison& one : result.comparisons) entry.verdicts.push_back(verdict_row(one));
  entry.run = std::move(run);
  return entry;
}

}  // namespace genscope::bench
