#include "watch/telemetry.h"

#include <system_error>

#include "base/own_threads.h"
#include "probe/gpu_hint.h"
#include "watch/probe_child.h"

namespace genscope::watch {
namespace {

// So long the first reading may wait for the GPU probes; what they say later is taken as well.
constexpr std::int64_t kPatienceNs = 150'000'000;

SamplerOptions with_sink(SamplerOptions options, SampleSink* sink) {
  options.sink = sink;
  return options;
}

}  // namespace

Telemetry::Telemetry(TelemetryOptions options, SampleSink* next)
    : options_(std::move(options)), sampler_(with_sink(options_.sampling, next)) {}

Telemetry::~Telemetry() {
  if (!thread_.joinable()) return;
  stop();
  phase_.store(Phase::over);
  phase_.notify_all();
  thread_.join();
}

std::vector<std::string> Telemetry::wanted(bool gpu) const {
  std::vector<std::string> names;
  for (const std::string& name : options_.probes) {
    if (is_gpu_probe(name) == gpu && (!gpu || options_.gpus)) names.push_back(name);
  }
  return names;
}

bool Telemetry::gpus_wanted() const { return !wanted(true).empty(); }

void Telemetry::add_probes(pid_t pid) {
  ProbeOptions options = options_.probing;
  options.pid = pid;
  for (const std::string& name : wanted(false)) {
    Result<std::unique_ptr<Probe>> probe = make_probe(name, options);
    if (probe) sampler_.add(std::move(*probe));
  }
  if (const std::vector<std::string> gpu = wanted(true); !gpu.empty()) {
    sampler_.add(probe::make_remote_gpu_probe(
        gpu, options, probe_child_command(gpu, options, options_.gpu_sampling), kPatienceNs));
  }
}

void Telemetry::start(pid_t pid) {
  base::whole_process_is_own();  // the command runs in another
  add_probes(pid);
  try {
    // The process of the GPU probes is this thread's child and ends with it; so it stays until
    // the end, lest that process be taken for an orphan of the command.
    thread_ = std::thread([this] {
      const Status started = sampler_.start();
      open_.store(started.ok());
      phase_.wait(Phase::watching);
      sampler_.stop();
      Phase stopping = Phase::stopping;
      phase_.compare_exchange_strong(stopping, Phase::stopped);
      phase_.notify_all();
      phase_.wait(Phase::stopped);
    });
  } catch (const std::system_error&) {
    // No thread to be had: the command runs unwatched.
  }
}

void Telemetry::stop() {
  if (!thread_.joinable()) return;
  Phase watching = Phase::watching;
  phase_.compare_exchange_strong(watching, Phase::stopping);
  phase_.notify_all();
  phase_.wait(Phase::stopping);
}

Snapshot Telemetry::snapshot() const { return open_.load() ? sampler_.snapshot() : Snapshot{}; }

std::vector<ProbeReport> Telemetry::reports() const {
  return open_.load() ? sampler_.reports() : std::vector<ProbeReport>{};
}

SamplerStats Telemetry::stats() const { return open_.load() ? sampler_.stats() : SamplerStats{}; }

}  // namespace genscope::watch
