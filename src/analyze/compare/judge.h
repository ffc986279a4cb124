// Verdicts: an interval against the noise floor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <genscope/compare.h>

#include "analyze/compare/samples.h"

namespace genscope::analysis {

// Fewer spans than this on a side give no interval, however many the other has.
inline constexpr std::uint64_t kLeastSpans = 3;
inline constexpr double kConfidence = 0.95;

// Of after / before.
struct Ratio {
  double low = 1, high = 1;
};

// From the Hodges-Lehmann shift of the logarithms; nothing where it cannot reach kConfidence: that
// takes 4 spans against 4, or 3 against 5.
std::optional<Ratio> ratio_of(const Sample& before, const Sample& after);

Change judge(const std::optional<Ratio>& ratio, double noise_floor) noexcept;

// Fills percent and factor from before and after, where neither is 0 or absent.
void relate(ChangeRow& row) noexcept;

// A row of spans, which at least one run has.
ChangeRow span_row(std::string name, std::string kind, const Sample& before, const Sample& after,
                   double noise_floor);

}  // namespace genscope::analysis
