#include "analyze/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/testing/samples.h"

namespace genscope::analysis {
namespace {

using genscope::testing::add_event;
using genscope::testing::TraceBuilder;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// requests(t, {10, 20}): one of 5 ns at each.
void requests(TraceBuilder& t, std::initializer_list<std::int64_t> begins) {
  for (const std::int64_t at : begins) t.span("Pipeline", SpanKind::request, at, 5);
}

genscope::Run run_of(std::initializer_list<TraceBuilder*> builders) {
  genscope::Run run;
  for (TraceBuilder* each : builders) run.traces.push_back(each->trace());
  return run;
}

std::vector<std::string> texts(const MixedSetting& mixed) {
  std::vector<std::string> out = {mixed.key};
  for (const SettingUse& use : mixed.values) {
    out.push_back(setting_text(use.value) + " x " + std::to_string(use.requests));
  }
  return out;
}

TEST(Settings, TheValueOfMostRequests) {
  TraceBuilder t;
  add_event(t, "config", 1, {{"set.attn", "sdpa"}, {"set.offload", "none"}});
  requests(t, {10});
  add_event(t, "config", 20, {{"set.attn", "flash"}});
  requests(t, {30, 40});
  const genscope::Run run = run_of({&t});
  EXPECT_EQ(told_settings(run).values.at("set.attn"), SettingValue("flash"));
  EXPECT_EQ(told_settings(run).values.at("set.offload"), SettingValue("none"));
  const std::vector<MixedSetting> mixed = told_settings(run).mixed;
  ASSERT_EQ(mixed.size(), 1U);
  EXPECT_THAT(texts(mixed[0]), ElementsAre("set.attn", "sdpa x 1", "flash x 2"));
}

TEST(Settings, WhatIsToldInsideOfARequestHoldsFromItsBegin) {
  TraceBuilder t;
  requests(t, {10, 20, 30});
  for (const auto& [span, size] : {std::pair(0u, "512"), std::pair(1u, "1024")}) {
    add_event(t, "config", 14 + 10 * std::int64_t{span}, {{"width", size}});
    t.trace().events.span.back() = span;
  }
  const auto mixed = told_settings(run_of({&t})).mixed;
  ASSERT_EQ(mixed.size(), 1U);
  EXPECT_THAT(texts(mixed[0]), ElementsAre("width", "512 x 1", "1024 x 2"));
}

TEST(Settings, TheFirstWhereNoRequestOrAsManyDecide) {
  TraceBuilder none, even;
  add_event(none, "config", 1, {{"set.attn", "sdpa"}});
  add_event(none, "config", 2, {{"set.attn", "flash"}});
  EXPECT_EQ(told_settings(run_of({&none})).values.at("set.attn"), SettingValue("sdpa"));
  EXPECT_THAT(told_settings(run_of({&none})).mixed, IsEmpty());
  add_event(even, "config", 1, {{"set.attn", "sdpa"}});
  requests(even, {10});
  add_event(even, "config", 20, {{"set.attn", "flash"}});
  requests(even, {30});
  EXPECT_EQ(told_settings(run_of({&even})).values.at("set.attn"), SettingValue("sdpa"));
}

// A value that was taken back before anything was generated is no value of a call.
TEST(Settings, ATriedValueDoesNotDiffer) {
  TraceBuilder t;
  add_event(t, "config", 1, {{"set.attn", "sdpa"}});
  add_event(t, "config", 2, {{"set.attn", "flash"}});
  requests(t, {10, 20});
  EXPECT_EQ(told_settings(run_of({&t})).values.at("set.attn"), SettingValue("flash"));
  EXPECT_THAT(told_settings(run_of({&t})).mixed, IsEmpty());
}

TEST(Settings, ProcessesCountTheirOwnRequests) {
  TraceBuilder one, two;
  add_event(one, "config", 1, {{"set.attn", "sdpa"}});
  requests(one, {10});
  add_event(two, "config", 5, {{"set.attn", "flash"}});
  requests(two, {2, 10, 20});  // one began before anything was told
  const genscope::Run run = run_of({&one, &two});
  EXPECT_EQ(told_settings(run).values.at("set.attn"), SettingValue("flash"));
  ASSERT_EQ(told_settings(run).mixed.size(), 1U);
  EXPECT_THAT(texts(told_settings(run).mixed[0]), ElementsAre("set.attn", "sdpa x 1", "flash x 2"));
}

}  // namespace
}  // namespace genscope::analysis
