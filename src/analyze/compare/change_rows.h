// The rows of a comparison: figures that both runs have, or one of them.
#pragma once

#include <string_view>

#include <genscope/compare.h>

#include "analyze/compare/samples.h"

namespace genscope::analysis {

// So many rows of spans, those with the most time; the others are counted. A row of 50 spans
// against 50 costs some 25 million additions (genscope/statistics.h), so this also bounds the time.
inline constexpr std::size_t kMostRows = 200;

inline constexpr std::string_view kSteadyStep = "steady step";

// Both sides of what is compared.
struct Side {
  const Run& run;
  const Analysis& analysis;
  RunSamples samples;
};

// Fills rows and rows_left_out.
void add_rows(const Side& before, const Side& after, Comparison& result);

// How many names and kinds of spans both have, and whether either has any.
struct Common {
  std::size_t before = 0, after = 0, both = 0;
};
Common common_rows(const RunSamples& before, const RunSamples& after);

// "all requests"
std::string name_of_all(SpanKind kind);

}  // namespace genscope::analysis
