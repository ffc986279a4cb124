// A Comparer keeps figures and durations of each run, never the run, so that one is in memory at a
// time. All judging waits for finish(): first what differs in how the runs were made, which may end
// it, then the rows, the total, and the sentence.
//
// Runs of a side are put in the order in which they were made. Whether the sides took turns decides
// how they are judged: pairs cancel what drifts with the machine.
#include <genscope/analyze.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "analyze/compare/before_after.h"
#include "analyze/compare/change_rows.h"
#include "analyze/compare/doubts.h"
#include "analyze/compare/headline.h"
#include "analyze/compare/run_facts.h"
#include "analyze/compare/run_record.h"

namespace genscope {

struct Comparer::Impl {
  std::vector<analysis::RunRecord> before, after;

  void add(std::vector<analysis::RunRecord>& side, const Run& run, const Analysis& analysis) {
    side.push_back(analysis::record_of(run, analysis));
    // Several runs are judged by one value each: the spans' own are for one run each.
    if (before.size() > 1 || after.size() > 1) {
      for (auto* list : {&before, &after}) {
        for (analysis::RunRecord& record : *list) drop_spans(record.samples);
      }
    }
  }

 private:
  static void drop_spans(analysis::RunSamples& samples) {
    const auto drop = [](analysis::Sample& sample) { std::vector<double>().swap(sample.logs); };
    for (analysis::RowSample& row : samples.rows) drop(row.sample);
    for (analysis::RowSample& row : samples.steady_series) drop(row.sample);
    for (analysis::RunSamples::Kind& kind : samples.kinds) drop(kind.sample);
    drop(samples.steady);
  }
};

namespace {

analysis::Side side_of(const std::vector<analysis::RunRecord>& records) {
  analysis::Side side;
  for (const analysis::RunRecord& record : records) side.runs.push_back(&record);
  std::stable_sort(side.runs.begin(), side.runs.end(), [](const auto* a, const auto* b) {
    return a->started_unix_ns < b->started_unix_ns;
  });
  std::vector<const analysis::RunFacts*> facts;
  for (const analysis::RunRecord* run : side.runs) facts.push_back(&run->facts);
  side.facts = analysis::merge_facts(facts, side.conflicts);
  return side;
}

std::vector<ComparedRun> names_of(const std::vector<analysis::RunRecord>& records) {
  std::vector<ComparedRun> runs;
  for (const analysis::RunRecord& record : records) {
    runs.push_back({record.name, record.id, record.path, {}});
  }
  return runs;
}

void keep_totals(const std::vector<analysis::RunRecord>& records, std::string_view total,
                 std::vector<ComparedRun>& runs) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].total_ns = total == analysis::kRequest ? records[i].request_ns : records[i].wall_ns;
  }
}

std::size_t nearest(const std::vector<ComparedRun>& runs, const std::optional<double>& median) {
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!runs[i].total_ns || !median) continue;
    const double away = std::fabs(*runs[i].total_ns - *median);
    if (away >= least) continue;
    least = away;
    best = i;
  }
  return best;
}

}  // namespace

Comparer::Comparer() : impl_(std::make_unique<Impl>()) {}
Comparer::~Comparer() = default;
Comparer::Comparer(Comparer&&) noexcept = default;
Comparer& Comparer::operator=(Comparer&&) noexcept = default;

void Comparer::add_before(const Run& run, const Analysis& analysis) {
  impl_->add(impl_->before, run, analysis);
}
void Comparer::add_after(const Run& run, const Analysis& analysis) {
  impl_->add(impl_->after, run, analysis);
}

Comparison Comparer::finish(const CompareOptions& options) const {
  Comparison result;
  result.before = names_of(impl_->before);
  result.after = names_of(impl_->after);
  result.noise_floor = std::isfinite(options.noise_floor) ? std::max(options.noise_floor, 0.0) : 0;
  const analysis::Side a = side_of(impl_->before), b = side_of(impl_->after);
  analysis::compare_facts(a.facts, b.facts, result);
  analysis::add_obstacles(a, b, result);
  analysis::add_notes(a, b, result);
  if (!result.incomparable.empty() && !options.force) {
    result.judgement.verdict = Verdict::incomparable;
    result.judgement.reason = result.headline = "The two cannot be compared.";
    return result;
  }
  result.forced = !result.incomparable.empty();
  analysis::Judging judging;
  judging.noise_floor = result.noise_floor;
  judging.order = analysis::order_of(a.runs, b.runs);
  judging.one_each = a.runs.size() == 1 && b.runs.size() == 1;
  judging.before_runs = a.runs.size();
  judging.after_runs = b.runs.size();
  result.interleaved = judging.order.interleaved;
  analysis::add_rows(a.runs, b.runs, judging, result);
  result.before_after =
      analysis::before_after(a.runs, a.facts, b.runs, b.facts, options.target_seconds);
  analysis::judge_total(a.runs, b.runs, judging, result);
  keep_totals(impl_->before, result.total, result.before);
  keep_totals(impl_->after, result.total, result.after);
  result.typical_before = nearest(result.before, result.judgement.before);
  result.typical_after = nearest(result.after, result.judgement.after);
  analysis::write_headline(result);
  if (result.forced) {
    result.headline =
        "Compared because --force asks for it, not because they can be. " + result.headline;
  }
  return result;
}

Comparison compare(std::span<const RunAndAnalysis> before, std::span<const RunAndAnalysis> after,
                   const CompareOptions& options) {
  Comparer comparer;
  for (const RunAndAnalysis& each : before) comparer.add_before(each.run, each.analysis);
  for (const RunAndAnalysis& each : after) comparer.add_after(each.run, each.analysis);
  return comparer.finish(options);
}

Comparison compare(const Run& before, const Analysis& before_analysis, const Run& after,
                   const Analysis& after_analysis, const CompareOptions& options) {
  const RunAndAnalysis a[] = {{before, before_analysis}}, b[] = {{after, after_analysis}};
  return compare(a, b, options);
}

}  // namespace genscope
