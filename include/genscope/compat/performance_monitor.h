// PerformanceMonitor: time and memory of named operations.
//
//   genscope::PerformanceMonitor monitor;
//   { auto op = monitor.track("data loading"); load(); }
//   for (...) { auto op = monitor.track("batch", true); step(); }   // true: aggregate
//   monitor.print_summary();
//   { auto once = genscope::track_performance("critical"); work(); }  // prints when it ends
//
// Operations nest: what runs inside another one counts once in the total. Each is also a stage of
// the run while one is being recorded (record.h), so that reports and timelines show it.
//
// Threads: all of it from any thread. Operations of different threads share no lock unless there is
// a GPU, whose peak is one for all. In aggregate mode nothing is allocated once the names are
// known.
//
// Time: the monitor's own work, memory readings included, lies outside of every measured time, that
// of operations around included. GPU work that was only queued is not waited for: synchronize at
// the end of an operation if its time is to hold it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <genscope/compat/memory_reader.h>
#include <genscope/error.h>

namespace genscope {

using TextSink = std::function<void(std::string_view)>;

namespace compat::training {
class OperationLog;
}

struct PerformanceMonitorOptions {
  bool enabled = true;  // false: track() does nothing, every result is empty
  int device = 0;       // GPU of the built-in memory reader
  // Where memory is read; null: default_memory_reader(device). Outlives the monitor's operations.
  std::shared_ptr<MemoryReader> memory = {};
  bool read_memory = true;  // false: times only
  // Single calls that are kept, of all threads together. Later ones only count in the statistics of
  // their operation, as in aggregate mode.
  std::size_t max_records = 100'000;
  // Nanoseconds of a clock that does not go back; null: CLOCK_MONOTONIC. For tests.
  std::int64_t (*clock)() noexcept = nullptr;
  TextSink out = {};  // of what is printed; null: stdout
};

// One call, or in aggregate mode all calls of an operation together. MB are 1024 * 1024 bytes.
// Absent: not measured, see PerformanceMonitor::gpu_reason().
struct OperationMetrics {
  std::string operation;
  double duration_seconds = 0;  // of all calls
  double self_seconds = 0;      // of these, outside of the operations tracked inside
  // Before, after, and what it grew by. Of several calls: before the first, after the last, the
  // sum.
  std::optional<double> cpu_start_mb, cpu_end_mb, cpu_delta_mb;
  std::optional<double> gpu_start_mb, gpu_end_mb, gpu_delta_mb;
  std::optional<double> gpu_peak_mb;  // the most at any one time, operations inside included
  std::uint64_t call_count = 1;
  std::uint64_t failed = 0;  // calls that ended by an exception, or by fail()
  bool aggregate = false;
};

// All calls of one operation, single and aggregated. Percentiles are of genscope::stats::Histogram:
// within 0.8 %.
struct OperationStatistics {
  std::string operation;
  std::uint64_t count = 0;
  std::uint64_t failed = 0;
  bool aggregate = false;    // at least one call was aggregated
  double total_seconds = 0;  // a call inside a call of the same name adds nothing
  double self_seconds = 0;
  double share = 0;  // of get_total_time(), by self time: shares add up to 1
  double mean_seconds = 0, min_seconds = 0, max_seconds = 0;
  double p50_seconds = 0, p90_seconds = 0, p95_seconds = 0, p99_seconds = 0;
  std::optional<double> cpu_delta_mb, gpu_delta_mb, gpu_peak_mb;
};

enum class SummaryStyle : std::uint8_t {
  document,  // the tables of older training monitors
  full,      // one row per operation with self time, share, percentiles and verdict
};

// An operation in progress: ends with its scope, on the thread that began it.
class Operation {
 public:
  Operation() = default;  // of a monitor that is not enabled
  Operation(Operation&& other) noexcept
      : log_(std::move(other.log_)),
        frame_(std::exchange(other.frame_, 0)),
        exceptions_(other.exceptions_) {}
  Operation& operator=(Operation&&) = delete;
  ~Operation() {
    if (frame_ != 0) end();
  }

