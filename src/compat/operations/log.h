// OperationLog: what one thread tracked in one PerformanceMonitor.
//
// Written by its thread, read by whoever asks the monitor: a lock of its own, so that threads do
// not wait for each other. When its thread has ended, another one takes the log over.
//
//   begin:  clock ... own work, memory, recorder ... clock = start of the measured time
//   end:    clock = end of the measured time ... recorder, memory, own work ... clock
//
// The time between the two clocks of each is the monitor's own: it is taken out of the operations
// around, to which it would otherwise be charged.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <genscope/compat/memory_reader.h>
#include <genscope/record.h>

#include "analyze/statistics/statistics.h"
#include "compat/memory/gpu_watch.h"

namespace genscope::compat::training {

using Clock = std::int64_t (*)() noexcept;

// What the logs of a monitor share.
struct LogContext {
  Clock clock = nullptr;
  std::shared_ptr<MemoryReader> memory;  // null: none is read
  std::size_t max_records = 0;
  std::atomic<std::size_t> records{0};  // taken so far
};

// Memory before and after, and what is known of the difference, in bytes.
struct MemoryChange {
  std::optional<std::uint64_t> begin, end;
  std::optional<std::int64_t> delta() const noexcept {
    if (!begin || !end) return std::nullopt;
    return static_cast<std::int64_t>(*end) - static_cast<std::int64_t>(*begin);
  }
};

// A call that ended.
struct Call {
  std::int64_t end_ns = 0;
  std::int64_t duration_ns = 0;
  std::int64_t self_ns = 0;
  MemoryChange cpu, gpu;
  std::optional<std::uint64_t> gpu_peak;
  bool failed = false;
};

// Sums over calls that may each lack a reading.
struct Change {
  std::optional<std::int64_t> sum;
  void add(std::optional<std::int64_t> delta) noexcept {
    if (delta) sum = sum.value_or(0) + *delta;
  }
};

struct OperationSums {
  std::uint64_t count = 0, failed = 0, aggregated = 0;
  std::int64_t first_end_ns = 0, last_end_ns = 0;
  std::int64_t total_ns = 0;  // without calls inside a call of the same name
  std::int64_t self_ns = 0;
  std::int64_t aggregated_ns = 0, aggregated_self_ns = 0;  // of the aggregated calls alone
  std::uint64_t aggregated_failed = 0;
  Change cpu, gpu;                        // of all calls
  Change aggregated_cpu, aggregated_gpu;  // of the aggregated ones
  MemoryChange cpu_ends, gpu_ends;        // before the first and after the last call
  std::optional<std::uint64_t> gpu_peak;
  stats::Histogram durations_ns;

  void add(const Call& call, bool inside_same, bool aggregate) noexcept;
  void merge(const OperationSums& other);
};

struct Record {
  std::uint32_t operation = 0;
  Call call;
};

class OperationLog {
 public:
  // More names than this are counted under kOther.
  static constexpr std::size_t kMaxOperations = 10'000;
  static constexpr std::string_view kOther = "(other operations)";
  // Neighbours share a reading of the process's memory that is no older than this: the end of one
  // operation and the begin of the next, the begins of two that nest, their ends. An operation's
  // end never takes a reading from before its begin.
  static constexpr std::int64_t kSharedReadingNs = 10'000;

  explicit OperationLog(std::shared_ptr<LogContext> context) : context_(std::move(context)) {}

  // A number for end(), never 0. Throws std::bad_alloc.
  std::uint64_t begin(std::string_view operation, bool aggregate);
  void end(std::uint64_t frame, bool failed) noexcept;
  bool idle() const noexcept;  // no operation is in progress
  void clear() noexcept;

  // Calls `take(name, call)` and `take_sums(name, sums)` under the lock.
  template <class Take, class TakeSums>
  void read(const Take& take, const TakeSums& take_sums) const {
    const std::lock_guard lock(mutex_);
    for (const Record& record : records_) take(names_[record.operation], record.call);
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      if (sums_[i]->count > 0) take_sums(names_[i], *sums_[i]);
    }
  }

 private:
  struct Frame {
    std::uint64_t number = 0;
    std::uint32_t operation = 0;
    bool aggregate = false;
    Handle span;
    std::int64_t entered_ns = 0, begin_ns = 0;
    std::int64_t own_ns = 0;       // the monitor's, inside of this operation
    std::int64_t children_ns = 0;  // of the operations directly inside
    std::optional<std::uint64_t> cpu_begin;
    std::uint64_t cpu_reading = 0;  // of cpu_begin
    GpuWatch gpu;
  };

  std::uint32_t intern(std::string_view operation);
  std::optional<std::uint64_t> cpu_bytes(std::int64_t now_ns, std::uint64_t after) noexcept;
  Frame& push(std::string_view operation);
  void keep(const Frame& frame, const Call& call, bool inside_same) noexcept;
  void tell_recorder(const Frame& frame, const Call& call) const noexcept;

  const std::shared_ptr<LogContext> context_;
  mutable std::mutex mutex_;
  std::uint64_t frames_made_ = 0;
  std::optional<std::uint64_t> cpu_read_;       // the last reading of memory,
  std::int64_t cpu_read_ns_ = 0;                // when,
  std::uint64_t cpu_readings_ = 0;              // and which it was, from 1
  std::vector<std::unique_ptr<Frame>> frames_;  // the first `depth_` are open, outermost first
  std::size_t depth_ = 0;
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  std::vector<std::string> names_;
  std::vector<std::unique_ptr<OperationSums>> sums_;
  std::vector<Record> records_;
};

}  // namespace genscope::compat::training
