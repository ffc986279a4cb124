// Hunter's two passes. Split: inside each window of w values, cut at best_split() of the segments
// while Student's t is below ten times the limit: O(w^2) a cut. Windows start half a window apart,
// or at the last change. Merge: drop the change with the largest p, or, when all pass, the one with
// the smallest magnitude, until nothing is left to drop. Sums over segments come from the values
// themselves: segments are short, and prefix sums would lose digits to an offset.
#include <algorithm>
#include <cmath>

#include "analyze/distributions/distributions.h"
#include "analyze/history/change_points.h"
#include "analyze/inference/checks.h"

namespace genscope::stats {
namespace {

struct SegmentMoments {
  double n = 0, mean = 0, variance = 0;
};

SegmentMoments segment_moments(std::span<const double> values, bool population) {
  SegmentMoments m;
  m.n = static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += value - values.front();
  m.mean = values.front() + sum / m.n;
  double squares = 0;
  for (const double value : values) squares += (value - m.mean) * (value - m.mean);
  if (values.size() > 1) m.variance = squares / (population ? m.n : m.n - 1);
  return m;
}

LevelChange change_at(std::span<const double> series, std::size_t begin, std::size_t index,
                      std::size_t end, bool population = false) {
  const SegmentMoments a = segment_moments(series.subspan(begin, index - begin), population);
  const SegmentMoments b = segment_moments(series.subspan(index, end - index), population);
  LevelChange change{index, a.mean, b.mean, 1};
  const double df = a.n + b.n - 2;
  if (!(df > 0) || a.mean == b.mean) return change;
  const double pooled = ((a.n - 1) * a.variance + (b.n - 1) * b.variance) / df;
  const double error = std::sqrt(pooled * (1 / a.n + 1 / b.n));
  change.p_value = error > 0 ? t_two_sided((a.mean - b.mean) / error, df) : 0;
  return change;
}

double magnitude_of(const LevelChange& change) {
  const double forward = change.before != 0 ? std::fabs(change.after / change.before - 1) : 0;
  const double backward = change.after != 0 ? std::fabs(change.before / change.after - 1) : 0;
  return std::max(forward, backward);
}

std::vector<std::size_t> cuts_in(std::span<const double> window, double p_limit,
                                 const HunterOptions& options) {
  std::vector<std::size_t> cuts;
  while (true) {
    std::optional<Candidate> best;
    std::size_t from = 0, to = 0;
    for (std::size_t i = 0; i <= cuts.size(); ++i) {
      const std::size_t begin = i == 0 ? 0 : cuts[i - 1];
      const std::size_t end = i < cuts.size() ? cuts[i] : window.size();
      if (end - begin < 2) continue;
      std::optional<Candidate> candidate = best_split(window.subspan(begin, end - begin));
      if (candidate && (!best || candidate->q > best->q)) {
        best = {begin + candidate->index, candidate->q};
        from = begin, to = end;
      }
    }
    if (!best) return cuts;
    const LevelChange change = change_at(window, from, best->index, to, options.as_otava);
    const bool long_enough = options.as_otava || (best->index - from >= options.least &&
                                                  to - best->index >= options.least);
    if (!long_enough || !(change.p_value <= p_limit)) return cuts;
    cuts.insert(std::upper_bound(cuts.begin(), cuts.end(), best->index), best->index);
  }
}

// The figures of changes[i] on the segments that its neighbours leave.
void refresh(std::span<const double> series, std::vector<LevelChange>& changes, std::size_t i,
             bool population) {
  if (i >= changes.size()) return;
  const std::size_t begin = i == 0 ? 0 : changes[i - 1].index;
  const std::size_t end = i + 1 < changes.size() ? changes[i + 1].index : series.size();
  changes[i] = change_at(series, begin, changes[i].index, end, population);
}

}  // namespace

std::vector<LevelChange> level_changes(std::span<const double> series,
                                       std::span<const std::size_t> indices) {
  std::vector<LevelChange> changes;
  std::size_t last = 0;
  for (const std::size_t index : indices) {
    if (index <= last || index >= series.size()) return {};
    changes.push_back({index});
    last = index;
  }
  if (!all_finite(series)) return {};
  for (std::size_t i = 0; i < changes.size(); ++i) refresh(series, changes, i, false);
  return changes;
}

std::vector<LevelChange> hunter(std::span<const double> series, const HunterOptions& options) {
  if (!some_finite(series) || options.window < 2) return {};
  const double limit = options.p_value;
  const double weak = limit < 0.05 ? limit * 10 : limit < 0.5 ? limit * 2 : limit;
  std::vector<std::size_t> indices;
  for (std::size_t start = 0; start < series.size();) {
    const std::size_t size = std::min(options.window, series.size() - start);
    const std::vector<std::size_t> cuts = cuts_in(series.subspan(start, size), weak, options);
    for (const std::size_t cut : cuts) indices.push_back(start + cut);
    const std::size_t last = cuts.empty() ? 0 : start + cuts.back();
    start = std::max(last, start + options.window / 2);
  }
  std::sort(indices.begin(), indices.end());
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  std::vector<LevelChange> changes;
  for (const std::size_t index : indices) changes.push_back({index});
  for (std::size_t i = 0; i < changes.size(); ++i) refresh(series, changes, i, options.as_otava);

  while (!changes.empty()) {
    auto weakest = std::max_element(
        changes.begin(), changes.end(),
        [](const LevelChange& a, const LevelChange& b) { return a.p_value < b.p_value; });
    if (weakest->p_value < limit) {
      weakest = std::min_element(changes.begin(), changes.end(),
                                 [](const LevelChange& a, const LevelChange& b) {
                                   return magnitude_of(a) < magnitude_of(b);
                                 });
      const double least = magnitude_of(*weakest);
      if (options.as_otava ? least > options.magnitude : least >= options.magnitude) break;
    }
    const auto place = static_cast<std::size_t>(weakest - changes.begin());
    changes.erase(weakest);
    refresh(series, changes, place, options.as_otava);
    if (options.as_otava) {
      refresh(series, changes, place + 1, true);
    } else if (place > 0) {
      refresh(series, changes, place - 1, false);
    }
  }
  return changes;
}

}  // namespace genscope::stats
