// EpochPerformanceMonitor: the batches and epochs of a training loop.
//
//   genscope::EpochPerformanceMonitor monitor;
//   for (int epoch = 0; epoch < epochs; ++epoch) {
//     monitor.on_epoch_start();
//     for (std::uint64_t i = 0; i < batches; ++i) {
//       monitor.on_batch_start(i);
//       ...
//       monitor.on_batch_end(i, loss);
//     }
//     monitor.on_epoch_end();
//   }
//   const genscope::EpochStatistics all = monitor.get_statistics();
//
// The first batches of an epoch are printed with their memory, the others only counted: a quiet
// pair costs about a tenth of a microsecond. Epochs and batches are also spans of the run while one
// is being recorded, with the loss as an argument of the batch.
//
// Threads: the on_ calls from one thread, get_statistics() from any.
//
// Time: between on_batch_start and on_batch_end is the batch; from the end of a batch (or the start
// of the epoch) to the start of the next is waiting for data. GPU work that was only queued is not
// waited for: synchronize before on_batch_end if a batch's time is to hold it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <genscope/compat/memory_reader.h>

namespace genscope {

struct EpochMonitorOptions {
  bool enabled = true;  // false: every call does nothing
  // Batches of each epoch, by their index, that are printed with memory; 0: only the epochs.
  std::uint64_t verbose_batches = 5;
  int device = 0;                       // GPU of the built-in memory reader
  std::uint64_t warmup_batches = 1;     // first ones of the run, kept out of the steady figures
  std::uint64_t samples_per_batch = 0;  // where on_batch_end does not say; 0: not known
  std::size_t max_epochs = 10'000;      // kept one by one, the newest; totals are over all
  std::shared_ptr<MemoryReader> memory = {};       // null: default_memory_reader(device)
  std::int64_t (*clock)() noexcept = nullptr;      // null: CLOCK_MONOTONIC. For tests.
  std::function<void(std::string_view)> out = {};  // of what is printed; null: stdout
  bool print = true;                               // false: print nothing at all
};

// A batch that took more than EpochStatistics::kOutlierRatio times the median.
struct SlowBatch {
  std::uint64_t epoch = 0;  // from 0
  std::uint64_t batch = 0;  // the index it was given
  double seconds = 0;
  double ratio = 0;  // over the median of the steady batches
};

struct EpochFigures {
  std::uint64_t epoch = 0;  // from 0
  double seconds = 0;
  std::uint64_t num_batches = 0;
  double batch_seconds = 0;  // of all its batches
  std::optional<double> avg_batch_time, min_batch_time, max_batch_time;
  std::optional<double> p50_batch_time;  // without warm-up
  std::optional<double> data_loading_share;
  std::optional<double> samples_per_second;
  std::optional<double> first_loss, last_loss, min_loss;  // finite ones
  std::optional<double> gpu_peak_mb;
};

// Over the whole run. Times are seconds. The first eight are the keys that training scripts know:
// all batches of all epochs, warm-up included. Absent: nothing to tell it from.
struct EpochStatistics {
  static constexpr double kVarianceRatio = 2.0;     // above it users take batches for uneven
  static constexpr double kOutlierRatio = 2.5;      // as StepSummary::kOutlierRatio
  static constexpr double kDataLoadingShare = 0.3;  // above it the loader is worth a look
  static constexpr std::size_t kMaxOutliers = 100;

  std::optional<double> total_epoch_time, avg_epoch_time;  // of the epochs that ended
  std::optional<double> total_batch_time, avg_batch_time, min_batch_time, max_batch_time;
  std::uint64_t num_batches = 0, num_epochs = 0;

  std::uint64_t warmup_batches = 0;
  std::optional<double> warmup_time;  // of these
  std::uint64_t steady_batches = 0;
  std::optional<double> steady_avg_batch_time, steady_min_batch_time, steady_max_batch_time;
  std::optional<double> p50_batch_time, p90_batch_time, p95_batch_time, p99_batch_time;  // steady
  std::optional<double> variance_ratio;  // longest over shortest steady batch
  bool high_variance = false;            // above kVarianceRatio

  std::optional<double> data_loading_time;   // waiting between batches
  std::optional<double> data_loading_share;  // of batches and waiting together
  bool slow_data_loading = false;            // above kDataLoadingShare
  std::optional<double> samples_per_second;  // over batches and waiting
  std::uint64_t unfinished_batches = 0;      // begun, and never ended
  std::uint64_t losses_not_finite = 0;       // NaN or infinite
  std::optional<double> first_loss, last_loss, min_loss;

  std::vector<SlowBatch> outliers;   // the kMaxOutliers slowest, in the order of time
  std::vector<EpochFigures> epochs;  // the newest max_epochs, in the order of time

  // One JSON object with these names; `{}` before the first batch. Absent
  // figures are null.
  std::string to_json() const;
};

class EpochPerformanceMonitor {
 public:
  explicit EpochPerformanceMonitor(EpochMonitorOptions options = {});
  explicit EpochPerformanceMonitor(bool enabled, std::uint64_t verbose_batches = 5, int device = 0);
  ~EpochPerformanceMonitor();
  EpochPerformanceMonitor(const EpochPerformanceMonitor&) = delete;
  EpochPerformanceMonitor& operator=(const EpochPerformanceMonitor&) = delete;

  void on_epoch_start();
  void on_batch_start(std::uint64_t batch);
  // `samples`: in this batch; 0: as the options say. The index is that of on_batch_start; an end
  // without a start is ignored.
  void on_batch_end(std::uint64_t batch, std::optional<double> loss = std::nullopt,
                    std::uint64_t samples = 0);
  void on_epoch_end();

  EpochStatistics get_statistics() const;
  // Forgets everything, an epoch in progress included.
  void reset();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace genscope
