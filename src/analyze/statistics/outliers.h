// What the outlier rules measure with.
#pragma once

#include <span>
#include <vector>

namespace genscope::stats {

// 0.6745 (x - median) / MAD of each sample, as modified_z_outliers() defines it. Infinite where a
// sample departs from others that are all equal; 0 where none departs. Finite, not empty samples.
std::vector<double> modified_z(std::span<const double> samples);

// Sigma of the noise in a series, from the differences of neighbours, as hampel_outliers() defines
// it; 0 if all are equal. At least two finite samples.
double sigma_of_differences(std::span<const double> samples);

}  // namespace genscope::stats
