// The limits of quality metrics, as users write them.
#include <fmt/format.h>

#include "base/file_reader.h"
#include "base/suggest.h"
#include "genscope/bench.h"

namespace genscope::bench {
namespace {

const std::vector<std::string> kRuleWords{"min", "max", "margin", "direction"};

Error bad_rule(std::string_view text, std::string_view why) {
  return {ErrorCode::invalid_argument,
          fmt::format("'{}' is no quality rule: {}; write METRIC.min=N, METRIC.max=N, "
                      "METRIC.margin=N (or N%) or METRIC.direction=lower",
                      text, why)};
}

}  // namespace

Status add_quality_rule(QualityOptions& options, std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::size_t dot = text.substr(0, equals).rfind('.');
  if (equals == text.npos || dot == text.npos || dot == 0)
    return bad_rule(text, "a part is missing");
  const std::string metric(text.substr(0, dot));
  const std::string_view word = text.substr(dot + 1, equals - dot - 1);
  std::string_view value = text.substr(equals + 1);
  QualityRule& rule = options.rules[metric];
  if (word == "direction") {
    if (value != "lower" && value != "higher") return bad_rule(text, "it is lower or higher");
    rule.direction = value == "lower" ? Direction::lower_is_better : Direction::higher_is_better;
    return Done{};
  }
  const bool percent = word == "margin" && value.ends_with('%');
  if (percent) value.remove_suffix(1);
  double number = 0;
  if (!base::parse_number(value, number)) return bad_rule(text, "the limit is not a number");
  if (word == "min") {
    rule.min = number;
  } else if (word == "max") {
    rule.max = number;
  } else if (word == "margin") {
    if (number < 0) return bad_rule(text, "a margin is not below 0");
    rule.margin = percent ? number / 100 : number;
    rule.relative = percent;
  } else {
    const std::string near = base::nearest(word, kRuleWords);
    return bad_rule(text, near.empty()
                              ? fmt::format("there is no '{}'", word)
                              : fmt::format("there is no '{}', did you mean '{}'?", word, near));
  }
  return Done{};
}

}  // namespace genscope::bench
