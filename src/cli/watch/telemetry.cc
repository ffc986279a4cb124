#include "cli/watch/telemetry.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "cli/suggest.h"

namespace genscope::cli::watch {
namespace {

std::string own_program() {
  std::error_code failed;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", failed);
  // After an upgrade the link says "... (deleted)"; the link itself still opens.
  return failed || !std::filesystem::exists(path, failed) ? "/proc/self/exe" : path.string();
}

}  // namespace

bool is_gpu_probe(std::string_view name) {
  return name == "nvml" || name == "amdgpu" || name == "intel";
}

Status check_probes(const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const ProbeInfo& probe : all_probes()) known.emplace_back(probe.name);
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string meant = nearest(name, known);
    return Error{ErrorCode::invalid_argument,
                 fmt::format("unknown probe '{}'; {}", name,
                             meant.empty() ? fmt::format("there are {}", fmt::join(known, ", "))
                                           : fmt::format("did you mean '{}'?", meant))};
  }
  return Done{};
}

Telemetry::Telemetry(TelemetryOptions options, SampleSink* next)
    : options_(std::move(options)), totals_(next) {
  if (options_.probes.empty()) {
    for (const ProbeInfo& probe : all_probes()) options_.probes.emplace_back(probe.name);
  }
  options_.sampling.sink = &totals_;
}

std::vector<std::string> Telemetry::wanted(bool gpu) const {
  std::vector<std::string> names;
  for (const std::string& name : options_.probes) {
    if (is_gpu_probe(name) == gpu && (!gpu || options_.gpus)) names.push_back(name);
  }
  return names;
}

bool Telemetry::gpus_wanted() const { return !wanted(true).empty(); }

void Telemetry::start(pid_t pid) {
  sampler_ = std::make_unique<Sampler>(options_.sampling);
  ProbeOptions options = probe_options_from_environment();
  options.pid = pid;
  for (const std::string& name : wanted(false)) {
    Result<std::unique_ptr<Probe>> probe = make_probe(name, options);
    if (probe) sampler_->add(std::move(*probe));
  }
  if (const std::vector<std::string> gpu = wanted(true); !gpu.empty()) {
    sampler_->add(
        make_remote_probe({own_program(), "probe-child", "--probes",
                           fmt::format("{}", fmt::join(gpu, ",")), "--pid", std::to_string(pid),
                           "--interval", std::to_string(options_.sampling.fast_ns / 1'000'000)}));
  }
  if (const Status started = sampler_->start(); !started) sampler_.reset();
}

void Telemetry::stop() {
  if (sampler_) sampler_->stop();
}

Snapshot Telemetry::snapshot() const { return sampler_ ? sampler_->snapshot() : Snapshot{}; }

std::vector<ProbeReport> Telemetry::reports() const {
  return sampler_ ? sampler_->reports() : std::vector<ProbeReport>{};
}

SamplerStats Telemetry::stats() const { return sampler_ ? sampler_->stats() : SamplerStats{}; }

}  // namespace genscope::cli::watch
