// Success rates: intervals in O(1) but for a beta quantile, Fisher's test linear in the smallest
// margin of the table.
#include <cmath>
#include <cstdint>

#include "analyze/distributions/distributions.h"
#include "analyze/inference/checks.h"
#include "analyze/inference/inference.h"
#include "analyze/statistics/normal.h"

namespace genscope::stats {

std::optional<ProportionInterval> proportion(std::uint64_t successes, std::uint64_t trials,
                                             double confidence) {
  if (trials == 0 || successes > trials || !inside_unit(confidence)) return std::nullopt;
  const auto x = static_cast<double>(successes), n = static_cast<double>(trials);
  const double tail = (1 - confidence) / 2, z = -normal_quantile(tail);
  ProportionInterval result;
  result.point = x / n;
  const double zz = z * z, middle = (x + zz / 2) / (n + zz);
  const double reach = z / (n + zz) * std::sqrt(x * (n - x) / n + zz / 4);
  result.wilson = {successes == 0 ? 0 : std::max(0.0, middle - reach),
                   successes == trials ? 1 : std::min(1.0, middle + reach), confidence};
  result.clopper_pearson = {successes == 0 ? 0 : beta_quantile(tail, x, n - x + 1),
                            // By symmetry, where the lower tail is the accurate one.
                            successes == trials ? 1 : 1 - beta_quantile(tail, n - x, x + 1),
                            confidence};
  return result;
}

std::optional<FisherTest> fisher_exact(std::uint64_t before_ok, std::uint64_t before_failed,
                                       std::uint64_t after_ok, std::uint64_t after_failed) {
  const auto a = static_cast<double>(before_ok);
  const double before = a + static_cast<double>(before_failed);
  const double ok = a + static_cast<double>(after_ok);
  const double failed = static_cast<double>(before_failed) + static_cast<double>(after_failed);
  if (before == 0 || ok + failed == before) return std::nullopt;
  // R counts tables as likely as this one up to rounding.
  const double limit = hypergeometric_mass(a, ok, failed, before) * (1 + 1e-7);
  double two_sided = 0, worse = 0, better = 0;
  for (double k = std::max(0.0, before - failed); k <= std::min(before, ok); ++k) {
    const double p = hypergeometric_mass(k, ok, failed, before);
    if (p <= limit) two_sided += p;
    if (k >= a) worse += p;  // more successes before than seen
    if (k <= a) better += p;
  }
  return FisherTest{std::min(1.0, two_sided), std::min(1.0, worse), std::min(1.0, better)};
}

}  // namespace genscope::stats
