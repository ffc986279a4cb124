#include "analyze/durations.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace genscope::analysis {

DurationSet::DurationSet(std::span<const std::uint32_t> shorts, std::vector<std::int64_t> longs)
    : shorts_(shorts.size()), selector_(shorts), longs_(std::move(longs)) {
  std::sort(longs_.begin(), longs_.end());
}

std::int64_t DurationSet::at(std::size_t rank) {
  return rank < shorts_ ? std::int64_t{selector_.at(rank)} : longs_[rank - shorts_];
}

Durations::Durations(const Run& run, const RowTable& rows, std::span<const RowSums> sums)
    : starts_(sums.size() + 1) {
  for (std::size_t row = 0; row < sums.size(); ++row) {
    starts_[row + 1] = starts_[row] + sums[row].count - sums[row].long_count;
  }
  shorts_ = std::make_unique_for_overwrite<std::uint32_t[]>(starts_.back());
  std::vector<std::size_t> next = starts_;
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    const SpanColumns& spans = run.traces[t].spans;
    const std::vector<std::uint32_t>& row_of = rows.rows_of(t);
    for (std::size_t i = 0; i < spans.size(); ++i) {
      if ((spans.flags[i] & kSpanUnfinished) != 0) continue;
      const std::int64_t duration = interval(spans.begin_ns[i], spans.duration_ns[i]).length();
      const std::uint32_t row = row_of[spans.name[i]];
      if (is_long(duration)) {
        longs_.push_back({row, duration});
      } else {
        shorts_[next[row]++] = static_cast<std::uint32_t>(duration);
      }
    }
  }
  std::sort(longs_.begin(), longs_.end(), [](const Long& a, const Long& b) {
    return std::tie(a.row, a.duration_ns) < std::tie(b.row, b.duration_ns);
  });
}

DurationSet Durations::of(std::size_t first, std::size_t last) const {
  const auto row_below = [](const Long& l, std::size_t row) { return l.row < row; };
  auto at = std::lower_bound(longs_.begin(), longs_.end(), first, row_below);
  std::vector<std::int64_t> longs;
  for (; at != longs_.end() && at->row < last; ++at) longs.push_back(at->duration_ns);
  return {std::span<const std::uint32_t>(shorts_.get() + starts_[first],
                                         starts_[last] - starts_[first]),
          std::move(longs)};
}

}  // namespace genscope::analysis
