// facts_of(): the fields, the families with a key, then what the program says of itself.
#include <genscope/advise.h>

#include "advise/fact_names.h"
#include "advise/facts/fields.h"

namespace genscope {
namespace advice {
namespace {

bool fits(FactType type, const FactValue& value) {
  switch (type) {
    case FactType::number:
      return std::holds_alternative<double>(value);
    case FactType::flag:
      return std::holds_alternative<bool>(value);
    case FactType::text:
      break;
  }
  return std::holds_alternative<std::string>(value);
}

// "offload" and "set.offload" both mean the fact set.offload; an empty name if there is none.
std::string fact_called(std::string_view key) {
  if (find_fact(key) != nullptr) return std::string(key);
  const std::string setting = "set." + std::string(key);
  return find_fact(setting) != nullptr ? setting : "";
}

void stage_facts(const Analysis& analysis, Facts& facts) {
  for (const StageGroup& group : analysis.stage_groups) {
    const std::string key = "[" + group.name + "]";
    facts.set("stage_groups.exclusive_share" + key, group.exclusive_share);
    facts.set("stage_groups.exclusive_ns" + key, static_cast<double>(group.exclusive_ns));
    facts.set("stage_groups.count" + key, static_cast<double>(group.count));
    if (group.first_ratio) facts.set("stage_groups.first_ratio" + key, *group.first_ratio);
  }
}

void counter_facts(const Analysis& analysis, Facts& facts) {
  for (const CounterRow& row : analysis.counters) {
    if (row.count == row.not_finite) continue;
    facts.set("counter.mean[" + row.name + "]", row.mean);
    facts.set("counter.max[" + row.name + "]", row.max);
    facts.set("counter.last[" + row.name + "]", row.last);
  }
}

void told_facts(const Analysis& analysis, Facts& facts) {
  for (const auto& [key, value] : analysis.settings) {
    const std::string fact = fact_called(key);
    if (fact.empty()) continue;
    if (fits(find_fact(fact)->type, value)) {
      facts.set(fact, value);
    } else {
      facts.set_missing(
          fact, "the program gave it, but not as " + std::string(name(find_fact(fact)->type)));
    }
  }
}

}  // namespace
}  // namespace advice

WholeRun whole_of(Run run) {
  WholeRun whole{std::move(run), {}, {}};
  whole.analysis = analyze(whole.run);
  whole.advice = advise(facts_of(whole.analysis));
  return whole;
}

Facts facts_of(const Analysis& analysis) {
  Facts facts;
  for (const advice::FactField& field : advice::fact_fields()) {
    if (std::optional<FactValue> value = field.get(analysis)) {
      facts.set(std::string(field.fact), *std::move(value));
    } else if (std::string reason = field.reason(analysis); !reason.empty()) {
      facts.set_missing(std::string(field.fact), std::move(reason));
    }
  }
  advice::stage_facts(analysis, facts);
  advice::counter_facts(analysis, facts);
  advice::told_facts(analysis, facts);  // last: what the program says of itself wins
  return facts;
}

}  // namespace genscope
