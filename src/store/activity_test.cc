#include "store/activity.h"

#include <gtest/gtest.h>

#include "genscope/internal/word.h"

namespace genscope::store {
namespace {

using internal::make_id;
using internal::make_word;
using internal::Op;
using internal::tag_of;
using Words = std::vector<std::uint64_t>;

// Sites of the tests; ticks are nanoseconds.
constexpr std::uint32_t kStage = 1, kInner = 2, kStep = 3, kSteps = 4, kCall = 5, kTotal = 6;

class ActivityTest : public ::testing::Test {
 protected:
  ActivityTest() {
    sites_.define(kStage, SpanKind::stage, "stage");
    sites_.define(kInner, SpanKind::load, "inner");
    sites_.define(kStep, SpanKind::step, "step");
    sites_.define(kSteps, SpanKind::none, "steps");
    sites_.define(kCall, SpanKind::function, "call");
    sites_.define(kTotal, SpanKind::none, "total");
  }

  static Chunk chunk(std::uint32_t lane, std::uint32_t seq, const Words& words,
                     std::uint64_t base = 0) {
    Chunk c;
    c.lane = lane;
    c.seq = seq;
    c.base_tick = base;
    c.words = static_cast<std::uint32_t>(words.size());
    return c;
  }
  // As from a file.
  void file(std::uint32_t lane, std::uint32_t seq, const Words& words,
            const std::vector<trace::OpenSpan>& open = {}, std::uint64_t base = 0) {
    activity_.take(chunk(lane, seq, words, base), words, open);
  }
  // As from a live buffer, without the words that are known.
  void live(std::uint32_t lane, std::uint32_t seq, const Words& words, bool still_open = true) {
    Chunk c = chunk(lane, seq, words);
    c.from_live = true;
    c.still_open = still_open;
    c.first_word = activity_.known_words(lane, seq);
    if (c.first_word > words.size()) return;
    activity_.take(c, std::span(words).subspan(c.first_word), {});
  }
  Progress::Process now() const {
    Progress::Process out;
    activity_.describe_open(out);
    activity_.describe_last(out);
    return out;
  }

