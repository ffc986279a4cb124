// The books of an EpochPerformanceMonitor: batch times of an epoch and of the run, in bounded
// memory.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include <genscope/compat/epoch_monitor.h>

#include "analyze/statistics/statistics.h"

namespace genscope::compat::training {

inline double in_seconds(std::int64_t ns) noexcept { return static_cast<double>(ns) / 1e9; }
inline std::optional<double> in_seconds(std::optional<double> ns) noexcept {
  return ns ? std::optional(*ns / 1e9) : std::nullopt;
}

struct BatchTime {
  std::uint64_t epoch = 0, batch = 0;
  std::int64_t duration_ns = 0;
};

// Losses that are numbers: the first, the last, the least.
struct Losses {
  std::optional<double> first, last, least;
  std::uint64_t not_finite = 0;
  void add(double loss) noexcept;
  void merge(const Losses& later) noexcept;
};

// Sums of a stretch of batches.
struct BatchSums {
  std::uint64_t count = 0;
  std::int64_t total_ns = 0, min_ns = 0, max_ns = 0;
  std::int64_t wait_ns = 0;
  std::uint64_t samples = 0;
  Losses losses;

  void add(std::int64_t duration_ns) noexcept;
  void merge(const BatchSums& later) noexcept;
  std::optional<double> mean_seconds() const noexcept;
  std::optional<double> min_seconds() const noexcept;
  std::optional<double> max_seconds() const noexcept;
  std::optional<double> wait_share() const noexcept;  // of batches and waits
  std::optional<double> samples_per_second() const noexcept;
};

// The slowest batches: a heap with the quickest of them on top, so that a batch that is not among
// them costs one comparison.
class SlowestBatches {
 public:
  void add(const BatchTime& batch);
  // Those above `ratio` times `median_ns`, in the order of time.
  std::vector<SlowBatch> above(double ratio, double median_ns) const;

 private:
  std::vector<BatchTime> heap_;
};

struct EndedBatch {
  std::uint64_t batch = 0;  // its index
  std::int64_t duration_ns = 0;
  std::int64_t wait_ns = 0;  // for data, before it
  std::optional<double> loss;
  std::uint64_t samples = 0;  // 0: not known
};

// Batches of an epoch, or of all that came before it.
struct Stretch {
  BatchSums all;
  BatchSums steady;  // times only
  stats::Histogram steady_ns;
  void merge(const Stretch& later);
};

// A batch is added to its epoch alone, which joins the others when the next one begins: one sum and
// one histogram less to touch for each batch.
struct EpochBooks {
  std::uint64_t epochs = 0;  // begun
  std::uint64_t epochs_ended = 0;
  std::int64_t epochs_ns = 0;    // of those that ended
  std::uint64_t unfinished = 0;  // batches
  Stretch past, epoch;
  SlowestBatches slowest;
  std::deque<EpochFigures> rows;

  std::uint64_t begin_epoch();  // its index
  // The first `warmup_batches` of the run are warm-up.
  void add(const EndedBatch& ended, std::uint64_t warmup_batches);
  void end_epoch(std::int64_t duration_ns, std::optional<std::uint64_t> gpu_peak,
                 std::size_t max_epochs);
  EpochStatistics statistics() const;
};

}  // namespace genscope::compat::training
