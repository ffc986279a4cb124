// The thread for calls that block: PCIe throughput (20 ms each) and whatever was found slow.
//
// A Job belongs to the sampler's thread while it is idle or done, and to the helper while it is
// asked. The helper runs one job at a time.
//
// Who calls NVML when: the sampler's thread never waits for the helper, so a blocking call on the
// helper may be in the driver while the sampler makes a quick one. That is the only overlap; NVML
// is documented as thread-safe. Quick calls are made by the sampler's thread alone, and opening,
// closing and enumerating happen while the helper is paused.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace genscope::probe::nvml {

class Job {
 public:
  enum class State : std::uint8_t { idle, asked, done };

  Job() = default;
  virtual ~Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  State progress() const noexcept { return state_.load(std::memory_order_acquire); }
  // By the sampler's thread, of a job that is done (or any, while paused): it may be asked again.
  void take() noexcept { state_.store(State::idle, std::memory_order_relaxed); }

 protected:
  virtual void run() noexcept = 0;  // on the helper's thread

 private:
  friend class Helper;
  std::atomic<State> state_{State::idle};
};

class Helper {
 public:
  Helper() = default;
  ~Helper() { stop(); }
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;

  // While paused or not started. A job may die after stop().
  void add(Job& job) { jobs_.push_back(&job); }
  // Once; without a thread every job stays asked, and its readings go stale.
  void start() noexcept;
  // Waits for the call in flight, however long it takes: the library must not go away under it.
  void stop() noexcept;
  // By the sampler's thread, of an idle job.
  void ask(Job& job) noexcept;

  // Waits until no job runs, at most so long; while paused none is started.
  bool pause(std::int64_t wait_ns) noexcept;
  void resume() noexcept;

 private:
  void loop() noexcept;
  void resume_jobs() noexcept;

  std::thread thread_;
  std::mutex running_;  // held while a job runs, or paused; guards jobs_
  std::vector<Job*> jobs_;
  std::atomic<std::uint32_t> asked_{0};  // counts asks, so that the thread can wait for the next
  std::atomic<bool> stop_{false};
  std::atomic<bool> pausing_{false};  // somebody waits for running_: start nothing
};

}  // namespace genscope::probe::nvml
