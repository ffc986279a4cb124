// What is kept of a run so that it can be compared with any number of others: for each row the
// median and some logarithms of durations, at most kMostValues, whatever the number of spans.
//
// Durations of a row are put beside one another by a counting sort on the row (two passes, 8 bytes
// a span) and sorted by radix, 11 bits at a time up to the highest bit that is set: linear, where
// millions of durations are most of the time that a comparison takes. The logarithms that are kept
// are quantiles at even distances, so their distribution is the whole sample's.
//
// How many are kept is what the sample is worth: neighbours in time are alike (a clock that drifts,
// a cache that warms), and n samples with a correlation r of neighbours carry as much as n (1 - r)
// / (1 + r) independent ones. More would make an interval narrower than it is. Worth has sums only,
// shifted by the first value, so that the variance of logarithms of like durations keeps its
// digits.
#include "analyze/compare/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "analyze/clocks.h"
#include "analyze/compare/series.h"
#include "analyze/compare/shapes.h"
#include "analyze/generation/roles.h"
#include "analyze/generation/step_series.h"
#include "analyze/percentile.h"
#include "analyze/rows.h"
#include "analyze/time.h"

namespace genscope::analysis {
namespace {

std::int64_t duration_of(const SpanColumns& spans, std::size_t span) noexcept {
  return interval(spans.begin_ns[span], spans.duration_ns[span]).length();
}

constexpr std::uint8_t kPart = kSpanUnfinished | kSpanClipped;  // begin or end were not recorded

bool counts(std::uint8_t flags) noexcept { return (flags & (kSpanFailed | kPart)) == 0; }

void tally(std::uint8_t flags, Sample& sample) noexcept {
  if ((flags & kPart) != 0) {
    ++sample.unfinished;
  } else if ((flags & kSpanFailed) != 0) {
    ++sample.failed;
  } else {
    ++sample.count;
  }
}

double log_of(std::int64_t ns) noexcept {
  return std::log(static_cast<double>(std::max<std::int64_t>(ns, 1)));
}

// Fills what comes of the durations, which are in the order of time. Sorts them.
void measure(std::span<std::int64_t> values, std::vector<std::int64_t>& scratch, Sample& sample) {
  if (values.empty()) return;
  Worth worth;
  for (const std::int64_t value : values) {
    sample.total_ns += static_cast<double>(value);
    worth.add(log_of(value));
  }
  sort_durations(values, scratch);
  sample.median_ns = static_cast<double>(values[nearest_rank(values.size(), 50)]);
  const std::size_t kept = std::min(worth.values(), kMostValues);
  sample.logs.reserve(kept);
  for (std::size_t i = 0; i < kept; ++i) {
    sample.logs.push_back(log_of(values[(2 * i + 1) * values.size() / (2 * kept)]));
  }
}

// Whether the loops of a process all have `length` steps, which the first loop of all sets.
bool all_alike(const Trace& trace, std::optional<std::uint64_t>& length) {
  std::vector<std::uint32_t> steps_in(trace.spans.size());
  for (std::size_t i = 0; i < trace.spans.size(); ++i) {
    if (trace.kind(i) != SpanKind::step) continue;
    const std::uint32_t loop =
        nearest_around(trace, i, [&](std::uint32_t s) { return !is_wrapper(trace.kind(s)); });
    if (loop == kNone) return false;
    ++steps_in[loop];
  }
  return std::all_of(steps_in.begin(), steps_in.end(), [&](std::uint32_t steps) {
    if (steps == 0) return true;
    if (!length) length = steps;
    return steps == *length;
  });
}

// Of every loop (steps in one stage, block or the like), if all have the same and every step is in
// one. Linear, 4 bytes a span of a process that has steps.
std::optional<std::uint64_t> steps_per_loop(const Run& run) {
  std::optional<std::uint64_t> length;
  for (const Trace& trace : run.traces) {
    const bool any = std::any_of(trace.names.begin(), trace.names.end(),
                                 [](const Name& name) { return name.kind == SpanKind::step; });
    if (any && !all_alike(trace, length)) return std::nullopt;
  }
  return length;
}

class Gatherer {
 public:
  explicit Gatherer(const Run& run) : run_(run), rows_(run), shapes_(run) {}

