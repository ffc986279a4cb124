// Files of rules: YAML -> rules over a base, strictly.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <variant>

#include <genscope/advise.h>

#include "advise/rule_check.h"
#include "base/file.h"
#include "base/suggest.h"
#include "config/yaml.h"

namespace genscope {
namespace {

using config::error_at;
using config::YamlEntry;
using config::YamlValue;

constexpr std::size_t kMaxTextBytes = 4000;
constexpr std::size_t kMaxSuggestBytes = 64;  // the cost is a product of lengths

using Words = std::vector<std::string>;
using Texts = std::map<std::string, std::string>;
using Member = std::variant<std::string Rule::*, double Rule::*, Severity Rule::*,
                            RuleConfidence Rule::*, Words Rule::*, Texts Rule::*>;
struct Field {
  std::string_view name;
  Member member;
};
const Field kFields[] = {
    {"id", &Rule::id},
    {"title", &Rule::title},
    {"condition", &Rule::condition},
    {"severity", &Rule::severity},
    {"advice", &Rule::advice},
    {"gain", &Rule::gain},
    {"gain_low", &Rule::gain_low},
    {"gain_high", &Rule::gain_high},
    {"confidence", &Rule::confidence},
    {"citation", &Rule::citation},
    {"stage", &Rule::stage},
    {"hurts", &Rule::hurts},
    {"share", &Rule::share},
    {"conflicts", &Rule::conflicts},
    {"apply", &Rule::apply},
};

constexpr Severity kSeverities[] = {Severity::info, Severity::hint, Severity::warning,
                                    Severity::critical};
constexpr RuleConfidence kConfidences[] = {RuleConfidence::low, RuleConfidence::medium,
                                           RuleConfidence::high};

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known,
                         std::string_view otherwise) {
  const std::string meant =
      word.size() > kMaxSuggestBytes ? std::string() : base::nearest(word, known);
  return meant.empty() ? std::string(otherwise) : fmt::format("did you mean '{}'?", meant);
}

// One value being put into a rule, by the type of its field.
struct Reader {
  const YamlValue& value;
  Rule& rule;

  // What the value should have been; empty: it was.
  std::string operator()(std::string Rule::*member) const {
    if (value.kind != YamlValue::Kind::scalar || value.text.size() > kMaxTextBytes) {
      return fmt::format("a text of at most {} bytes", kMaxTextBytes);
    }
    rule.*member = value.text;
    return {};
  }
  std::string operator()(double Rule::*member) const {
    double number = 0;
    const char* const end = value.text.data() + value.text.size();
    const auto [stop, failed] = std::from_chars(value.text.data(), end, number);
    if (value.kind != YamlValue::Kind::scalar || failed != std::errc{} || stop != end ||
        !(number >= 0 && number <= 1)) {
      return "a number from 0 to 1, the share of the wall time";
    }
    rule.*member = number;
    return {};
  }
  std::string operator()(Severity Rule::*member) const {
    return word(member, kSeverities, "info, hint, warning or critical");
  }
  std::string operator()(RuleConfidence Rule::*member) const {
    return word(member, kConfidences, "low, medium or high");
  }
  std::string operator()(Words Rule::*member) const {
    Words words;
    for (const YamlValue& item : value.items) {
      if (item.kind == YamlValue::Kind::scalar) words.push_back(item.text);
    }
    if (value.kind != YamlValue::Kind::list || words.size() != value.items.size()) {
      return "a list of rules, [STEP-DISTIL, COMPILE-OFF]";
    }
    rule.*member = std::move(words);
    return {};
  }
  std::string operator()(Texts Rule::*member) const {
    Texts texts;
    for (const YamlEntry& entry : value.entries) {
      const bool fits =
          entry.value.kind == YamlValue::Kind::scalar && entry.value.text.size() <= kMaxTextBytes;
      if (fits) texts.emplace(entry.name, entry.value.text);
    }
    if (value.kind != YamlValue::Kind::map || texts.size() != value.entries.size()) {
      return "a text for each program, `diffusers: pipe.vae.enable_tiling()`";
    }
    rule.*member = std::move(texts);
    return {};
  }

  template <class Word, std::size_t N>
  std::string word(Word Rule::*member, const Word (&words)[N], const char* expected) const {
    for (const Word one : words) {
      if (value.kind == YamlValue::Kind::scalar && value.text == name(one)) {
        rule.*member = one;
        return {};
      }
    }
    return expected;
  }
};

class RuleFile {
 public:
  RuleFile(std::string_view file, const std::vector<Rule>& base) : file_(file), rules_(base) {
    for (std::size_t i = 0; i < rules_.size(); ++i) places_.emplace(rules_[i].id, i);
  }

  Result<std::vector<Rule>> read(const YamlValue& root) {
    if (root.kind == YamlValue::Kind::null) return std::move(rules_);
    if (root.kind != YamlValue::Kind::map) {
      return error_at(file_, root.line,
                      fmt::format("expected `rules:` or `silence:`, found {}", describe(root)));
    }
    const Result<const YamlValue*> rules = only(root, "rules");
    if (!rules) return rules.error();
    const Result<const YamlValue*> silence = only(root, "silence");
    if (!silence) return silence.error();
    for (const YamlEntry& entry : root.entries) {
      if (entry.name == "rules" || entry.name == "silence") continue;
      return error_at(file_, entry.line,
                      fmt::format("unknown key '{}'; {}", config::printable(entry.name),
                                  did_you_mean(entry.name, {"rules", "silence"},
                                               "a file of rules has `rules` and `silence`")));
    }
    if (const Status done = read_rules(*rules); !done) return done.error();
    if (const Status done = read_silence(*silence); !done) return done.error();
    return std::move(rules_);
  }

