// Settings: what a run watches, how often, and what it leaves behind.
//
//   genscope::Result<genscope::Config> config = genscope::load_config("genscope.yaml");
//
// A settings file is YAML with the names below, at top level or under `profiling:` (docs/config.md
// has the table). It is read strictly: an unknown name, a wrong type, a value out of range or a
// name given twice is an error that says where it stands and what was meant.
//
// Data and pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <genscope/error.h>

namespace genscope {

enum class ReportFormat : std::uint8_t {
  text,
  json,
  csv,
  html,
  both,  // html and json
};
std::string_view name(ReportFormat format) noexcept;  // "text", "json", ...

// Every interval is in seconds, from 0.001 to 3600.
struct Config {
  bool enabled = true;  // false: record nothing, start no probe

  // --- the live view
  bool real_time_display = true;  // show one, if there is a terminal
  double display_interval = 0.5;  // between two redraws; never more than 4 redraws a second

  // --- GPUs. What is off is not even asked of the driver.
  double gpu_monitor_interval = 0.1;  // of the fast tier; see periods()
  bool monitor_gpu_memory = true;
  bool monitor_gpu_utilization = true;
  bool monitor_gpu_temperature = true;
  bool monitor_gpu_power = true;  // power and energy

  // --- processes and the machine
  double cpu_monitor_interval = 0.1;  // of the fast tier; see periods()
  bool monitor_cpu_usage = true;      // of the process tree, of the machine, of its packages
  bool monitor_system_memory = true;  // of the machine, and the limits of the cgroup

  // --- what is left behind
  bool generate_final_report = true;
  ReportFormat report_format = ReportFormat::text;
  bool save_raw_data = false;  // also every reading as samples.csv, by `genscope run`
  std::string output_dir;      // of run directories; empty: $GENSCOPE_OUT, else ./genscope-runs
  std::uint64_t max_data_points = 10'000;  // of one series in samples.csv, 1 to 10 million
  std::vector<std::pair<std::string, std::string>> session_tags;  // as written; at most 64
  bool keep_args = false;  // command lines as they are; else what looks like a secret is `***`

  // --- which marks of the program are recorded
  bool profile_inference_steps = true;  // spans of kind step
  bool profile_vae_decode = true;       // the stages vae_decode and vae_decoding
  bool profile_text_encoding = true;    // the stages text_encode and text_encoding

  // --- not in the configuration of Inferix
  std::vector<std::string> probes;  // by name; empty: what the switches above ask for
  double budget = 0.001;            // share of one core for all probes together; above 0, up to 1
};

// The file at `path`, at most 1 MiB.
Result<Config> load_config(const std::string& path);

// The same from memory; `file_name` is for messages.
Result<Config> parse_config(std::string_view yaml, std::string_view file_name);

// development, production or debugging; docs/config.md has their values. In a file the name
// `preset` starts from one instead of from the defaults, wherever in the file it stands.
Result<Config> preset(std::string_view name);

// The probes to start: `config.probes`, else those that the monitor_ switches need; none if
// `config.enabled` is false.
std::vector<std::string> probes(const Config& config);

// What the profile_ switches leave out, as SessionOptions::skip has it: "stage/vae_decode".
std::vector<std::string> skipped_spans(const Config& config);

// Periods of the sampler's tiers for an interval: the fast tier takes it as it is, the others are
// never quicker than it.
struct TierPeriods {
  std::int64_t fast_ns = 0;
  std::int64_t normal_ns = 0;  // 1 s or the interval
  std::int64_t slow_ns = 0;    // 5 s or the interval
};
TierPeriods periods(double interval_seconds) noexcept;

}  // namespace genscope
