#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "advise/testing/facts.h"

#include "test_paths.h"

namespace genscope {
namespace {

using ::testing::HasSubstr;

std::string message(std::string_view yaml) {
  const Result<std::vector<Rule>> parsed = parse_rules(yaml, "r.yaml", built_in_rules());
  return parsed.ok() ? "parsed" : parsed.error().message;
}

std::vector<Rule> parsed(std::string_view yaml, const std::vector<Rule>& base = {}) {
  const Result<std::vector<Rule>> rules = parse_rules(yaml, "r.yaml", base);
  EXPECT_TRUE(rules.ok()) << rules.error().message;
  return rules.ok() ? *rules : std::vector<Rule>();
}

const Rule& find(const std::vector<Rule>& rules, std::string_view id) {
  return *std::find_if(rules.begin(), rules.end(), [&](const Rule& rule) { return rule.id == id; });
}

constexpr std::string_view kWhole = R"(
rules:
  - id: MY-QUEUE
    title: The queue is long
    condition: counter.max[queue] > 50 && !set.training
    severity: critical
    advice: "Add a worker: {counter.max[queue]} wait."
    gain: none measured
    gain_low: 0.1
    gain_high: 0.5
    confidence: high
    citation: our own logs
)";

TEST(RuleFile, AddsARule) {
  const std::vector<Rule> rules = parsed(kWhole);
  ASSERT_EQ(rules.size(), 1u);
  EXPECT_EQ(rules[0].id, "MY-QUEUE");
  EXPECT_EQ(rules[0].title, "The queue is long");
  EXPECT_EQ(rules[0].condition, "counter.max[queue] > 50 && !set.training");
  EXPECT_EQ(rules[0].severity, Severity::critical);
  EXPECT_EQ(rules[0].advice, "Add a worker: {counter.max[queue]} wait.");
  EXPECT_EQ(rules[0].gain, "none measured");
  EXPECT_EQ(rules[0].gain_low, 0.1);
  EXPECT_EQ(rules[0].gain_high, 0.5);
  EXPECT_EQ(rules[0].confidence, RuleConfidence::high);
  EXPECT_EQ(rules[0].citation, "our own logs");
  const Advice advice = advise(testing::facts("counter.max[queue]=80 set.training=false"), rules);
  ASSERT_EQ(advice.findings.size(), 1u);
  EXPECT_EQ(advice.findings[0].advice, "Add a worker: 80 wait.");
}

TEST(RuleFile, OverridesWhatItGivesAndKeepsTheRest) {
  const std::vector<Rule> rules = parsed(
      "rules:\n  - id: GPU-IDLE\n    condition: gpu.busy_ratio < 0.2\n    severity: critical\n",
      built_in_rules());
  EXPECT_EQ(rules.size(), built_in_rules().size());
  const Rule& mine = find(rules, "GPU-IDLE");
  EXPECT_EQ(mine.condition, "gpu.busy_ratio < 0.2");
  EXPECT_EQ(mine.severity, Severity::critical);
  EXPECT_EQ(mine.title, find(built_in_rules(), "GPU-IDLE").title);
  EXPECT_TRUE(advise(testing::facts("gpu.busy_ratio=0.4"), rules).findings.empty());
}

TEST(RuleFile, SilencesRules) {
  const std::vector<Rule> rules = parsed("silence: [GPU-IDLE, MEM-HIGH]\n", built_in_rules());
  const Advice advice =
      advise(testing::facts("gpu.busy_ratio=0.1 gpu.memory_peak_share=0.99"), rules);
  EXPECT_TRUE(advice.findings.empty());
  EXPECT_THAT(advice.silenced, ::testing::UnorderedElementsAre("GPU-IDLE", "MEM-HIGH"));
  EXPECT_FALSE(find(built_in_rules(), "GPU-IDLE").silenced);
}

TEST(RuleFile, OfNothingChangesNothing) {
  for (const char* yaml : {"", "# none yet\n", "rules:\n", "rules: []\nsilence:\n"}) {
    EXPECT_EQ(parsed(yaml, built_in_rules()).size(), built_in_rules().size()) << yaml;
  }
}

TEST(RuleFile, TheExampleIsTakenAndWorks) {
  const Result<std::vector<Rule>> rules =
      load_rules(GENSCOPE_SOURCE_DIR "/examples/rules.yaml", built_in_rules());
  ASSERT_TRUE(rules.ok()) << rules.error().message;
  EXPECT_EQ(rules->size(), built_in_rules().size() + 1);
  const Advice advice =
      advise(testing::facts("counter.max[queue_depth]=64 stage_groups.exclusive_share[load]=0.4 "
                            "set.steps=50 gpu.busy_ratio=0.6"),
             *rules);
  std::vector<std::string> ids;
  for (const Finding& finding : advice.findings) ids.push_back(finding.rule.id);
  EXPECT_THAT(ids, ::testing::ElementsAre("OUR-QUEUE", "GPU-UNDERUSED"));
}

TEST(RuleFile, NamesFileLineRuleAndTheNearestName) {
  EXPECT_EQ(
      message(
          "rules:\n  - id: X\n    title: t\n    condition: steps.fist_ratio > 2\n    advice: a\n"),
      "r.yaml:4: rule X: condition: at 1: no fact is called 'steps.fist_ratio'; did you mean "
      "'steps.first_ratio'?");
  EXPECT_EQ(message("rules:\n  - id: X\n    titel: t\n"),
            "r.yaml:3: rule X: unknown field 'titel'; did you mean 'title'?");
  EXPECT_EQ(message("rulez: []\n"), "r.yaml:1: unknown key 'rulez'; did you mean 'rules'?");
  EXPECT_EQ(message("silence: [GPU-IDEL]\n"),
            "r.yaml:1: silence: no rule is called 'GPU-IDEL'; did you mean 'GPU-IDLE'?");
  EXPECT_EQ(message("rules:\n  - id: GPU-IDLE\n    advice: see {gpu.busy_rato}\n"),
            "r.yaml:3: rule GPU-IDLE: advice: no fact is called 'gpu.busy_rato'; did you mean "
            "'gpu.busy_ratio'?");
}

TEST(RuleFile, IsStrict) {
  EXPECT_THAT(message("- a\n"), HasSubstr("expected `rules:` or `silence:`, found a list"));
  EXPECT_THAT(message("rules: x\n"), HasSubstr("rules: expected a list, found a word"));
  EXPECT_THAT(message("rules: [x]\n"), HasSubstr("expected a rule"));
  EXPECT_EQ(message("rules: []\nrules: []\n"), "r.yaml:2: 'rules' is given twice");
  EXPECT_EQ(message("rules:\n  - title: t\n"), "r.yaml:2: a rule without an id");
  EXPECT_THAT(message("rules:\n  - id: low\n    title: t\n"), HasSubstr("'low' is not one"));
  EXPECT_EQ(message("rules:\n  - id: X\n    title: t\n    condition: 'true'\n"),
            "r.yaml:2: rule X: advice: is missing; say what to do");
  EXPECT_EQ(message("rules:\n  - id: GPU-IDLE\n  - id: GPU-IDLE\n"),
            "r.yaml:3: rule GPU-IDLE is given twice; first in line 2");
  EXPECT_EQ(message("rules:\n  - id: GPU-IDLE\n    gain: a\n    gain: b\n"),
            "r.yaml:4: rule GPU-IDLE: 'gain' is given twice");
  EXPECT_EQ(
      message("rules:\n  - id: GPU-IDLE\n    severity: fatal\n"),
      "r.yaml:3: rule GPU-IDLE: severity: expected info, hint, warning or critical, found 'fatal'");
  EXPECT_EQ(message("rules:\n  - id: GPU-IDLE\n    confidence: [low]\n"),
            "r.yaml:3: rule GPU-IDLE: confidence: expected low, medium or high, found a list");
  EXPECT_THAT(message("rules:\n  - id: GPU-IDLE\n    gain_low: 30%\n"),
              HasSubstr("a number from 0 to 1"));
  EXPECT_THAT(message("rules:\n  - id: GPU-IDLE\n    gain_low: nan\n"),
              HasSubstr("a number from 0 to 1"));
  EXPECT_THAT(message("rules:\n  - id: GPU-IDLE\n    gain_low: 0.5\n"),
              HasSubstr("gain_low <= gain_high"));
  EXPECT_THAT(message("rules:\n  - id: GPU-IDLE\n    advice: a } b\n"),
              HasSubstr("a brace without"));
  EXPECT_THAT(message("rules:\n  - id: GPU-IDLE\n    advice: a {} b\n"),
              HasSubstr("a brace without"));
  EXPECT_THAT(message("rules:\n  - id: GPU-IDLE\n    advice: a {utilisation.mfu\n"),
              HasSubstr("a brace without"));
  EXPECT_THAT(message("rules:\n  - id: GPU-IDLE\n    condition:\n"), HasSubstr("expected a text"));
  EXPECT_THAT(message("silence: [[GPU-IDLE]]\n"), HasSubstr("no rule is called ''"));
  EXPECT_THAT(message("rules: &a []\nsilence: *a\n"), HasSubstr("anchors and aliases"));
  EXPECT_THAT(message("rules:\n  - id: GPU-IDLE\n    gain: " + std::string(5000, 'x') + "\n"),
              HasSubstr("a text of at most 4000 bytes"));
  EXPECT_THAT(message(std::string("a\0b", 3)), HasSubstr("a zero byte"));
  EXPECT_THAT(message("silence: ['\x1b[31m']\n"), ::testing::Not(HasSubstr("\x1b")));
}

TEST(RuleFile, ABrokenFileLeavesTheBaseAlone) {
  const std::size_t before = built_in_rules().size();
  EXPECT_NE(message("rules:\n  - id: GPU-IDLE\n    condition: gpu.busy_ratio <\n"), "parsed");
  EXPECT_EQ(built_in_rules().size(), before);
  EXPECT_EQ(find(built_in_rules(), "GPU-IDLE").condition, "gpu.busy_ratio < 0.5");
}

TEST(RuleFile, ThatCannotBeReadIsNamed) {
  const Result<std::vector<Rule>> rules = load_rules("/nonexistent/rules.yaml", {});
  ASSERT_FALSE(rules.ok());
  EXPECT_EQ(rules.error().code, ErrorCode::not_found);
  EXPECT_THAT(rules.error().message, HasSubstr("/nonexistent/rules.yaml"));
}

}  // namespace
}  // namespace genscope
