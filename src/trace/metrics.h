// The table of metrics: every value that genscope's own probes read. One row serves the trace, the
// reports, the JSON, the terminal and docs/metrics.md.
#pragma once

#include <string>
#include <string_view>

#include <genscope/trace.h>

namespace genscope::trace {

inline constexpr double kMaxBytes = 1e16;  // 9 PiB: beyond any memory, disk or link total
inline constexpr double kMaxNs = 1e18;     // 31 years
inline constexpr auto kGauge = MetricKind::gauge;
inline constexpr auto kCounter = MetricKind::counter;
inline constexpr auto kBits = MetricKind::bits;

// clang-format off
inline constexpr Metric kMetrics[] = {
  // --- processes: of the watched tree
  {"cpu_ns", "ns", "CPU time used, user and system; of a tree with its reaped children", kCounter, 0, kMaxNs},
  {"main_thread_cpu_ns", "ns", "CPU time of a process's main thread; of a tree, of the one that used most", kCounter, 0, kMaxNs},
  {"cpu_wait_ns", "ns", "Time in which threads could have run and had no CPU, all threads that were seen", kCounter, 0, kMaxNs},
  {"storage_wait", "1", "1 while the main thread of a process waits for storage and cannot be interrupted, else 0", kGauge, 0, 1},
  {"asleep", "1", "1 while no main thread of a process runs or could run, else 0", kGauge, 0, 1},
  {"rss_bytes", "B", "Resident memory", kGauge, 0, kMaxBytes},
  {"rss_anon_bytes", "B", "Resident memory that no file backs", kGauge, 0, kMaxBytes},
  {"rss_file_bytes", "B", "Resident memory of mapped files and shared memory", kGauge, 0, kMaxBytes},
  {"pss_bytes", "B", "Resident memory, shared pages divided among their users", kGauge, 0, kMaxBytes},
  {"swap_bytes", "B", "Memory swapped out", kGauge, 0, kMaxBytes},
  {"threads", "1", "Threads", kGauge, 0, 1e9},
  {"processes", "1", "Processes", kGauge, 0, 1e9},
  {"minor_faults", "1", "Page faults served without I/O", kCounter},
  {"major_faults", "1", "Page faults that needed I/O", kCounter},
  {"io_read_bytes", "B", "Bytes read from storage", kCounter, 0, kMaxBytes * 10},
  {"io_write_bytes", "B", "Bytes written to storage", kCounter, 0, kMaxBytes * 10},

  // --- machine
  {"cpu_count", "1", "CPUs online", kGauge, 1, 1e6},
  {"cpu_busy_ratio", "1", "Share of all CPUs' time that was not idle", kGauge, 0, 1},
  {"cpu_user_ratio", "1", "Share of all CPUs' time in user code", kGauge, 0, 1},
  {"cpu_system_ratio", "1", "Share of all CPUs' time in the kernel, interrupts included", kGauge, 0, 1},
  {"cpu_iowait_ratio", "1", "Share of all CPUs' time idle with I/O outstanding", kGauge, 0, 1},
  {"cpu_steal_ratio", "1", "Share of all CPUs' time taken by the hypervisor", kGauge, 0, 1},
  {"load_1m", "1", "Runnable and uninterruptible tasks, mean of a minute", kGauge, 0, 1e6},
  {"memory_total_bytes", "B", "Memory there is", kGauge, 0, kMaxBytes},
  {"memory_used_bytes", "B", "Memory in use; of a machine, total less available; of a GPU without what the driver reserves", kGauge, 0, kMaxBytes},
  {"memory_available_bytes", "B", "Memory that programs could still get without swapping", kGauge, 0, kMaxBytes},
  {"memory_free_bytes", "B", "Memory unused", kGauge, 0, kMaxBytes},
  {"swap_total_bytes", "B", "Swap there is", kGauge, 0, kMaxBytes},
  {"swap_used_bytes", "B", "Swap in use", kGauge, 0, kMaxBytes},
  {"pressure_cpu_some_ns", "ns", "Time in which some task waited for a CPU", kCounter, 0, kMaxNs},
  {"pressure_memory_some_ns", "ns", "Time in which some task waited for memory", kCounter, 0, kMaxNs},
  {"pressure_memory_full_ns", "ns", "Time in which all tasks waited for memory", kCounter, 0, kMaxNs},
  {"pressure_io_some_ns", "ns", "Time in which some task waited for I/O", kCounter, 0, kMaxNs},
  {"pressure_io_full_ns", "ns", "Time in which all tasks waited for I/O", kCounter, 0, kMaxNs},
  {"disk_read_bytes", "B", "Bytes read from whole disks", kCounter, 0, kMaxBytes * 10},
  {"disk_write_bytes", "B", "Bytes written to whole disks", kCounter, 0, kMaxBytes * 10},
  {"net_receive_bytes", "B", "Bytes received, loopback excluded, this network namespace", kCounter, 0, kMaxBytes * 10},
  {"net_send_bytes", "B", "Bytes sent, loopback excluded, this network namespace", kCounter, 0, kMaxBytes * 10},

  // --- cgroup
  {"memory_limit_bytes", "B", "Effective memory limit: the least over all ancestors", kGauge, 0, kMaxBytes},
  {"memory_peak_bytes", "B", "Highest memory use that the kernel saw", kGauge, 0, kMaxBytes},
  {"memory_working_set_bytes", "B", "Memory in use less inactive file pages", kGauge, 0, kMaxBytes},
  {"memory_oom_kills", "1", "Processes killed because memory ran out", kCounter},
  {"cpu_limit_cores", "1", "Effective CPU limit in cores: quota and cpuset, the least over all ancestors", kGauge, 0, 1e6},
  {"cpu_throttled_ns", "ns", "Time in which the quota held tasks back", kCounter, 0, kMaxNs},

  // --- energy: of a CPU package, of a GPU
  {"energy_joules", "J", "Energy used, by the device's own counter", kCounter, 0, 1e15},
  {"power_watts", "W", "Power drawn, as the device averages it", kGauge, 0, 20000},
  {"power_instant_watts", "W", "Power drawn at this instant", kGauge, 0, 20000},
  {"power_limit_watts", "W", "Power limit in force", kGauge, 0, 20000},

  // --- GPU
  {"memory_reserved_bytes", "B", "GPU memory that driver and firmware keep", kGauge, 0, kMaxBytes},
  {"memory_shared_total_bytes", "B", "System memory that the GPU may map (GTT)", kGauge, 0, kMaxBytes},
  {"memory_shared_used_bytes", "B", "System memory that the GPU has mapped (GTT)", kGauge, 0, kMaxBytes},
  {"busy_ratio", "1", "Share of the driver's window in which any kernel was resident; not occupancy", kGauge, 0, 1},
  {"memory_busy_ratio", "1", "Share of the window with memory traffic; not capacity", kGauge, 0, 1},
  {"sm_active_ratio", "1", "Share of time with a warp resident, mean over SMs", kGauge, 0, 1},
  {"sm_occupancy_ratio", "1", "Resident warps against the most there can be", kGauge, 0, 1},
  {"tensor_active_ratio", "1", "Share of time with the tensor pipe busy", kGauge, 0, 1},
  {"memory_bandwidth_ratio", "1", "Memory bandwidth in use against its peak", kGauge, 0, 1},
  {"temperature_celsius", "C", "Temperature of the chip", kGauge, -100, 150},
  {"temperature_hotspot_celsius", "C", "Temperature of its hottest spot", kGauge, -100, 150},
  {"temperature_memory_celsius", "C", "Temperature of its memory", kGauge, -100, 150},
  {"temperature_limit_celsius", "C", "Temperature at which it slows down", kGauge, -100, 150},
  {"temperature_margin_celsius", "C", "Degrees left before it slows down; negative: beyond", kGauge, -150, 300},
  {"clock_core_mhz", "MHz", "Clock of the shader cores", kGauge, 0, 20000},
  {"clock_core_max_mhz", "MHz", "Highest clock of the shader cores", kGauge, 0, 20000},
  {"clock_memory_mhz", "MHz", "Clock of the memory", kGauge, 0, 50000},
  {"clock_media_mhz", "MHz", "Clock of the video engines", kGauge, 0, 20000},
  {"fan_ratio", "1", "Fan speed against its highest", kGauge, 0, 2},
  {"throttle_reasons", "bits", "Why clocks are held down; bits as in docs/metrics.md", kBits, 0, 9007199254740992.0},
  {"throttle_power_ns", "ns", "Time held down by a power limit", kCounter, 0, kMaxNs},
  {"throttle_thermal_ns", "ns", "Time held down by temperature", kCounter, 0, kMaxNs},
  {"throttle_other_ns", "ns", "Time held down by a hardware slowdown or power brake", kCounter, 0, kMaxNs},
  {"pcie_receive_bytes", "B", "Bytes into the GPU over PCIe, by counter", kCounter, 0, kMaxBytes * 10},
  {"pcie_send_bytes", "B", "Bytes out of the GPU over PCIe, by counter", kCounter, 0, kMaxBytes * 10},
  {"pcie_receive_bytes_per_second", "B/s", "Rate into the GPU over PCIe, sampled by the driver over 20 ms", kGauge, 0, 1e13},
  {"pcie_send_bytes_per_second", "B/s", "Rate out of the GPU over PCIe, sampled by the driver over 20 ms", kGauge, 0, 1e13},
  {"pcie_generation", "1", "Generation of the PCIe link now; falls when idle", kGauge, 1, 16},
  {"pcie_lanes", "1", "Lanes of the PCIe link now", kGauge, 1, 64},
  {"link_receive_bytes", "B", "Bytes received over NVLink or xGMI", kCounter, 0, kMaxBytes * 10},
  {"link_send_bytes", "B", "Bytes sent over NVLink or xGMI", kCounter, 0, kMaxBytes * 10},
  {"ecc_errors", "1", "Uncorrected memory errors since the driver was loaded", kCounter},
  {"tree_memory_bytes", "B", "GPU memory held by the watched tree", kGauge, 0, kMaxBytes},
  {"tree_busy_ratio", "1", "GPU busy share of the watched tree", kGauge, 0, 1},

  // --- framework allocator, fed in by allocator_stats() of record.h
  {"allocator_requested_bytes", "B", "What the program asked for", kGauge, 0, kMaxBytes},
  {"allocator_allocated_bytes", "B", "The same, rounded up to blocks", kGauge, 0, kMaxBytes},
  {"allocator_active_bytes", "B", "Allocated, and freed but awaiting a stream", kGauge, 0, kMaxBytes},
  {"allocator_reserved_bytes", "B", "Held by the allocator, cache included", kGauge, 0, kMaxBytes},
  {"allocator_inactive_split_bytes", "B", "Free parts of segments that live blocks pin: external fragmentation proper", kGauge, 0, kMaxBytes},
  {"allocator_retries", "1", "Allocations that succeeded only after the cache was emptied", kCounter},
  {"allocator_ooms", "1", "Allocations that failed", kCounter},

  // --- requests of a service, fed in by monitor.h
  {"requests_finished", "1", "Requests that ended, however they ended", kCounter},
  {"requests_failed", "1", "Requests that ended with an error of any class", kCounter},
  {"requests_in_flight", "1", "Requests that began and have not ended", kGauge, 0, 1e9},
  {"requests_waiting", "1", "Requests that still wait in the queue", kGauge, 0, 1e9},
  {"requests_1m_per_second", "1/s", "Requests ended per second, over the last minute", kGauge, 0, 1e9},
  {"requests_5m_per_second", "1/s", "Requests ended per second, over the last 5 minutes", kGauge, 0, 1e9},
  {"requests_15m_per_second", "1/s", "Requests ended per second, over the last 15 minutes", kGauge, 0, 1e9},
  {"request_p50_seconds", "s", "Time of a request, median of the last ones", kGauge, 0, 1e9},
  {"request_p95_seconds", "s", "Time of a request, 95th percentile of the last ones", kGauge, 0, 1e9},
  {"request_p99_seconds", "s", "Time of a request, 99th percentile of the last ones", kGauge, 0, 1e9},
  {"request_queue_p95_seconds", "s", "Wait in the queue, 95th percentile of the last ones", kGauge, 0, 1e9},
  {"request_first_byte_p95_seconds", "s", "Time to the first byte, 95th percentile of the last ones", kGauge, 0, 1e9},
  {"request_slo_ratio", "1", "Share of the last requests within their time", kGauge, 0, 1},

  // --- genscope itself
  {"probe_cpu_ns", "ns", "CPU time of genscope's own threads since sampling began", kCounter, 0, kMaxNs},
  {"probe_cpu_ratio", "1", "CPU time of genscope's own threads, share of one core, since the last", kGauge, 0, 64},
  {"probe_missed_ticks", "1", "Ticks skipped because the thread was late", kCounter},
};
// clang-format on

// The metric of that id; an id that is not in the table does not compile.
consteval const Metric& metric(std::string_view id) {
  for (const Metric& row : kMetrics) {
    if (row.id == id) return row;
  }
  throw "no such metric: add a row to kMetrics";
}

// Bits of throttle_reasons: one numbering for all vendors, NVML's own where it has the reason.
enum ThrottleBit : std::uint64_t {
  kThrottleIdle = 0x1,
  kThrottleApplicationClocks = 0x2,
  kThrottlePowerCap = 0x4,
  kThrottleHardwareSlowdown = 0x8,
  kThrottleSyncBoost = 0x10,
  kThrottleThermalSoftware = 0x20,
  kThrottleThermalHardware = 0x40,
  kThrottlePowerBrake = 0x80,
  kThrottleDisplay = 0x100,
  kThrottleCurrent = 0x200,  // electrical current limit
  kThrottleOther = 0x400,    // the vendor says "throttled" without a reason that we know
};
// The bits that say the device is held down against its will.
inline constexpr std::uint64_t kThrottleFaults =
    kThrottlePowerCap | kThrottleHardwareSlowdown | kThrottleThermalSoftware |
    kThrottleThermalHardware | kThrottlePowerBrake | kThrottleCurrent | kThrottleOther;

inline constexpr std::uint64_t kThrottleThermal =
    kThrottleThermalSoftware | kThrottleThermalHardware;

// Why a device is held down, in words: one row per reason, the gravest first. Every report, the
// terminal, the rules and the page say these.
struct ThrottleReason {
  std::string_view name;
  std::uint64_t bits;
};
inline constexpr ThrottleReason kThrottleReasons[] = {
    {"thermal", kThrottleThermal},
    {"power cap", kThrottlePowerCap},
    {"hardware slowdown", kThrottleHardwareSlowdown},
    {"power brake", kThrottlePowerBrake},
    {"current limit", kThrottleCurrent},
    {"other", kThrottleOther},
};
// The names of the reasons in a reading of throttle_reasons, with commas; "" if there is none, or
// it is no set of bits.
std::string throttle_words(double reading);

}  // namespace genscope::trace
