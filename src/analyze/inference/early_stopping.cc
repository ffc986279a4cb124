// MLPerf LoadGen's early stopping: how many queries within a limit make a claim about a percentile
// safe, given how many were beyond it. P(at most `over` of h + over beyond) falls with h, so that
// doubling and bisection find h with O(log h) incomplete beta functions; the claim bisects over the
// place in the same way.
#include <cmath>
#include <cstdint>

#include "analyze/distributions/distributions.h"
#include "analyze/inference/checks.h"
#include "analyze/inference/inference.h"

namespace genscope::stats {

std::optional<std::uint64_t> least_within(double percentile, double confidence, std::uint64_t over,
                                          double tolerance) {
  const double p = percentile - tolerance;
  if (!inside_unit(p) || !inside_unit(confidence) || !(tolerance >= 0)) return std::nullopt;
  constexpr std::uint64_t kMostQueries = std::uint64_t{1} << 50;
  const auto shown = [&](std::uint64_t h) {
    return beta_cdf(p, static_cast<double>(h), static_cast<double>(over) + 1) <= 1 - confidence;
  };
  std::uint64_t low = 0, high = 1;  // h = 0 shows nothing
  while (!shown(high)) {
    low = high;
    high *= 2;
    if (high > kMostQueries) return std::nullopt;
  }
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (shown(middle) ? high : low) = middle;
  }
  return high;
}

std::optional<PercentileClaim> claim_percentile(std::span<const double> latencies,
                                                double percentile, double confidence) {
  if (!all_finite(latencies)) return std::nullopt;
  const auto needed = [&](std::uint64_t over) -> std::optional<std::uint64_t> {
    const auto h = least_within(percentile, confidence, over);
    if (!h) return std::nullopt;
    return *h + over;
  };
  const std::optional<std::uint64_t> least = needed(1);
  if (!least) return std::nullopt;
  PercentileClaim claim;
  claim.least = *least;
  const std::uint64_t n = latencies.size();
  if (n < *least) return claim;
  std::uint64_t low = 1, high = n;  // needed(low) fits; needed(n) >= n + 1 does not
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    const auto queries = needed(middle);
    (queries && *queries <= n ? low : high) = middle;
  }
  claim.place = low;
  std::vector<double> values(latencies.begin(), latencies.end());
  const auto at = values.end() - static_cast<std::ptrdiff_t>(low);
  std::nth_element(values.begin(), at, values.end());
  claim.estimate = *at;
  return claim;
}

std::optional<double> largest_claim(std::uint64_t n, std::span<const double> percentiles,
                                    double confidence) {
  std::optional<double> largest;
  for (const double p : percentiles) {
    const auto h = least_within(p, confidence, 1);
    if (h && *h + 1 <= n && (!largest || p > *largest)) largest = p;
  }
  return largest;
}

std::optional<ServerRun> server_run(std::uint64_t queries, std::uint64_t over, double percentile,
                                    double confidence) {
  const auto h = least_within(percentile, confidence, over);
  if (!h || over > queries) return std::nullopt;
  ServerRun run;
  run.least = *h + over;
  run.valid = queries >= run.least;
  run.missing = run.valid ? 0 : run.least - queries;
  return run;
}

}  // namespace genscope::stats
