// The comparison that the report tests print. For *_test.cc only.
#pragma once

#include <genscope/analyze.h>

#include "analyze/verdict/verdict.h"

namespace genscope::testing {

inline Comparison sample_comparison() {
  Comparison c;
  for (const char* run : {"1", "2", "3"}) {
    c.before.push_back({"qwen-image", std::string("a") + run, std::string("runs/a") + run, 2e9});
    c.after.push_back({"qwen-image", std::string("b") + run, std::string("runs/b") + run, 1.6e9});
  }
  c.environment = {{"gpu_power_limit_watts", "450", "300", true},
                   {"gpu_memory_bytes", "85040234496", {}, false}};
  c.env_changes = 1;
  c.workload = {{"prompt_style", "a|b <i>", "vae\x1b[31m,\xFF", false}};
  c.noise_floor = 0.02;
  ChangeRow step;
  step.name = "steady step";
  step.kind = "step";
  step.unit = "ns";
  step.before = 100e6;
  step.after = 80e6;
  step.before_count = step.after_count = 18;
  step.percent = -20;
  step.factor = 1.25;
  step.factor_low = 1.2;
  step.factor_high = 1.3;
  step.before_runs = step.after_runs = 3;
  step.interval_over = IntervalOver::runs;
  step.judgement.verdict = Verdict::improved;
  step.judgement.ratio = 0.8;
  ChangeRow odd = step;
  odd.name = "vae\x1b[31m,\xFF";
  odd.kind = "stage";
  odd.after.reset();
  odd.factor.reset();
  odd.percent.reset();
  odd.factor_low.reset();
  odd.factor_high.reset();
  odd.interval_over = IntervalOver::none;
  odd.presence = Presence::vanished;
  odd.judgement = {};
  c.rows = {step, odd};
  c.notes = {"Both are the same run."};
  c.total = "wall time";
  c.judgement.verdict = Verdict::improved;
  c.judgement.reason = "20 % less";
  c.headline = "Improved. Wall time: 20 % less; 3 runs of each, medians 2 s and 1.6 s.";
  const PartSamples denoise{
      "denoise", {1.8, 1.8, 1.8}, {1.4, 1.41, 1.39}, {18, 18, 18}, {18, 18, 18}};
  c.attribution = attribute(std::vector<double>{2, 2, 2}, std::vector<double>{1.6, 1.61, 1.59},
                            std::vector<PartSamples>{denoise});
  c.before_after.before_seconds = 2;
  c.before_after.after_seconds = 1;
  c.before_after.faster = true;
  return c;
}

}  // namespace genscope::testing
