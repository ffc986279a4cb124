#include "analyze/aggregate/rank_summary.h"

#include <algorithm>
#include <map>

#include "analyze/aggregate/waits.h"
#include "analyze/statistics/statistics.h"
#include "analyze/time.h"

namespace genscope::analysis {
namespace {

// Of each rank the process with most spans: a rank's own workers bear its number too.
std::map<int, const Trace*> main_processes(const Run& run) {
  std::map<int, const Trace*> ranks;
  for (const Trace& trace : run.traces) {
    if (!trace.process.rank) continue;
    const Trace*& known = ranks[*trace.process.rank];
    if (known == nullptr || trace.spans.size() > known->spans.size()) known = &trace;
  }
  return ranks;
}

struct ValuesByRank {
  std::vector<int> ranks;
  std::vector<double> values;

  void add(int rank, double value) {
    ranks.push_back(rank);
    values.push_back(value);
  }
  int rank_at(std::vector<double>::const_iterator place) const {
    return ranks[static_cast<std::size_t>(place - values.begin())];
  }
};

// Of the ranks that have steps.
ValuesByRank median_steps(const Run& run, const std::map<int, const Trace*>& ranks,
                          const StepSeries& steps) {
  std::vector<std::vector<double>> of_trace(run.traces.size());
  for (const StepPoint& step : steps.steps) {
    if (!step.steady()) continue;
    of_trace[steps.trace_of_loop[step.loop]].push_back(static_cast<double>(step.duration_ns));
  }
  ValuesByRank medians;
  for (const auto& [rank, trace] : ranks) {
    const auto index = static_cast<std::size_t>(trace - run.traces.data());
    if (const auto median = stats::quantile(of_trace[index], 0.5)) medians.add(rank, *median);
  }
  return medians;
}

}  // namespace

RankSummary summarize_ranks(const Run& run, const StepSeries& steps) {
  RankSummary summary;
  const std::map<int, const Trace*> ranks = main_processes(run);
  summary.count = ranks.size();
  if (ranks.size() < 2) return summary;
  ValuesByRank waits, inputs;
  for (const auto& [rank, trace] : ranks) {
    const Waits one = waits_of(*trace);
    const double wall = seconds(subtract(trace->end_ns, trace->begin_ns));
    if (one.collective_seconds && wall > 0) waits.add(rank, *one.collective_seconds / wall);
    if (one.input_seconds) inputs.add(rank, *one.input_seconds);
  }
  if (waits.values.size() > 1) {
    const auto least = std::min_element(waits.values.begin(), waits.values.end());
    summary.wait_p50_share = stats::quantile(waits.values, 0.5);
    summary.wait_min_share = *least;
    summary.straggler = waits.rank_at(least);
  }
  const ValuesByRank step_ns = median_steps(run, ranks, steps);
  const std::optional<double> usual = stats::quantile(step_ns.values, 0.5);
  if (step_ns.values.size() > 1 && usual && *usual > 0) {
    const auto most = std::max_element(step_ns.values.begin(), step_ns.values.end());
    summary.step_ratio = *most / *usual;
    summary.step_slowest = step_ns.rank_at(most);
  }
  const std::optional<double> median = stats::quantile(inputs.values, 0.5);
  if (inputs.values.size() > 1 && median && *median > 0) {
    const auto most = std::max_element(inputs.values.begin(), inputs.values.end());
    summary.input_wait_ratio = *most / *median;
    summary.input_slowest = inputs.rank_at(most);
  }
  return summary;
}

}  // namespace genscope::analysis
