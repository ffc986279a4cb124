// From the samples of traces to Telemetry, and the energy of stages.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include <genscope/analyze.h>

#include "analyze/clocks.h"
#include "analyze/energy.h"
#include "analyze/rows.h"

namespace genscope::analysis {

struct TelemetryResult {
  Telemetry telemetry;
  std::vector<DeviceEnergy> energies;  // of the devices that have any, on the run's time scale
  std::vector<std::size_t> energy_entities;  // whose: indices into telemetry.entities
  std::int64_t probe_cpu_ns = -1;            // of the samplers; -1: none
  std::optional<double> probe_steady_ratio;  // as in RecorderSummary
};
TelemetryResult collect_telemetry(const Run& run, const Clocks& clocks);

// Fills StageRow::energy_joules: of the rows that last long enough for the sampling rate.
void add_stage_energy(const Run& run, const RowTable& rows, const Clocks& clocks,
                      std::span<const DeviceEnergy> energies, std::vector<StageRow>& stages);

}  // namespace genscope::analysis
