#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "advise/testing/facts.h"

namespace genscope {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

Rule rule(std::string id, std::string condition, Severity severity = Severity::hint,
          std::string advice = "do it") {
  Rule made;
  made.id = std::move(id);
  made.title = "title";
  made.condition = std::move(condition);
  made.severity = severity;
  made.advice = std::move(advice);
  return made;
}

std::vector<std::string> ids(const std::vector<Finding>& findings) {
  std::vector<std::string> out;
  for (const Finding& finding : findings) out.push_back(finding.rule.id);
  return out;
}

TEST(Advise, SortsTheWorstFirstThenById) {
  const Advice advice = advise(
      Facts{}, {rule("C", "true", Severity::info), rule("B", "true", Severity::critical),
                rule("D", "true", Severity::warning), rule("A", "true", Severity::critical)});
  EXPECT_THAT(ids(advice.findings), ElementsAre("A", "B", "D", "C"));
}

TEST(Advise, GivesEvidenceAndFillsTheAdviceIn) {
  const Facts facts = testing::facts(
      "steps.first_ratio=10.27 steps.steady_p50_ns=88e6 set.attn=sdpa "
      "gpu.memory_total_bytes=25769803776");
  const Advice advice = advise(
      facts, {rule("X", "steps.first_ratio > 1.5 && set.attn == \"sdpa\" || gpu.busy_ratio < 1",
                   Severity::hint,
                   "{steps.first_ratio} of {steps.steady_p50_ns} with {set.attn} in "
                   "{gpu.memory_total_bytes}, {gpu.busy_ratio}")});
  ASSERT_EQ(advice.findings.size(), 1u);
  EXPECT_EQ(advice.findings[0].advice, "10.3x of 88 ms with sdpa in 24 GiB, (unknown)");
  EXPECT_THAT(advice.findings[0].evidence, ElementsAre(Pair("steps.first_ratio", FactValue(10.27)),
                                                       Pair("set.attn", FactValue("sdpa"))));
}

TEST(Advise, PartsWhoAbstainedFromWhoKnew) {
  Facts facts = testing::facts("steps.steady_p50_ns=1");
  facts.set_missing("utilisation.mfu", "the GPU is not in the table");
  Rule silenced = rule("S", "true");
  silenced.silenced = true;
  const Advice advice =
      advise(facts, {rule("A", "utilisation.mfu > 1"), rule("K", "steps.steady_p50_ns > 1"),
                     silenced, rule("M", "1 +"), rule("Z", "1 / 0 > 1")});
  EXPECT_THAT(advice.findings, IsEmpty());
  EXPECT_THAT(advice.silent, ElementsAre("K"));
  EXPECT_THAT(advice.silenced, ElementsAre("S"));
  ASSERT_EQ(advice.abstained.size(), 3u);
  EXPECT_THAT(advice.abstained[0].missing,
              ElementsAre(Pair("utilisation.mfu", "the GPU is not in the table")));
  EXPECT_THAT(advice.abstained[1].missing,
              ElementsAre(Pair("condition", "at 4: the condition ends too early")));
  EXPECT_THAT(advice.abstained[2].missing, ElementsAre(Pair("condition", "gives no result")));
}

TEST(Advise, TheWorstComesFirstThenWhatIsAboutMostOfTheTime) {
  Facts facts;
  facts.set("time.storage_share", 0.3);
  facts.set("time.other_share", 0.6);
  const auto about = [](const char* id, const char* share, Severity severity) {
    Rule one = rule(id, "true", severity);
    one.share = share;
    return one;
  };
  Rule sure = rule("D", "true", Severity::hint);
  sure.confidence = RuleConfidence::high;
  EXPECT_THAT(ids(advise(facts, {rule("A", "true", Severity::info), rule("C", "true"), sure,
                                 about("E", "time.storage_share", Severity::hint),
                                 about("F", "time.other_share", Severity::hint),
                                 rule("Z", "true", Severity::critical)})
                      .findings),
              ElementsAre("Z", "F", "E", "D", "C", "A"));
}

TEST(Advise, ARuleMayAskWhetherOthersFired) {
  const Rule last = rule("LAST", "advice.fired == 0");
  EXPECT_THAT(ids(advise(Facts{}, {last, rule("A", "false")}).findings), ElementsAre("LAST"));
  EXPECT_THAT(ids(advise(Facts{}, {last, rule("A", "true")}).findings), ElementsAre("A"));
  EXPECT_THAT(ids(advise(Facts{}, {last, rule("A", "true", Severity::info)}).findings),
              ElementsAre("LAST", "A"));
}

TEST(FactText, FollowsTheUnit) {
  EXPECT_EQ(fact_text("gpu.busy_ratio", 0.421), "42.1%");
  EXPECT_EQ(fact_text("recorder.probe_steady_ratio", 0.00012), "0.012%");
  EXPECT_EQ(fact_text("steps.first_ratio", 9.8), "9.8x");
  EXPECT_EQ(fact_text("steps.steady_p50_ns", 904e6), "904 ms");
  EXPECT_EQ(fact_text("steps.steady_p50_ns", 126e9), "126 s");
  EXPECT_EQ(fact_text("stage_groups.exclusive_ns[save]", 12345678e6), "12346 s");
  EXPECT_EQ(fact_text("gpu.memory_total_bytes", 24.0 * (1 << 30)), "24 GiB");
  EXPECT_EQ(fact_text("step_traffic.h2d_bytes_per_second", 9.5e9), "9.5 GB/s");
  EXPECT_EQ(fact_text("model.params[denoiser]", 11901408320.0), "11901408320");
  EXPECT_EQ(fact_text("utilisation.peak_tflops", 989.0), "989 TFLOP/s");
  EXPECT_EQ(fact_text("steps.trend_percent_per_100", 4.0), "4%/100 steps");
  EXPECT_EQ(fact_text("gpu.capability", 8.9), "8.9");
  EXPECT_EQ(fact_text("set.autocast", true), "true");
  EXPECT_EQ(fact_text("set.attn", std::string("sdpa")), "sdpa");
  EXPECT_EQ(fact_text("not.a.fact", 1.5), "1.5");
}

TEST(Facts, AreKnownOrMissingNeverBoth) {
  Facts facts;
  facts.set("utilisation.mfu", 0.5);
  facts.set_missing("utilisation.mfu", "gone");
  EXPECT_EQ(facts.find("utilisation.mfu"), nullptr);
  EXPECT_EQ(facts.why_missing("utilisation.mfu"), "gone");
  facts.set("utilisation.mfu", 0.6);
  EXPECT_NE(facts.find("utilisation.mfu"), nullptr);
  EXPECT_EQ(facts.why_missing("utilisation.mfu"), "");
}

TEST(FactNames, AreUniqueAndComplete) {
  std::set<std::string_view> seen;
  for (const advice::FactName& row : advice::all_facts()) {
    EXPECT_TRUE(seen.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.meaning.empty()) << row.name;
    EXPECT_EQ(row.meaning.find('|'), std::string_view::npos) << row.name;
    const std::string used = row.family()
                                 ? std::string(row.name.substr(0, row.name.size() - 1)) + "x]"
                                 : std::string(row.name);
    EXPECT_EQ(advice::find_fact(used), &row) << used;
    EXPECT_TRUE(row.type == advice::FactType::number || row.unit.empty()) << row.name;
  }
  EXPECT_EQ(advice::find_fact("step"), nullptr);
  EXPECT_EQ(advice::find_fact("steps.steady_p50_ns[x]"), nullptr);
  EXPECT_EQ(advice::find_fact("stage_groups.exclusive_share[]"), nullptr);
}

}  // namespace
}  // namespace genscope
