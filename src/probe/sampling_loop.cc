// One job for each probe and tier, and a list of them that is walked at every wake-up: there are
// some twenty, so a heap would cost more than it saves.
//
// Due times lie on the grid start + k * period of each job. After a run the next one is the first
// point of the grid behind `now`, by one division, however late the thread came: missed points are
// counted and never made up for, so a machine that stalls is not punished with a burst when it
// recovers. Jobs whose periods are multiples of one another stay on common points, and share one
// wake-up and one tick of the board.
//
// The thread's own CPU clock is read between jobs; the governor adds these up and may stretch a
// job's period to keep to the budget. The loop reads what genscope takes (CPU time of all its
// threads, missed ticks) on the grid of the normal tier, whatever the governor does, so that the
// report can say it.
//
// CLOCK_BOOTTIME less CLOCK_MONOTONIC grows only while the machine is suspended. When it has grown
// by more than half a second, rates across that moment would divide by a time in which nothing ran:
// they are broken off.
#include "probe/sampling_loop.h"

#include <algorithm>
#include <cstdio>

#include "base/clock.h"
#include "base/own_threads.h"
#include "trace/metrics.h"

namespace genscope::probe {
namespace {

std::int64_t thread_cpu_ns() noexcept { return base::clock_ns(CLOCK_THREAD_CPUTIME_ID); }

std::int64_t slept_so_far_ns() noexcept {
  return base::clock_ns(CLOCK_BOOTTIME) - base::monotonic_ns();
}

}  // namespace

SamplingLoop::SamplingLoop(const SamplerOptions& options)
    : options_(options), board_(options), governor_(options.budget_ratio) {}

void SamplingLoop::add(std::unique_ptr<Probe> probe) {
  const std::int64_t periods[] = {options_.fast_ns, options_.normal_ns, options_.slow_ns};
  for (std::size_t tier = 0; tier < std::size(periods); ++tier) {
    governor_.add(periods[tier]);
    jobs_.emplace_back(sources_.size(), static_cast<Tier>(tier));
    jobs_.back().period_ns.store(periods[tier], std::memory_order_relaxed);
  }
  sources_.emplace_back();
  sources_.back().probe = std::move(probe);
}

void SamplingLoop::open_source(Source& source) {
  const std::size_t entities = board_.entities(), series = board_.series();
  const std::int64_t begin = base::monotonic_ns();
  ProbeState state = source.probe->open(board_);
  const std::int64_t took = base::monotonic_ns() - begin;
  const std::lock_guard lock(reports_mutex_);
  source.state = std::move(state);
  source.open_ns = took;
  source.entities += board_.entities() - entities;
  source.series += board_.series() - series;
}

void SamplingLoop::open(std::int64_t now_ns) {
  start_ns_ = now_ns;
  next_self_ns_ = now_ns;
  slept_ns_ = slept_so_far_ns();
  first_cpu_ns_ = base::own_cpu_ns();
  last_self_ns_ = now_ns;
  self_ = board_.add_entity({EntityKind::sampler, "genscope", "genscope's sampler", {}});
  const auto add_own = [&](const Metric& metric) {
    return board_.add_series(self_, metric, Tier::normal, "clocks of genscope's threads");
  };
  cpu_series_ = add_own(trace::metric("probe_cpu_ns"));
  ratio_series_ = add_own(trace::metric("probe_cpu_ratio"));
  missed_series_ = add_own(trace::metric("probe_missed_ticks"));
  for (Source& source : sources_) open_source(source);
  for (Job& job : jobs_) job.next_ns = now_ns;
}

// Returns the thread's CPU clock.
std::int64_t SamplingLoop::run(std::size_t index, std::int64_t cpu_before_ns) noexcept {
  Job& job = jobs_[index];
  sources_[job.probe].probe->sample(job.tier, now_ns_, board_);
  const std::int64_t now = thread_cpu_ns();
  governor_.report(index, now - cpu_before_ns);
  job.cost_ns.store(governor_.cost_ns(index), std::memory_order_relaxed);
  return now;
}

std::int64_t SamplingLoop::run_due(std::int64_t now_ns) noexcept {
  std::int64_t cpu_ns = thread_cpu_ns();
  return run_due(now_ns, cpu_ns);
}

std::int64_t SamplingLoop::run_due(std::int64_t now_ns, std::int64_t& cpu_ns) noexcept {
  now_ns_ = now_ns;
  board_.begin_tick(now_ns);
  bool normal_tick = false;
  std::uint64_t late = 0;
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    Job& job = jobs_[i];
    if (job.next_ns > now_ns) continue;
    const std::int64_t period = governor_.period_ns(i);
    late = std::max(late, static_cast<std::uint64_t>((now_ns - job.next_ns) / period));
    normal_tick |= job.tier == Tier::normal;
    cpu_ns = run(i, cpu_ns);
    job.next_ns = start_ns_ + ((now_ns - start_ns_) / period + 1) * period;
  }
  missed_.fetch_add(late, std::memory_order_relaxed);
  ticks_.fetch_add(1, std::memory_order_relaxed);
  if (next_self_ns_ <= now_ns) {
    next_self_ns_ =
        start_ns_ + ((now_ns - start_ns_) / options_.normal_ns + 1) * options_.normal_ns;
    sample_self(now_ns);
    note_suspend();
    govern();
  }
  board_.end_tick();
  if (normal_tick) {
    for (Source& source : sources_) {
      if (source.probe->wants_rescan()) open_source(source);
    }
  }
  std::int64_t next = next_self_ns_;
  for (const Job& job : jobs_) next = std::min(next, job.next_ns);
  return next;
}

