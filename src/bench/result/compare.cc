// Comparisons of a result: its two sides, or two results. Judging is judge()'s; this decides what
// is compared with what, whether the sides ran in turns, and which verdicts are gates.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include <genscope/bench.h>

#include "analyze/inference/inference.h"
#include "analyze/verdict/verdict.h"

namespace genscope::bench {
namespace {

constexpr std::string_view kLatency = "latency_s", kSuccess = "success_ratio";

struct SideOf {
  const Cell& cell;
  char slot;
};

std::vector<const Unit*> units_of(const SideOf& side) {
  std::vector<const Unit*> units;
  for (const Unit& unit : side.cell.units) {
    if (unit.slot == side.slot) units.push_back(&unit);
  }
  return units;
}

// Whether the sides of one cell took turns: then a drift of the machine is in both.
bool took_turns(const std::vector<const Unit*>& a, const std::vector<const Unit*>& b) {
  const auto by_order = [](const Unit* x, const Unit* y) {
    return x->order_index < y->order_index;
  };
  if (a.empty() || b.empty()) return false;
  const auto [a_first, a_last] = std::minmax_element(a.begin(), a.end(), by_order);
  const auto [b_first, b_last] = std::minmax_element(b.begin(), b.end(), by_order);
  return (*a_first)->order_index < (*b_last)->order_index &&
         (*b_first)->order_index < (*a_last)->order_index;
}

// Whether the n-th of one ran next to the n-th of the other, for all n.
bool are_pairs(const std::vector<const Unit*>& a, const std::vector<const Unit*>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::uint32_t x = a[i]->order_index, y = b[i]->order_index;
    if (a[i]->process != b[i]->process || (x > y ? x - y : y - x) != 1) return false;
  }
  return true;
}

JudgeOptions options_for(std::string_view metric_name, const JudgeOptions& latency,
                         const MetricRules& rules) {
  const auto rule = rules.find(std::string(metric_name));
  if (rule != rules.end()) return rule->second.judge;
  JudgeOptions options = latency;
  options.direction = metric(metric_name).direction;
  if (metric_name == kLatency) return options;
  options.noise.reset();
  options.abs_floor.reset();
  options.resolution.reset();
  return options;
}

bool is_gate(const std::string& metric_name, const MetricRules& rules) {
  if (rules.empty()) return metric_name == kLatency;
  const auto rule = rules.find(metric_name);
  return rule != rules.end() && rule->second.gate;
}

// Those of both sides, and those that rules name in another unit ("vram_peak_mb").
std::vector<std::string> common_metrics(const SideOf& before, const SideOf& after,
                                        const MetricRules& rules) {
  const std::vector<std::string> b = metrics_of(before.cell, before.slot);
  std::vector<std::string> out;
  for (const std::string& one : metrics_of(after.cell, after.slot)) {
    if (std::find(b.begin(), b.end(), one) != b.end()) out.push_back(one);
  }
  for (const auto& [one, rule] : rules) {
    if (std::find(out.begin(), out.end(), one) != out.end()) continue;
    if (unit_values(before.cell, before.slot, one).empty()) continue;
    if (!unit_values(after.cell, after.slot, one).empty()) out.push_back(one);
  }
  return out;
}

struct Together {
  bool turns = false, pairs = false;
  std::vector<std::string> incomparable;
};

Comparison compare_metric(const SideOf& before, const SideOf& after, const std::string& name,
                          const Together& together, JudgeOptions options) {
  Comparison out;
  out.cell = after.cell.id;
  out.metric = name;
  const Measured b = measured(before.cell, before.slot, name);
  const Measured a = measured(after.cell, after.slot, name);
  options.interleaved = together.turns;
  options.decide_by_own_time = true;
  options.paired = together.pairs && b.values.size() == a.values.size() &&
                   b.values.size() == units_of(before).size();
  options.incomparable.insert(options.incomparable.end(), together.incomparable.begin(),
                              together.incomparable.end());
  out.judgement = judge(b, a, options);
  if (name == kLatency && together.incomparable.empty()) {
    out.stage_attribution = attribute_stages(before.cell, before.slot, after.cell, after.slot,
                                             options.paired, options.confidence);
  }
  return out;
}

void compare_cells(const SideOf& before, const SideOf& after, const std::string& base,
                   const Together& together, const JudgeOptions& options, const MetricRules& rules,
                   std::vector<Comparison>& out) {
  for (const std::string& name : common_metrics(before, after, rules)) {
    Comparison one =
        compare_metric(before, after, name, together, options_for(name, options, rules));
    one.base = base;
    one.gate = is_gate(name, rules);
    out.push_back(std::move(one));
  }
}

struct Tries {
  std::uint64_t good = 0, failed = 0;
  double share() const { return static_cast<double>(good) / static_cast<double>(good + failed); }
};

// What the user or the machine ended says nothing about the program.
bool is_own(const Failure& failure) {
  return failure.kind != FailureClass::cancelled && failure.kind != FailureClass::throttled &&
         failure.kind != FailureClass::foreign_load;
}

Tries tries_of(const SideOf& side) {
  Tries tries;
  for (const Unit* unit : units_of(side)) {
    if (unit->failure && unit->samples.empty() && is_own(*unit->failure)) ++tries.failed;
    for (const Sample& sample : unit->samples) {
      if (!sample.failure) {
        ++tries.good;
      } else if (is_own(*sample.failure)) {
        ++tries.failed;
      }
    }
  }
  return tries;
}

// A faster program that fails more often is no better. By Fisher's exact test; only where something
// failed, or a rule asks for it. It stands beside the gates of times and is not corrected with
// them.
void compare_success(const SideOf& before, const SideOf& after, const std::string& base,
                     const Together& together, double confidence, const MetricRules& rules,
                     std::vector<Comparison>& out) {
  // A cell that failed as a whole says so itself.
  if (before.cell.status == "failed" || after.cell.status == "failed") return;
  const Tries b = tries_of(before), a = tries_of(after);
  if (b.failed + a.failed == 0 && !rules.contains(std::string(kSuccess))) return;
  const auto test = stats::fisher_exact(b.good, b.failed, a.good, a.failed);
  if (!test || !together.incomparable.empty()) return;
  Comparison one;
  one.cell = after.cell.id;
  one.metric = kSuccess;
  one.base = base;
  one.gate = rules.empty() || is_gate(one.metric, rules);
  Judgement& j = one.judgement;
  j.confidence = confidence;
  j.before_n = b.good + b.failed;
  j.after_n = a.good + a.failed;
  j.before = b.share();
  j.after = a.share();
  j.difference = *j.after - *j.before;
  j.p_value = test->p_two_sided;
  const double alpha = 1 - confidence;
  j.verdict = test->p_worse <= alpha    ? Verdict::regressed
              : test->p_better <= alpha ? Verdict::improved
              : a.failed + b.failed > 0 ? Verdict::inconclusive
                                        : Verdict::unchanged;
  j.reason = fmt::format("{} of {} succeeded before, {} of {} now{}", b.good, j.before_n, a.good,
                         j.after_n,
                         j.verdict == Verdict::inconclusive ? "; chance alone can do that" : "");
  out.push_back(std::move(one));
}

// Holm over the gates, then the false discovery rate over all.
void correct_all(std::vector<Comparison>& all, double confidence) {
  std::vector<Judgement> gates;
  for (const Comparison& one : all) {
    if (one.gate) gates.push_back(one.judgement);
  }
  correct_gates(gates, 1 - confidence);
  auto gate = gates.begin();
  for (Comparison& one : all) {
    if (one.gate) one.judgement = std::move(*gate++);
  }
  std::vector<double> p;
  for (const Comparison& one : all) {
    if (one.judgement.p_value) p.push_back(*one.judgement.p_value);
  }
  const std::vector<double> q = stats::adjust(p, stats::Correction::benjamini_hochberg);
  auto next = q.begin();
  for (Comparison& one : all) {
    if (one.judgement.p_value && next != q.end()) one.judgement.q = *next++;
  }
}

Comparison not_in_baseline(const Cell& cell, const std::string& base) {
  Comparison out;
  out.cell = cell.id;
  out.metric = kLatency;
  out.base = base;
  out.gate = true;
  out.judgement.verdict = Verdict::incomparable;
  out.judgement.reason = "the baseline has no such cell";
  return out;
}

std::string differences(const std::map<std::string, std::string>& before,
                        const std::map<std::string, std::string>& after) {
  std::vector<std::string> out;
  for (const auto& [key, value] : before) {
    const auto now = after.find(key);
    if (now == after.end()) {
      out.push_back(fmt::format("{} is gone", key));
    } else if (now->second != value) {
      out.push_back(fmt::format("{} {} -> {}", key, value, now->second));
    }
  }
  for (const auto& [key, value] : after) {
    if (!before.contains(key)) out.push_back(fmt::format("{} is new", key));
  }
  return fmt::format("{}", fmt::join(out, ", "));
}

}  // namespace

