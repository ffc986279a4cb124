#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "report/printable.h"
#include "report/testing/advice.h"
#include "report/testing/sample.h"

namespace genscope {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string text_of(const Advice& advice, AdviceTextOptions options = {}) {
  return testing::written([&](const Sink& sink) { advice_text(advice, options, sink); });
}

std::string json_of(const Advice& advice, bool all) {
  return testing::written([&](const Sink& sink) { advice_json(advice, all, sink); });
}

constexpr std::string_view kFindings =
    R"(critical  RUN-FAILED  Generations failed
  advice      2 failed; their times are in no figure. Look at the failed spans first.
  evidence    requests.failed = 2
  confidence  high
  source      a failed generation has no time that could be compared

warning  OWN  Ours
  advice      Not a\x1b[31m)"
    "\xEF\xBF\xBD"
    R"(.
  evidence    set.attn = a\x1b[31m)"
    "\xEF\xBF\xBD"
    R"(, steps.steady_p50_ns = 88 ms
  elsewhere   20.0% to 52.5% of the time
  confidence  medium

hint  WARM-FIRST  The first step is a warm-up
  advice      The first step takes 10.3x the time of a steady one (88 ms), once. Leave it out of
              comparisons, or warm up with one step of the same shape.
  evidence    steps.first_ratio = 10.3x, steps.steady_cv = 2%
  elsewhere   904 -> 88 ms for step 0
  confidence  high
  source      sgl-project/sglang#15537, sgl-project/sglang#13692

)";

TEST(AdviceText, ShowsEachFindingWithAllThatBelongsToIt) {
  EXPECT_EQ(text_of(testing::sample_advice()),
            std::string(kFindings) +
                "3 findings; 1 rule did not fire, 1 lacked data, 1 silenced "
                "(--all).\n");
}

TEST(AdviceText, SaysWhoAbstainedAndWhy) {
  EXPECT_EQ(text_of(testing::sample_advice(), {.all = true}),
            std::string(kFindings) +
                R"(3 findings; 1 rule did not fire, 1 lacked data, 1 silenced.

Rules that lacked data
  GPU-IDLE: gpu.busy_ratio (no GPU was found)

Did not fire
  HOST-HOOKS

Silenced
  CFG-2X
)");
}

TEST(AdviceText, WhatCanBeGainedHereIsApartFromWhatWasSeenElsewhere) {
  Advice advice = testing::sample_advice();
  for (Finding& found : advice.findings) found.most_share = 0.156;
  EXPECT_THAT(text_of(advice), HasSubstr("  here        no more than 15.6% of the time, which is "
                                         "what this is about\n  elsewhere   20.0% to 52.5%"));
  EXPECT_THAT(json_of(advice, false), HasSubstr("\"most_share\": 0.156"));
}

TEST(AdviceText, SaysWhenNothingFired) {
  EXPECT_EQ(text_of(Advice{}), "No rule fired; 0 rules did not fire, 0 lacked data.\n");
  EXPECT_THAT(text_of(advise(Facts{})),
              HasSubstr(fmt::format("No rule fired; 0 rules did not fire, {} lacked data",
                                    built_in_rules().size())));
}

TEST(AdviceText, FitsItsWidthAndColoursOnRequest) {
  for (const int width : {60, 80, 120}) {
    std::istringstream lines(text_of(testing::sample_advice(), {.width = width, .all = true}));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(report::columns(line), static_cast<std::size_t>(width)) << line;
    }
  }
  EXPECT_THAT(text_of(testing::sample_advice()), Not(HasSubstr("\x1b")));
  EXPECT_THAT(
      text_of(testing::sample_advice(), {.color = true}),
      HasSubstr("\x1b[1;31mcritical\x1b[0m  RUN-FAILED  \x1b[1mGenerations failed\x1b[0m\n"));
}

constexpr std::string_view kJson = R"({
  "schema": "genscope.advice/1",
  "findings": [
    {
      "rule": "OWN",
      "severity": "warning",
      "title": "Ours",
      "evidence": {
        "set.attn": "a\u001b[31m)"
                                   "\xEF\xBF\xBD"
                                   R"(",
        "steps.steady_p50_ns": 88000000.0
      },
      "evidence_text": {
        "set.attn": "a\u001b[31m)"
                                   "\xEF\xBF\xBD"
                                   R"(",
        "steps.steady_p50_ns": "88 ms"
      },
      "advice": "Not a\u001b[31m)"
                                   "\xEF\xBF\xBD"
                                   R"(.",
      "gain": null,
      "gain_low": 0.2,
      "gain_high": 0.525,
      "most_share": null,
      "confidence": "medium",
      "source": ""
    }
  ],
  "counts": {
    "fired": 1,
    "abstained": 1,
    "silent": 1,
    "silenced": 1
  })";

TEST(AdviceJson, HoldsTheSame) {
  Advice advice = testing::sample_advice();
  std::erase_if(advice.findings, [](const Finding& found) { return found.rule.id != "OWN"; });
  EXPECT_EQ(json_of(advice, false), std::string(kJson) + "\n}\n");
  EXPECT_EQ(json_of(advice, true), std::string(kJson) + R"(,
  "abstained": [
    {
      "rule": "GPU-IDLE",
      "missing": [
        {
          "fact": "gpu.busy_ratio",
          "reason": "no GPU was found"
        }
      ]
    }
  ],
  "silent": [
    "HOST-HOOKS"
  ],
  "silenced": [
    "CFG-2X"
  ]
}
)");
}

TEST(AdviceJson, IsWholeWhenNothingFired) {
  EXPECT_THAT(json_of(Advice{}, false), HasSubstr("\"findings\": [],"));
}

constexpr std::string_view kMarkdown =
    R"(## Findings

- **critical** RUN-FAILED: Generations failed
  - 2 failed; their times are in no figure. Look at the failed spans first.
  - evidence: requests.failed = 2
  - confidence: high; source: a failed generation has no time that could be compared
- **warning** OWN: Ours
  - Not a\\x1b\[31m)"
    "\xEF\xBF\xBD"
    R"(.
  - evidence: set.attn = a\\x1b\[31m)"
    "\xEF\xBF\xBD"
    R"(, steps.steady\_p50\_ns = 88 ms
  - elsewhere: 20.0% to 52.5% of the time
  - confidence: medium
- **hint** WARM-FIRST: The first step is a warm-up
  - The first step takes 10.3x the time of a steady one (88 ms), once. Leave it out of comparisons, or warm up with one step of the same shape.
  - evidence: steps.first\_ratio = 10.3x, steps.steady\_cv = 2%
  - elsewhere: 904 -\> 88 ms for step 0
  - confidence: high; source: sgl-project/sglang\#15537, sgl-project/sglang\#13692

3 rules fired, 1 did not, 1 lacked data.
)";

TEST(AdviceMarkdown, ShowsEachFindingAndLetsNoMarkupThrough) {
  EXPECT_EQ(testing::written(
                [](const Sink& sink) { advice_markdown(testing::sample_advice(), false, sink); }),
            kMarkdown);
}

TEST(AdviceMarkdown, SaysWhoAbstainedOnRequest) {
  const std::string all = testing::written(
      [](const Sink& sink) { advice_markdown(testing::sample_advice(), true, sink); });
  EXPECT_TRUE(all.starts_with(kMarkdown));
  EXPECT_THAT(all, HasSubstr("## Rules that lacked data\n\n| rule | what |\n|---|---|\n| "));
  EXPECT_THAT(all, HasSubstr("## Silenced\n\n"));
}

}  // namespace
}  // namespace genscope
