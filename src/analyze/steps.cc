#include "analyze/steps.h"

#include <algorithm>

#include "analyze/time.h"

namespace genscope::analysis {
namespace {

// Duration of the finished step that began first; of equal begins, the first met.
std::int64_t first_step(const Run& run, const RowTable& rows,
                        std::span<const std::int64_t> clock_offset_ns) {
  std::int64_t earliest = kLatest;
  std::int64_t duration = 0;
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    const SpanColumns& spans = run.traces[t].spans;
    const std::vector<std::uint32_t>& row_of = rows.rows_of(t);
    for (std::size_t i = 0; i < spans.size(); ++i) {
      if (row_of[spans.name[i]] >= rows.step_rows()) continue;
      if ((spans.flags[i] & kSpanUnfinished) != 0) continue;
      const std::int64_t begin = add(spans.begin_ns[i], clock_offset_ns[t]);
      if (begin >= earliest) continue;
      earliest = begin;
      duration = interval(spans.begin_ns[i], spans.duration_ns[i]).length();
    }
  }
  return duration;
}

}  // namespace

StepSummary summarize_steps(const Run& run, const RowTable& rows,
                            std::span<const std::int64_t> clock_offset_ns, DurationSet durations) {
  StepSummary steps;
  steps.count = durations.size();
  if (steps.count == 0) return steps;
  steps.first_ns = first_step(run, rows, clock_offset_ns);
  steps.p50_ns = durations.percentile(50);
  steps.p95_ns = durations.percentile(95);
  steps.max_ns = durations.at(durations.size() - 1);
  if (steps.count < 2) return steps;
  // Taking the first step out of the sorted durations moves those from its place on down by one.
  const std::size_t median = nearest_rank(durations.size() - 1, 50);
  steps.rest_p50_ns = durations.at(median);
  if (steps.rest_p50_ns >= steps.first_ns) steps.rest_p50_ns = durations.at(median + 1);
  if (steps.rest_p50_ns > 0) {
    steps.first_ratio =
        static_cast<double>(steps.first_ns) / static_cast<double>(steps.rest_p50_ns);
  }
  return steps;
}

}  // namespace genscope::analysis
