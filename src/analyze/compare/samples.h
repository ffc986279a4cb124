// The durations of a run's spans as a comparison needs them: of each row the median, and few enough
// values to compare every one with every one of another run.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <genscope/trace.h>

namespace genscope::analysis {

// A sample keeps as many values as its spans are worth, at most so many, evenly by rank; an
// interval of more gets no narrower.
inline constexpr std::size_t kMostValues = 1000;
// Spans that resemble their neighbours in time are worth fewer than their number: n (1 - r) / (1 +
// r) for the autocorrelation r of neighbours, if that is above 2 / sqrt(n), but at least so many.
inline constexpr std::size_t kLeastValues = 4;

// A set of spans. Those that failed, never finished or lost their begin are counted and left out of
// the rest.
struct Sample {
  std::uint64_t count = 0, failed = 0, unfinished = 0;
  double total_ns = 0;
  double median_ns = 0;      // nearest rank; 0 if count is
  std::vector<double> logs;  // natural logarithms of nanoseconds, ascending: what the spans are
                             // worth; a duration of 0 counts as 1 ns
  bool present() const noexcept { return count + failed + unfinished > 0; }
};

struct RowSample {
  std::string name;  // in a run that mixes shapes with its own: "denoise (width 512)"
  SpanKind kind = SpanKind::none;
  Sample sample;
};

inline constexpr std::size_t kSpanKinds = 12;

struct RunSamples {
  std::vector<RowSample> rows;  // one per name, kind and shape (shapes.h)
  // All spans of a kind, and how many names they have; of session, step, block, request and batch.
  struct Kind {
    Sample sample;
    std::size_t names = 0;
  };
  std::array<Kind, kSpanKinds> kinds;
  Sample steady;  // steps without the warm-up of their loops, as in StepSummary
  // The same by series: the loop that the steps are in, its pipeline, its shape. Steps of one
  // series cost alike; those of two have no common median. `name` is empty if there is but one.
  std::vector<RowSample> steady_series;
  bool mixed = false;                           // the run mixes shapes
  std::optional<std::uint64_t> steps_per_loop;  // where every loop has the same

  const Kind& of(SpanKind kind) const { return kinds[static_cast<std::size_t>(kind)]; }
};

// Linear in the spans. Needs 8 bytes a span while it works, 8 more a span of the largest row, and
// what step_series() and Shapes need.
RunSamples gather_samples(const Run& run);

// How many independent values these are worth; `logs` in the order of time.
class Worth {
 public:
  void add(double log) noexcept;
  std::size_t values() const noexcept;

 private:
  std::size_t count_ = 0;
  double first_ = 0, last_ = 0;  // all relative to the first
  double sum_ = 0, squares_ = 0, products_ = 0;
};

// Ascending, in time linear in the values; none is negative. `scratch` is for reuse.
void sort_durations(std::span<std::int64_t> values, std::vector<std::int64_t>& scratch);

}  // namespace genscope::analysis
