// Telemetry of a watched command: which probes, where they run, and what they have found.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include <genscope/probe.h>

#include "cli/watch/totals.h"

namespace genscope::cli::watch {

struct TelemetryOptions {
  std::vector<std::string> probes;  // names; empty: every built-in one
  bool gpus = true;
  SamplerOptions sampling;
};

// The names of the GPU probes, whose libraries could crash or hang: they run in a process of their
// own, `genscope probe-child`.
bool is_gpu_probe(std::string_view name);
// invalid_argument with the nearest name if there is no such probe.
Status check_probes(const std::vector<std::string>& names);

class Telemetry {
 public:
  // Readings go on to `next`; null: nowhere.
  Telemetry(TelemetryOptions options, SampleSink* next);

  // Watches `pid` and its descendants.
  void start(pid_t pid);
  // Reads everything a last time. Call it before the command is reaped.
  void stop();

  bool gpus_wanted() const;
  Snapshot snapshot() const;
  std::vector<ProbeReport> reports() const;
  SamplerStats stats() const;
  const RunTotals& totals() const { return totals_; }  // after stop()

 private:
  std::vector<std::string> wanted(bool gpu) const;

  TelemetryOptions options_;
  RunTotals totals_;
  std::unique_ptr<Sampler> sampler_;
};

}  // namespace genscope::cli::watch
