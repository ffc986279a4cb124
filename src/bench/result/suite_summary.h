// Counts over a whole result: "suite" in JSON.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <genscope/bench.h>

namespace genscope::bench {

struct SuiteSummary {
  std::optional<double> pass_rate;  // cells that ran and did not regress, of all that were to run
  std::optional<double> success_rate;                   // samples that did not fail, of all
  std::map<std::string, std::uint64_t> verdict_counts;  // by name, of all comparisons
  // Of comparisons that moved beyond the floor: (worse - better) / (worse + better). Near 1 over
  // many runs without a change of the code: the comparison itself is biased.
  std::optional<double> asymmetry;
};

SuiteSummary summarize_suite(const BenchResult& result);

}  // namespace genscope::bench
