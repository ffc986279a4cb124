// How often it worked, and what that shows: a share with Wilson's interval.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "analyze/inference/inference.h"
#include "genscope/bench.h"

namespace genscope::bench {

struct SuccessRate {
  std::uint64_t successes = 0, trials = 0;
  double rate = 0;
  stats::Interval interval;  // Wilson's
};
// Nothing without trials.
std::optional<SuccessRate> success_rate(std::uint64_t successes, std::uint64_t trials,
                                        double confidence = 0.95);
// Over the samples of every cell; a unit that did not start counts as one that failed.
std::optional<SuccessRate> success_rate(std::span<const Cell> cells, double confidence = 0.95);

// "11 of 12 succeeded (91.7 %; 95 %: 64.6 to 98.5)". All of them: what that shows at least.
std::string success_words(const SuccessRate& rate);

enum class SuccessVerdict : std::uint8_t {
  shown,      // the lower end reaches the limit
  not_shown,  // it does not, though the truth may
  failed,     // the rate itself is below it
};
SuccessVerdict judge_success(const SuccessRate& rate, double least);
// How many runs without a failure show `least`.
std::uint64_t runs_to_show(double least, double confidence = 0.95);

}  // namespace genscope::bench
