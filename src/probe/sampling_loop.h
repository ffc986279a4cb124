// What a Sampler's thread does, without the thread: which probe is due when, and what it costs.
//
// Deadlines are absolute: start + k * period. A job that is late by one period or more skips what
// it missed and counts it; it never catches up in a burst. Time comes in from outside, so that a
// test can run an hour in a second.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "genscope/probe.h"
#include "probe/governor.h"
#include "probe/live_board.h"

namespace genscope::probe {

class SamplingLoop {
 public:
  explicit SamplingLoop(const SamplerOptions& options);

  void add(std::unique_ptr<Probe> probe);
  // Opens the probes and reads every tier but on_demand once.
  void open(std::int64_t now_ns);
  // Runs what is due and returns when to come again. `cpu_ns`: the thread's CPU clock, read just
  // now; when it returns, as it was after the last job. Each job costs one reading of it.
  std::int64_t run_due(std::int64_t now_ns, std::int64_t& cpu_ns) noexcept;
  std::int64_t run_due(std::int64_t now_ns) noexcept;
  // Reads that tier of every probe, out of turn.
  void read_now(Tier tier, std::int64_t now_ns) noexcept;
  // CPU time of a wake-up that run_due() cannot see.
  void report_wake(std::int64_t cpu_ns) noexcept { governor_.report_wake(cpu_ns); }

  const LiveBoard& board() const noexcept { return board_; }
  // From any thread.
  std::vector<ProbeReport> reports() const;
  SamplerStats stats() const noexcept;

 private:
  struct Job {
    std::size_t probe;
    Tier tier;
    std::int64_t next_ns = 0;
    std::atomic<std::int64_t> cost_ns{0};    // for readers
    std::atomic<std::int64_t> period_ns{0};  // in effect, for readers
    Job(std::size_t p, Tier t) noexcept : probe(p), tier(t) {}
  };
  struct Source {
    std::unique_ptr<Probe> probe;
    ProbeState state;  // under reports_mutex_
    std::size_t entities = 0, series = 0;
    std::int64_t open_ns = 0;
  };

  void open_source(Source& source);
  std::int64_t run(std::size_t job, std::int64_t cpu_before_ns) noexcept;
  void sample_self(std::int64_t now_ns) noexcept;
  void govern() noexcept;
  void note_suspend() noexcept;

  const SamplerOptions options_;
  LiveBoard board_;
  Governor governor_;
  std::vector<Source> sources_;
  std::deque<Job> jobs_;  // one per source and tier
  std::int64_t start_ns_ = 0;
  std::int64_t next_self_ns_ = 0;
  std::int64_t now_ns_ = 0;

  std::uint32_t self_ = 0;
  std::uint32_t cpu_series_ = kNoSeries, ratio_series_ = kNoSeries, missed_series_ = kNoSeries;
  std::int64_t first_cpu_ns_ = 0;  // of genscope, when sampling began
  std::int64_t last_cpu_ns_ = 0, last_self_ns_ = 0;
  std::int64_t slept_ns_ = 0;  // CLOCK_BOOTTIME less CLOCK_MONOTONIC

  std::atomic<std::uint64_t> ticks_{0}, missed_{0}, slowed_{0};
  std::atomic<std::int64_t> cpu_ns_{0};
  mutable std::mutex reports_mutex_;
};

}  // namespace genscope::probe
