// GPUs watched over a while: how busy, how much memory, how much power.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "genscope/probe.h"

namespace genscope::bench {

// The readings of one metric. No reading: `absent` says why, and nothing else is set.
struct GpuFigure {
  std::uint64_t count = 0;
  std::optional<double> mean, min, max;  // the mean is weighted by time
  std::string absent;
};

struct WatchedGpu {
  std::string id, name, driver, cuda;
  GpuFigure busy_ratio, memory_used_bytes, power_watts;
  std::optional<double> memory_total_bytes;
  std::optional<double> memory_efficiency() const;  // mean use of the memory that there is
};

struct GpuWatched {
  std::vector<WatchedGpu> gpus;
  double seconds = 0;
  std::string absent;  // why there is no GPU, as the probes say it
};

class GpuWatch {
 public:
  // Reads every `interval_s`, at least 1 ms.
  GpuWatch(std::vector<std::unique_ptr<Probe>> probes, double interval_s);
  ~GpuWatch();
  GpuWatch(const GpuWatch&) = delete;
  GpuWatch& operator=(const GpuWatch&) = delete;

  Status start();
  GpuWatched stop();  // once; what was read from start() on

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The probes of GPUs, in this process. The command puts them into a child instead.
std::vector<std::unique_ptr<Probe>> make_gpu_probes();

}  // namespace genscope::bench
