#include "probe/nvidia/helper.h"

#include <ctime>

#include <system_error>

namespace genscope::probe::nvml {

void Helper::stop() noexcept {
  stop_.store(true, std::memory_order_relaxed);
  asked_.fetch_add(1, std::memory_order_release);
  asked_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Helper::start() noexcept {
  if (thread_.joinable()) return;
  try {
    thread_ = std::thread([this] { loop(); });
  } catch (const std::system_error&) {
    return;
  }
}

void Helper::ask(Job& job) noexcept {
  job.state_.store(Job::State::asked, std::memory_order_release);
  asked_.fetch_add(1, std::memory_order_release);
  asked_.notify_one();
}

bool Helper::pause(std::int64_t wait_ns) noexcept {
  constexpr std::int64_t kStepNs = 1'000'000;
  pausing_.store(true, std::memory_order_relaxed);
  for (std::int64_t waited = 0;; waited += kStepNs) {
    if (running_.try_lock()) return true;
    if (waited >= wait_ns) {
      resume_jobs();
      return false;
    }
    const timespec step{0, kStepNs};
    ::nanosleep(&step, nullptr);
  }
}

void Helper::resume() noexcept {
  running_.unlock();
  resume_jobs();
}

void Helper::resume_jobs() noexcept {
  pausing_.store(false, std::memory_order_relaxed);
  asked_.fetch_add(1, std::memory_order_release);  // some may have been passed over
  asked_.notify_one();
}

void Helper::loop() noexcept {
  std::uint32_t seen = 0;
  while (!stop_.load(std::memory_order_relaxed)) {
    const std::uint32_t now = asked_.load(std::memory_order_acquire);
    if (now == seen) {
      asked_.wait(seen, std::memory_order_acquire);
      continue;
    }
    seen = now;
    // The lock is let go between jobs: a pause waits for one call, not for all of them.
    for (std::size_t i = 0;; ++i) {
      const std::lock_guard lock(running_);
      if (i >= jobs_.size() || stop_.load(std::memory_order_relaxed)) break;
      if (pausing_.load(std::memory_order_relaxed)) break;
      Job& job = *jobs_[i];
      if (job.progress() != Job::State::asked) continue;
      job.run();
      job.state_.store(Job::State::done, std::memory_order_release);
    }
  }
}

}  // namespace genscope::probe::nvml
