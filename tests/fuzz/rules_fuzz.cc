// Files of rules: any text gives rules that are in order and can be asked, or one error that names
// the file. What parses is asked twice: with nothing known, and with all that it asks for.
#include <genscope/advise.h>

#include "advise/expression.h"
#include "advise/fact_names.h"
#include "check_trace.h"

namespace {

using namespace genscope;

// Every fact that the conditions name, of the right type and of odd values.
Facts facts_for(const std::vector<Rule>& rules) {
  Facts facts;
  double number = -1;
  for (const Rule& rule : rules) {
    const Result<advice::Expression> condition = advice::Expression::parse(rule.condition);
    GENSCOPE_FUZZ_CHECK(condition.ok());
    for (const std::string& fact : condition->facts()) {
      const advice::FactName* const row = advice::find_fact(fact);
      GENSCOPE_FUZZ_CHECK(row != nullptr);
      if (row->type == advice::FactType::text) {
        facts.set(fact, std::string("2.9"));
      } else if (row->type == advice::FactType::flag) {
        facts.set(fact, true);
      } else {
        facts.set(fact, number = number < 1e300 ? number * -3 : 0);
      }
    }
  }
  return facts;
}

void check(const Facts& facts, const std::vector<Rule>& rules) {
  const Advice advice = advise(facts, rules);
  GENSCOPE_FUZZ_CHECK(advice.findings.size() + advice.abstained.size() + advice.silent.size() +
                          advice.silenced.size() ==
                      rules.size());
  for (const Abstention& one : advice.abstained) GENSCOPE_FUZZ_CHECK(!one.missing.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<Rule> base(built_in_rules().begin(), built_in_rules().begin() + 3);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<std::vector<Rule>> rules = parse_rules(text, "fuzz.yaml", base);
  if (!rules.ok()) {
    GENSCOPE_FUZZ_CHECK(rules.error().message.starts_with("fuzz.yaml:"));
  } else {
    GENSCOPE_FUZZ_CHECK(rules->size() >= base.size());
    check(Facts{}, *rules);
    check(facts_for(*rules), *rules);
  }
  // The same bytes as a bare condition, to reach its parser without the YAML in the way.
  const Result<advice::Expression> bare = advice::Expression::parse(text);
  if (!bare.ok()) {
    GENSCOPE_FUZZ_CHECK(bare.error().message.starts_with("at "));
    return 0;
  }
  const bool knows_nothing = bare->evaluate(Facts{}).truth == advice::Truth::unknown;
  GENSCOPE_FUZZ_CHECK(!knows_nothing || !bare->evaluate(Facts{}).missing.empty() ||
                      bare->facts().empty());
  return 0;
}
