#include "bench/result/suite_summary.h"

#include <set>
#include <string_view>

namespace genscope::bench {

SuiteSummary summarize_suite(const BenchResult& result) {
  SuiteSummary out;
  std::set<std::string_view> regressed;
  double worse = 0, better = 0;
  for (const Comparison& c : result.comparisons) {
    ++out.verdict_counts[std::string(name(c.judgement.verdict))];
    if (c.judgement.verdict == Verdict::regressed) {
      ++worse;
      if (c.gate) regressed.insert(c.cell);
    }
    if (c.judgement.verdict == Verdict::improved) ++better;
  }
  if (worse + better > 0) out.asymmetry = (worse - better) / (worse + better);

  double cells = 0, passed = 0, samples = 0, good = 0;
  for (const Cell& cell : result.cells) {
    for (const Unit& unit : cell.units) {
      samples += static_cast<double>(unit.samples.size()) + (unit.failure ? 1 : 0);
      for (const Sample& sample : unit.samples) good += sample.failure ? 0 : 1;
    }
    if (cell.status == "skipped" || cell.status == "cancelled") continue;
    ++cells;
    if (cell.status == "ok" && !regressed.contains(cell.id)) ++passed;
  }
  if (cells > 0) out.pass_rate = passed / cells;
  if (samples > 0) out.success_rate = good / samples;
  return out;
}

}  // namespace genscope::bench