  Sites sites_{[](std::uint32_t) {}};
  ClockMap clock_{{}, 1e9};
  Activity activity_{sites_, clock_};
};

std::uint64_t begin(std::uint32_t site, std::uint64_t tick) {
  return make_word(Op::begin, site, tick);
}
// Of the begin at that word of chunk `seq` of lane 1.
std::uint64_t end(std::uint32_t at, std::uint64_t tick, std::uint32_t seq = 0) {
  return make_word(Op::end, tag_of(make_id(1, seq, at)), tick);
}

TEST_F(ActivityTest, TakesEachWordOnceFromBufferAndFile) {
  Words words = {begin(kStage, 10), begin(kStep, 20), end(1, 30)};
  live(1, 0, words);
  EXPECT_EQ(now().stage, "stage");
  EXPECT_EQ(now().stage_begin_ns, 10);
  EXPECT_EQ(now().steps_done, 1u);
  EXPECT_EQ(activity_.known_words(1, 0), 3u);
  words.insert(words.end(), {begin(kStep, 40), end(3, 70)});
  live(1, 0, words);
  EXPECT_EQ(now().steps_done, 2u);
  words.insert(words.end(), {begin(kStep, 80), end(5, 90), begin(kCall, 95)});
  file(1, 0, words);
  EXPECT_EQ(now().steps_done, 3u);
  EXPECT_EQ(activity_.known_words(1, 0), kNotWanted);
  file(1, 0, words);
  EXPECT_EQ(now().steps_done, 3u);
  EXPECT_DOUBLE_EQ(now().step_seconds.value(), 10e-9);
  EXPECT_EQ(activity_.known_words(1, 1), 0u);
}

TEST_F(ActivityTest, TheMedianIsOfTheLastEightSteps) {
  Words words = {begin(kStage, 0)};
  std::uint64_t tick = 0;
  for (const std::uint64_t length : {900, 900, 900, 1, 2, 3, 4, 6, 7, 8, 9}) {
    words.push_back(begin(kStep, tick));
    words.push_back(end(static_cast<std::uint32_t>(words.size() - 1), tick + length));
    tick += length;
  }
  file(1, 0, words);
  EXPECT_EQ(now().steps_done, 11u);
  EXPECT_DOUBLE_EQ(now().step_seconds.value(), 5e-9);
  Progress::Process values;
  activity_.describe_values(values);
  EXPECT_EQ(values.steps_ended, 11u);
  EXPECT_EQ(values.last_steps.size(), 11u);
}

TEST_F(ActivityTest, ARecordThatIsCutWaitsForItsRest) {
  const std::uint64_t id = make_id(1, 0, 0);
  const Words words = {make_word(Op::async_begin, kStage, 5), 0, make_word(Op::async_end, 0, 9),
                       id};
  live(1, 0, {words.begin(), words.begin() + 3});
  EXPECT_EQ(now().stage, "stage");
  EXPECT_EQ(activity_.known_words(1, 0), 2u);
  live(1, 0, words);
  EXPECT_EQ(now().stage, "");
  EXPECT_EQ(now().last_stage, "stage");
  EXPECT_DOUBLE_EQ(now().last_stage_seconds, 4e-9);
}

TEST_F(ActivityTest, AnEndMayComeBeforeItsBegin) {
  const std::uint64_t id = make_id(2, 0, 0);
  file(1, 0, {make_word(Op::async_end, 0, 50), id});
  file(2, 0, {make_word(Op::async_begin, kStage, 10), 0});
  EXPECT_EQ(now().stage, "");
  EXPECT_EQ(now().last_stage, "stage");
  EXPECT_DOUBLE_EQ(now().last_stage_seconds, 40e-9);
  file(1, 1, {make_word(Op::async_end, 0, 60), id});
  EXPECT_DOUBLE_EQ(now().last_stage_seconds, 40e-9) << "it cannot end twice";
}

TEST_F(ActivityTest, AHoleIsBridgedByTheOpenStack) {
  file(1, 0,
       {begin(kStage, 10), make_word(Op::arg, kSteps, 5), begin(kInner, 20), begin(kStep, 30),
        make_word(Op::async_begin, kStage, 40), 0});
  EXPECT_EQ(now().stage_begin_ns, 40);
  // Chunk 1 is missing: in it `inner` and the step ended and a call began.
  const std::vector<trace::OpenSpan> open = {{make_id(1, 0, 0), 10, kStage, 0},
                                             {make_id(1, 1, 7), 900, kCall, 0}};
  file(1, 2, {begin(kStep, 0), end(0, 8, 2)}, open, 1000);
  EXPECT_EQ(now().stage, "stage");
  EXPECT_EQ(now().stage_begin_ns, 10) << "what hung on no stack may have ended in the hole";
  EXPECT_EQ(now().steps_done, 1u);
  EXPECT_EQ(now().steps_total, 5u);
  EXPECT_DOUBLE_EQ(now().eta_seconds.value(), 4 * 8e-9);
}

TEST_F(ActivityTest, AHoleBeforeALiveChunkLeavesNothingOpen) {
  live(1, 0, {begin(kStage, 10)});
  live(1, 2, {begin(kInner, 30)});
  EXPECT_EQ(now().stage, "inner");
  live(1, 2, {begin(kInner, 30), end(0, 40, 2)});
  EXPECT_EQ(now().stage, "");
}

TEST_F(ActivityTest, AnArgumentOfAnEndedSpanIsNothing) {
  const std::uint64_t call = make_id(1, 0, 0);
  file(1, 0,
       {begin(kCall, 1), begin(kStage, 2), make_word(Op::attach, 0, 3), call,
        make_word(Op::arg, kTotal, 9)});
  EXPECT_EQ(now().steps_total, 9u);
  file(1, 1, {end(0, 4), make_word(Op::attach, 0, 5), call, make_word(Op::arg, kSteps, 7)});
  EXPECT_FALSE(now().steps_total);
}

TEST_F(ActivityTest, LossesAddUp) {
  file(1, 0,
       {make_word(Op::lost, 0, 5), 1, 2, make_word(Op::lost, 1, 100), 1, 2,
        make_word(Op::lost, 0, 2), 3, 4});
  EXPECT_EQ(activity_.dropped_spans(), 7u);
}

TEST_F(ActivityTest, BeginsWithoutEndAreForgottenInTime) {
  for (std::uint32_t seq = 0; seq < 40; ++seq) {
    Words words;
    for (int i = 0; i < 2000; ++i) {
      words.insert(words.end(), {make_word(Op::async_begin, kStage, seq), make_id(1, seq, 0)});
    }
    for (int i = 0; i < 1000; ++i) words.push_back(begin(kStage, seq));
    file(1, seq, words);
  }
  EXPECT_EQ(now().stage_begin_ns, 39);
}

}  // namespace
}  // namespace genscope::store
