// History: the past of one series in fixed memory. Peaks are never lost, only their place in time
// grows vaguer.
//
//   level 0   1024 samples as they came               102 s at 10 Hz
//   level 1    256 buckets of 8 samples               205 s
//   level 2    256 buckets of 64                       27 min
//   level 3    256 buckets of 512                     3.6 h
//   level 4    256 buckets of 4096                     29 h
//
// A sample stands for the time since the one before it, unless that is longer than a gap: then for
// nothing. So means are weighted by time, and `valid` says how much of a bucket was covered.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "genscope/probe.h"

namespace genscope::probe {

class History {
 public:
  static constexpr std::size_t kSamples = 1024;
  static constexpr std::size_t kLevels = 4;
  static constexpr std::size_t kBuckets = 256;
  static constexpr std::uint32_t kFanIn = 8;

  // `gap_ns`: no sample stands for more than this.
  explicit History(std::int64_t gap_ns);

  // In the order of time; no allocation.
  void add(std::int64_t at_ns, double value) noexcept;

  // From `since_ns` on, at most `points`, oldest first: from the finest level that reaches back so
  // far, neighbours merged.
  std::vector<Sampler::Point> read(std::int64_t since_ns, std::size_t points) const;

  static constexpr std::size_t bytes() noexcept {
    return kSamples * sizeof(Sample) + kLevels * kBuckets * sizeof(Bucket);
  }

 private:
  struct Sample {
    std::int64_t at_ns;
    double value;
  };
  struct Bucket {  // times in milliseconds since epoch_ns_: 49 days
    std::uint32_t begin_ms = 0, end_ms = 0;
    std::uint32_t valid_ms = 0;
    std::uint32_t count = 0;  // samples; 0: empty
    double min = 0, max = 0;
    double sum = 0;  // of value times valid milliseconds; of plain values while valid_ms is 0
  };
  static_assert(sizeof(Sample) == 16 && sizeof(Bucket) == 40);

  struct Level {
    std::array<Bucket, kBuckets> ring;
    std::uint64_t size = 0;  // ever pushed
    Bucket open;             // being filled from the level below
    std::uint32_t parts = 0;
  };
  struct Data {
    std::array<Sample, kSamples> samples;
    std::array<Level, kLevels> levels;
  };

  static void merge(Bucket& into, const Bucket& from) noexcept;
  Sampler::Point point(const Bucket& bucket) const noexcept;
  std::uint32_t ms(std::int64_t at_ns) const noexcept;
  std::int64_t ns(std::uint32_t at_ms) const noexcept;
  Bucket bucket_of(const Sample& sample, const Sample* before) const noexcept;
  std::vector<Bucket> collect(std::size_t level, std::int64_t since_ns) const;

  std::int64_t gap_ns_;
  std::int64_t epoch_ns_ = 0;
  std::uint64_t size_ = 0;  // samples ever added
  std::unique_ptr<Data> data_;
};

}  // namespace genscope::probe
