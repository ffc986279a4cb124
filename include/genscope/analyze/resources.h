// Memory, processors, energy and the GPU's time against stages and steps.
//
// A part of analyze.h, which says what holds for all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <genscope/analyze/generation.h>
#include <genscope/trace.h>

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
  std::uint64_t folded = 0;   // as in its StageRow
};

struct MemoryGrowth {
  std::string what;  // "host" or a GPU's id
  std::optional<Slope>
      bytes_per_second;  // of the steady steps, else of the run after its first quarter
  std::optional<double> growth_ratio;  // over the value at the begin of that stretch
  std::string stretch;                 // "steady steps" or "after the first quarter"
  std::uint64_t samples = 0;
  // The interval is above 0 over the stretch and over its last half, the growth is over
  // kLeakGrowth, the readings are kLeakSamples or more (below, the interval is rough) and the
  // stretch is kLeakSeconds or longer (before, many programs still fill what they will keep).
  bool leak = false;
  std::string stage;   // in which most of the growth falls; "" if none stands out
  std::string reason;  // why there is no slope
};
inline constexpr double kLeakGrowth = 0.02;
inline constexpr std::uint64_t kLeakSamples = 10;
inline constexpr double kLeakSeconds = 15;

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
  // Of each step of Analysis::steps in the order of time, the first 10,000; NaN where a step has no
  // length; empty if unknown.
  std::vector<float> per_step;
  std::optional<double> forwards_per_step;  // counted, where forward spans are marked in steps
  // For the facts of rules; absent without a prediction. `peak_bytes`: beyond the weights;
  // `offload_ns`: the denoiser's weights once over the link for each forward that reads them.
  std::optional<double> attention_share, attention_bytes, vae_bytes, peak_bytes, offload_ns,
      peak_tflops;
};

// The GPU's timeline from kernels: spans on tracks "gpu:<device>/stream:<stream>", as an import
// makes them (docs/import.md) or a program names them.
struct DeviceTimeline {
  // A gap before a kernel that had been launched counts as kernel wait up to this long. Holistic
  // Trace Analysis takes 30 ns, which is below what most GPUs need between two kernels.
  static constexpr std::int64_t kKernelWaitNs = 2'000;

  std::string device;                     // "gpu:0"; with several processes "rank 3 gpu:0"
  std::int64_t begin_ns = 0, end_ns = 0;  // first kernel's begin, last one's end; since the run's
  std::int64_t busy_ns = 0;               // at least one kernel or copy runs
  std::int64_t compute_ns = 0, communication_ns = 0, copy_ns = 0;
  std::int64_t overlap_ns = 0;           // communication or copies under compute
  std::int64_t exposed_ns = 0;           // communication or copies with no compute beside
  std::int64_t idle_host_wait_ns = 0;    // the host had not launched the next kernel
  std::int64_t idle_kernel_wait_ns = 0;  // launched; short gaps between kernels
  std::int64_t idle_other_ns = 0;
  std::uint64_t kernels = 0;         // copies not counted
  std::uint64_t without_launch = 0;  // of kernels and copies: no launch is known
};
struct KernelRow {
  std::string stage;  // stage in which the host launched it; "" outside of any
  std::string name;
  std::uint64_t count = 0;
  std::int64_t total_ns = 0;
};

// What the host and the link did within the steps, from imported calls and copies. Absent: nothing
// tells, and `reason` says why.
struct StepTraffic {
  std::uint64_t steps = 0;               // of the processes that have calls
  std::optional<double> syncs_per_step;  // calls that wait for the GPU
  // Those of them made to log a loss or metric; nothing if no span of the trace logs.
  std::optional<double> log_syncs_per_step;
  std::optional<double> h2d_copies_per_step, h2d_bytes_per_step;
  std::optional<double> h2d_bytes_per_second;  // while they run
  std::string reason;
};

// Whose clock the spans show: where the host does not wait for the GPU, a span ends when its work
// is queued. Absent: no span is a wait for the GPU, and none carries GPU time.
struct SpanClock {
  std::optional<bool> gpu;  // spans carry GPU time, or the host waited at the ends of most
  // Of the wall time, in the spans around a wait or last before it, without those inside.
  std::optional<double> last_span_share;
  std::optional<double> stages_per_busy_ratio;  // time of the stages over the GPUs' busy time
};

