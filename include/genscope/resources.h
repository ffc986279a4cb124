// Resources: memory, processors, energy and the GPU's time against the stages and steps of a run.
// Part of analyze.h, which includes this. docs/analysis.md says how each figure is made.
//
// An optional that is empty was not measured, or there were too few samples: `reason` says which.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <genscope/generation.h>
#include <genscope/sample.h>

namespace genscope {

// Fewer readings than this inside a stage tell nothing of it.
inline constexpr std::uint64_t kMinSamples = 3;

// A metric while the spans of a stage ran.
struct UseFigure {
  std::uint64_t samples = 0;
  std::optional<double> mean, max;  // absent under kMinSamples
};

// What a stage used: one row per stage, load, block, batch, epoch and request row of
// Analysis::stages, and one for all steps.
struct StageUse {
  std::string name;
  SpanKind kind = SpanKind::stage;
  UseFigure cpu_cores;         // of the watched tree: 1 is one core
  UseFigure rss_bytes;         // of the watched tree
  UseFigure gpu_busy_ratio;    // mean over the GPUs that the run used
  UseFigure gpu_memory_bytes;  // sum over GPUs: the tree's where known, else the device's
  UseFigure gpu_power_watts;   // sum over GPUs
  std::optional<double> energy_joules;
  double energy_covered = 0;  // share of the stage's time with energy readings
  std::string reason;         // why figures are absent; "" if none is
};

struct MemoryGrowth {
  std::string what;  // "host" or a GPU's id
  std::optional<Slope>
      bytes_per_second;  // of the steady steps, else of the run after its first quarter
  std::optional<double> growth_ratio;  // over the value at the begin of that stretch
  std::uint64_t samples = 0;
  bool leak = false;  // the interval is above 0 and the growth is over 2 %
  std::string stage;  // in which most of the growth falls; "" if none stands out
};

// Energy per thing made, with how much of the time readings cover.
struct EnergyPerUnit {
  std::string unit;  // "image", "frame", "step", "request", "batch"
  std::uint64_t count = 0;
  double joules_each = 0;
  double covered = 0;
};

struct ThrottleShare {
  std::string gpu;
  std::string cause;  // "thermal", "power cap", "hardware slowdown", "power brake", ...
  double share = 0;   // of the samples
  std::uint64_t samples = 0;
};

// Model FLOP utilisation of the steady steps, where model, size and GPU are known.
struct Utilisation {
  std::optional<double> mfu;  // of the median steady step
  std::string band;           // "good", "fair", "poor"
  std::optional<double> predicted_step_ns;
  std::optional<double> tflops;  // reached
  std::string bound;             // "compute", "memory", "link"
  std::string model, hardware;
  std::string note;    // a doubt
  std::string reason;  // why there is none
  // Of each step of Analysis::steps in the order of time, the first 10,000; empty if unknown.
  std::vector<float> per_step;
  // For the facts of rules; absent with mfu.
  std::optional<double> attention_share, attention_bytes, vae_bytes, peak_bytes, offload_ns,
      peak_tflops;
};

// The GPU's timeline from kernels (spans on device tracks: imported, or recorded with device time).
struct DeviceTimeline {
  std::string device;
  std::int64_t begin_ns = 0, end_ns = 0;  // first kernel's begin, last one's end
  std::int64_t busy_ns = 0;               // at least one kernel or copy runs
  std::int64_t compute_ns = 0, communication_ns = 0, copy_ns = 0;
  std::int64_t overlap_ns = 0;           // communication or copies under compute
  std::int64_t exposed_ns = 0;           // communication or copies with no compute beside
  std::int64_t idle_host_wait_ns = 0;    // the host had not launched the next kernel
  std::int64_t idle_kernel_wait_ns = 0;  // launched; short gaps between kernels
  std::int64_t idle_other_ns = 0;
  std::uint64_t kernels = 0;
};
struct KernelRow {
  std::string stage;  // stage in which the host launched it; "" outside of any
  std::string name;
  std::uint64_t count = 0;
  std::int64_t total_ns = 0;
};

struct Resources {
  std::vector<StageUse> stages;
  std::vector<MemoryGrowth> growth;
  std::vector<EnergyPerUnit> energy;
  std::vector<ThrottleShare> throttling;
  Utilisation utilisation;
  std::vector<DeviceTimeline> devices;
  std::vector<KernelRow> kernels;  // the 50 with the most time
};

}  // namespace genscope
