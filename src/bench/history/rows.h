// A result as rows of the index.
#pragma once

#include <optional>
#include <string>

#include <genscope/bench.h>

#include "store/history/index.h"

namespace genscope::bench {

// The suite of results that `bench selfcheck` makes, and the key of its built-in program.
inline constexpr std::string_view kSelfcheckSuite = "selfcheck";
inline constexpr std::string_view kMachineKey = "machine";
// A machine noisier than this sets no floor for commands that it was not measured with: it would
// hide what a user looks for.
inline constexpr double kLargestMachineFloor = 0.05;

// What was measured, in words that are the same on every machine: the command of slot A.
std::string subject_of(const BenchResult& result);

// Ratios of the pairs of an A/A cell, in the order in which they ran. Empty if a side lacks one.
std::vector<double> pair_ratios(const Cell& cell, std::string_view metric = "latency_s");

// Whether a self-check may speak for the machine: nothing was unfit while it ran.
bool is_fit(const Environment& environment);

// Everything but the file.
store::history::Entry entry_of(const BenchResult& result);

}  // namespace genscope::bench
