// Statistics of a cell. Units are what counts: medians, intervals and deviations are of the units'
// medians; only percentiles are over all samples, and only those that so many samples can show.
#include <algorithm>
#include <array>
#include <cmath>

#include <genscope/bench.h>

#include "analyze/inference/inference.h"
#include "analyze/statistics/statistics.h"

namespace genscope::bench {
namespace {

struct NamedPercentile {
  const char* name;
  double p;
};
constexpr std::array<NamedPercentile, 4> kPercentiles = {
    {{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}}};

// The good samples of each unit of a slot.
std::vector<std::vector<double>> samples_by_unit(const Cell& cell, char slot,
                                                 std::string_view metric) {
  std::vector<std::vector<double>> units;
  for (const Unit& unit : cell.units) {
    if (unit.slot != slot || unit.failure) continue;
    std::vector<double> values;
    for (const Sample& sample : unit.samples) {
      if (sample.failure) continue;
      if (const auto value = value_of(sample, metric)) values.push_back(*value);
    }
    if (!values.empty()) units.push_back(std::move(values));
  }
  return units;
}

// A percentile lies among n samples if at least one is expected beyond it.
bool can_carry(std::size_t n, double p) { return static_cast<double>(n) * (1 - p) >= 1 - 1e-9; }

void add_percentiles(const std::vector<double>& samples, const std::vector<double>& units,
                     MetricStats& stats) {
  for (const NamedPercentile& one : kPercentiles) {
    if (can_carry(samples.size(), one.p)) {
      const auto value = stats::quantile(samples, one.p, stats::QuantileMethod::nearest_rank);
      if (value) stats.p[one.name] = *value;
    }
    if (one.p <= 0.9 && units.size() >= 4) {
      if (const auto value = stats::harrell_davis(units, one.p)) stats.hd[one.name] = *value;
    }
  }
}

std::optional<MetricStats> metric_stats(const Cell& cell, char slot, std::string_view metric,
                                        double confidence) {
  const std::vector<double> units = unit_values(cell, slot, metric);
  const stats::Description described = stats::describe(units);
  if (!described.median) return std::nullopt;
  MetricStats stats;
  stats.n_units = units.size();
  stats.median = *described.median;
  stats.mean = described.mean.value_or(*described.median);
  stats.min = *described.min;
  stats.max = *described.max;
  stats.sd = described.stddev;
  stats.cv = described.cv;
  stats.mad = described.mad;
  stats.ci = stats::median_interval(units, confidence);
  stats.acf1 = stats::autocorrelation(units);
  const std::vector<std::vector<double>> by_unit = samples_by_unit(cell, slot, metric);
  std::vector<double> samples;
  for (const auto& unit : by_unit) samples.insert(samples.end(), unit.begin(), unit.end());
  stats.n_samples = samples.size();
  add_percentiles(samples, units, stats);
  if (const auto clusters = stats::clusters(by_unit)) {
    stats.icc = clusters->icc;
    stats.n_eff = clusters->effective_count;
  } else {
    stats.n_eff = stats::effective_count(units);
  }
  if (stats.cv) stats.mde = stats::detectable_effect(units.size(), *stats.cv, 1 - confidence);
  if (const auto fences = stats::tukey_fences(units)) {
    stats.outliers_severe = fences->severe_below + fences->severe_above;
    stats.outliers_mild = fences->mild_below + fences->mild_above;
  }
  return stats;
}

}  // namespace

void summarize(Cell& cell, double confidence) {
  cell.stats.clear();
  std::vector<char> slots;
  for (const Unit& unit : cell.units) {
    if (std::find(slots.begin(), slots.end(), unit.slot) == slots.end()) slots.push_back(unit.slot);
  }
  for (const char slot : slots) {
    for (const std::string& metric : metrics_of(cell, slot)) {
      if (const auto stats = metric_stats(cell, slot, metric, confidence)) {
        cell.stats[slot][metric] = *stats;
      }
    }
  }
}

}  // namespace genscope::bench
