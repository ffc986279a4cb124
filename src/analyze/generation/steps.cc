// Three passes over the series: of all steps, of the steady ones, and of the process with most
// steps. Percentiles are by nearest rank and nth_element, so a pass is linear in the steps.
//
// The median without the first step needs no second list: taking one value out of sorted values
// moves those behind its place by one, so it is the value at the median's rank of n - 1, or the
// next one if that is not below the first step.
//
// The trend is a robust slope, whose cost grows with its points: they are thinned to two thousand
// medians of neighbours, which keep a lasting rise and lose a single slow step. The worst outliers
// are kept in a heap of a hundred with the mildest on top.
#include "analyze/generation/steps.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "analyze/percentile.h"
#include "analyze/statistics/alike.h"
#include "analyze/statistics/statistics.h"
#include "analyze/time.h"

namespace genscope::analysis {
namespace {

constexpr std::size_t kTrendPoints = 2000;
constexpr std::size_t kOutliersKept = 100;

// The value at `rank` of the sorted values, which it reorders.
std::int64_t at_rank(std::vector<std::int64_t>& values, std::size_t rank) {
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

std::int64_t percentile(std::vector<std::int64_t>& values, unsigned percent) {
  return at_rank(values, nearest_rank(values.size(), percent));
}

void describe_all(const StepSeries& series, StepSummary& out) {
  out.count = series.steps.size();
  out.first_ns = series.steps.front().duration_ns;
  std::vector<std::int64_t> sorted;
  sorted.reserve(series.steps.size());
  for (const StepPoint& step : series.steps) sorted.push_back(step.duration_ns);
  out.p50_ns = percentile(sorted, 50);
  out.p95_ns = percentile(sorted, 95);
  const auto longer = [](const StepPoint& a, const StepPoint& b) {
    return a.duration_ns < b.duration_ns;
  };
  const auto longest = std::max_element(series.steps.begin(), series.steps.end(), longer);
  out.max_ns = longest->duration_ns;
  out.max_index = static_cast<std::uint64_t>(longest - series.steps.begin());
  const std::size_t cells = std::min(series.steps.size(), StepSummary::kShape);
  out.shape_ns.assign(cells, 0);
  for (std::size_t i = 0; i < series.steps.size(); ++i) {
    std::int64_t& cell = out.shape_ns[i * cells / series.steps.size()];
    cell = std::max(cell, series.steps[i].duration_ns);
  }
  if (sorted.size() < 2) return;
  // Taking the first step out of the sorted durations moves those from its place on down by one.
  const std::size_t median = nearest_rank(sorted.size() - 1, 50);
  out.rest_p50_ns = at_rank(sorted, median);
  if (out.rest_p50_ns >= out.first_ns) out.rest_p50_ns = at_rank(sorted, median + 1);
  if (out.rest_p50_ns > 0) {
    out.first_ratio = static_cast<double>(out.first_ns) / static_cast<double>(out.rest_p50_ns);
  }
}

std::optional<double> variation(const std::vector<std::int64_t>& durations) {
  const auto n = static_cast<double>(durations.size());
  double mean = 0;
  for (const std::int64_t d : durations) mean += static_cast<double>(d) / n;
  if (mean <= 0) return std::nullopt;
  double squares = 0;
  for (const std::int64_t d : durations) {
    const double off = static_cast<double>(d) / mean - 1;
    squares += off * off;
  }
  return std::sqrt(squares / (n - 1));
}

// Steady durations against their places in their process, thinned: of each group of neighbours the
// median, at the middle of their places. A median keeps one slow step from bending the line.
class Thinned {
 public:
  explicit Thinned(std::size_t steps) : group_((steps + kTrendPoints - 1) / kTrendPoints) {}

  void add(double place, std::int64_t duration_ns) {
    place_sum_ += place;
    durations_.push_back(duration_ns);
    if (durations_.size() == group_) close();
  }
  void close() {
    if (durations_.empty()) return;
    places.push_back(place_sum_ / static_cast<double>(durations_.size()));
    values.push_back(static_cast<double>(percentile(durations_, 50)));
    place_sum_ = 0;
    durations_.clear();
  }
  std::vector<double> places, values;

 private:
  std::size_t group_;
  double place_sum_ = 0;
  std::vector<std::int64_t> durations_;
};

void find_trend(const StepSeries& series, StepSummary& out) {
  const auto median = static_cast<double>(*out.steady_p50_ns);
  if (out.steady_count < StepSummary::kMinTrend || median <= 0) return;
  std::vector<double> place_in_trace;
  Thinned points(out.steady_count);
  for (const StepPoint& step : series.steps) {
    if (!step.steady()) continue;
    const std::uint32_t trace = series.trace_of_loop[step.loop];
    if (trace >= place_in_trace.size()) place_in_trace.resize(trace + 1);
    points.add(place_in_trace[trace]++, step.duration_ns);
  }
  points.close();
  const std::optional<stats::Trend> line = stats::trend(points.places, points.values);
  if (!line) return;
  const double scale = 100.0 * 100.0 / median;
  out.trend_percent_per_100 = Slope{line->slope * scale, line->low * scale, line->high * scale};
}

void find_outliers(const StepSeries& series, StepSummary& out) {
  const auto median = static_cast<double>(*out.steady_p50_ns);
  if (median <= 0) return;
  const auto longer = [](const StepOutlier& a, const StepOutlier& b) { return a.ratio > b.ratio; };
  std::vector<StepOutlier>& kept = out.outliers;  // a heap, the shortest on top
  for (std::size_t i = 0; i < series.steps.size(); ++i) {
    const StepPoint& step = series.steps[i];
    if (!step.steady()) continue;
    const double ratio = static_cast<double>(step.duration_ns) / median;
    if (ratio <= StepSummary::kOutlierRatio) continue;
    ++out.outlier_count;
    if (kept.size() == kOutliersKept) {
      if (ratio <= kept.front().ratio) continue;
      std::pop_heap(kept.begin(), kept.end(), longer);
      kept.pop_back();
    }
    kept.push_back({i, step.duration_ns, ratio});
    std::push_heap(kept.begin(), kept.end(), longer);
  }
  std::sort(kept.begin(), kept.end(),
            [](const StepOutlier& a, const StepOutlier& b) { return a.index < b.index; });
}

void describe_steady(const StepSeries& series, StepSummary& out) {
  std::vector<std::int64_t> steady;
  for (const StepPoint& step : series.steps) {
    if (step.steady()) steady.push_back(step.duration_ns);
    if (!step.warmup) continue;
    ++out.warmup_count;
    out.warmup_ns = add(out.warmup_ns, step.duration_ns);
  }
  out.steady_count = steady.size();
  if (steady.empty()) return;
  const auto [shortest, longest] = std::minmax_element(steady.begin(), steady.end());
  out.steady_min_ns = *shortest;
  out.steady_max_ns = *longest;
  if (steady.size() >= StepSummary::kMinSteady) out.steady_cv = variation(steady);
  if (steady.size() > 1 && *out.steady_min_ns > 0) {
    out.variance_ratio =
        static_cast<double>(*out.steady_max_ns) / static_cast<double>(*out.steady_min_ns);
    out.high_variance = *out.variance_ratio > StepSummary::kVarianceRatio;
  }
  out.steady_p50_ns = percentile(steady, 50);
  out.steady_p95_ns = percentile(steady, 95);
  find_trend(series, out);
  find_outliers(series, out);
}

// The greatest rise of the median from what is before a moment to what is after it.
double jump_of(std::span<const double> steady) {
  constexpr std::size_t kSplits = 16, kMinHalf = 4;
  double greatest = 1;
  for (std::size_t i = 1; i < kSplits; ++i) {
    const std::size_t at = steady.size() * i / kSplits;
    if (at < kMinHalf || steady.size() - at < kMinHalf) continue;
    const auto before = stats::quantile(steady.first(at), 0.5);
    const auto after = stats::quantile(steady.subspan(at), 0.5);
    if (before && after && *before > 0) greatest = std::max(greatest, *after / *before);
  }
  return greatest;
}

// Between neighbours among ascending places, if there are enough of them and all are alike.
std::optional<std::uint64_t> even_distance(std::span<const double> places) {
  constexpr std::size_t kFewest = 4;
  if (places.size() < kFewest) return std::nullopt;
  std::vector<double> distances;
  for (std::size_t i = 1; i < places.size(); ++i) distances.push_back(places[i] - places[i - 1]);
  const auto typical = stats::quantile(distances, 0.5);
  if (!typical || *typical < 2 || !are_alike(distances)) return std::nullopt;
  return static_cast<std::uint64_t>(std::lround(*typical));
}

// Of the process that has most steps.
void describe_shape(const StepSeries& series, StepSummary& out) {
  if (out.steady_count < StepSummary::kMinSteady || *out.steady_p50_ns <= 0) return;
  const auto median = static_cast<double>(*out.steady_p50_ns);
  const std::uint32_t process = *process_with_most_steps(series);
  std::vector<double> steady, slow_places;
  std::uint64_t count = 0, slow = 0, quick = 0;
  bool last_is_slow = false;
  for (const StepPoint& step : series.steps) {
    if (series.trace_of_loop[step.loop] != process) continue;
    const double ratio = static_cast<double>(step.duration_ns) / median;
    last_is_slow = ratio > StepSummary::kOutlierRatio;
    slow += last_is_slow ? 1 : 0;
    if (last_is_slow && count > 0) slow_places.push_back(static_cast<double>(count));
    quick += ratio < StepSummary::kShortRatio ? 1 : 0;
    if (count == 0) out.slow_first = last_is_slow;
    if (count == 1) out.second_ratio = ratio;
    if (step.steady()) steady.push_back(ratio);
    ++count;
  }
  out.slow_count = slow;
  out.slow_inner_count = count < 2 ? 0 : slow - (out.slow_first ? 1 : 0) - (last_is_slow ? 1 : 0);
  out.short_count = quick;
  if (last_is_slow && !slow_places.empty()) slow_places.pop_back();
  out.slow_every = even_distance(slow_places);
  out.jump_ratio = jump_of(steady);
}

}  // namespace

StepSummary summarize_steps(const StepSeries& series) {
  StepSummary summary;
  if (series.steps.empty()) return summary;
  describe_all(series, summary);
  describe_steady(series, summary);
  describe_shape(series, summary);
  return summary;
}

void add_device_time(const Run& run, StepSummary& summary) {
  std::vector<std::int64_t> times;
  for (const Trace& trace : run.traces) {
    for (std::size_t d = 0; d < trace.device.size(); ++d) {
      const std::uint32_t span = trace.device.span[d];
      if (span >= trace.spans.size() || trace.kind(span) != SpanKind::step) continue;
      if ((trace.spans.flags[span] & kSpanUnfinished) != 0) continue;
      times.push_back(std::max<std::int64_t>(trace.device.duration_ns[d], 0));
    }
  }
  summary.device_count = times.size();
  if (times.empty()) return;
  summary.device_p50_ns = percentile(times, 50);
  summary.device_p95_ns = percentile(times, 95);
  summary.device_max_ns = *std::max_element(times.begin(), times.end());
}

}  // namespace genscope::analysis