void SamplingLoop::read_now(Tier tier, std::int64_t now_ns) noexcept {
  now_ns_ = now_ns;
  board_.begin_tick(now_ns);
  for (Source& source : sources_) source.probe->sample(tier, now_ns, board_);
  if (tier == Tier::normal) sample_self(now_ns);
  board_.end_tick();
}

void SamplingLoop::sample_self(std::int64_t now_ns) noexcept {
  const std::int64_t cpu = base::own_cpu_ns() - first_cpu_ns_;
  cpu_ns_.store(thread_cpu_ns(), std::memory_order_relaxed);
  board_.set(cpu_series_, static_cast<double>(cpu));
  board_.set(missed_series_, static_cast<double>(missed_.load(std::memory_order_relaxed)));
  const std::int64_t span = now_ns - last_self_ns_;
  if (span > 0) {
    board_.set(ratio_series_, static_cast<double>(cpu - last_cpu_ns_) / static_cast<double>(span));
    last_self_ns_ = now_ns;
    last_cpu_ns_ = cpu;
  }
}

void SamplingLoop::note_suspend() noexcept {
  const std::int64_t slept = slept_so_far_ns();
  if (slept - slept_ns_ > 500'000'000) {
    board_.break_rates();
    board_.event(self_, "machine_slept", "rates are not taken across this moment");
  }
  slept_ns_ = slept;
}

void SamplingLoop::govern() noexcept {
  const Governor::Change change = governor_.decide();
  if (!change.changed) return;
  Job& job = jobs_[change.job];
  job.period_ns.store(governor_.period_ns(change.job), std::memory_order_relaxed);
  if (change.slower) slowed_.fetch_add(1, std::memory_order_relaxed);
  char detail[128];
  const std::string_view probe = sources_[job.probe].probe->name();
  std::snprintf(detail, sizeof(detail), "%.*s, %s tier: every %lld ms, to keep to the budget",
                static_cast<int>(std::min<std::size_t>(probe.size(), 40)), probe.data(),
                name(job.tier).data(),
                static_cast<long long>(governor_.period_ns(change.job) / 1'000'000));
  board_.event(self_, change.slower ? "probe_slowed" : "probe_restored", detail);
}

std::vector<ProbeReport> SamplingLoop::reports() const {
  const std::lock_guard lock(reports_mutex_);
  std::vector<ProbeReport> reports;
  for (const Source& source : sources_) {
    ProbeReport& report = reports.emplace_back();
    report.name = source.probe->name();
    report.state = source.state;
    report.entities = source.entities;
    report.series = source.series;
    report.open_ns = source.open_ns;
  }
  for (const Job& job : jobs_) {
    const auto tier = static_cast<std::size_t>(job.tier);
    reports[job.probe].tier_cpu_ns[tier] = job.cost_ns.load(std::memory_order_relaxed);
    reports[job.probe].tier_period_ns[tier] = job.period_ns.load(std::memory_order_relaxed);
  }
  return reports;
}

SamplerStats SamplingLoop::stats() const noexcept {
  SamplerStats stats;
  stats.ticks = ticks_.load(std::memory_order_relaxed);
  stats.missed_ticks = missed_.load(std::memory_order_relaxed);
  stats.cpu_ns = cpu_ns_.load(std::memory_order_relaxed);
  stats.refused = board_.refused();
  stats.slowed = slowed_.load(std::memory_order_relaxed);
  return stats;
}

}  // namespace genscope::probe
