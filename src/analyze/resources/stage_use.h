// What each stage used of processors, memory and energy.
#pragma once

#include <vector>

#include <genscope/analyze.h>

#include "analyze/resources/readings.h"
#include "analyze/resources/stretches.h"

namespace genscope::analysis {

// In the order of `stages` (Analysis::stages), the steps last. A row that is in no stage row (no
// span at all) has none.
std::vector<StageUse> use_of_stages(const MeteredRows& rows, const Readings& readings,
                                    const std::vector<StageRow>& stages);

// Energy of a host's devices over stretches, and the share of the time that readings cover.
struct EnergyOver {
  std::optional<double> joules;
  double covered_seconds = 0, wanted_seconds = 0;  // summed over devices
  double covered() const noexcept {
    return wanted_seconds > 0 ? covered_seconds / wanted_seconds : 0;
  }
  void add(const EnergyOver& other) noexcept;
};
EnergyOver energy_over(const HostSeries& host, const Stretches& stretches);

}  // namespace genscope::analysis