  void end() noexcept;   // before its scope does; later calls do nothing
  void fail() noexcept;  // ends it as failed; an exception that ends its scope does the same

 private:
  friend class PerformanceMonitor;
  std::shared_ptr<compat::training::OperationLog> log_;
  std::uint64_t frame_ = 0;  // 0: ended
  int exceptions_ = 0;       // in flight when it began
};

class PerformanceMonitor {
 public:
  explicit PerformanceMonitor(PerformanceMonitorOptions options = {});
  explicit PerformanceMonitor(bool enabled, int device = 0);
  ~PerformanceMonitor();
  PerformanceMonitor(const PerformanceMonitor&) = delete;
  PerformanceMonitor& operator=(const PerformanceMonitor&) = delete;

  // `aggregate`: keep statistics only, for operations that run often.
  [[nodiscard]] Operation track(std::string_view operation, bool aggregate = false);

  // `function`, tracked at each call.
  template <class Function>
  auto wrap(std::string operation, Function function, bool aggregate = false) {
    return [this, operation = std::move(operation), function = std::move(function),
            aggregate](auto&&... args) mutable -> decltype(auto) {
      const Operation op = track(operation, aggregate);
      return std::invoke(function, std::forward<decltype(args)>(args)...);
    };
  }

  // In seconds. What runs inside another operation of its thread counts once.
  double get_total_time() const;
  // All calls of that operation; nothing if it never ended.
  std::optional<double> get_operation_time(std::string_view operation) const;
  // Single calls in the order in which they ended, then aggregated operations by their first call.
  std::vector<OperationMetrics> get_metrics() const;
  // One entry per operation, largest self time first.
  std::vector<OperationStatistics> get_statistics() const;
  // Forgets all that has ended. Operations in progress go on.
  void clear();

  // Why GPU figures are absent; empty if they are not.
  std::string gpu_reason() const;

  void print_summary(bool show_aggregate = true, SummaryStyle style = SummaryStyle::document) const;
  std::string summary(bool show_aggregate = true,
                      SummaryStyle style = SummaryStyle::document) const;

  // A line per entry of get_metrics(): operation,time,cpu_mb,gpu_mb as older monitors write it,
  // then more. What was not measured is empty.
  std::string to_csv() const;
  // `genscope.operations/1`, docs/training.md: metrics and statistics; not measured is null.
  std::string to_json() const;
  Status export_csv(const std::string& path) const;
  Status export_json(const std::string& path) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct TrackOptions {
  bool print_result = true;
  int device = 0;
  std::shared_ptr<MemoryReader> memory = {};   // null: default_memory_reader(device)
  std::int64_t (*clock)() noexcept = nullptr;  // null: CLOCK_MONOTONIC
  TextSink out = {};                           // null: stdout
};

// One operation on its own: prints its time and memory when its scope ends, by an exception too.
class TrackedOperation {
 public:
  TrackedOperation(std::string_view operation, TrackOptions options);
  TrackedOperation(TrackedOperation&&) noexcept;
  TrackedOperation& operator=(TrackedOperation&&) = delete;
  ~TrackedOperation();

  // Ends it; later calls give the same. Absent from a moved-from object.
  std::optional<OperationMetrics> end() noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};
[[nodiscard]] TrackedOperation track_performance(std::string_view operation,
                                                 TrackOptions options = {});

// `function`, tracked and printed at each call (the decorator of older monitors).
template <class Function>
auto monitor_performance(std::string operation, Function function, TrackOptions options = {}) {
  return [operation = std::move(operation), function = std::move(function),
          options = std::move(options)](auto&&... args) mutable -> decltype(auto) {
    const TrackedOperation tracked = track_performance(operation, options);
    return std::invoke(function, std::forward<decltype(args)>(args)...);
  };
}

}  // namespace genscope
