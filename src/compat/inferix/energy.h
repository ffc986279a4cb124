// Energy of an Inferix report, from its samples of power: what the report itself says is multiplied
// by the number of samples.
#pragma once

#include <optional>
#include <string>

#include <genscope/compat/inferix.h>

namespace genscope::compat::inferix {

struct SampledEnergy {
  std::optional<double> joules;
  std::string note;  // how much of the time it covers, if not all; or why there is none
};
// The trapezoid rule over samples that follow each other within kMaxGaps of the median distance;
// a longer stretch is not covered. None with fewer than two samples, or if every sample is 0: then
// there was no sensor.
SampledEnergy sampled_energy(const InferixReport& report);
inline constexpr double kMaxGaps = 10;

}  // namespace genscope::compat::inferix
