#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "report/compare_tables.h"
#include "report/printable.h"
#include "report/testing/comparison.h"
#include "report/testing/sample.h"

namespace genscope {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string text_of(const Comparison& comparison, const CompareTextOptions& options = {}) {
  return testing::written([&](const Sink& sink) { compare_text(comparison, options, sink); });
}

std::string markdown_of(const Comparison& comparison) {
  return testing::written([&](const Sink& sink) { compare_markdown(comparison, sink); });
}

std::string json_of(const Comparison& comparison) {
  return testing::written([&](const Sink& sink) { compare_json(comparison, sink); });
}

TEST(CompareText, FitsItsWidthAndKeepsControlsOut) {
  for (const int width : {60, 100}) {
    const std::string text = text_of(testing::sample_comparison(), {.width = width});
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(report::columns(line), static_cast<std::size_t>(width)) << line;
    }
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    EXPECT_THAT(text, HasSubstr("\\x1b[31m"));
  }
}

TEST(CompareText, ColoursAreAsked) {
  const Comparison comparison = testing::sample_comparison();
  EXPECT_THAT(text_of(comparison, {.color = true}), HasSubstr("\x1b[1;32mImproved.\x1b[0m"));
  EXPECT_THAT(text_of(comparison), HasSubstr("\nImproved.\n"));
}

TEST(CompareText, UnitsAreReadable) {
  const std::string text = text_of(testing::sample_comparison(), {.width = 200});
  EXPECT_THAT(text, HasSubstr("gpu_memory_bytes       79.2 GiB"));
  EXPECT_THAT(text, HasSubstr("300 W"));
  EXPECT_THAT(text, HasSubstr("ENV-DRIFT: 1 difference of library, driver, hardware or variable "
                              "(gpu_power_limit_watts); explain it before the times."));
}

TEST(CompareTables, LongValuesShowWhereTheyDiffer) {
  const std::string head(50, 'h'), tail(50, 't');
  const auto cells = [&](const std::string& before, const std::string& after) {
    return report::difference_table({{"command", before, after, false}}, 30).markdown();
  };
  EXPECT_THAT(cells(head + " --steps 8 " + tail, head + " --steps 16 --x " + tail),
              HasSubstr("| …--steps 8… | …--steps 16 --x… |"));
  EXPECT_THAT(cells(head + " a b", head + " a b c"), HasSubstr("| …a b | …a b c |"));
  EXPECT_THAT(cells("x " + tail, tail), HasSubstr("| x ttt"));
}

TEST(CompareTables, AVerdictInAWord) {
  ChangeRow row;
  EXPECT_EQ(report::verdict_word(row), "not measured");
  row.before = row.after = 1;
  EXPECT_EQ(report::verdict_word(row), "too few runs");
  row.judgement.verdict = Verdict::slower_machine;
  EXPECT_EQ(report::verdict_word(row), "slower machine");
  row.judgement.verdict = Verdict::inconclusive;
  EXPECT_EQ(report::verdict_word(row), "inconclusive");
  row.presence = Presence::appeared;
  EXPECT_EQ(report::verdict_word(row), "appeared");
}

TEST(CompareText, OneRunEachHasNoVerdictInAnyRow) {
  Comparison comparison = testing::sample_comparison();
  comparison.before.resize(1);
  comparison.after.resize(1);
  comparison.headline = "No verdict: one run each. These runs differ by 20 % (2 s, 1.6 s).";
  comparison.judgement.verdict = Verdict::insufficient;
  comparison.rows[0].judgement.verdict = Verdict::insufficient;
  comparison.rows[0].interval_over = IntervalOver::spans;
  for (const std::string& text : {text_of(comparison), markdown_of(comparison)}) {
    EXPECT_THAT(text, HasSubstr("No verdict: one run each."));
    EXPECT_THAT(text, HasSubstr("The intervals cover the spans of these two runs, not other runs"));
    EXPECT_THAT(text, HasSubstr("vanished"));
    for (const char* claim : {"improved", "regressed", "faster", "slower", "too few"}) {
      EXPECT_THAT(text, Not(HasSubstr(claim)));
    }
  }
}

TEST(CompareText, SaysTheRunsOfASideAndWhereTheDifferenceIs) {
  const std::string text = text_of(testing::sample_comparison());
  EXPECT_THAT(text, HasSubstr("before  3 runs: runs/a1, runs/a2, runs/a3"));
  EXPECT_THAT(text, HasSubstr("Where the difference is"));
  EXPECT_THAT(text, HasSubstr("per step"));
  EXPECT_THAT(text, HasSubstr("outside"));
}

TEST(CompareMarkdown, NamesAreNoMarkup) {
  const std::string text = markdown_of(testing::sample_comparison());
  EXPECT_THAT(text, HasSubstr("a\\|b \\<i\\>"));
  EXPECT_THAT(text, Not(HasSubstr("<i>")));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(CompareReports, ManyRowsAreCutWhereAPersonReadsAndCounted) {
  Comparison comparison = testing::sample_comparison();
  comparison.rows.resize(70, comparison.rows.front());
  comparison.rows_left_out = 5;
  EXPECT_THAT(text_of(comparison),
              HasSubstr("... and 10 more; -f json has them\n5 rows with less"));
  EXPECT_THAT(markdown_of(comparison), HasSubstr("15 rows with less time not shown"));
  EXPECT_THAT(json_of(comparison), HasSubstr("\"rows_left_out\": 5"));
}

TEST(CompareReports, WhatCannotBeComparedHasNoVerdict) {
  Comparison comparison = testing::sample_comparison();
  comparison.incomparable = {"Other work."};
  comparison.rows.clear();
  for (const std::string& text : {text_of(comparison), markdown_of(comparison)}) {
    EXPECT_THAT(text, HasSubstr("Not comparable\n"));
    EXPECT_THAT(text, Not(HasSubstr("Improved")));
  }
  EXPECT_THAT(json_of(comparison), HasSubstr("\"total\": null"));
  EXPECT_THAT(json_of(comparison), HasSubstr("\"before_after\": null"));
  comparison.forced = true;
  for (const std::string& text : {text_of(comparison), markdown_of(comparison)}) {
    EXPECT_THAT(text, HasSubstr("Not comparable, compared all the same"));
    EXPECT_THAT(text, HasSubstr("Improved"));
  }
}

}  // namespace
}  // namespace genscope
