// Advice: rules over the facts of a run. A rule is data: what it needs to know, when it fires, what
// it says, what was gained elsewhere, and who saw it. Nothing is guessed: a rule whose facts are
// missing abstains and says which.
//
// Place in the flow: after analyze.h, before report.h. No I/O but load_rules().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <genscope/analyze.h>
#include <genscope/error.h>
#include <genscope/trace.h>

namespace genscope {

// Something that is known of a run: "steps.first_ratio" = 9.8, "set.offload" = "sequential".
using FactValue = SettingValue;

class Facts {
 public:
  void set(std::string name, FactValue value);
  // Why a fact is not known: said to who asks for the rules that abstained.
  void set_missing(std::string name, std::string reason);
  const FactValue* find(std::string_view name) const noexcept;         // null: not known
  std::string_view why_missing(std::string_view name) const noexcept;  // "" if nothing was said
  const std::map<std::string, FactValue, std::less<>>& all() const noexcept { return values_; }

 private:
  std::map<std::string, FactValue, std::less<>> values_;
  std::map<std::string, std::string, std::less<>> missing_;
};

// A value as people read it, by the unit of its fact: "42%", "9.8x", "904 ms", "15.1 GiB", "true".
// A text is given as it is, and may hold anything.
std::string fact_text(std::string_view fact, const FactValue& value);

enum class Severity : std::uint8_t { info, hint, warning, critical };
std::string_view name(Severity severity) noexcept;

enum class RuleConfidence : std::uint8_t { low, medium, high };
std::string_view name(RuleConfidence confidence) noexcept;

struct Rule {
  std::string id;         // "WARM-FIRST"
  std::string title;      // what is the matter, in a few words
  std::string condition;  // expression over facts, docs/rules.md
  Severity severity = Severity::hint;
  std::string advice;                  // what to do; {fact} is replaced by its value
  std::string gain;                    // as seen elsewhere: "904 -> 88 ms"
  double gain_low = 0, gain_high = 0;  // elsewhere, of the wall time, as a ratio; 0, 0: not known
  RuleConfidence confidence = RuleConfidence::medium;
  std::string citation;
  bool silenced = false;
  // What the advice speeds up, a key of stage_groups.exclusive_share[]: it cannot gain more than
  // that share of the time. Empty: the whole run.
  std::string stage;
  std::string hurts;  // what it may cost: memory, quality, a slow first call
  // The fact that is the share of the wall time which the finding is about: no more than it can be
  // gained. Empty: that of `stage`, if there is one.
  std::string share;
  std::vector<std::string> conflicts;  // rules whose patch does not go with this one's
  // The advice as a patch, by program (patch_targets()): lines of Python over `pipe`, or flags.
  std::map<std::string, std::string> apply;

  bool operator==(const Rule&) const = default;
};

struct Finding {
  Rule rule;
  std::string advice;                                       // with the values filled in
  std::vector<std::pair<std::string, FactValue>> evidence;  // the facts of the condition
  // Of this run's wall time, what the finding is about: nothing it advises can gain more. Absent:
  // not known. What was gained elsewhere (Rule::gain) says nothing of this run.
  std::optional<double> most_share;
};

struct Abstention {
  std::string rule;
  std::vector<std::pair<std::string, std::string>> missing;  // the facts that mattered, reason
};

struct Advice {
  std::vector<Finding> findings;  // worst first, then by id
  std::vector<Abstention> abstained;
  std::vector<std::string> silent;    // rules that knew all they need and did not fire
  std::vector<std::string> silenced;  // rules that a file switched off
};

// What is known of a run: each fact is a field of its Analysis (docs/rules.md). Measures nothing.
Facts facts_of(const Analysis& analysis);

// The rules that ship with genscope, parsed and checked once.
const std::vector<Rule>& built_in_rules();
// A YAML file that adds, overrides (same id) or silences rules, over `base`.
Result<std::vector<Rule>> load_rules(const std::string& path, const std::vector<Rule>& base);
Result<std::vector<Rule>> parse_rules(std::string_view yaml, std::string_view file_name,
                                      const std::vector<Rule>& base);

// Every rule over the facts; linear in the rules. Rules are checked when they are loaded; one made
// by hand whose condition is malformed abstains and says why.
Advice advise(const Facts& facts, const std::vector<Rule>& rules = built_in_rules());

// A run, its figures and what they say: made once for all that is made of them.
struct WholeRun {
  Run run;
  Analysis analysis;
  Advice advice;
};
WholeRun whole_of(Run run);

// ---- from findings to settings

// What was measured of a rule's patch on this machine (`genscope bench ab --verifies RULE`).
struct SettingEvidence {
  std::string rule;
  std::string verdict;  // improved, regressed, unchanged, inconclusive, ..., or lower_quality
  // Time with the setting over time without; absent where nothing was judged.
  std::optional<double> ratio, ratio_low, ratio_high;
  std::string result;  // its id: `genscope bench report ID`
};

struct PatchStep {
  Finding finding;
  std::string lines;  // of the target: Python over `pipe` and `call`, or flags
  // Elsewhere, as a share of the run's time, never more than the share of the rule's stage; 0, 0:
  // not known.
  double gain_low = 0, gain_high = 0;
  std::optional<double> stage_share;
  std::optional<SettingEvidence> measured;
};

struct SettingsPatch {
  std::string target;
  std::vector<PatchStep> steps;                               // best first
  std::vector<std::pair<std::string, std::string>> left_out;  // rule, why
};

// diffusers, comfyui, sdcpp.
std::span<const std::string_view> patch_targets() noexcept;

// The findings that can be carried out in the target's settings and go together. What was measured
// here comes before what was seen elsewhere: a setting that did not help here is left out, one that
// did goes first. Then the worst finding, then the largest gain. Quadratic in the findings.
SettingsPatch settings_patch(const Advice& advice, const Facts& facts, std::string_view target,
                             std::span<const SettingEvidence> measured = {});

}  // namespace genscope
