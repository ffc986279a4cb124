// LiveBoard: the Board of a Sampler. Keeps the latest reading of each series, the rate of counters,
// the list of processes and, if asked, the history; hands everything on to a SampleSink.
//
// One writer, the thread that runs the probes; any number of readers through snapshot() and
// history(). The writer never waits for a reader except to add a definition (rare) and, with
// history on, for the copy of one series:
//   1. Cells are atomics under a sequence number: odd while a tick writes. A reader that saw it
//      change tries again.
//   2. Definitions only grow; they and the process lists are under a lock that the writer takes to
//      add, and only tries to take to replace a list of processes (else the old one stays a tick).
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "genscope/probe.h"
#include "probe/history.h"

namespace genscope::probe {

class LiveBoard final : public Board {
 public:
  explicit LiveBoard(const SamplerOptions& options);

  // Board
  std::uint32_t add_entity(const Entity& entity) override;
  std::uint32_t add_series(std::uint32_t entity, const Metric& metric, Tier tier,
                           std::string_view source) override;
  void set(std::uint32_t series, double value) noexcept override;
  void set(std::uint32_t series, SampleStatus status, const char* reason) noexcept override;
  void set_all(std::uint32_t entity, SampleStatus status, const char* reason) noexcept override;
  void event(std::uint32_t entity, std::string_view name,
             std::string_view detail) noexcept override;
  void set_processes(std::uint32_t entity, std::span<const ProcessRow> rows) noexcept override;

  // Around the readings of one wake-up, by the writer.
  void begin_tick(std::int64_t now_ns) noexcept;
  void end_tick() noexcept;
  // No rate may be taken across this moment: the machine slept.
  void break_rates() noexcept;

  Snapshot snapshot() const;
  std::vector<Sampler::Point> history(std::uint32_t series, double seconds,
                                      std::size_t points) const;
  std::uint64_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }
  std::size_t entities() const noexcept { return entity_count_.load(std::memory_order_acquire); }
  std::size_t series() const noexcept { return series_count_.load(std::memory_order_acquire); }

 private:
  struct Cell {
    std::atomic<double> value{0};
    std::atomic<std::int64_t> at_ns{0};
    std::atomic<const char*> reason{nullptr};
    std::atomic<double> rate{0};
    std::atomic<SampleStatus> status{SampleStatus::pending};
    std::atomic<SampleStatus> rate_status{SampleStatus::pending};
    // The writer's own: the last good reading of a counter.
    double last = 0;
    std::int64_t last_ns = 0;
    bool has_last = false;
  };
  struct Definition {
    std::uint32_t entity;
    const Metric* metric;
    Tier tier;
    std::string source;
    std::unique_ptr<History> history;
  };
  struct Processes {
    std::vector<ProcessRow> rows;  // capacity is kMaxProcessRows from the start
    bool known = false;
  };

  void publish(std::uint32_t series, const Reading& reading) noexcept;
  void update_rate(Cell& cell, const Reading& reading) noexcept;
  Reading read_cell(std::size_t series, Reading& rate) const noexcept;

  const SamplerOptions options_;
  std::int64_t now_ns_ = 0;
  std::unique_ptr<Cell[]> cells_;
  std::atomic<std::uint32_t> sequence_{0};
  std::atomic<std::int64_t> tick_ns_{0};
  std::atomic<std::size_t> entity_count_{0};
  std::atomic<std::size_t> series_count_{0};
  std::atomic<std::uint64_t> refused_{0};

  mutable std::mutex definitions_mutex_;  // rule 2
  std::deque<Entity> entities_;           // deques: the writer may read while nobody adds
  std::deque<Definition> definitions_;
  std::deque<Processes> processes_;  // one per entity

  mutable std::mutex history_mutex_;
};

}  // namespace genscope::probe
