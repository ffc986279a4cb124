#include <algorithm>
#include <tuple>

#include <genscope/advise.h>

#include "advise/built_in.h"
#include "advise/expression.h"
#include "advise/rule_check.h"

namespace genscope {
namespace {

using advice::Expression;
using advice::Outcome;
using advice::Truth;

constexpr const char* kFired = "advice.fired";

// One rule and its condition, ready to be asked.
struct Ready {
  const Rule* rule;
  Expression condition;
};

bool asks_for_others(const Ready& ready) {
  const auto& facts = ready.condition.facts();
  return std::find(facts.begin(), facts.end(), kFired) != facts.end();
}

// What others did to the run stands behind what the run does itself, which its user can change; the
// headline says it, too.
bool is_of_the_machine(const Rule& rule) {
  return rule.id == "CPU-OTHERS" || rule.id == "CPU-STEAL";
}

// Of the wall time; a fact that is more (threads that overlap) bounds nothing.
std::optional<double> most_share_of(const Rule& rule, const Facts& facts) {
  const std::string fact = !rule.share.empty() ? rule.share
                           : !rule.stage.empty()
                               ? "stage_groups.exclusive_share[" + rule.stage + "]"
                               : std::string();
  const FactValue* const value = fact.empty() ? nullptr : facts.find(fact);
  const double* const share = value == nullptr ? nullptr : std::get_if<double>(value);
  if (share == nullptr || !(*share >= 0 && *share <= 1)) return std::nullopt;
  return *share;
}

void ask(const Ready& ready, const Facts& facts, Advice& out) {
  Outcome outcome = ready.condition.evaluate(facts);
  if (outcome.truth == Truth::no) {
    out.silent.push_back(ready.rule->id);
    return;
  }
  if (outcome.truth == Truth::unknown) {
    if (outcome.missing.empty()) outcome.missing.emplace_back("condition", "gives no result");
    out.abstained.push_back({ready.rule->id, std::move(outcome.missing)});
    return;
  }
  Finding finding{*ready.rule,
                  advice::filled(ready.rule->advice, facts),
                  {},
                  most_share_of(*ready.rule, facts)};
  for (const std::string& fact : ready.condition.facts()) {
    if (const FactValue* value = facts.find(fact)) finding.evidence.emplace_back(fact, *value);
  }
  out.findings.push_back(std::move(finding));
}

Rule rule_of(const advice::BuiltInRule& row) {
  Rule rule;
  rule.id = row.id;
  rule.title = row.title;
  rule.condition = row.condition;
  rule.severity = row.severity;
  rule.advice = row.advice;
  rule.gain = row.gain;
  rule.gain_low = row.gain_low;
  rule.gain_high = row.gain_high;
  rule.confidence = row.confidence;
  rule.citation = row.citation;
  rule.stage = row.stage;
  rule.hurts = row.hurts;
  rule.share = row.share;
  for (std::string_view rest = row.conflicts; !rest.empty();) {
    rule.conflicts.emplace_back(rest.substr(0, rest.find(' ')));
    rest.remove_prefix(std::min(rest.size(), rule.conflicts.back().size() + 1));
  }
  for (const advice::BuiltInPatch& patch : row.apply) {
    rule.apply.emplace(patch.target, patch.lines);
  }
  return rule;
}

}  // namespace

std::string_view name(Severity severity) noexcept {
  switch (severity) {
    case Severity::info:
      return "info";
    case Severity::hint:
      return "hint";
    case Severity::warning:
      return "warning";
    case Severity::critical:
      return "critical";
  }
  return "";
}

std::string_view name(RuleConfidence confidence) noexcept {
  switch (confidence) {
    case RuleConfidence::low:
      return "low";
    case RuleConfidence::medium:
      return "medium";
    case RuleConfidence::high:
      return "high";
  }
  return "";
}

const std::vector<Rule>& built_in_rules() {
  static const std::vector<Rule> kRules = [] {
    std::vector<Rule> all;
    all.reserve(advice::built_in_table().size());
    for (const advice::BuiltInRule& row : advice::built_in_table()) all.push_back(rule_of(row));
    return all;
  }();
  return kRules;
}

Advice advise(const Facts& facts, const std::vector<Rule>& rules) {
  Advice out;
  std::vector<Ready> last;
  for (const Rule& rule : rules) {
    if (rule.silenced) {
      out.silenced.push_back(rule.id);
      continue;
    }
    Result<Expression> condition = Expression::parse(rule.condition);
    if (!condition) {
      out.abstained.push_back({rule.id, {{"condition", condition.error().message}}});
      continue;
    }
    Ready ready{&rule, std::move(condition).value()};
    if (asks_for_others(ready)) {
      last.push_back(std::move(ready));
    } else {
      ask(ready, facts, out);
    }
  }
  if (!last.empty()) {
    const auto fired =
        std::count_if(out.findings.begin(), out.findings.end(),
                      [](const Finding& found) { return found.rule.severity >= Severity::hint; });
    Facts more = facts;
    more.set(kFired, static_cast<double>(fired));
    for (const Ready& ready : last) ask(ready, more, out);
  }
  // The worst first; of equals the one that is about most of the time, then the surest.
  std::sort(out.findings.begin(), out.findings.end(), [](const Finding& a, const Finding& b) {
    const auto weight = [](const Finding& f) {
      return std::tuple(f.rule.severity, !is_of_the_machine(f.rule), f.most_share.value_or(0),
                        f.rule.confidence);
    };
    if (weight(a) != weight(b)) return weight(a) > weight(b);
    return a.rule.id < b.rule.id;
  });
  return out;
}

}  // namespace genscope
