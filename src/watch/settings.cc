#include "watch/settings.h"

#include <algorithm>

namespace genscope::watch {
namespace {

void set_periods(SamplerOptions& sampling, double interval_seconds) {
  const TierPeriods usual = periods(interval_seconds);
  sampling.fast_ns = usual.fast_ns;
  sampling.normal_ns = usual.normal_ns;
  sampling.slow_ns = usual.slow_ns;
}

}  // namespace

RunSettings merged_settings(const Config& config, const RunFlags& flags) {
  RunSettings settings;
  settings.enabled = config.enabled;
  settings.out = flags.out.empty() ? config.output_dir : flags.out;
  settings.live = !flags.live.empty()                        ? flags.live
                  : config.real_time_display && !flags.quiet ? "auto"
                                                             : "never";
  settings.redraw_ns =
      std::max(settings.redraw_ns, static_cast<std::int64_t>(config.display_interval * 1e9));
  settings.summary = config.generate_final_report && !flags.quiet;
  settings.json_in_run =
      config.generate_final_report &&
      (config.report_format == ReportFormat::json || config.report_format == ReportFormat::both);
  settings.html_in_run = config.generate_final_report &&
                         config.report_format != ReportFormat::json &&
                         config.report_format != ReportFormat::csv;
  settings.samples_in_run = config.save_raw_data;
  settings.points = config.max_data_points;
  for (const std::string& word : skipped_spans(config)) {
    settings.skip += (settings.skip.empty() ? "" : ",") + word;
  }
  settings.tags = config.session_tags;
  settings.keep_args = flags.keep_args || config.keep_args;

  TelemetryOptions& telemetry = settings.telemetry;
  telemetry.probes = flags.probes.empty() ? probes(config) : flags.probes;
  telemetry.gpus = !flags.no_gpu;
  telemetry.probing = probe_options_from_environment();
  telemetry.probing.gpu_memory = config.monitor_gpu_memory;
  telemetry.probing.gpu_utilization = config.monitor_gpu_utilization;
  telemetry.probing.gpu_temperature = config.monitor_gpu_temperature;
  telemetry.probing.gpu_power = config.monitor_gpu_power;
  const double interval = flags.interval_ms / 1e3;
  set_periods(telemetry.sampling, interval > 0 ? interval : config.cpu_monitor_interval);
  set_periods(telemetry.gpu_sampling, interval > 0 ? interval : config.gpu_monitor_interval);
  telemetry.sampling.budget_ratio = config.budget;
  telemetry.gpu_sampling.budget_ratio = config.budget;
  return settings;
}

Result<RunSettings> settings_of(const RunFlags& flags) {
  for (const std::string& probe : flags.probes) {
    if (const auto made = make_probe(probe); !made) return made.error();
  }
  Config config;
  config.display_interval = 0;  // as often as allowed
  if (!flags.config.empty() || !flags.preset.empty()) {
    const Result<Config> read =
        flags.config.empty() ? preset(flags.preset) : load_config(flags.config);
    if (!read) return read.error();
    config = *read;
  }
  return merged_settings(config, flags);
}

}  // namespace genscope::watch
