#include <genscope/compare.h>

#include <algorithm>
#include <cmath>

#include "analyze/compare/before_after.h"
#include "analyze/compare/change_rows.h"
#include "analyze/compare/doubts.h"
#include "analyze/compare/run_facts.h"
#include "analyze/compare/verdict.h"

namespace genscope {

Comparison compare(const Run& before, const Analysis& before_analysis, const Run& after,
                   const Analysis& after_analysis, const CompareOptions& options) {
  Comparison result;
  result.before = {before.name, before.id, before.path};
  result.after = {after.name, after.id, after.path};
  result.noise_floor = std::isfinite(options.noise_floor) ? std::max(options.noise_floor, 0.0) : 0;

  const analysis::Side a{before, before_analysis, analysis::gather_samples(before)};
  const analysis::Side b{after, after_analysis, analysis::gather_samples(after)};
  const analysis::RunFacts a_facts =
      analysis::facts_of_run(before, before_analysis, a.samples.steps_per_loop);
  const analysis::RunFacts b_facts =
      analysis::facts_of_run(after, after_analysis, b.samples.steps_per_loop);
  analysis::compare_facts(a_facts, b_facts, result);
  analysis::add_obstacles(a, b, result);
  analysis::add_notes(a, a_facts, b, b_facts, result);
  if (!result.incomparable.empty() && !options.force) {
    result.reason = "The two cannot be compared.";
    return result;
  }
  result.forced = !result.incomparable.empty();
  analysis::add_rows(a, b, result);
  result.before_after = analysis::before_after(a, a_facts, b, b_facts, options.target_seconds);
  analysis::give_verdict(a, b, result);
  if (result.forced) {
    result.reason =
        "Compared because --force asks for it, not because they can be. " + result.reason;
  }
  return result;
}

}  // namespace genscope
