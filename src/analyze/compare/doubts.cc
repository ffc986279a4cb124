#include "analyze/compare/doubts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "analyze/percentile.h"

namespace genscope::analysis {
namespace {

constexpr SpanKind kJudged[] = {SpanKind::session, SpanKind::step, SpanKind::block,
                                SpanKind::request, SpanKind::batch};

std::size_t unclosed(const Run& run) {
  return static_cast<std::size_t>(
      std::count_if(run.traces.begin(), run.traces.end(),
                    [](const Trace& trace) { return !trace.integrity.closed; }));
}

// Why a run is no whole run; empty if it is one.
std::string unfinished(const Side& side) {
  if (side.run.exit_code && *side.run.exit_code != 0) {
    return fmt::format("its command ended with exit code {}", *side.run.exit_code);
  }
  for (const Trace& trace : side.run.traces) {
    if (trace.integrity.in_progress) return "it still runs";
  }
  // A worker that is killed at the end of a command that succeeded is the program's own affair.
  const std::size_t open = unclosed(side.run);
  if (open > 0 && (!side.run.exit_code || open == side.run.traces.size())) {
    return "it was killed before its recording was closed";
  }
  for (const SpanKind kind : {SpanKind::session, SpanKind::request}) {
    const Sample& all = side.samples.of(kind).sample;
    const bool none_left = kind == SpanKind::request && all.count == 0;
    if (all.failed > 0 && (kind == SpanKind::session || none_left)) {
      return fmt::format("{} of its {}s failed", all.failed, genscope::name(kind));
    }
  }
  return "";
}

void add_unfinished(const char* which, const Side& side, Comparison& result) {
  const std::string why = unfinished(side);
  if (why.empty()) return;
  result.incomparable.push_back(
      fmt::format("The {} run did not finish its work: {}. Record it again.", which, why));
}

void add_failures(const char* which, const Side& side, Comparison& result) {
  for (const SpanKind kind : kJudged) {
    const Sample& all = side.samples.of(kind).sample;
    if (all.failed == 0) continue;
    result.notes.push_back(
        fmt::format("In the {} run {} of {} spans of kind {} failed; their "
                    "times are left out.",
                    which, all.failed, all.failed + all.count, genscope::name(kind)));
  }
}

void add_losses(const char* which, const Side& side, Comparison& result) {
  if (const std::size_t open = unclosed(side.run); open > 0) {
    result.notes.push_back(
        fmt::format("{} of {} processes of the {} run did not close their recording.", open,
                    side.run.traces.size(), which));
  }
  const Analysis& analysis = side.analysis;
  if (analysis.recorder.lost_spans == 0) return;
  result.notes.push_back(fmt::format(
      "The recorder dropped {} spans of the {} run: its rows tell of those that were kept.",
      analysis.recorder.lost_spans, which));
}

// Steps that vary much show a machine with other work to do, on which runs differ by themselves.
void add_spread(const char* which, const Sample& steady, Comparison& result) {
  constexpr std::size_t kEnough = 8;
  constexpr double kMuch = 0.1;
  const std::vector<double>& logs = steady.logs;
  if (logs.size() < kEnough) return;
  const double low = logs[nearest_rank(logs.size(), 25)];
  const double high = logs[nearest_rank(logs.size(), 75)];
  const double spread = std::expm1(high - low);
  if (spread <= kMuch) return;
  result.notes.push_back(
      fmt::format("The steady steps of the {} run vary much: of its middle half the longest takes "
                  "{:.0f} % more "
                  "than the shortest. Runs like this one differ with nothing changed.",
                  which, spread * 100));
}

void add_coverage(const char* which, const Telemetry& telemetry, Comparison& result) {
  constexpr double kEnough = 0.9;
  for (const EntityRow& row : telemetry.entities) {
    if (!row.energy || !row.energy->joules) continue;
    const double all = row.energy->covered_seconds + row.energy->uncovered_seconds;
    if (!(all > 0) || row.energy->covered_seconds >= kEnough * all) continue;
    result.notes.push_back(
        fmt::format("Of {} the {} run has energy readings for {:.0f} % of its time only.",
                    row.entity.name, which, row.energy->covered_seconds / all * 100));
  }
}

}  // namespace

void add_obstacles(const Side& before, const Side& after, Comparison& result) {
  std::string work;
  for (const Difference& difference : result.workload) {
    if (!difference.decisive) continue;
    work += fmt::format("{}{} {} against {}", work.empty() ? "" : ", ", difference.key,
                        *difference.before, *difference.after);
  }
  if (!work.empty()) {
    result.incomparable.push_back(
        fmt::format("The two did different work: {}. Run both with the same.", work));
  }
  add_unfinished("first", before, result);
  add_unfinished("second", after, result);
  const Common common = common_rows(before.samples, after.samples);
  if (common.before > 0 && common.after > 0 && common.both == 0) {
    result.incomparable.push_back(fmt::format(
        "They have nothing in common: none of {} names of spans is among the {} of the other. "
        "Compare runs of one program, or mark both alike.",
        common.before, common.after));
  }
}

void add_notes(const Side& before, const RunFacts& before_facts, const Side& after,
               const RunFacts& after_facts, Comparison& result) {
  if (!before.run.id.empty() && before.run.id == after.run.id &&
      before.run.started_unix_ns == after.run.started_unix_ns) {
    result.notes.emplace_back("Both are the same run.");
  }
  if (!says_workload(before_facts) && !says_workload(after_facts)) {
    result.notes.emplace_back(
        "Neither run says what work it did (model, size, steps), so that it is not known to be "
        "the same: give these to the session as arguments, or look at the commands.");
  }
  const Common common = common_rows(before.samples, after.samples);
  if ((common.before == 0) != (common.after == 0)) {
    result.notes.push_back(
        fmt::format("The {} run has no spans: only figures of whole runs can be compared.",
                    common.before == 0 ? "first" : "second"));
  }
  add_failures("first", before, result);
  add_failures("second", after, result);
  add_losses("first", before, result);
  add_losses("second", after, result);
  add_spread("first", before.samples.steady, result);
  add_spread("second", after.samples.steady, result);
  add_coverage("first", before.analysis.telemetry, result);
  add_coverage("second", after.analysis.telemetry, result);
}

}  // namespace genscope::analysis
