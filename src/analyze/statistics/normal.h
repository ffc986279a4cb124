// The standard normal distribution.
#pragma once

namespace genscope::stats {

// P(Z <= z), accurate in relative terms in the lower tail; for the upper one ask for -z.
double normal_cdf(double z) noexcept;

// The z with P(Z <= z) = p; 0 < p < 1. Wichura's AS 241: 16 digits.
double normal_quantile(double p) noexcept;

}  // namespace genscope::stats