// Of several GPUs the busiest. "In the steps": where there are any, else over the run.
struct GpuUse {
  std::string id;                    // "": no GPU was seen
  std::optional<double> busy_ratio;  // in the steps, of all that the run used; exact with kernels
  std::optional<double> first_step_busy_ratio;
  std::optional<double> clock_ratio;        // in the steps: mean core clock over its maximum
  std::optional<double> clock_drift_ratio;  // from the first quarter of the steps to the last
  std::optional<double> memory_total_bytes, memory_peak_bytes, tree_memory_peak_bytes;
  std::uint64_t count = 0;                       // GPUs that were seen
  std::optional<std::uint64_t> other_processes;  // that used it; absent where no probe lists them
};

// Where the time of one thread went, from the reading that found it to the last one of it.
struct ThreadTime {
  std::string name;  // as in comm
  std::uint32_t pid = 0, tid = 0;
  double seen_seconds = 0;
  double on_cpu_share = 0, ready_share = 0;
  std::optional<double> storage_share;  // absent: its state was not read
  double other_share = 0;               // the rest
};

// Where the wall time of the watched processes went, whatever they marked. Of each stretch between
// two readings: what was on a CPU at most the whole stretch, then what was ready and had no CPU,
// then what waited for storage; the rest slept or waited for something else (a timer, a network, a
// lock, a GPU). The four add up to 1. Threads that run at once count as one after the other within
// a stretch (a second, usually).
struct TimeSplit {
  static constexpr std::size_t kMostThreads = 20;
  std::optional<double> on_cpu_share, ready_share, storage_share, other_share;
  // Of the time in which threads could run, each counted: that in which they had no CPU.
  std::optional<double> cpu_wait_share;
  double covered_seconds = 0;
  std::string reason;  // why shares are absent; "" if none is
  // Those that ran or could have run longest. A thread that lived between two readings is in none.
  std::vector<ThreadTime> threads;
};

// Stops of a program that otherwise keeps a CPU busy, and how regular they are: of a collector, a
// flush, a timer. Absent where the readings of CPU time are too few (30), or it is not busy.
struct Pauses {
  std::uint64_t count = 0;
  double share = 0;                     // of the time, spent in them
  double typical_seconds = 0;           // the median one
  std::optional<double> every_seconds;  // from one to the next, where the distances are alike
};

// The slowest steady step that is neither the first nor the last of its process, and what its
// readings say of that time, beside what is usual.
struct SlowStep {
  std::uint64_t index = 0;  // in the order of time, from 0
  std::int64_t duration_ns = 0;
  double ratio = 0;  // over the median of the steady steps
  double share = 0;  // of the run's time: what it took longer than that
  std::string meanwhile;
};

struct HostUse {
  // The CPUs that the run may use (the machine's, or the control group's limit), how many it used
  // on average (its CPU time over the wall time), and how many all others on the machine.
  std::optional<double> cpus, own_cores, other_cores;
  std::optional<double> steal_share;      // of the CPUs' time, taken by the hypervisor
  std::optional<double> throttled_share;  // of the time: the control group's quota held tasks back
  std::optional<double> threads_seen;     // of the tree at once, the most that a reading saw
  std::optional<double> rss_peak_bytes, swap_peak_bytes;  // of the tree
  std::optional<double> read_bytes, write_bytes;          // of the tree, to and from storage
  std::optional<double> main_thread_busy_ratio;           // in the steady steps where there are any
  std::string main_thread_reason;                         // why not
  std::optional<double> major_faults_per_second, read_bytes_per_second;
  std::optional<double> memory_peak_share;  // of the machine's memory, all processes
  // Processes of the control group that the kernel ended meanwhile because memory ran out.
  std::optional<double> oom_kills;
};

// The first caching allocator's figure in bytes, within spans.
struct AllocatorUse {
  std::optional<double> step_rise_bytes;       // largest rise within a step
  std::optional<double> request_growth_ratio;  // of the peak from request to request, median
  std::string step_reason, request_reason;     // why not
};

struct Resources {
  std::vector<StageUse> stages;
  std::vector<MemoryGrowth> growth;
  std::vector<EnergyPerUnit> energy;
  std::vector<ThrottleShare> throttling;
  Utilisation utilisation;
  std::vector<DeviceTimeline> devices;
  std::vector<KernelRow> kernels;        // the 50 with the most time
  std::optional<double> device_overlap;  // of the time of any, that of two or more; from `devices`
  StepTraffic step_traffic;
  // GPUs that did work for the run: those in which its processes hold memory; where no driver tells
  // it, those that were busy at all. Absent without readings or kernels.
  std::optional<std::uint64_t> gpus_used;
  SpanClock span_clock;
  TimeSplit time;
  std::optional<Pauses> pauses;
  std::optional<SlowStep> slow_step;
  GpuUse gpu;
  HostUse host;
  AllocatorUse allocator;
};

}  // namespace genscope
