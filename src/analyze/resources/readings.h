// The readings that resources are told from, gathered once and put on the run's time scale.
//
// Readings belong to a host: processes of one boot share its GPUs and its clock. Two samplers of
// one host may watch the same GPU; it counts once, by whoever read it most.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <genscope/analyze.h>

#include "analyze/clocks.h"
#include "analyze/energy.h"
#include "analyze/resources/cpu_rates.h"
#include "analyze/telemetry.h"

namespace genscope::analysis {

// Metrics that are kept reading by reading; the order of kReadMetrics.
enum class Read : std::uint8_t {
  cpu_ns,
  rss_bytes,
  busy_ratio,
  memory_used,
  tree_memory,
  power_watts,
  throttle_reasons,
  throttle_power_ns,
  throttle_thermal_ns,
  throttle_other_ns,
};
inline constexpr std::size_t kReads = 10;

// All of one process tree or one GPU.
struct EntityReadings {
  const EntityRow* entity = nullptr;
  std::uint32_t host = 0;
  std::array<Points, kReads> points;
  const Points& of(Read what) const noexcept { return points[static_cast<std::size_t>(what)]; }
  // What the run holds of its memory: its tree's where the driver tells it, else the device's.
  const Points& memory() const noexcept;
};

// One series per figure of a host: of its trees together, of the GPUs that the run used together.
struct HostSeries {
  Points rss_bytes, gpu_busy, gpu_memory, gpu_power;
  CpuRates cpu;                              // at most `cpus`
  std::optional<double> cpus;                // that the machine has
  std::vector<const EnergyCurve*> energies;  // of its devices
};

struct Readings {
  std::vector<std::uint32_t> host_of_trace;
  std::vector<HostSeries> hosts;
  std::vector<EntityReadings> trees;  // those that are in no other of the list
  std::vector<EntityReadings> gpus;
  std::vector<std::uint32_t> used;  // of `gpus`: those that did work for the run
  bool any = false;                 // whether there is one reading at all
};

// Linear in the counters. `analysis` and `sampled` must outlive the result.
Readings gather_readings(const Run& run, const Clocks& clocks, const Telemetry& telemetry,
                         const TelemetryResult& sampled);

// --- parts of it, for tests

enum class Combine : std::uint8_t { sum, mean };
// Several series as one. Readings within half of the usual distance are one tick; at each tick the
// sum, or the mean, of those that have a value no older than 2.5 times that distance. So a device
// that is lost stops to count soon after.
Points combine(std::span<const Points* const> series, Combine how);

}  // namespace genscope::analysis
