// Settings of the training monitors in YAML, with the names that training scripts use:
//
//   trainer_params:
//     enable_memory_monitoring: true
//     memory_monitor_batches: 5
//   profiling:                        # as in config.h
//     gpu_monitor_interval: 0.5
//
//   const auto config = genscope::load_monitor_config("trainer.yaml");
//   genscope::EpochPerformanceMonitor monitor(genscope::epoch_monitor_options(*config));
//
// Read strictly, like config.h: an unknown name, a wrong type, a value out of range or a name given
// twice is an error that says file, line and what was meant. The names of `trainer_params` may also
// stand at top level.
//
// Data and pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <genscope/compat/epoch_monitor.h>
#include <genscope/compat/performance_monitor.h>
#include <genscope/config.h>
#include <genscope/error.h>

namespace genscope {

struct MonitorConfig {
  bool enable_memory_monitoring = true;      // time and memory; false: the monitors do nothing
  std::uint64_t memory_monitor_batches = 5;  // verbose for the first N of an epoch; to 1,000,000
  // Of the loop itself; a monitor reads batch_size for samples/s, the others are carried along.
  std::optional<std::uint64_t> batch_size;   // 1 to 1,000,000,000
  std::optional<std::uint64_t> num_workers;  // 0 to 100,000
  std::optional<std::uint64_t> epochs;       // 1 to 1,000,000,000

  // --- ours
  std::uint64_t device = 0;             // GPU, 0 to 1023
  std::uint64_t warmup_batches = 1;     // kept out of the steady figures; to 1,000,000
  std::uint64_t max_records = 100'000;  // PerformanceMonitorOptions::max_records; to 100,000,000

  Config profiling;  // of the file's `profiling:`, else the defaults
};

// The file at `path`, at most 1 MiB.
Result<MonitorConfig> load_monitor_config(const std::string& path);
// The same from memory; `file_name` is for messages.
Result<MonitorConfig> parse_monitor_config(std::string_view yaml, std::string_view file_name);

PerformanceMonitorOptions performance_monitor_options(const MonitorConfig& config);
EpochMonitorOptions epoch_monitor_options(const MonitorConfig& config);

}  // namespace genscope
