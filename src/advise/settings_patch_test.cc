#include <gtest/gtest.h>

#include <genscope/advise.h>

#include "advise/testing/facts.h"

namespace genscope {
namespace {

std::vector<std::string> rules_of(const SettingsPatch& patch) {
  std::vector<std::string> ids;
  for (const PatchStep& step : patch.steps) ids.push_back(step.finding.rule.id);
  return ids;
}

SettingsPatch patch_of(std::string_view pairs, std::vector<SettingEvidence> measured = {},
                       std::string_view target = "diffusers") {
  const Facts facts = testing::facts(pairs);
  return settings_patch(advise(facts), facts, target, measured);
}

std::string why_left_out(const SettingsPatch& patch, std::string_view rule) {
  for (const auto& [id, reason] : patch.left_out) {
    if (id == rule) return reason;
  }
  return "";
}

constexpr const char* kSliced =
    "set.attn_slicing=true set.attn=sdpa set.steps=28 utilisation.mfu=0.5 set.cache=none "
    "stage_groups.exclusive_share[denoise]=0.2 set.grad_checkpointing=true";

TEST(SettingsPatch, HoldsTheLinesOfTheFindingsThatHaveSome) {
  const SettingsPatch patch = patch_of(kSliced);
  // Warnings first, then by gain.
  EXPECT_EQ(rules_of(patch), (std::vector<std::string>{"ATT-SLICE", "CKPT-INFER", "STEP-CACHE"}));
  EXPECT_EQ(patch.steps[0].lines, "pipe.disable_attention_slicing()");
}

TEST(SettingsPatch, PromisesNoMoreThanTheStageTakes) {
  const SettingsPatch patch = patch_of(kSliced);
  const PatchStep& cache = patch.steps.back();
  EXPECT_EQ(cache.finding.rule.gain_high, 0.63);
  EXPECT_EQ(cache.gain_high, 0.2);
  EXPECT_EQ(cache.gain_low, 0.2);
  EXPECT_EQ(cache.stage_share, 0.2);
}

TEST(SettingsPatch, LeavesOutWhatDoesNotGoTogether) {
  const SettingsPatch patch = patch_of(
      "model.distilled=true set.steps=28 utilisation.mfu=0.5 set.cache=none set.attn=sdpa");
  EXPECT_EQ(rules_of(patch), std::vector<std::string>{"STEP-DISTIL"});
  EXPECT_EQ(why_left_out(patch, "STEP-CACHE"), "does not go with STEP-DISTIL");
}

TEST(SettingsPatch, EveryPairOfConflictsIsKeptApart) {
  for (const Rule& a : built_in_rules()) {
    for (const std::string& other : a.conflicts) {
      Advice advice;
      for (const Rule& rule : built_in_rules()) {
        if (rule.id == a.id || rule.id == other)
          advice.findings.push_back({rule, rule.advice, {}, {}});
      }
      ASSERT_EQ(advice.findings.size(), 2u) << a.id << " and " << other;
      for (const std::string_view target : patch_targets()) {
        EXPECT_LE(settings_patch(advice, Facts{}, target).steps.size(), 1u)
            << a.id << " and " << other << " for " << target;
      }
    }
  }
}

TEST(SettingsPatch, WhatHelpedHereGoesFirst) {
  const SettingsPatch patch =
      patch_of(kSliced, {{"STEP-CACHE", "improved", 0.7, 0.65, 0.75, "20260101-120000-ab-1"}});
  EXPECT_EQ(rules_of(patch).front(), "STEP-CACHE");
  EXPECT_EQ(patch.steps[0].measured->ratio, 0.7);
}

TEST(SettingsPatch, WhatDidNotHelpHereIsLeftOut) {
  const SettingsPatch patch =
      patch_of(kSliced, {{"ATT-SLICE", "regressed", 1.031, 1.02, 1.04, "R1"},
                         {"STEP-CACHE", "unchanged", 1.0, 0.99, 1.01, "R2"}});
  EXPECT_EQ(rules_of(patch), std::vector<std::string>{"CKPT-INFER"});
  EXPECT_EQ(why_left_out(patch, "ATT-SLICE"), "was 3.1 % slower here (R1)");
  EXPECT_EQ(why_left_out(patch, "STEP-CACHE"), "made no difference here (R2)");
}

TEST(SettingsPatch, HasFlagsForOtherPrograms) {
  const SettingsPatch patch = patch_of("set.attn=math", {}, "sdcpp");
  ASSERT_EQ(patch.steps.size(), 1u);
  EXPECT_EQ(patch.steps[0].lines, "--diffusion-fa");
}

TEST(SettingsPatch, ARuleWithAWrongPatchIsRefused) {
  const auto refused = [](const char* field) {
    const std::string yaml =
        std::string(
            "rules:\n  - id: X-Y\n    title: t\n    condition: set.steps > 1\n    advice: a\n") +
        field;
    const auto rules = parse_rules(yaml, "mine.yaml", {});
    return rules ? std::string() : rules.error().message;
  };
  EXPECT_NE(refused("    apply: {difusers: x}\n").find("diffusers, comfyui, sdcpp are known"),
            std::string::npos);
  EXPECT_NE(refused("    apply: text\n").find("a text for each program"), std::string::npos);
  EXPECT_NE(refused("    conflicts: ATT-MATH\n").find("a list of rules"), std::string::npos);
  EXPECT_NE(refused("    conflicts: [X-Y]\n").find("is not another rule"), std::string::npos);
  EXPECT_EQ(refused("    conflicts: [ATT-MATH]\n    apply: {diffusers: pipe.x()}\n"), "");
}

}  // namespace
}  // namespace genscope
