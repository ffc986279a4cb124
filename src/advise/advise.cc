#include <algorithm>
#include <cstdio>
#include <cstdlib>

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
  Finding finding{*ready.rule, advice::filled(ready.rule->advice, facts), {}};
  for (const std::string& fact : ready.condition.facts()) {
    if (const FactValue* value = facts.find(fact)) finding.evidence.emplace_back(fact, *value);
  }
  out.findings.push_back(std::move(finding));
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
    for (const advice::BuiltIn& file : advice::built_in_files()) {
      Result<std::vector<Rule>> more = parse_rules(file.yaml, file.name, all);
      if (!more) {
        std::fprintf(stderr, "genscope: broken rule inside the program: %s\n",
                     more.error().message.c_str());
        std::abort();
      }
      all = std::move(more).value();
    }
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
  std::sort(out.findings.begin(), out.findings.end(), [](const Finding& a, const Finding& b) {
    if (a.rule.severity != b.rule.severity) return a.rule.severity > b.rule.severity;
    return a.rule.id < b.rule.id;
  });
  return out;
}

}  // namespace genscope
