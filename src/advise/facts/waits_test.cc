// Times of the queue against times of the GPU: span_clock.last_span_share, span_clock.gpu,
// TIME-ASYNC.
#include <gtest/gtest.h>

#include <algorithm>

#include "analyze/testing/samples.h"
#include "testing/units.h"

namespace genscope {
namespace {

using testing::kSecond;
using testing::TraceBuilder;

using testing::kMs;

// Spans one after the other, on a machine with a GPU. Times in ms.
struct Program {
  TraceBuilder t;
  std::int64_t now = 0;

  Program() { testing::add_entity(t, EntityKind::gpu, "GPU-1", "NVIDIA H100 80GB HBM3"); }

  std::uint32_t begin(const char* name, SpanKind kind, std::uint32_t parent = kNone) {
    return t.span(name, kind, now * kMs, 0, {.parent = parent});
  }
  void end(std::uint32_t span) {
    t.trace().spans.duration_ns[span] = now * kMs - t.trace().spans.begin_ns[span];
  }
  void take(const char* name, SpanKind kind, std::int64_t ms, std::uint32_t parent = kNone) {
    t.span(name, kind, now * kMs, ms * kMs, {.parent = parent});
    now += ms;
  }
  void wait(std::int64_t ms, std::uint32_t parent = kNone) {
    take("synchronize", SpanKind::stage, ms, parent);
  }
  // Eight steps that only queue their work, with a scheduler each.
  std::uint32_t denoise() {
    const auto stage = begin("denoise", SpanKind::stage);
    for (int i = 0; i < 8; ++i) {
      const auto step = begin("step", SpanKind::step, stage);
      take("scheduler", SpanKind::stage, 1, step);
      take("unet", SpanKind::forward, 9, step);
      end(step);
    }
    end(stage);
    return stage;
  }
  Facts facts() {
    const genscope::Run run = testing::make_run(t.trace());
    return facts_of(analyze(run));
  }
  bool fires() {
    const Advice advice = advise(facts());
    return std::any_of(advice.findings.begin(), advice.findings.end(),
                       [](const Finding& finding) { return finding.rule.id == "TIME-ASYNC"; });
  }
};

double share(const Facts& facts) {
  const FactValue* const value = facts.find("span_clock.last_span_share");
  return value == nullptr ? -1 : std::get<double>(*value);
}

TEST(WaitFacts, TheStageThatWaitsHasTheTimeOfAllThatWasQueued) {
  Program p;
  p.take("text_encode", SpanKind::stage, 20);
  p.denoise();
  const auto decode = p.begin("vae_decode", SpanKind::stage);
  p.take("vae", SpanKind::forward, 10, decode);
  p.wait(290, decode);
  p.end(decode);
  const Facts facts = p.facts();
  EXPECT_NEAR(share(facts), 290.0 / 400, 1e-9) << "the forward inside is one of its own";
  EXPECT_EQ(*facts.find("span_clock.gpu"), FactValue(false));
  EXPECT_TRUE(p.fires());
}

TEST(WaitFacts, AWaitAfterAllSpansIsTheLastOnes) {
  Program p;
  p.denoise();
  p.take("vae_decode", SpanKind::stage, 20);
  p.wait(300);
  EXPECT_NEAR(share(p.facts()), 320.0 / 400, 1e-9);
  EXPECT_TRUE(p.fires());
}

TEST(WaitFacts, StagesThatWaitAtTheirEndsHaveTheGpusTime) {
  Program p;
  p.take("text_encode", SpanKind::stage, 20);
  p.wait(5);
  p.denoise();
  p.wait(295);
  const auto decode = p.begin("vae_decode", SpanKind::stage);
  p.wait(20, decode);
  p.end(decode);
  const Facts facts = p.facts();
  EXPECT_EQ(*facts.find("span_clock.gpu"), FactValue(true));
  EXPECT_GT(share(facts), 0.3) << "the waits take long, as they must";
  EXPECT_FALSE(p.fires());
}

TEST(WaitFacts, AWaitThatIsShortTookNobodysTime) {
  Program p;
  p.take("text_encode", SpanKind::stage, 300);
  p.denoise();
  p.take("vae_decode", SpanKind::stage, 19);
  p.wait(1);
  EXPECT_NEAR(share(p.facts()), 20.0 / 400, 1e-9);
  EXPECT_EQ(*p.facts().find("span_clock.gpu"), FactValue(false));
  EXPECT_FALSE(p.fires());
}

TEST(WaitFacts, StepsAreJudgedWhereThereAreNoStages) {
  Program queued, waited;
  for (Program* const p : {&queued, &waited}) {
    for (int i = 0; i < 4; ++i) {
      const auto step = p->begin("step", SpanKind::step);
      p->take("dit", SpanKind::forward, 10, step);
      if (p == &waited || i == 3) p->take("cudaDeviceSynchronize", SpanKind::function, 90, step);
      p->end(step);
    }
  }
  EXPECT_EQ(*queued.facts().find("span_clock.gpu"), FactValue(false));
  EXPECT_NEAR(share(queued.facts()), 90.0 / 130, 1e-9);
  EXPECT_EQ(*waited.facts().find("span_clock.gpu"), FactValue(true));
}

TEST(WaitFacts, SpansWithGpuTimeNeedNoWait) {
  Program p;
  const auto stage = p.denoise();
  p.wait(300, stage);
  p.end(stage);
  p.take("vae_decode", SpanKind::stage, 20);
  p.t.device(stage, 300 * kMs);
  EXPECT_EQ(*p.facts().find("span_clock.gpu"), FactValue(true));
  EXPECT_FALSE(p.fires());
}

TEST(WaitFacts, WithoutAWaitNothingIsKnown) {
  Program p;
  p.denoise();
  const Facts facts = p.facts();
  for (const char* const name : {"span_clock.last_span_share", "span_clock.gpu"}) {
    EXPECT_EQ(facts.find(name), nullptr) << name;
    EXPECT_NE(facts.why_missing(name), "") << name;
  }
  EXPECT_FALSE(p.fires());
}

}  // namespace
}  // namespace genscope
