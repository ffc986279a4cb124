// EpochBook: batch times of one epoch or of the whole run, in bounded memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <genscope/epoch_monitor.h>
#include <genscope/statistics.h>

namespace genscope::monitor {

struct BatchTime {
  std::uint64_t epoch = 0, batch = 0;
  std::int64_t duration_ns = 0;
};

// Losses that are numbers: the first, the last, the least.
struct Losses {
  std::optional<double> first, last, least;
  std::uint64_t not_finite = 0;
  void add(double loss) noexcept;
};

// Sums of a stretch of batches.
struct BatchSums {
  std::uint64_t count = 0;
  std::int64_t total_ns = 0, min_ns = 0, max_ns = 0;
  std::int64_t wait_ns = 0;
  std::uint64_t samples = 0;
  Losses losses;

  void add(std::int64_t duration_ns) noexcept;
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

}  // namespace genscope::monitor
