// BCa intervals (Efron and Tibshirani 1993, 14.3 and 15.36): percentiles of the bootstrap
// distribution, moved by its median bias z0 and by the acceleration from the jackknife. O(B log B)
// for B replicates, and B evaluations of the statistic. Draws come from a generator of our own with
// a seed, so that results are the same everywhere.
#include <cmath>
#include <cstdint>

#include "analyze/inference/checks.h"
#include "analyze/inference/draws.h"
#include "analyze/inference/inference.h"
#include "analyze/statistics/normal.h"
#include "analyze/statistics/statistics.h"

namespace genscope::stats {
namespace {

double acceleration_of(std::span<const std::vector<double>> jackknife) {
  double cubes = 0, squares = 0;
  for (const std::vector<double>& values : jackknife) {
    if (values.size() < 2) continue;
    const auto n = static_cast<double>(values.size());
    const double mean = *describe(values).mean;
    double cube = 0, square = 0;
    for (const double value : values) {
      const double u = (n - 1) * (mean - value);
      cube += u * u * u;
      square += u * u;
    }
    cubes += cube / (n * n * n);
    squares += square / (n * n);
  }
  return squares > 0 ? cubes / (6 * std::pow(squares, 1.5)) : 0;
}

bool usable_options(const BootstrapOptions& options) {
  return options.resamples >= 2 && inside_unit(options.confidence);
}

}  // namespace

std::optional<BcaInterval> bca(double estimate, std::span<const double> replicates,
                               std::span<const std::vector<double>> jackknife, double confidence) {
  if (!std::isfinite(estimate) || !some_finite(replicates) || !inside_unit(confidence)) {
    return std::nullopt;
  }
  for (const std::vector<double>& values : jackknife) {
    if (!all_finite(values)) return std::nullopt;
  }
  const std::vector<double> sorted = sorted_copy(replicates);
  const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), estimate);
  const auto count = static_cast<double>(sorted.size());
  BcaInterval result;
  result.below =
      (static_cast<double>(first - sorted.begin()) + static_cast<double>(last - sorted.begin())) /
      (2 * count);
  double mean = 0, seen = 0, squares = 0;
  for (const double value : sorted) {  // Welford
    const double off = value - mean;
    mean += off / ++seen;
    squares += off * (value - mean);
  }
  result.standard_error = std::sqrt(squares / count);
  const double tail = (1 - confidence) / 2;
  const auto at = [&](double p) { return at_position(sorted, p * (count - 1)); };
  result.percentile = {at(tail), at(1 - tail), confidence};
  result.acceleration = acceleration_of(jackknife);
  // All replicates on one side: the bias has no estimate, and the interval is the whole of them.
  if (!inside_unit(result.below)) {
    result.alpha_low = 0;
    result.alpha_high = 1;
    result.interval = {sorted.front(), sorted.back(), confidence};
    return result;
  }
  result.z0 = normal_quantile(result.below);
  const auto moved = [&](double z) {
    const double sum = result.z0 + z;
    return normal_cdf(result.z0 + sum / (1 - result.acceleration * sum));
  };
  result.alpha_low = moved(normal_quantile(tail));
  result.alpha_high = moved(-normal_quantile(tail));
  result.interval = {at(result.alpha_low), at(result.alpha_high), confidence};
  return result;
}

std::optional<Bootstrap> bootstrap(std::span<const std::vector<double>> samples,
                                   const Statistic& statistic, const BootstrapOptions& options) {
  if (samples.empty() || !usable_options(options)) return std::nullopt;
  for (const std::vector<double>& sample : samples) {
    if (!some_finite(sample)) return std::nullopt;
  }
  Bootstrap result;
  result.estimate = statistic(samples);
  Draws draws(options.seed);
  std::vector<std::vector<double>> drawn(samples.begin(), samples.end());
  std::vector<double> replicates(options.resamples);
  for (double& replicate : replicates) {
    for (std::size_t s = 0; s < samples.size(); ++s) {
      for (double& value : drawn[s]) value = samples[s][draws.below(samples[s].size())];
    }
    replicate = statistic(drawn);
  }
  std::vector<std::vector<double>> jackknife;
  std::vector<std::vector<double>> rest(samples.begin(), samples.end());
  for (std::size_t s = 0; s < samples.size(); ++s) {
    std::vector<double>& without = jackknife.emplace_back();
    for (std::size_t i = 0; i < samples[s].size() && samples[s].size() > 1; ++i) {
      rest[s] = samples[s];
      rest[s].erase(rest[s].begin() + static_cast<std::ptrdiff_t>(i));
      without.push_back(statistic(rest));
    }
    rest[s] = samples[s];
  }
  const auto interval = bca(result.estimate, replicates, jackknife, options.confidence);
  if (!interval) return std::nullopt;
  result.bca = *interval;
  return result;
}

std::optional<Bootstrap> cluster_bootstrap(
    std::span<const std::vector<double>> processes,
    const std::function<double(std::span<const double>)>& statistic,
    const BootstrapOptions& options) {
  if (processes.empty() || !usable_options(options)) return std::nullopt;
  std::vector<double> all;
  for (const std::vector<double>& process : processes) {
    if (!some_finite(process)) return std::nullopt;
    all.insert(all.end(), process.begin(), process.end());
  }
  Bootstrap result;
  result.estimate = statistic(all);
  Draws draws(options.seed);
  std::vector<double> replicates(options.resamples), drawn;
  for (double& replicate : replicates) {
    drawn.clear();
    for (std::size_t i = 0; i < processes.size(); ++i) {
      const std::vector<double>& process = processes[draws.below(processes.size())];
      for (std::size_t j = 0; j < process.size(); ++j) {
        drawn.push_back(process[draws.below(process.size())]);
      }
    }
    replicate = statistic(drawn);
  }
  std::vector<std::vector<double>> jackknife(1);
  for (std::size_t left_out = 0; left_out < processes.size() && processes.size() > 1; ++left_out) {
    drawn.clear();
    for (std::size_t i = 0; i < processes.size(); ++i) {
      if (i == left_out) continue;
      drawn.insert(drawn.end(), processes[i].begin(), processes[i].end());
    }
    jackknife[0].push_back(statistic(drawn));
  }
  const auto interval = bca(result.estimate, replicates, jackknife, options.confidence);
  if (!interval) return std::nullopt;
  result.bca = *interval;
  return result;
}

}  // namespace genscope::stats
