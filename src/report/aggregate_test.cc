#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <genscope/report.h>

#include "report/testing/sample.h"

namespace genscope {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Six ranks of eight: one failed, a stage only some have, a name that needs care.
Aggregate sample() {
  Aggregator all;
  for (int i = 0; i < 6; ++i) {
    RankFigures rank;
    rank.source = "run/trace-" + std::to_string(i);
    rank.run = "run";
    rank.host = "node\x1b[31m";
    rank.boot_id = i < 2 ? "a" : "boot-" + std::to_string(i);
    rank.rank = i;
    rank.world_size = 12;
    rank.wall_ns = 10'000'000'000;
    rank.begin_unix_ns = 1'700'000'000'000'000'000;
    rank.collectives = 20;
    rank.collective_seconds = i == 4 ? 0.1 : 3;
    rank.failed_spans = i == 5 ? 1 : 0;
    rank.stage_seconds = {{"stage/a|b\xFF<b>", 1.0 + i}};
    for (std::int64_t k = 0; k < 10 && i < 4; ++k) {
      rank.meetings.push_back({1'700'000'000'000'000'000 + k * 1'000'000'000 + i * 2'000'000, 1});
    }
    all.add(std::move(rank));
  }
  all.add(unread_figures("run/trace-9", 9, "no header"));
  return all.finish();
}

std::string text_of(const Aggregate& aggregate, AggregateTextOptions options = {}) {
  return testing::written([&](const Sink& sink) { aggregate_text(aggregate, options, sink); });
}

TEST(AggregateText, SaysWhoIsMissingFailedAndSlow) {
  const std::string text = text_of(sample());
  EXPECT_THAT(text, HasSubstr("6 ranks of 1 run, world size 12\n"));
  EXPECT_THAT(text, HasSubstr("missing  ranks 6-8, 10-11\n"));
  EXPECT_THAT(text, HasSubstr("failed   rank 5: 1 session, request, batch or step failed\n"));
  EXPECT_THAT(text, HasSubstr("unread   run/trace-9: no header\n"));
  EXPECT_THAT(text, HasSubstr("culprit  rank 4: waits 0.1 s in 20 collectives"));
  EXPECT_THAT(text, HasSubstr("victim   and 1 more\n"));
}

TEST(AggregateText, ClocksAreToldByTheirMethod) {
  const std::string text = text_of(sample());
  EXPECT_THAT(text, HasSubstr("1 rank shares the clock of rank 0 (same boot)\n"));
  EXPECT_THAT(text, HasSubstr("rank 3 is 6.00ms ahead of rank 0, +- 0ns (from 10 collectives)\n"));
  EXPECT_THAT(text, HasSubstr("2 ranks compared by Unix clocks, error unknown\n"));
}

TEST(AggregateText, NoOutputHasRawNames) {
  const Aggregate aggregate = sample();
  const std::string text = text_of(aggregate);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr("a|b\xEF\xBF\xBD<b>"));
  const std::string markdown =
      testing::written([&](const Sink& sink) { aggregate_markdown(aggregate, sink); });
  EXPECT_THAT(markdown, Not(HasSubstr("\x1b")));
  EXPECT_THAT(markdown, Not(HasSubstr("<b>")));
  EXPECT_THAT(markdown, HasSubstr("a\\|b"));
  const std::string json =
      testing::written([&](const Sink& sink) { aggregate_json(aggregate, sink); });
  EXPECT_THAT(json, Not(HasSubstr("\x1b")));
  EXPECT_THAT(json, HasSubstr("\"schema\": \"genscope.aggregate/1\""));
  EXPECT_THAT(json, HasSubstr("\"error_seconds\": null"));
}

TEST(AggregateText, LinesKeepToTheWidthAndColourIsAsked) {
  const std::string narrow = text_of(sample(), {.width = 60});
  std::istringstream lines(narrow);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 70u) << line;
  EXPECT_THAT(text_of(sample(), {.width = 80, .color = true}), HasSubstr("\x1b[1mStragglers"));
}

TEST(AggregateText, NoStragglerHasAReason) {
  EXPECT_THAT(text_of(Aggregator().finish()), Not(HasSubstr("Stragglers")));
  const auto reason = [](std::optional<double> step, std::optional<double> wait, int ranks) {
    Aggregator all;
    for (int i = 0; i < ranks; ++i) {
      RankFigures rank;
      rank.rank = i;
      rank.step_p50_seconds = step;
      rank.collective_seconds = wait;
      all.add(std::move(rank));
    }
    return text_of(all.finish());
  };
  EXPECT_THAT(reason(1, 1, 1), HasSubstr("one rank: nothing to compare"));
  EXPECT_THAT(reason(1, 1, 2), HasSubstr("no rank waits so much less in collectives"));
  EXPECT_THAT(reason(1, {}, 2), HasSubstr("no collectives were marked, and no rank's steps"));
  EXPECT_THAT(reason({}, {}, 2), HasSubstr("neither collectives nor steps were marked"));
}

}  // namespace
}  // namespace genscope
