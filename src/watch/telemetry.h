// Telemetry of a watched command: which probes, where they run, and what they have found.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <genscope/probe.h>

namespace genscope::watch {

struct TelemetryOptions {
  std::vector<std::string> probes;  // names
  bool gpus = true;
  ProbeOptions probing;
  SamplerOptions sampling;
  SamplerOptions gpu_sampling;  // in the process of the GPU probes
};

// The libraries of GPU probes could crash or hang: they run in a process of their own, `genscope
// probe-child`, which is started only where there is a sign of a GPU (probe/gpu_hint.h). Opening
// the probes takes its time, and so does their last reading: both are done by a thread of this
// object, so that the command neither starts nor ends later because of them.
class Telemetry {
 public:
  // Readings go to `next`; null: nowhere.
  Telemetry(TelemetryOptions options, SampleSink* next);
  ~Telemetry();  // stops
  Telemetry(const Telemetry&) = delete;
  Telemetry& operator=(const Telemetry&) = delete;

  // Watches `pid` and its descendants from now on.
  void start(pid_t pid);
  // Reads everything a last time. Call it before the command is reaped.
  void stop();

  bool gpus_wanted() const;
  // Empty until the probes are open.
  Snapshot snapshot() const;
  std::vector<ProbeReport> reports() const;
  SamplerStats stats() const;

 private:
  std::vector<std::string> wanted(bool gpu) const;
  void add_probes(pid_t pid);

  TelemetryOptions options_;
  Sampler sampler_;
  std::thread thread_;
  std::atomic<bool> open_{false};
  enum class Phase { watching, stopping, stopped, over };
  std::atomic<Phase> phase_{Phase::watching};
};

}  // namespace genscope::watch
