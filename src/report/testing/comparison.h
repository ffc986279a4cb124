// The comparison that the report tests print. For *_test.cc only.
#pragma once

#include <genscope/compare.h>

namespace genscope::testing {

inline Comparison sample_comparison() {
  Comparison c;
  c.before = {"qwen-image", "a", "runs/a"};
  c.after = {"qwen-image", "b", "runs/b"};
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
  step.change = Change::faster;
  ChangeRow odd = step;
  odd.name = "vae\x1b[31m,\xFF";
  odd.kind = "stage";
  odd.after.reset();
  odd.factor.reset();
  odd.percent.reset();
  odd.factor_low.reset();
  odd.factor_high.reset();
  odd.change = Change::vanished;
  c.rows = {step, odd};
  c.notes = {"Both are the same run."};
  c.verdict = Change::faster;
  c.reason = "The median of the steady steps went from 100 ms to 80 ms.";
  c.before_after.before_seconds = 2;
  c.before_after.after_seconds = 1;
  c.before_after.faster = true;
  return c;
}

}  // namespace genscope::testing
