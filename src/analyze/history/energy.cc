// Energy distance over all splits. |x - y| summed over pairs needs, for each value, the sum of its
// distances to those before it: with values replaced by their ranks, two Fenwick trees (counts and
// sums) give it in O(log n). A permutation then costs O(n log n), not the O(n^2) of the distance
// matrix. Values are taken from their median first, so that an offset costs no digits.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "analyze/history/change_points.h"
#include "analyze/inference/checks.h"
#include "analyze/inference/draws.h"

namespace genscope::stats {
namespace {

std::vector<double> centered(std::span<const double> series) {
  std::vector<double> values(series.begin(), series.end()), scratch = values;
  const double middle = median_in_place(scratch);
  for (double& value : values) value -= middle;
  return values;
}

// Values with their ranks, so that many orders of them are looked at without sorting again.
class EnergyScan {
 public:
  struct Item {
    double value = 0;
    double distances = 0;  // to all of the segment
    std::uint32_t rank = 0;
  };

  explicit EnergyScan(std::span<const double> series) : items(series.size()) {
    std::vector<std::size_t> order(series.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return series[a] < series[b]; });
    const double total = std::accumulate(series.begin(), series.end(), 0.0);
    double below = 0;
    const auto n = static_cast<double>(series.size());
    for (std::size_t place = 0; place < order.size(); ++place) {
      const double value = series[order[place]];
      const auto before = static_cast<double>(place);
      Item& item = items[order[place]];
      item.value = value;
      item.rank = static_cast<std::uint32_t>(place);
      item.distances = value * before - below + (total - below) - value * (n - before);
      below += value;
    }
    tree_.resize(items.size() + 1);
  }

  // T of every split of the items in their present order; calls seen(split, t).
  template <class Seen>
  void scan(Seen seen) {
    std::fill(tree_.begin(), tree_.end(), Node{});
    double right = 0;  // sum |y - y'| over pairs of the right side
    for (const Item& item : items) right += item.distances / 2;
    double left = 0, across = 0, sum_left = 0;
    const auto n = static_cast<double>(items.size());
    for (std::size_t split = 0; split < items.size(); ++split) {
      const auto l = static_cast<double>(split);
      const double r = n - l;
      const double cross_mean = split > 0 ? across / (l * r) : 0;
      const double left_mean = split > 0 ? 2 * left / (l * l) : 0;
      seen(split, l * r / n * (2 * cross_mean - left_mean - 2 * right / (r * r)));
      const Item& item = items[split];
      const Node smaller = below(item.rank);
      const double to_left = item.value * smaller.count - smaller.sum + (sum_left - smaller.sum) -
                             item.value * (l - smaller.count);
      const double to_right = item.distances - to_left;
      across += to_right - to_left;
      left += to_left;
      right -= to_right;
      add(item.rank, item.value);
      sum_left += item.value;
    }
  }

  std::vector<Item> items;

 private:
  struct Node {
    double count = 0, sum = 0;
  };
  Node below(std::uint32_t rank) const noexcept {  // items of smaller rank
    Node all;
    for (std::size_t i = rank; i > 0; i &= i - 1) {
      all.count += tree_[i].count;
      all.sum += tree_[i].sum;
    }
    return all;
  }
  void add(std::uint32_t rank, double value) noexcept {
    for (std::size_t i = rank + 1; i < tree_.size(); i += i & -i) {
      tree_[i].count += 1;
      tree_[i].sum += value;
    }
  }
  std::vector<Node> tree_;
};

struct Peak {
  std::size_t index = 0;
  double t = 0;
};

Peak peak_of(EnergyScan& scan) {
  Peak peak;
  scan.scan([&](std::size_t split, double t) {
    if (split > 0 && t > peak.t) peak = {split, t};
  });
  return peak;
}

}  // namespace

std::vector<double> energy_statistics(std::span<const double> series) {
  std::vector<double> t(series.size());
  if (!some_finite(series)) return {};
  EnergyScan scan(centered(series));
  scan.scan([&](std::size_t split, double value) { t[split] = split > 0 ? value : 0; });
  return t;
}

std::optional<Candidate> best_split(std::span<const double> series) {
  const std::size_t n = series.size();
  if (n < 2 || !all_finite(series)) return std::nullopt;
  // left[i]: sum of distances within [0, i). right[i]: within [i, end), as `end` grows.
  std::vector<double> left(n + 1, 0), right(n, 0);
  std::optional<Candidate> best;
  for (std::size_t end = 1; end <= n; ++end) {
    const std::size_t last = end - 1;
    double to_last = 0;
    for (std::size_t i = last; i-- > 0;) {
      to_last += std::fabs(series[i] - series[last]);
      right[i] += to_last;
    }
    left[end] = left[last] + to_last;
    const auto all = static_cast<double>(end);
    for (std::size_t split = 1; split < end; ++split) {
      const auto l = static_cast<double>(split);
      const double r = all - l;
      const double across = left[end] - left[split] - right[split];
      double q = 2 / all * across;
      if (split > 1) q -= 2 * r / (all * (l - 1)) * left[split];
      if (end - split > 1) q -= 2 * l / (all * (r - 1)) * right[split];
      // The first of equal ones, by split, then by end: as a search row by row finds it.
      if (!best || q > best->q || (q == best->q && split < best->index)) best = {split, q};
    }
  }
  return best;
}

std::vector<std::size_t> e_divisive(std::span<const double> series,
                                    const EDivisiveOptions& options) {
  std::vector<std::size_t> changes;
  if (series.size() < 2 || !all_finite(series) || options.permutations == 0) return changes;
  const std::vector<double> values = centered(series);
  Draws draws(options.seed);
  const auto segments = [&] {
    std::vector<EnergyScan> all;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= changes.size(); ++i) {
      const std::size_t end = i < changes.size() ? changes[i] : values.size();
      all.emplace_back(std::span(values).subspan(begin, end - begin));
      begin = end;
    }
    return all;
  };
  while (true) {
    std::vector<EnergyScan> parts = segments();
    Peak best;
    std::size_t begin = 0;
    for (EnergyScan& part : parts) {
      const Peak peak = peak_of(part);
      if (peak.t > best.t) best = {begin + peak.index, peak.t};
      begin += part.items.size();
    }
    if (!(best.t > 0)) return changes;
    std::size_t as_large = 0;
    for (std::size_t i = 0; i < options.permutations; ++i) {
      double largest = 0;
      for (EnergyScan& part : parts) {
        draws.shuffle(std::span(part.items));
        largest = std::max(largest, peak_of(part).t);
      }
      // Rounding differs with the order: equal but for that counts as reached.
      if (largest >= best.t * (1 - 1e-12)) ++as_large;
    }
    const double p = static_cast<double>(as_large) / static_cast<double>(options.permutations + 1);
    if (p > options.p_value) return changes;
    changes.insert(std::upper_bound(changes.begin(), changes.end(), best.index), best.index);
  }
}

}  // namespace genscope::stats
