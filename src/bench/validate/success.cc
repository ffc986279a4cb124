#include "bench/validate/success.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace genscope::bench {

std::optional<SuccessRate> success_rate(std::uint64_t successes, std::uint64_t trials,
                                        double confidence) {
  const auto found = stats::proportion(successes, trials, confidence);
  if (!found) return std::nullopt;
  return SuccessRate{successes, trials, found->point, found->wilson};
}

std::optional<SuccessRate> success_rate(std::span<const Cell> cells, double confidence) {
  std::uint64_t good = 0, all = 0;
  for (const Cell& cell : cells) {
    for (const Unit& unit : cell.units) {
      if (unit.samples.empty() && unit.failure) ++all;
      for (const Sample& sample : unit.samples) {
        ++all;
        good += sample.failure ? 0 : 1;
      }
    }
  }
  return success_rate(good, all, confidence);
}

std::string success_words(const SuccessRate& rate) {
  if (rate.successes == rate.trials) {
    return fmt::format("{} of {} succeeded, which shows at least {:.0f} %", rate.successes,
                       rate.trials, std::floor(rate.interval.low * 100));
  }
  return fmt::format("{} of {} succeeded ({:.1f} %; 95 %: {:.1f} to {:.1f})", rate.successes,
                     rate.trials, rate.rate * 100, rate.interval.low * 100,
                     rate.interval.high * 100);
}

SuccessVerdict judge_success(const SuccessRate& rate, double least) {
  if (rate.interval.low >= least) return SuccessVerdict::shown;
  return rate.rate < least ? SuccessVerdict::failed : SuccessVerdict::not_shown;
}

std::uint64_t runs_to_show(double least, double confidence) {
  if (!(least > 0)) return 1;
  if (least >= 1) return 0;  // no number of runs shows that it never fails
  // Of n successes in n trials the lower end is n / (n + z^2).
  std::uint64_t n = 1;
  while (n < (1U << 20)) {
    const auto found = stats::proportion(n, n, confidence);
    if (found && found->wilson.low >= least) break;
    n = found ? std::max<std::uint64_t>(
                    n + 1,
                    static_cast<std::uint64_t>(std::ceil(
                        static_cast<double>(n) * (1 / found->wilson.low - 1) * least / (1 - least) -
                        1e-9)))
              : n + 1;
  }
  return n;
}

}  // namespace genscope::bench
