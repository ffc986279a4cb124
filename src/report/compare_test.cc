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
  EXPECT_THAT(text_of(comparison, {.color = true}),
              HasSubstr("\x1b[1;32mVerdict: faster in these two runs\x1b[0m"));
  EXPECT_THAT(text_of(comparison), HasSubstr("\nVerdict: faster in these two runs\n"));
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
  row.before_count = row.after_count = 1;
  EXPECT_EQ(report::verdict_word(row), "one pair");
  row.after_count = 2;
  EXPECT_EQ(report::verdict_word(row), "too few");
  row.factor_low = 0.5;
  EXPECT_EQ(report::verdict_word(row), "inconclusive");
  row.change = Change::slower;
  EXPECT_EQ(report::verdict_word(row), "slower");
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
    EXPECT_THAT(text, Not(HasSubstr("Verdict")));
  }
  EXPECT_THAT(json_of(comparison), HasSubstr("\"verdict\": null"));
  EXPECT_THAT(json_of(comparison), HasSubstr("\"before_after\": null"));
  comparison.forced = true;
  for (const std::string& text : {text_of(comparison), markdown_of(comparison)}) {
    EXPECT_THAT(text, HasSubstr("Not comparable, compared all the same"));
    EXPECT_THAT(text, HasSubstr("Verdict"));
  }
}

}  // namespace
}  // namespace genscope
