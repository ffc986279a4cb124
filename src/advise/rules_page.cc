#include "advise/rules_page.h"

#include <fmt/format.h>

#include <genscope/advise.h>

#include "advise/built_in.h"
#include "advise/expression.h"
#include "advise/fact_names.h"

namespace genscope::advice {
namespace {

std::string share(double ratio) { return fmt::format("{:.3g}", ratio * 100); }

std::string gain_of(const Rule& rule) {
  std::string range;
  if (rule.gain_high > 0) {
    range =
        rule.gain_low == rule.gain_high
            ? fmt::format("{} % of the time", share(rule.gain_high))
            : fmt::format("{} to {} % of the time", share(rule.gain_low), share(rule.gain_high));
  }
  if (rule.gain.empty() || range.empty()) return rule.gain + range;
  return fmt::format("{} ({})", rule.gain, range);
}

void add_rule(std::string& out, const Rule& rule) {
  out += fmt::format("\n#### {}\n{}. *{}, confidence {}.* When\n`{}`.\n\n{}\n", rule.id, rule.title,
                     name(rule.severity), name(rule.confidence), rule.condition, rule.advice);
  const std::string gain = gain_of(rule);
  if (!gain.empty()) out += fmt::format("*Seen elsewhere:* {}.\n", gain);
  if (!rule.share.empty()) out += fmt::format("*At most:* `{}` of the time.\n", rule.share);
  if (!rule.hurts.empty()) out += fmt::format("*May cost:* {}.\n", rule.hurts);
  if (!rule.conflicts.empty()) {
    out += fmt::format("*Not with:* {}.\n", fmt::join(rule.conflicts, ", "));
  }
  out += fmt::format("*Source:* {}.\n", rule.citation);
  for (const auto& [target, lines] : rule.apply) {
    out += fmt::format("\nAs a patch for {}:\n```{}\n{}\n```\n", target,
                       target == "diffusers" ? "python" : "text", lines);
  }
}

// "timing" -> "Timing".
std::string heading(std::string_view file) {
  std::string word(file);
  word[0] = static_cast<char>(word[0] - 'a' + 'A');
  return word;
}

std::string rules_part() {
  std::string out = fmt::format("{} rules.\n", built_in_rules().size());
  const std::vector<Rule>& rules = built_in_rules();
  std::string_view file;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const BuiltInRule& row = built_in_table()[i];
    if (row.file != file) out += fmt::format("\n### {}\n", heading(row.file));
    file = row.file;
    add_rule(out, rules[i]);
  }
  return out;
}

std::string facts_part() {
  constexpr std::string_view kTypes[] = {"number", "flag", "text"};
  std::string out = "| fact | type | unit | said by | meaning |\n|---|---|---|---|---|\n";
  for (const FactName& row : all_facts()) {
    out += fmt::format("| `{}` | {} | {} | {} | {} |\n", row.name,
                       kTypes[static_cast<std::size_t>(row.type)], row.unit, name(row.source),
                       row.meaning);
  }
  return out;
}

// Rules that ask for what nothing in genscope tells.
std::string told_part() {
  std::string out = "| rule | facts that the program must say |\n|---|---|\n";
  for (const Rule& rule : built_in_rules()) {
    std::string facts;
    const Result<Expression> condition = Expression::parse(rule.condition);
    for (const std::string& fact : condition.value().facts()) {
      if (find_fact(fact)->source != FactSource::program) continue;
      facts += fmt::format("{}`{}`", facts.empty() ? "" : ", ", fact);
    }
    if (!facts.empty()) out += fmt::format("| {} | {} |\n", rule.id, facts);
  }
  return out;
}

// Replaces what stands after `mark`; false if there is no such place.
bool replace(std::string& page, std::string_view mark, const std::string& text) {
  const std::size_t begin = page.find(mark);
  if (begin == std::string::npos) return false;
  const std::size_t from = begin + mark.size();
  const std::size_t end = page.find("<!-- /generated -->", from);
  if (end == std::string::npos) return false;
  page.replace(from, end - from, "\n" + text + "\n");
  return true;
}

}  // namespace

std::string with_generated(std::string_view page) {
  std::string out(page);
  const bool done = replace(out, "<!-- generated: rules -->", rules_part()) &&
                    replace(out, "<!-- generated: told -->", told_part()) &&
                    replace(out, "<!-- generated: facts -->", facts_part());
  return done ? out : std::string();
}

}  // namespace genscope::advice
