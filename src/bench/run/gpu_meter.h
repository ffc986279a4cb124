// What GPUs did during one iteration: energy, peak memory, use. Of all GPUs together, whoever used
// them: a GPU that others use too makes these figures theirs as well.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include <genscope/probe.h>

namespace genscope::bench {

inline constexpr double kIdleSeconds = 1;
inline constexpr const char* kNoGpu = "no GPU was found";

struct GpuUse {
  std::optional<double> energy_j;         // difference of the devices' counters
  std::optional<double> energy_idle_j;    // what they would have taken in that time anyway
  std::optional<double> energy_net_j;     // the rest; never below 0
  std::optional<double> vram_peak_bytes;  // above what was in use at begin()
  std::optional<double> util_ratio;       // mean of the readings, over all devices
};

class GpuMeter {
 public:
  // Null where no GPU can be read: `why` says so. Loads a driver's library only if there is one.
  static std::unique_ptr<GpuMeter> open(std::string& why);
  // The same one for all who have it at a time.
  static std::shared_ptr<GpuMeter> shared(std::string& why);
  ~GpuMeter();

  // The first one waits kIdleSeconds to see what the GPUs take when nothing of ours runs.
  void begin();
  // Readings come every 100 ms: of a shorter iteration only what the counters say is known.
  GpuUse end();

 private:
  struct Sink;
  GpuMeter();
  // Waits for readings newer than now.
  void refresh();
  void measure_idle();

  std::optional<double> idle_watts_;  // of all GPUs, by their counters
  bool idle_asked_ = false;
  std::unique_ptr<Sink> sink_;  // outlives the sampler
  std::unique_ptr<Sampler> sampler_;
};

}  // namespace genscope::bench
