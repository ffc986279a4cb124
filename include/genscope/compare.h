// Comparison: two runs, what differs in how they were made, then what differs in what they took.
//
// Place in the flow: after analyze.h, before report.h. No I/O, no clock, no state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <genscope/analyze.h>
#include <genscope/trace.h>

namespace genscope {

// Something about how the runs were made that is not the same in both. docs/compare.md has the
// table of keys.
struct Difference {
  std::string key;                           // "gpu", "driver", "torch", "steps", "lora.active"
  std::optional<std::string> before, after;  // absent: that run does not say
  // Of the workload: the two did different work. Of the environment: a library, a driver or
  // hardware, which may explain a change by itself. False where one run does not say.
  bool decisive = false;
};

enum class Change : std::uint8_t {
  faster,        // or less: the interval lies beyond the noise floor
  slower,        // or more
  same,          // the interval lies within the noise floor
  inconclusive,  // the interval reaches over its edge, or there are too few values for one
  appeared,      // only in the second run
  vanished,      // only in the first
};
std::string_view name(Change change) noexcept;  // "faster", "slower", ...

// One figure in both runs. Spans that failed or never finished are left out.
struct ChangeRow {
  std::string name;  // "vae_decode", "steady step", "peak RSS", "energy per image"
  std::string kind;  // kind of the spans, or "run", "cpu", "memory", "energy"
  std::string unit;  // "ns", "bytes", "joules"
  std::optional<double> before, after;              // medians of spans, values of the rest
  std::uint64_t before_count = 0, after_count = 0;  // spans; 1 for a figure of the whole run
  std::optional<double> percent;                    // (after - before) / before * 100
  std::optional<double> factor;  // before / after: 2 is twice as fast, or half as much
  // 95 %, from the Hodges-Lehmann shift of the logarithms, where both runs have spans enough. It
  // covers the spans of these two runs, not the runs that the same program would make tomorrow.
  std::optional<double> factor_low, factor_high;
  Change change = Change::inconclusive;
};

// Document 000's comparison of a generation before and after. Figures of one run each: no verdict.
struct BeforeAfter {
  // Of a generation: the median request that did not fail, else session, else the wall time.
  std::optional<double> before_seconds, after_seconds;
  // The median steady step, else the median step.
  std::optional<double> before_step_seconds, after_step_seconds;
  std::optional<std::string> before_model, after_model;             // as the program names it
  std::optional<double> total_time_percent, per_step_time_percent;  // improvement: > 0 is faster
  std::optional<double> improvement_factor;
  std::optional<bool> faster, significant_improvement;      // significant: over 50 %
  std::optional<bool> before_target_met, after_target_met;  // with a target
  std::optional<double> before_score, after_score;          // min(100, target / total * 100)
  std::optional<bool> target_status_change;                 // met now, and not before
  std::optional<bool> meets_target_now;
};

struct CompareOptions {
  std::optional<double> target_seconds = {};  // of a generation
  double noise_floor = 0.02;                  // a ratio: changes within it are none
  bool force = false;                         // compare what cannot be compared
};

struct ComparedRun {
  std::string name, id, path;
};

struct Comparison {
  ComparedRun before, after;
  std::vector<Difference> environment;  // libraries, driver, hardware, host, genscope
  std::vector<Difference> workload;     // model, size, steps, dtype, LoRA, ...
  std::vector<Difference> other;        // command, seed, prompt, what genscope does not know
  std::uint64_t env_changes = 0;        // decisive ones of the environment: rule ENV-DRIFT
  // Why the two cannot be compared, in sentences: another workload, a run that failed, nothing in
  // common. Empty: they can. Else rows and before_after are empty too, unless `forced`.
  std::vector<std::string> incomparable;
  bool forced = false;             // compared nevertheless, as CompareOptions::force asks
  std::vector<std::string> notes;  // doubts, in sentences
  double noise_floor = 0;
  // The run; steps; spans by kind, largest total first; memory and energy.
  std::vector<ChangeRow> rows;
  std::uint64_t rows_left_out = 0;  // of spans: beyond the 200 with the most time
  BeforeAfter before_after;
  Change verdict = Change::inconclusive;  // of the steps, else batches, else requests
  std::string reason;                     // of the verdict, in sentences
};

// Linear in the spans of both, and 8 bytes a span of one run at a time.
Comparison compare(const Run& before, const Analysis& before_analysis, const Run& after,
                   const Analysis& after_analysis, const CompareOptions& options = {});

}  // namespace genscope
