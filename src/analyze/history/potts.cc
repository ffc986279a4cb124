// The exact L1 Potts fit by dynamic programming over the left end of the last segment. For a fixed
// left end the medians of all segments that start there come from one sorted linked list, from
// which values are taken off at the right: the median moves by at most one neighbour each time, so
// that a segment's cost is O(1) (Friedrich et al. 2008 do the same from the other side). O(n^2)
// time, which the definition forces, and O(n) memory.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "analyze/history/change_points.h"
#include "analyze/inference/checks.h"
#include "analyze/statistics/outliers.h"

namespace genscope::stats {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

// Costs of the segments [begin, end) for one `begin` and every end, largest first.
class SegmentCosts {
 public:
  explicit SegmentCosts(std::span<const double> values)
      : values_(values), order_(values.size()), next_(values.size()), last_(values.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
    rank_.resize(values.size());
    for (std::size_t i = 0; i < order_.size(); ++i) rank_[order_[i]] = i;
  }

  // Calls seen(end, cost) for end = n down to begin + 1.
  template <class Seen>
  void walk(std::size_t begin, Seen seen) {
    std::size_t before = kNone, count = values_.size() - begin, place = 0;
    std::size_t middle = kNone;
    below_ = above_ = 0;
    for (const std::size_t item : order_) {
      if (item < begin) continue;
      last_[item] = before;
      next_[item] = kNone;
      if (before != kNone) next_[before] = item;
      before = item;
      if (place == (count - 1) / 2) middle = item;
      (place <= (count - 1) / 2 ? below_ : above_) += values_[item];
      ++place;
    }
    // Invariant: `middle` is the lower median; below_ sums the items up to and with it, of which
    // there are (count + 1) / 2, above_ the rest.
    for (std::size_t end = values_.size(); end > begin; --end) {
      const bool odd = count % 2 == 1;
      const double cost = above_ - below_ + (odd ? values_[middle] : 0);
      seen(end, std::max(0.0, cost));
      const std::size_t gone = end - 1;
      const bool low = rank_[gone] <= rank_[middle];
      const std::size_t up = next_[middle], down = last_[middle];
      if (last_[gone] != kNone) next_[last_[gone]] = next_[gone];
      if (next_[gone] != kNone) last_[next_[gone]] = last_[gone];
      (low ? below_ : above_) -= values_[gone];
      if (odd) {  // one fewer belongs below
        if (!low) {
          below_ -= values_[middle];
          above_ += values_[middle];
          middle = down;
        } else if (gone == middle) {
          middle = down;
        }
      } else if (low) {  // as many as before belong below
        if (up != kNone) {
          below_ += values_[up];
          above_ -= values_[up];
        }
        middle = up;
      }
      --count;
    }
  }

 private:
  std::span<const double> values_;
  std::vector<std::size_t> order_, rank_, next_, last_;
  double below_ = 0, above_ = 0;
};

PottsSegment segment_of(std::span<const double> series, std::size_t begin, std::size_t end) {
  std::vector<double> values(series.begin() + static_cast<std::ptrdiff_t>(begin),
                             series.begin() + static_cast<std::ptrdiff_t>(end));
  PottsSegment segment{begin, end, median_in_place(values), 0};
  for (const double value : values) segment.cost += std::fabs(value - segment.median);
  return segment;
}

}  // namespace

double potts_gamma(std::span<const double> series) {
  if (series.size() < 2 || !all_finite(series)) return 0;
  return 3 * std::log(static_cast<double>(series.size())) * sigma_of_differences(series);
}

std::vector<PottsSegment> potts(std::span<const double> series, std::optional<double> gamma,
                                std::size_t least) {
  const std::size_t n = series.size();
  if (!some_finite(series) || (gamma && !(*gamma >= 0))) return {};
  const double price = gamma.value_or(potts_gamma(series));
  const std::size_t shortest = std::clamp<std::size_t>(least, 1, n);
  // From the median, so that an offset costs no digits.
  std::vector<double> values(series.begin(), series.end()), scratch = values;
  const double middle = median_in_place(scratch);
  for (double& value : values) value -= middle;
  if (!all_finite(values)) return {};

  // Of [0, end): cost, and where its last segment begins. Of equal costs but for rounding, the one
  // of fewer segments wins, then the one whose last segment begins later.
  struct Fit {
    double cost = std::numeric_limits<double>::infinity();
    std::size_t begin = 0, segments = 0;
  };
  std::vector<Fit> best(n + 1);
  best[0] = {-price, 0, 0};
  SegmentCosts costs(values);
  for (std::size_t begin = 0; begin < n; ++begin) {
    if (std::isinf(best[begin].cost)) continue;
    const Fit& before = best[begin];
    costs.walk(begin, [&](std::size_t end, double cost) {
      if (end - begin < shortest) return;
      const Fit fit{before.cost + price + cost, begin, before.segments + 1};
      Fit& known = best[end];
      const double rounding = 1e-12 * (std::fabs(fit.cost) + price);
      if (fit.cost < known.cost - rounding ||
          (fit.cost <= known.cost + rounding && fit.segments <= known.segments)) {
        known = fit;
      }
    });
  }
  std::vector<PottsSegment> segments;
  for (std::size_t end = n; end > 0; end = best[end].begin) {
    segments.push_back(segment_of(series, best[end].begin, end));
  }
  std::reverse(segments.begin(), segments.end());
  return segments;
}

}  // namespace genscope::stats
