#include <pthread.h>

#include <condition_variable>
#include <csignal>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

#include "base/clock.h"
#include "base/may_throw.h"
#include "base/own_threads.h"
#include "genscope/probe.h"
#include "probe/sampling_loop.h"

namespace genscope {

std::string_view name(Tier tier) noexcept {
  constexpr std::string_view kNames[] = {"fast", "normal", "slow", "on_demand"};
  static_assert(std::size(kNames) == kTiers);
  const auto index = static_cast<std::size_t>(tier);
  return index < kTiers ? kNames[index] : "on_demand";
}

std::string_view name(ProbeState::Kind kind) noexcept {
  constexpr std::string_view kNames[] = {"works", "absent", "denied", "broken"};
  const auto index = static_cast<std::size_t>(kind);
  return index < std::size(kNames) ? kNames[index] : "broken";
}

const Snapshot::Series* Snapshot::find(std::uint32_t entity,
                                       std::string_view metric) const noexcept {
  for (const Series& row : series) {
    if (row.entity == entity && row.metric->id == metric) return &row;
  }
  return nullptr;
}

struct Sampler::Impl {
  explicit Impl(const SamplerOptions& options) : loop(options) {}

  void work() noexcept;

  probe::SamplingLoop loop;
  std::mutex mutex;
  std::condition_variable wake;
  bool stopping = false;  // under mutex, as is the next
  bool requested[kTiers] = {};
  std::thread thread;
};

void Sampler::Impl::work() noexcept {
  pthread_setname_np(pthread_self(), "genscope-probe");
  const base::OwnThread counted;
  using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC
  std::int64_t next = base::monotonic_ns();
  std::int64_t cpu_before = base::clock_ns(CLOCK_THREAD_CPUTIME_ID);
  std::unique_lock lock(mutex);
  while (!stopping) {
    const Clock::time_point deadline{std::chrono::nanoseconds(next)};
    wake.wait_until(lock, deadline, [&] {
      return stopping || requested[0] || requested[1] || requested[2] || requested[3];
    });
    if (stopping) break;
    bool asked[kTiers];
    std::copy(std::begin(requested), std::end(requested), asked);
    std::fill(std::begin(requested), std::end(requested), false);
    lock.unlock();
    const std::int64_t now = base::monotonic_ns();
    for (std::size_t tier = 0; tier < kTiers; ++tier) {
      if (asked[tier]) loop.read_now(static_cast<Tier>(tier), now);
    }
    // What the thread used since its last job, up to here, is the cost of a tick and of waking.
    std::int64_t cpu_ns = base::clock_ns(CLOCK_THREAD_CPUTIME_ID);
    loop.report_wake(cpu_ns - cpu_before);
    if (now >= next) next = loop.run_due(now, cpu_ns);
    cpu_before = cpu_ns;
    lock.lock();
  }
  lock.unlock();
  for (const Tier tier : {Tier::fast, Tier::normal, Tier::slow}) {
    loop.read_now(tier, base::monotonic_ns());
  }
}

Sampler::Sampler(const SamplerOptions& options) : impl_(std::make_unique<Impl>(options)) {}

Sampler::~Sampler() { stop(); }

void Sampler::add(std::unique_ptr<Probe> probe) {
  if (probe != nullptr) impl_->loop.add(std::move(probe));
}

Status Sampler::start() {
  if (impl_->thread.joinable()) return Done{};
  impl_->stopping = false;
  {
    const base::OwnThread counted;  // what opening takes is ours, too
    impl_->loop.open(base::monotonic_ns());
    impl_->loop.run_due(base::monotonic_ns());
  }
  // The program's signals are not ours to take.
  struct NoSignals {
    sigset_t before;
    NoSignals() {
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &before);
    }
    ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  } const no_signals;
  try {
    impl_->thread = std::thread([this] {
      try {
        if (base::may_throw()) impl_->work();
      } catch (const std::bad_alloc&) {  // no further readings
      }
    });
  } catch (const std::system_error& failure) {
    return Error{ErrorCode::io, std::string("cannot start the sampler's thread: ") +
                                    failure.what() + "; raise the limit on processes (ulimit -u)"};
  }
  return Done{};
}

void Sampler::stop() noexcept {
  if (!impl_->thread.joinable()) return;
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
  }
  impl_->wake.notify_all();
  impl_->thread.join();
}

void Sampler::request(Tier tier) noexcept {
  const auto index = static_cast<std::size_t>(tier);
  if (index >= kTiers) return;
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->requested[index] = true;
  }
  impl_->wake.notify_all();
}

Snapshot Sampler::snapshot() const { return impl_->loop.board().snapshot(); }

std::vector<Sampler::Point> Sampler::history(std::uint32_t series, double seconds,
                                             std::size_t points) const {
  return impl_->loop.board().history(series, seconds, points);
}

std::vector<ProbeReport> Sampler::reports() const { return impl_->loop.reports(); }
SamplerStats Sampler::stats() const { return impl_->loop.stats(); }

}  // namespace genscope