  RunSamples gather() {
    result_.mixed = shapes_.mixed();
    name_rows();
    count();
    place();
    for (const SpanKind kind :
         {SpanKind::session, SpanKind::step, SpanKind::block, SpanKind::request, SpanKind::batch}) {
      gather_kind(kind);
    }
    for (std::size_t row = 0; row < result_.rows.size(); ++row) {
      measure(values_of(row), scratch_, result_.rows[row].sample);
    }
    gather_steady();
    result_.steps_per_loop = steps_per_loop(run_);
    std::erase_if(result_.rows, [](const RowSample& row) { return !row.sample.present(); });
    return std::move(result_);
  }

 private:
  template <class Visit>
  void each_span(const Visit& visit) const {
    for (std::size_t t = 0; t < run_.traces.size(); ++t) {
      const SpanColumns& spans = run_.traces[t].spans;
      const std::vector<std::uint32_t>& row_of = rows_.rows_of(t);
      for (std::size_t i = 0; i < spans.size(); ++i) {
        std::uint32_t row = row_of[spans.name[i]];
        if (const std::uint32_t shape = shapes_.id(t, i); shape != 0) {
          row = shaped_.at(pair_of(row, shape));
        }
        visit(spans, i, row);
      }
    }
  }

  static std::uint64_t pair_of(std::uint32_t row, std::uint32_t shape) {
    return (std::uint64_t{row} << 32) | shape;
  }

  // The rows of the table; behind them those of a shape, where the run mixes several.
  void name_rows() {
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      result_.rows.push_back({std::string(rows_.key(row).name), rows_.key(row).kind, {}});
    }
    if (!shapes_.mixed()) return;
    for (std::size_t t = 0; t < run_.traces.size(); ++t) {
      const SpanColumns& spans = run_.traces[t].spans;
      for (std::size_t i = 0; i < spans.size(); ++i) add_shaped(t, i, spans.name[i]);
    }
  }
  void add_shaped(std::size_t t, std::size_t i, std::uint32_t name) {
    const std::uint32_t row = rows_.rows_of(t)[name], shape = shapes_.id(t, i);
    if (shape == 0) return;
    const auto next = static_cast<std::uint32_t>(result_.rows.size());
    if (!shaped_.try_emplace(pair_of(row, shape), next).second) return;
    std::string text = fmt::format("{} ({})", rows_.key(row).name, shapes_.text_of(shape));
    result_.rows.push_back({std::move(text), rows_.key(row).kind, {}});
  }

  void count() {
    each_span([&](const SpanColumns& spans, std::size_t i, std::uint32_t row) {
      tally(spans.flags[i], result_.rows[row].sample);
    });
  }

  // Puts the durations of each row beside each other.
  void place() {
    starts_.resize(result_.rows.size() + 1);
    for (std::size_t row = 0; row < result_.rows.size(); ++row) {
      starts_[row + 1] = starts_[row] + result_.rows[row].sample.count;
    }
    values_ = std::make_unique_for_overwrite<std::int64_t[]>(starts_.back());
    std::vector<std::size_t> next = starts_;
    each_span([&](const SpanColumns& spans, std::size_t i, std::uint32_t row) {
      if (counts(spans.flags[i])) values_[next[row]++] = duration_of(spans, i);
    });
  }

  std::span<std::int64_t> values_of(std::size_t row) const {
    return {values_.get() + starts_[row], starts_[row + 1] - starts_[row]};
  }

  void gather_kind(SpanKind wanted) {
    RunSamples::Kind& kind = result_.kinds[static_cast<std::size_t>(wanted)];
    std::vector<std::int64_t> all;
    for (std::size_t row = 0; row < result_.rows.size(); ++row) {
      const Sample& sample = result_.rows[row].sample;
      if (result_.rows[row].kind != wanted || !sample.present()) continue;
      ++kind.names;
      kind.sample.count += sample.count;
      kind.sample.failed += sample.failed;
      kind.sample.unfinished += sample.unfinished;
      const std::span<std::int64_t> values = values_of(row);
      all.insert(all.end(), values.begin(), values.end());
    }
    measure(all, scratch_, kind.sample);
  }