 private:
  // The list under `key`; null if there is none.
  Result<const YamlValue*> only(const YamlValue& root, std::string_view key) const {
    const YamlValue* found = nullptr;
    for (const YamlEntry& entry : root.entries) {
      if (entry.name != key) continue;
      if (found != nullptr) {
        return error_at(file_, entry.line, fmt::format("'{}' is given twice", key));
      }
      found = &entry.value;
      if (found->kind != YamlValue::Kind::list && found->kind != YamlValue::Kind::null) {
        return error_at(file_, entry.line,
                        fmt::format("{}: expected a list, found {}", key, describe(*found)));
      }
    }
    return found;
  }

  Status read_rules(const YamlValue* list) {
    if (list == nullptr) return Done{};
    for (const YamlValue& item : list->items) {
      if (Status done = read_rule(item); !done) return done;
    }
    return Done{};
  }

  Status read_rule(const YamlValue& item) {
    if (item.kind != YamlValue::Kind::map) {
      return error_at(file_, item.line,
                      fmt::format("rules: expected a rule, `- id: ...` and its fields, found {}",
                                  describe(item)));
    }
    const auto id = std::find_if(item.entries.begin(), item.entries.end(),
                                 [](const YamlEntry& entry) { return entry.name == "id"; });
    if (id == item.entries.end()) return error_at(file_, item.line, "a rule without an id");
    const std::string shown = config::printable(id->value.text);
    const auto [line, first] = lines_.emplace(id->value.text, id->line);
    if (!first) {
      return error_at(file_, id->line,
                      fmt::format("rule {} is given twice; first in line {}", shown, line->second));
    }
    const auto place = places_.find(id->value.text);
    Rule rule = place == places_.end() ? Rule{} : rules_[place->second];
    std::map<std::string_view, int> given;
    for (const YamlEntry& entry : item.entries) {
      if (!given.emplace(entry.name, entry.line).second) {
        return error_at(
            file_, entry.line,
            fmt::format("rule {}: '{}' is given twice", shown, config::printable(entry.name)));
      }
      if (Status done = read_field(entry, shown, rule); !done) return done;
    }
    if (const Status fine = advice::check_rule(rule); !fine) {
      // "condition: ..." stands where the condition does.
      const std::string& what = fine.error().message;
      const auto at = given.find(std::string_view(what).substr(0, what.find(':')));
      return error_at(file_, at == given.end() ? item.line : at->second,
                      fmt::format("rule {}: {}", shown, what));
    }
    put(std::move(rule), place == places_.end() ? rules_.size() : place->second);
    return Done{};
  }

  Status read_field(const YamlEntry& entry, std::string_view id, Rule& rule) const {
    for (const Field& field : kFields) {
      if (field.name != entry.name) continue;
      const std::string expected = std::visit(Reader{entry.value, rule}, field.member);
      if (expected.empty()) return Done{};
      return error_at(file_, entry.line,
                      fmt::format("rule {}: {}: expected {}, found {}", id, field.name, expected,
                                  entry.value.kind == YamlValue::Kind::scalar
                                      ? fmt::format("'{}'", config::printable(entry.value.text))
                                      : std::string(describe(entry.value))));
    }
    std::vector<std::string> known;
    for (const Field& field : kFields) known.emplace_back(field.name);
    return error_at(
        file_, entry.line,
        fmt::format("rule {}: unknown field '{}'; {}", id, config::printable(entry.name),
                    did_you_mean(entry.name, known, "docs/rules.md lists them")));
  }

  void put(Rule rule, std::size_t place) {
    if (place < rules_.size()) {
      rules_[place] = std::move(rule);
      return;
    }
    places_.emplace(rule.id, place);
    rules_.push_back(std::move(rule));
  }

  Status read_silence(const YamlValue* list) {
    if (list == nullptr) return Done{};
    for (const YamlValue& item : list->items) {
      const auto place = places_.find(item.text);
      if (item.kind != YamlValue::Kind::scalar || place == places_.end()) {
        std::vector<std::string> known;
        for (const Rule& rule : rules_) known.push_back(rule.id);
        return error_at(
            file_, item.line,
            fmt::format("silence: no rule is called '{}'; {}", config::printable(item.text),
                        did_you_mean(item.text, known, "docs/rules.md lists them")));
      }
      rules_[place->second].silenced = true;
    }
    return Done{};
  }

  std::string_view file_;
  std::vector<Rule> rules_;
  std::map<std::string, std::size_t, std::less<>> places_;  // id -> index
  std::map<std::string, int, std::less<>> lines_;           // id -> line, of this file
};

}  // namespace

Result<std::vector<Rule>> parse_rules(std::string_view yaml, std::string_view file_name,
                                      const std::vector<Rule>& base) {
  const std::string file = config::printable(file_name.empty() ? "rules" : file_name, 4096);
  const Result<YamlValue> root = config::parse_yaml(yaml, file);
  if (!root) return root.error();
  return RuleFile(file, base).read(*root);
}

Result<std::vector<Rule>> load_rules(const std::string& path, const std::vector<Rule>& base) {
  const Result<std::string> text = base::read_file(path, config::kMaxYamlBytes);
  if (!text) return text.error();
  return parse_rules(*text, path, base);
}

}  // namespace genscope
