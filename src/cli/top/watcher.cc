#include "cli/top/watcher.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include <genscope/config.h>

#include "cli/top/machine_processes.h"
#include "watch/probe_child.h"

namespace genscope::cli::top {
namespace {

// Who opens `top` wants to see values: the default thousandth of a core would slow them down.
constexpr double kBudgetRatio = 0.05;

SamplerOptions sampling_of(const WatchOptions& options) {
  constexpr std::int64_t kSoon = 250'000'000;
  const TierPeriods period = periods(options.interval_seconds);
  SamplerOptions sampling;
  sampling.fast_ns = options.once ? std::min(kSoon, period.fast_ns) : period.fast_ns;
  sampling.normal_ns = options.once ? kSoon : period.normal_ns;
  sampling.slow_ns = options.once ? kSoon : period.slow_ns;
  sampling.budget_ratio = kBudgetRatio;
  return sampling;
}

// The session this process belongs to: in a terminal, the shell and all that was started from it.
std::int32_t session_root() {
  const pid_t leader = getsid(0);
  return leader > 0 ? leader : getpid();  // 0: the leader is outside our pid namespace
}

std::int32_t oldest_alive(const Progress& progress) {
  for (const Progress::Process& process : progress.processes) {
    if (process.alive) return static_cast<std::int32_t>(process.pid);
  }
  return 0;
}

}  // namespace

Watcher::Watcher(WatchOptions options) : options_(std::move(options)) {}

Status Watcher::start() {
  if (options_.run.empty()) return watch(options_.pid > 0 ? options_.pid : session_root());
  std::error_code failed;
  if (!std::filesystem::is_directory(options_.run, failed)) {
    return Error{ErrorCode::not_found,
                 fmt::format("{} is not a run directory; `genscope run` names the one it writes to",
                             options_.run)};
  }
  follower_.emplace(options_.run);
  progress_ = follower_->poll();
  return watch(oldest_alive(progress_));
}

Status Watcher::watch(std::int32_t root) {
  sampler_.reset();
  root_ = root;
  ProbeOptions probe_options = probe_options_from_environment();
  probe_options.pid = root;
  const SamplerOptions sampling = sampling_of(options_);
  probe_names_ = watch::all_probe_names();
  if (root == 0) std::erase(probe_names_, "process");  // a run without a live process has no tree
  Result<std::vector<std::unique_ptr<Probe>>> probes =
      watch::make_probes(probe_names_, probe_options, sampling);
  if (!probes) return probes.error();
  sampler_ = std::make_unique<Sampler>(sampling);
  for (std::unique_ptr<Probe>& probe : *probes) sampler_->add(std::move(probe));
  return sampler_->start();
}

void Watcher::settle() const {
  using namespace std::chrono_literals;
  constexpr auto kPatience = 2s;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  const auto is_pending = [](const Snapshot::Series& series) {
    if (series.tier == Tier::on_demand) return false;  // nobody asked
    const bool counter = series.metric != nullptr && series.metric->kind == MetricKind::counter;
    return series.reading.status == SampleStatus::pending ||
           (counter && series.reading.status == SampleStatus::ok &&
            series.rate.status == SampleStatus::pending);
  };
  std::this_thread::sleep_for(300ms);
  while (std::chrono::steady_clock::now() < end) {
    const Snapshot now = sampler_->snapshot();
    if (!now.series.empty() && std::none_of(now.series.begin(), now.series.end(), is_pending)) {
      return;
    }
    std::this_thread::sleep_for(100ms);
  }
}

Frame Watcher::frame() {
  if (follower_) {
    progress_ = follower_->poll();
    const std::int32_t root = oldest_alive(progress_);
    if (root != root_) {
      if (const Status started = watch(root); !started) root_ = root;  // shown without a tree
    }
  }
  Frame frame;
  frame.unix_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                      std::chrono::system_clock::now().time_since_epoch())
                      .count();
  frame.interval_seconds = options_.interval_seconds;
  frame.watched = follower_          ? fmt::format("the run")
                  : options_.pid > 0 ? fmt::format("process {}", root_)
                                     : fmt::format("session {}", root_);
  frame.snapshot = sampler_->snapshot();
  if (!follower_ && options_.pid <= 0) {
    frame.machine = machine_processes(probe_options_from_environment().proc_root);
  }
  frame.probes = watch::named_reports(*sampler_, probe_names_);
  if (follower_) frame.run = RunLine{options_.run, progress_};
  tracker_.complete(frame);
  return frame;
}

}  // namespace genscope::cli::top
