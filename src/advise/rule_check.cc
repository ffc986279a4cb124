#include "advise/rule_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "advise/expression.h"
#include "advise/fact_names.h"
#include "config/yaml.h"

namespace genscope::advice {
namespace {

constexpr std::size_t kMaxIdBytes = 40;

Error wrong(std::string_view field, std::string_view what) {
  return {ErrorCode::bad_data, fmt::format("{}: {}", field, what)};
}

// Calls take(plain text, fact) for each stretch of text and the {fact} after it; the last fact is
// empty. False if a brace has no partner.
template <class Take>
bool walk(std::string_view advice, const Take& take) {
  while (true) {
    const std::size_t open = advice.find_first_of("{}");
    if (open == std::string_view::npos) break;
    const std::size_t close = advice.find_first_of("{}", open + 1);
    if (advice[open] == '}' || close == std::string_view::npos || advice[close] == '{')
      return false;
    take(advice.substr(0, open), advice.substr(open + 1, close - open - 1));
    advice.remove_prefix(close + 1);
  }
  take(advice, std::string_view());
  return true;
}

Status check_advice(std::string_view advice) {
  std::string unknown;
  const bool paired = walk(advice, [&](std::string_view, std::string_view fact) {
    if (!fact.empty() && find_fact(fact) == nullptr && unknown.empty()) unknown = fact;
  });
  if (!paired || advice.find("{}") != std::string_view::npos) {
    return wrong(
        "advice",
        "a brace without its partner; {steps.steady_p50_ns} stands for the value of a fact");
  }
  if (unknown.empty()) return Done{};
  const std::string meant = nearest_fact(unknown);
  return wrong("advice", fmt::format("no fact is called '{}'; {}", config::printable(unknown),
                                     meant.empty() ? "docs/rules.md lists them"
                                                   : "did you mean '" + meant + "'?"));
}

Status check_patch(const Rule& rule) {
  for (const auto& [target, lines] : rule.apply) {
    const auto targets = patch_targets();
    if (std::find(targets.begin(), targets.end(), target) == targets.end()) {
      return wrong("apply", fmt::format("no program is called '{}'; {} are known",
                                        config::printable(target), fmt::join(targets, ", ")));
    }
    if (lines.empty()) return wrong("apply", fmt::format("{} has no lines", target));
  }
  const FactName* const share = find_fact(rule.share);
  if (!rule.share.empty() && (share == nullptr || share->unit != "share")) {
    return wrong("share", fmt::format("'{}' is no fact in shares of the time",
                                      config::printable(rule.share)));
  }
  if (rule.stage.empty() ||
      find_fact("stage_groups.exclusive_share[" + rule.stage + "]") != nullptr)
    return Done{};
  return wrong(
      "stage",
      fmt::format("'{}' is no key of stage_groups.exclusive_share[]; write load, text_encode, "
                  "denoise, vae_decode or a stage of yours",
                  config::printable(rule.stage)));
}

bool is_id(std::string_view id) {
  return !id.empty() && id.size() <= kMaxIdBytes && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  });
}

}  // namespace

Status check_rule(const Rule& rule) {
  if (!is_id(rule.id)) {
    return wrong("id", fmt::format("'{}' is not one; write up to {} of A-Z, 0-9 and -, as in "
                                   "WARM-FIRST",
                                   config::printable(rule.id), kMaxIdBytes));
  }
  if (rule.title.empty())
    return wrong("title", "is missing; say in a few words what is the matter");
  if (rule.condition.empty()) return wrong("condition", "is missing; say when the rule fires");
  if (rule.advice.empty()) return wrong("advice", "is missing; say what to do");
  if (!(rule.gain_low >= 0 && rule.gain_low <= rule.gain_high && rule.gain_high <= 1)) {
    return wrong("gain_low",
                 "gains are shares of the wall time with 0 <= gain_low <= gain_high <= 1");
  }
  if (Status fine = check_patch(rule); !fine) return fine;
  for (const std::string& other : rule.conflicts) {
    if (!is_id(other) || other == rule.id) {
      return wrong("conflicts", fmt::format("'{}' is not another rule", config::printable(other)));
    }
  }
  const Result<Expression> condition = Expression::parse(rule.condition);
  if (!condition) return wrong("condition", condition.error().message);
  return check_advice(rule.advice);
}

std::string filled(std::string_view advice, const Facts& facts) {
  std::string out;
  const bool paired = walk(advice, [&](std::string_view plain, std::string_view fact) {
    out += plain;
    if (fact.empty()) return;
    const FactValue* const value = facts.find(fact);
    out += value == nullptr ? "(unknown)" : fact_text(fact, *value);
  });
  return paired ? out : std::string(advice);
}

}  // namespace genscope::advice
