// Comparison: the runs before and the runs after a change, one or several of each. First what
// differs in how they were made, then what differs in what they took. Each run has one value of a
// row; one run each gives figures and no verdict.
//
// A part of analyze.h, which says what holds for all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <genscope/analyze/verdict.h>

namespace genscope {

struct Run;
struct Analysis;

// Something about how the runs were made that is not the same on both sides. docs/compare.md has
// the table of keys.
struct Difference {
  std::string key;                           // "gpu", "driver", "torch", "steps", "lora.active"
  std::optional<std::string> before, after;  // absent: that side does not say
  // Of the workload: the sides did different work. Of the environment: a library, a driver or
  // hardware, which may explain a change by itself. False where one side does not say.
  bool decisive = false;
};

enum class Presence : std::uint8_t {
  both,
  appeared,  // only in runs of the second side
  vanished,  // only in runs of the first
};
std::string_view name(Presence presence) noexcept;

// What an interval is about.
enum class IntervalOver : std::uint8_t {
  none,   // there is no interval
  runs,   // runs that the same program would make
  spans,  // the spans of these two runs, and no other run
};
std::string_view name(IntervalOver over) noexcept;

// One figure on both sides. Spans that failed or never finished are left out.
struct ChangeRow {
  std::string name;  // "vae_decode", "steady step", "peak RSS", "energy per image"
  std::string kind;  // kind of the spans, or "run", "cpu", "memory", "energy"
  std::string unit;  // "ns", "bytes", "joules"
  // Of each run the median of its spans, or its value; of a side the median of its runs.
  std::optional<double> before, after;
  std::uint64_t before_runs = 0, after_runs = 0;    // that have it
  std::uint64_t before_count = 0, after_count = 0;  // spans of all; 1 a run for its own figures
  std::optional<double> percent;                    // (after - before) / before * 100
  std::optional<double> factor;  // before / after: 2 is twice as fast, or half as much
  // 95 %, of the factor. Of several runs a side, the judgement's; of one run each, of their spans
  // (Hodges-Lehmann shift of the logarithms), where both have enough.
  std::optional<double> factor_low, factor_high;
  IntervalOver interval_over = IntervalOver::none;
  Presence presence = Presence::both;
  Judgement judgement;  // of one run each: insufficient
};

// "regressed", "unchanged", ..., "appeared", "vanished"; "not measured" if a side has no value.
std::string_view row_verdict(const ChangeRow& row) noexcept;

// A generation before and after, as generation monitors compare it: medians of the runs, no
// verdict.
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
  std::optional<double> total_ns;  // its value of what the verdict is about
};

struct Comparison {
  std::vector<ComparedRun> before, after;
  // The run of each side whose total is nearest to the side's median: the one to draw.
  std::size_t typical_before = 0, typical_after = 0;
  std::vector<Difference> environment;  // libraries, driver, hardware, host, genscope
  std::vector<Difference> workload;     // model, size, steps, dtype, LoRA, ...
  std::vector<Difference> other;        // command, seed, prompt, what genscope does not know
  std::uint64_t env_changes = 0;        // decisive ones of the environment: rule ENV-DRIFT
  // Why the sides cannot be compared, in sentences: another workload, a run that failed, nothing in
  // common. Empty: they can. Else rows and before_after are empty too, unless `forced`.
  std::vector<std::string> incomparable;
  bool forced = false;             // compared nevertheless, as CompareOptions::force asks
  std::vector<std::string> notes;  // doubts, in sentences
  double noise_floor = 0;
  bool interleaved = false;  // the sides ran in turns
  // The run; steps; spans by kind, largest total first; memory and energy.
  std::vector<ChangeRow> rows;
  std::uint64_t rows_left_out = 0;  // of spans: beyond the 200 with the most time
  BeforeAfter before_after;
  // What the verdict is about: "wall time", or "request" where every run has at least two (then
  // their mean, which a slow one cannot hide in).
  std::string total;
  Judgement judgement;                     // of the total
  std::optional<Attribution> attribution;  // of the total's difference, in seconds
  std::string headline;                    // the verdict with its reason, in sentences
};

struct RunAndAnalysis {
  const Run& run;
  const Analysis& analysis;
};

// Takes run after run and keeps figures only, so that one run is in memory at a time. Adding is
// linear in the spans of the run, with 8 bytes a span while it works.
class Comparer {
 public:
  Comparer();
  ~Comparer();
  Comparer(Comparer&&) noexcept;
  Comparer& operator=(Comparer&&) noexcept;

  void add_before(const Run& run, const Analysis& analysis);
  void add_after(const Run& run, const Analysis& analysis);
  Comparison finish(const CompareOptions& options = {}) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

Comparison compare(std::span<const RunAndAnalysis> before, std::span<const RunAndAnalysis> after,
                   const CompareOptions& options = {});
// One run each.
Comparison compare(const Run& before, const Analysis& before_analysis, const Run& after,
                   const Analysis& after_analysis, const CompareOptions& options = {});

}  // namespace genscope
