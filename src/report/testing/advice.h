// The advice that the report tests print. For *_test.cc only.
#pragma once

#include <genscope/advise.h>

namespace genscope::testing {

// Two built-in rules that fire, one of ours with a text that needs care, one that abstains, one
// that does not fire, one that is silenced.
inline Advice sample_advice() {
  Facts facts;
  facts.set("steps.first_ratio", 10.27);
  facts.set("steps.steady_cv", 0.02);
  facts.set("steps.steady_p50_ns", 88e6);
  facts.set("requests.failed", 2.0);
  facts.set("set.attn", std::string("a\x1b[31m\xFF"));
  facts.set_missing("gpu.busy_ratio", "no GPU was found");
  std::vector<Rule> rules;
  for (const Rule& rule : built_in_rules()) {
    for (const char* id : {"WARM-FIRST", "RUN-FAILED", "GPU-IDLE", "HOST-HOOKS", "CFG-2X"}) {
      if (rule.id == id) rules.push_back(rule);
    }
    if (rule.id == "CFG-2X") rules.back().silenced = true;
    if (rule.id == "HOST-HOOKS") rules.back().condition = "steps.steady_cv > 1";
  }
  Rule own;
  own.id = "OWN";
  own.title = "Ours";
  own.condition = "contains(set.attn, 'a') && steps.steady_p50_ns < 100e6";
  own.severity = Severity::warning;
  own.advice = "Not {set.attn}.";
  own.gain_low = 0.2;
  own.gain_high = 0.525;
  rules.push_back(own);
  return advise(facts, rules);
}

}  // namespace genscope::testing
