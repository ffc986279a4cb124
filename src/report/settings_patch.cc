// A patch of settings as text that the program takes (Python, or flags), and as JSON.
//
// The text can be pasted: all but the lines themselves are comments of the target's language, and a
// comment is one line whatever the rule says.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include <genscope/report.h>

#include "report/advice_text.h"
#include "report/format.h"
#include "report/json_sections.h"
#include "report/printable.h"

namespace genscope {
namespace {

using report::Json;

constexpr std::size_t kCommentWidth = 96;

// Lines that begin with "# ", the first with a label, the later ones indented by four.
void comment(std::string& out, std::string_view label, std::string_view text) {
  if (text.empty()) return;
  std::string whole = label.empty() ? std::string() : fmt::format("{}: ", label);
  whole += report::printable(text);
  const std::string lines = report::wrap(whole, kCommentWidth);
  std::size_t begin = 0;
  while (begin <= lines.size()) {
    const std::size_t end = std::min(lines.find('\n', begin), lines.size());
    std::string_view line = std::string_view(lines).substr(begin, end - begin);
    while (line.starts_with(' ')) line.remove_prefix(1);
    out += fmt::format("#{}{}\n", begin == 0 ? " " : "     ", line);
    begin = end + 1;
  }
}

std::string elsewhere(const PatchStep& step) {
  const Rule& rule = step.finding.rule;
  std::string text = rule.gain;
  if (!rule.citation.empty()) text += fmt::format("{}({})", text.empty() ? "" : " ", rule.citation);
  return text;
}

// "at most 20 % of the time": what the stage takes bounds what a setting of it can gain.
std::string here(const PatchStep& step) {
  if (step.measured && step.measured->verdict == "improved" && step.measured->ratio) {
    const SettingEvidence& seen = *step.measured;
    std::string range;
    if (seen.ratio_low && seen.ratio_high) {
      range = fmt::format(" (95 %: {:.1f} to {:.1f})", (1 - *seen.ratio_high) * 100,
                          (1 - *seen.ratio_low) * 100);
    }
    return fmt::format("measured: {:.1f} % faster{}, {}", (1 - *seen.ratio) * 100, range,
                       seen.result);
  }
  if (!step.stage_share) return "not measured";
  return fmt::format("not measured; {} takes {}, so no more than that", step.finding.rule.stage,
                     report::percent(*step.stage_share));
}

void step_text(std::string& out, const PatchStep& step, std::size_t number) {
  const Rule& rule = step.finding.rule;
  comment(out, {}, fmt::format("{}. {}: {}", number, rule.id, rule.title));
  comment(out, "because", report::evidence_text(step.finding));
  comment(out, "here", here(step));
  comment(out, "elsewhere", elsewhere(step));
  comment(out, "may cost", rule.hurts);
  out += step.lines + "\n\n";
}

std::string verify_command(const SettingsPatch& patch) {
  return fmt::format(
      "genscope bench ab --verifies {} 'COMMAND' 'COMMAND WITH IT' --output-file PNG",
      patch.steps.front().finding.rule.id);
}

Json step_json(const PatchStep& step) {
  const Rule& rule = step.finding.rule;
  Json out;
  out["rule"] = rule.id;
  out["title"] = rule.title;
  out["lines"] = step.lines;
  const bool range = step.gain_high > 0;
  out["gain_low"] = range ? Json(step.gain_low) : Json(nullptr);
  out["gain_high"] = range ? Json(step.gain_high) : Json(nullptr);
  out["stage"] = rule.stage.empty() ? Json(nullptr) : Json(rule.stage);
  out["stage_share"] = step.stage_share ? Json(*step.stage_share) : Json(nullptr);
  out["hurts"] = rule.hurts.empty() ? Json(nullptr) : Json(rule.hurts);
  out["source"] = rule.citation;
  out["measured"] = nullptr;
  if (step.measured) {
    const SettingEvidence& seen = *step.measured;
    const auto number = [](const std::optional<double>& value) {
      return value ? Json(*value) : Json(nullptr);
    };
    out["measured"] = {{"verdict", seen.verdict},
                       {"ratio", number(seen.ratio)},
                       {"ratio_low", number(seen.ratio_low)},
                       {"ratio_high", number(seen.ratio_high)},
                       {"result", seen.result}};
  }
  return out;
}

}  // namespace

void settings_patch_text(const SettingsPatch& patch, const Sink& sink) {
  const bool python = patch.target == "diffusers";
  std::string out;
  if (patch.steps.empty()) {
    out += fmt::format("# Nothing to change in the settings of {}.\n", patch.target);
  } else if (python) {
    out +=
        "# Put this after the pipeline `pipe` was made, and call it as pipe(..., **call).\n"
        "import torch\n\ncall = {}\n\n";
  } else {
    out += fmt::format("# Flags for {}.\n\n", patch.target);
  }
  for (std::size_t i = 0; i < patch.steps.size(); ++i) step_text(out, patch.steps[i], i + 1);
  for (const auto& [rule, why] : patch.left_out) {
    comment(out, "left out", fmt::format("{}, it {}", rule, why));
  }
  if (!patch.steps.empty()) {
    out +=
        "# Try them one by one. What is measured here counts more than what was seen elsewhere:\n";
    comment(out, {}, verify_command(patch));
  }
  sink(out);
}

void settings_patch_json(const SettingsPatch& patch, const Sink& sink) {
  constexpr int kIndent = 2;
  Json out;
  out["schema"] = "genscope.settings/1";
  out["target"] = patch.target;
  out["steps"] = Json::array();
  for (const PatchStep& step : patch.steps) out["steps"].push_back(step_json(step));
  out["left_out"] = Json::array();
  for (const auto& [rule, why] : patch.left_out) {
    out["left_out"].push_back({{"rule", rule}, {"reason", why}});
  }
  sink(out.dump(kIndent, ' ', false, Json::error_handler_t::replace));
  sink("\n");
}

}  // namespace genscope
