// How much more of a thing is to come, from what came so far.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace genscope::stats {

// Where the sum of `more` further samples lies with the given confidence, 0 < confidence < 1.
struct SumInterval {
  double low = 0, high = 0;
};
// Nothing with fewer than 4 samples, with samples that are not finite, or with a confidence out of
// range. The samples stand for those to come: independent of one another, without a trend.
std::optional<SumInterval> interval_of_sum(std::span<const double> samples, std::uint64_t more,
                                           double confidence);

}  // namespace genscope::stats
