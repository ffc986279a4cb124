// Which spans a page shows one by one when there are too many for its size: the longest, and those
// that failed or never ended. The others are summarised by time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <genscope/trace.h>

#include "report/page/columns.h"

namespace genscope::report {

struct Selection {
  std::int64_t below_ns = 0;  // spans shorter than this are summarised; 0: all are kept
  bool keeps(const Trace& trace, std::uint32_t span) const noexcept {
    return trace.spans.duration_ns[span] >= below_ns ||
           (trace.spans.flags[span] & (kSpanFailed | kSpanUnfinished)) != 0;
  }
};

// The shortest duration such that at most about `most` spans of the run are kept.
Selection select_spans(const Run& run, std::uint64_t most);

// Buckets in the finest level of a track's density when so many tracks of a page have one: together
// they stay within a bound, so a page of a thousand ranks is no larger than one of ten. A few
// tracks get 32,768 each, more than the widest screen has pixels; none gets fewer than 64.
std::uint32_t density_buckets(std::uint64_t tracks) noexcept;
// The tracks of the run of which spans are summarised.
std::uint64_t summarised_tracks(const Run& run, const Selection& selection);

// How many small spans of a track there are in each stretch of time, at several resolutions: each
// level has an eighth of the buckets of the one before.
class Density {
 public:
  Density(std::int64_t wall_ns, std::uint32_t buckets) : wall_ns_(wall_ns), buckets_(buckets) {}
  void add(std::int64_t begin_ns, std::int64_t duration_ns);  // since the run's begin
  std::uint64_t spans() const noexcept { return spans_; }
  std::string json(Blobs& blobs, std::int64_t below_ns) const;

 private:
  struct Level {
    std::int64_t bucket_ns = 1;
    std::vector<std::uint32_t> count;
    std::vector<double> busy_ns;
  };
  void make_levels();

  std::int64_t wall_ns_;
  std::uint32_t buckets_;  // of the finest level
  std::vector<Level> levels_;
  std::uint64_t spans_ = 0;
};

}  // namespace genscope::report