std::vector<std::string> why_incomparable(const BenchResult& base, const BenchResult& now) {
  std::vector<std::string> why;
  const std::string &was = base.environment.klass, &is = now.environment.klass;
  if (!was.empty() && !is.empty() && was != is) {
    why.push_back(fmt::format("the machines differ: {} before, {} now", was, is));
  }
  if (!base.workload_hash.empty() && !now.workload_hash.empty() &&
      base.workload_hash != now.workload_hash) {
    const std::string what = differences(base.workload, now.workload);
    why.push_back("the work differs" + (what.empty() ? "" : ": " + what));
  }
  return why;
}

std::vector<Comparison> compare_sides(const BenchResult& result, const JudgeOptions& options,
                                      const MetricRules& rules) {
  std::vector<Comparison> out;
  for (const Cell& cell : result.cells) {
    const SideOf before{cell, 'A'}, after{cell, 'B'};
    const std::vector<const Unit*> a = units_of(before), b = units_of(after);
    if (a.empty() || b.empty()) continue;
    const Together together{took_turns(a, b), are_pairs(a, b), {}};
    compare_cells(before, after, "A", together, options, rules, out);
  }
  correct_all(out, options.confidence);
  for (const Cell& cell : result.cells) {
    compare_success({cell, 'A'}, {cell, 'B'}, "A", {}, options.confidence, rules, out);
  }
  return out;
}

std::vector<Comparison> compare_results(const BenchResult& base, const BenchResult& now,
                                        const JudgeOptions& options, const MetricRules& rules) {
  std::unordered_map<std::string_view, const Cell*> known;
  for (const Cell& cell : base.cells) known.emplace(cell.id, &cell);
  const Together together{false, false, why_incomparable(base, now)};
  std::vector<Comparison> out;
  for (const Cell& cell : now.cells) {
    if (metrics_of(cell, 'A').empty()) continue;  // it failed or was skipped: the cell says so
    const auto before = known.find(cell.id);
    if (before == known.end()) {
      out.push_back(not_in_baseline(cell, base.id));
    } else {
      compare_cells({*before->second, 'A'}, {cell, 'A'}, base.id, together, options, rules, out);
    }
  }
  correct_all(out, options.confidence);
  for (const Cell& cell : now.cells) {
    const auto before = known.find(cell.id);
    if (before == known.end()) continue;
    compare_success({*before->second, 'A'}, {cell, 'A'}, base.id, together, options.confidence,
                    rules, out);
  }
  return out;
}

}  // namespace genscope::bench
