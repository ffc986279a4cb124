// Comparison: two runs, what differs in how they were made, then what differs in what they took.
//
// Place in the flow: after analyze.h, before report.h. No I/O, no clock, no state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <genscope/analyze.h>
#include <genscope/trace.h>

namespace genscope {

// Something about how the runs were made that is not the same in both.
struct Difference {
  std::string key;                           // "gpu", "driver", "torch", "set.steps", "lora.active"
  std::optional<std::string> before, after;  // absent: that run does not say
};

enum class Change : std::uint8_t {
  faster,        // or less: the interval lies below the noise floor
  slower,        // or more
  same,          // the interval lies within the noise floor
  inconclusive,  // the interval reaches over its edge, or there are too few values for one
  appeared,      // only in the second run
  vanished,      // only in the first
};
std::string_view name(Change change) noexcept;

// One figure in both runs.
struct ChangeRow {
  std::string name;  // "vae_decode", "steady step", "peak RSS", "energy per image"
  std::string kind;  // kind of the spans, or "step", "memory", "energy", "run"
  std::string unit;  // "ns", "bytes", "joules", ...
  std::optional<double> before, after;  // medians of spans, values of the rest
  std::uint64_t before_count = 0, after_count = 0;
  std::optional<double> percent;  // (after - before) / before * 100
  std::optional<double> factor;   // before / after: 2 is twice as fast, or half as much
  std::optional<double> factor_low, factor_high;  // 95 %, Hodges-Lehmann of the logarithms
  Change change = Change::inconclusive;
};

// Document 000's comparison of a generation before and after.
struct BeforeAfter {
  std::optional<double> before_seconds, after_seconds;
  std::optional<double> before_step_seconds, after_step_seconds;
  std::optional<double> total_time_percent, per_step_time_percent;  // improvement: > 0 is faster
  std::optional<double> improvement_factor;
  std::optional<bool> faster, significant_improvement;      // significant: over 50 %
  std::optional<bool> before_target_met, after_target_met;  // with a target
  std::optional<double> before_score, after_score;          // min(100, target / total * 100)
  std::optional<bool> target_status_change, meets_target_now;
};

struct CompareOptions {
  std::optional<double> target_seconds;  // of a generation
  double noise_floor = 0.02;             // changes within it are none
};

struct Comparison {
  std::vector<Difference> environment;  // libraries, driver, hardware, host, genscope
  std::vector<Difference> workload;     // model, size, steps, dtype, LoRA, ...
  // Why the two cannot be compared, in sentences: another workload, a run that failed, nothing in
  // common. Empty: they can.
  std::vector<std::string> incomparable;
  std::vector<ChangeRow> rows;  // run, stages, steps, memory, energy
  BeforeAfter before_after;
  Change verdict = Change::inconclusive;  // of the whole
  std::string reason;                     // of the verdict, in a sentence
};

// Linear in the spans of both.
Comparison compare(const Run& before, const Analysis& before_analysis, const Run& after,
                   const Analysis& after_analysis, const CompareOptions& options = {});

}  // namespace genscope
