// From findings to a patch: which of them can be carried out together, and in what order.
//
// Greedy: candidates are put in order once, then each is taken unless it conflicts with one that
// was taken. So the best of two rivals wins, and the same findings give the same patch. What was
// measured on this machine decides before the table does, because the table's figures come from
// other machines.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>

#include <genscope/advise.h>

namespace genscope {
namespace {

constexpr std::string_view kTargets[] = {"diffusers", "comfyui", "sdcpp"};

const SettingEvidence* evidence_of(std::span<const SettingEvidence> measured,
                                   const std::string& rule) {
  const auto found = std::find_if(measured.begin(), measured.end(),
                                  [&](const SettingEvidence& one) { return one.rule == rule; });
  return found == measured.end() ? nullptr : &*found;
}

bool did_not_help(const SettingEvidence& evidence) {
  return evidence.verdict == "regressed" || evidence.verdict == "unchanged" ||
         evidence.verdict == "lower_quality";
}

bool helped(const PatchStep& step) { return step.measured && step.measured->verdict == "improved"; }

// Smaller comes first.
auto rank(const PatchStep& step) {
  const double measured = helped(step) ? step.measured->ratio.value_or(1) : 1;
  return std::make_tuple(!helped(step), measured, -static_cast<int>(step.finding.rule.severity),
                         -step.gain_high, -static_cast<int>(step.finding.rule.confidence),
                         std::string_view(step.finding.rule.id));
}

bool names(const Rule& rule, const std::string& other) {
  return std::find(rule.conflicts.begin(), rule.conflicts.end(), other) != rule.conflicts.end();
}

std::string measured_text(const SettingEvidence& evidence) {
  const std::string where = fmt::format(" ({})", evidence.result);
  if (evidence.verdict == "unchanged") return "made no difference here" + where;
  if (evidence.verdict == "lower_quality") return "made the output worse here" + where;
  if (!evidence.ratio) return "was slower here" + where;
  return fmt::format("was {:.1f} % slower here{}", std::abs(*evidence.ratio - 1) * 100, where);
}

PatchStep step_of(const Finding& finding, const Facts& facts, const std::string& lines) {
  const Rule& rule = finding.rule;
  PatchStep step{finding, lines, rule.gain_low, rule.gain_high, std::nullopt, std::nullopt};
  if (rule.stage.empty()) return step;
  const FactValue* const share = facts.find("stage_groups.exclusive_share[" + rule.stage + "]");
  if (share == nullptr || !std::holds_alternative<double>(*share)) return step;
  const double bound = std::get<double>(*share);
  step.stage_share = bound;
  step.gain_low = std::min(step.gain_low, bound);
  step.gain_high = std::min(step.gain_high, bound);
  return step;
}

}  // namespace

std::span<const std::string_view> patch_targets() noexcept { return kTargets; }

SettingsPatch settings_patch(const Advice& advice, const Facts& facts, std::string_view target,
                             std::span<const SettingEvidence> measured) {
  SettingsPatch patch{std::string(target), {}, {}};
  std::vector<PatchStep> candidates;
  for (const Finding& finding : advice.findings) {
    const auto lines = finding.rule.apply.find(patch.target);
    if (lines == finding.rule.apply.end()) continue;
    PatchStep step = step_of(finding, facts, lines->second);
    if (const SettingEvidence* const evidence = evidence_of(measured, finding.rule.id)) {
      if (did_not_help(*evidence)) {
        patch.left_out.emplace_back(finding.rule.id, measured_text(*evidence));
        continue;
      }
      step.measured = *evidence;
    }
    candidates.push_back(std::move(step));
  }
  std::sort(candidates.begin(), candidates.end(),
            [](const PatchStep& a, const PatchStep& b) { return rank(a) < rank(b); });
  for (PatchStep& step : candidates) {
    const Rule& rule = step.finding.rule;
    const auto rival = std::find_if(patch.steps.begin(), patch.steps.end(), [&](const auto& taken) {
      return names(taken.finding.rule, rule.id) || names(rule, taken.finding.rule.id);
    });
    if (rival == patch.steps.end()) {
      patch.steps.push_back(std::move(step));
    } else {
      patch.left_out.emplace_back(rule.id,
                                  fmt::format("does not go with {}", rival->finding.rule.id));
    }
  }
  return patch;
}

}  // namespace genscope