  void gather_steady() {
    const StepSeries series = step_series(run_, align_clocks(run_).offset_ns);
    const StepNames names(run_, shapes_, series);
    std::vector<std::int64_t> steady;
    std::map<std::string, std::vector<std::int64_t>> by_name;
    for (std::size_t i = 0; i < series.steps.size(); ++i) {
      const StepPoint& step = series.steps[i];
      if (step.failed || step.warmup) continue;
      steady.push_back(step.duration_ns);
      by_name[names.of(i)].push_back(step.duration_ns);
    }
    for (auto& [name, values] : by_name) {
      Sample sample;
      sample.count = values.size();
      measure(values, scratch_, sample);
      const bool only = by_name.size() == 1;
      result_.steady_series.push_back({only ? "" : name, SpanKind::step, std::move(sample)});
    }
    result_.steady.count = steady.size();
    measure(steady, scratch_, result_.steady);
  }

  const Run& run_;
  RowTable rows_;
  Shapes shapes_;
  std::unordered_map<std::uint64_t, std::uint32_t> shaped_;  // row and shape to the row of both
  RunSamples result_;
  std::unique_ptr<std::int64_t[]> values_;
  std::vector<std::size_t> starts_;  // per row, and the end
  std::vector<std::int64_t> scratch_;
};

}  // namespace

void Worth::add(double log) noexcept {
  if (count_++ == 0) first_ = log;
  const double value = log - first_;
  if (count_ > 1) products_ += last_ * value;
  sum_ += value;
  squares_ += value * value;
  last_ = value;
}

std::size_t Worth::values() const noexcept {
  const auto n = static_cast<double>(count_);
  if (count_ <= kLeastValues) return count_;
  const double mean = sum_ / n;
  const double variance = squares_ - n * mean * mean;
  // The first value is 0, so that the sum of neighbours' products loses only the last one's mean.
  const double covariance = products_ - mean * (2 * sum_ - last_) + (n - 1) * mean * mean;
  if (!(variance > 0) || !(covariance > 0)) return count_;
  const double r = std::min(covariance / variance, 1.0);
  if (r < 2 / std::sqrt(n)) return count_;
  const double worth = n * (1 - r) / (1 + r);
  return std::max(kLeastValues, static_cast<std::size_t>(worth));
}

// Least digit first, 11 bits at a time, up to the highest bit that any value has.
void sort_durations(std::span<std::int64_t> values, std::vector<std::int64_t>& scratch) {
  constexpr std::size_t kFew = 4096;
  constexpr int kBits = 11;
  constexpr std::size_t kDigits = std::size_t{1} << kBits;
  if (values.size() <= kFew) {
    std::sort(values.begin(), values.end());
    return;
  }
  std::uint64_t bits = 0;
  for (const std::int64_t value : values) bits |= static_cast<std::uint64_t>(value);
  if (scratch.size() < values.size()) scratch.resize(values.size());
  std::span<std::int64_t> from = values, to(scratch.data(), values.size());
  for (int shift = 0; shift < static_cast<int>(std::bit_width(bits)); shift += kBits) {
    std::array<std::size_t, kDigits> place{};
    const auto digit = [shift](std::int64_t value) {
      return (static_cast<std::uint64_t>(value) >> shift) & (kDigits - 1);
    };
    for (const std::int64_t value : from) ++place[digit(value)];
    std::size_t sum = 0;
    for (std::size_t& count : place) sum += std::exchange(count, sum);
    for (const std::int64_t value : from) to[place[digit(value)]++] = value;
    std::swap(from, to);
  }
  if (from.data() != values.data()) std::copy(from.begin(), from.end(), values.begin());
}

RunSamples gather_samples(const Run& run) { return Gatherer(run).gather(); }

}  // namespace genscope::analysis
