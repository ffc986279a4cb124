#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "genscope/record.h"
#include "record/control.h"
#include "trace/sampling.h"

namespace genscope {

SessionOptions session_options(const Config& config) {
  SessionOptions options;
  options.out = config.output_dir;
  options.probes = probes(config);
  options.probe_interval_seconds =
      std::min(config.cpu_monitor_interval, config.gpu_monitor_interval);
  options.probe_budget = config.budget;
  options.gpu_memory = config.monitor_gpu_memory;
  options.gpu_utilization = config.monitor_gpu_utilization;
  options.gpu_temperature = config.monitor_gpu_temperature;
  options.gpu_power = config.monitor_gpu_power;
  options.skip = skipped_spans(config);
  options.keep_args = config.keep_args;
  return options;
}

inline namespace on {
namespace {

// Set by `genscope run`: it samples this process from outside.
bool sampled_already() noexcept {
  const char* const value = std::getenv("GENSCOPE_SAMPLED");
  return value != nullptr && *value != '\0';
}

std::shared_ptr<void> start_probes(const SessionOptions& options) {
  trace::SamplingPlan plan;
  plan.probes = options.probes;
  plan.interval_seconds = options.probe_interval_seconds;
  plan.budget_ratio = options.probe_budget;
  plan.gpu_memory = options.gpu_memory;
  plan.gpu_utilization = options.gpu_utilization;
  plan.gpu_temperature = options.gpu_temperature;
  plan.gpu_power = options.gpu_power;
  std::vector<std::string> errors;
  std::shared_ptr<void> sampling;
  if (const trace::Sampling* const probes = trace::registered_sampling()) {
    sampling = probes->start(plan, make_recording_sink(), errors);
  } else {
    errors.emplace_back("no probes are linked into this program; link all of libgenscope");
  }
  for (const std::string& error : errors) {
    event("genscope.probe_refused", {{"entity", "genscope"}, {"detail", error}});
    if (!options.quiet) std::fprintf(stderr, "genscope: %s\n", error.c_str());
  }
  return sampling;
}

}  // namespace

Session::Session(std::string_view name, const SessionOptions& options) noexcept {
  open(name, options);
}

Session::Session(std::string_view name, const Config& config) noexcept {
  if (!config.enabled) return;
  try {
    open(name, session_options(config));
  } catch (...) {
    record::Control::instance().fail(record::Reason("there is no memory to begin with"));
    return;
  }
  for (const auto& [key, value] : config.session_tags) handle_.arg(key, value);
}

void Session::open(std::string_view name, const SessionOptions& options) noexcept {
  record::Control::Opened opened = record::Control::instance().open_session(name, options);
  open_ = true;
  run_dir_ = std::move(opened.run_dir);
  if (options.span) handle_ = begin(SpanKind::session, name);
  if (!opened.active || options.probes.empty() || sampled_already()) return;
  try {
    sampling_ = start_probes(options);
  } catch (...) {
    event("genscope.probe_refused", {{"entity", "genscope"}, {"detail", "there is no memory"}});
  }
}

Session::~Session() { close(); }

void Session::close() noexcept {
  if (!open_) return;
  open_ = false;
  sampling_.reset();  // reads a last time
  flush();            // so that full buffers cannot cost the session its end
  genscope::end(handle_);
  handle_ = Handle();
  record::Control::instance().close_session();
}

bool Session::active() const noexcept {
  return open_ && record::Control::instance().stats().active;
}

std::string Session::error() const { return record::Control::instance().error(); }

std::string Session::run_dir() const {
  try {
    return run_dir_;
  } catch (...) {
    return {};
  }
}

}  // namespace on
}  // namespace genscope
