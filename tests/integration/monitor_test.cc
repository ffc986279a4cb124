// What monitors leave in a run: ordinary spans, events and counters.
#include <genscope/analyze.h>
#include <genscope/monitor.h>

#include <stdexcept>
#include <thread>

#include "support.h"

namespace genscope::testing {
namespace {

GenerationMonitor monitor_with(double target_seconds = 1e6) {
  GenerationMonitorOptions options;
  options.target.high_seconds = target_seconds;
  options.generation = {.model_name = "Qwen-Image", .num_steps = 5};
  options.gpu_memory = false;
  return GenerationMonitor(options);
}

std::vector<std::uint64_t> indices(const Trace& trace, const std::vector<std::uint32_t>& spans) {
  std::vector<std::uint64_t> found;
  for (const std::uint32_t span : spans) {
    for (std::size_t a = 0; a < trace.span_args.size(); ++a) {
      if (trace.span_args.owner[a] == span && trace.names[trace.span_args.key[a]].text == "index") {
        found.push_back(trace.span_args.bits[a]);
      }
    }
  }
  return found;
}

TEST(Monitor, AScopedGenerationIsARequestWithItsSteps) {
  const TempDir dir;
  GenerationMetrics metrics;
  {
    const Session session("monitored", options_in(dir));
    GenerationMonitor monitor = monitor_with();
    ScopedGeneration generation = monitor.monitor_generation();
    { const Stage stage("text_encoding"); }
    for (int i = 0; i < 5; ++i) {
      const auto step = generation.step();
      const Span inner("layer");
      spin_ns(200'000);
    }
    metrics = generation.end();
  }
  const Trace trace = only_trace(dir);
  expect_whole(trace);
  const std::uint32_t generation = span_named(trace, "generation");
  EXPECT_EQ(trace.kind(generation), SpanKind::request);
  EXPECT_EQ(parent_name(trace, span_named(trace, "text_encoding")), "generation");
  const std::vector<std::uint32_t> steps = spans_named(trace, "step");
  ASSERT_EQ(steps.size(), 5u);
  EXPECT_EQ(indices(trace, steps), (std::vector<std::uint64_t>{0, 1, 2, 3, 4}));
  double recorded = 0;
  for (const std::uint32_t step : steps) {
    EXPECT_EQ(trace.kind(step), SpanKind::step);
    EXPECT_EQ(parent_name(trace, step), "generation");
    recorded += static_cast<double>(trace.spans.duration_ns[step]) / 1e9;
  }
  for (const std::uint32_t layer : spans_named(trace, "layer")) {
    EXPECT_EQ(parent_name(trace, layer), "step");
  }
  // One pair of time stamps serves both: the clocks differ in their calibration only.
  EXPECT_NEAR(*metrics.generation_time_per_step * 5, recorded, recorded * 0.001);
}

TEST(Monitor, ADetachedGenerationEndsOnAnotherThread) {
  const TempDir dir;
  {
    const Session session("monitored", options_in(dir));
    GenerationMonitor monitor = monitor_with();
    Generation generation = monitor.start();
    generation.begin_step();
    std::thread([&generation] {
      generation.end_step();
      generation.begin_step();
      generation.end_step();
      generation.fail("no memory");
    }).join();
  }
  const Trace trace = only_trace(dir);
  expect_whole(trace);
  const std::uint32_t generation = span_named(trace, "generation");
  EXPECT_NE(trace.spans.flags[generation] & kSpanFailed, 0);
  ASSERT_EQ(spans_named(trace, "step").size(), 2u);
  for (const std::uint32_t step : spans_named(trace, "step")) {
    EXPECT_EQ(parent_name(trace, step), "generation");
  }
}

TEST(Monitor, TheReportKnowsTheTargetAndTheFailures) {
  const TempDir dir;
  {
    const Session session("monitored", options_in(dir));
    GenerationMonitor monitor = monitor_with();
    for (int i = 0; i < 4; ++i) {
      try {
        ScopedGeneration generation = monitor.monitor_generation();
        if (i == 3) throw std::runtime_error("broken");
      } catch (const std::runtime_error&) {
      }
    }
  }
  const Result<genscope::Run> run = read_run(dir / "run");
  ASSERT_TRUE(run) << run.error().message;
  const Analysis analysis = analyze(*run);
  EXPECT_EQ(analysis.requests.count, 4u);
  EXPECT_EQ(analysis.requests.failed, 1u);
}

TEST(Monitor, ARequestHoldsItsQueueItsGenerationAndItsCounters) {
  const TempDir dir;
  {
    const Session session("service", options_in(dir));
    GenerationMonitor generations = monitor_with(0);  // nothing is that fast
    RequestMonitor requests;
    ServedRequest request = requests.enqueue("/generate");
    request.started();
    Generation generation = generations.start(request.generation());
    { const auto step = generation.step(); }
    request.join(generation.end());
    request.first_byte();
    request.finish(503);
  }
  const Trace trace = only_trace(dir);
  expect_whole(trace);
  const std::uint32_t request = span_named(trace, "/generate");
  EXPECT_EQ(trace.kind(request), SpanKind::request);
  EXPECT_NE(trace.spans.flags[request] & kSpanFailed, 0);
  EXPECT_EQ(parent_name(trace, span_named(trace, "queue")), "/generate");
  const std::uint32_t generation = span_named(trace, "generation");
  EXPECT_EQ(trace.kind(generation), SpanKind::stage);  // one request, not two
  EXPECT_EQ(parent_name(trace, generation), "/generate");
  std::map<std::string, double> counters;
  for (std::size_t i = 0; i < trace.counters.size(); ++i) {
    counters[trace.names[trace.counters.name[i]].text] = trace.counters.value[i];
  }
  EXPECT_EQ(counters.at("request/requests_finished"), 1);
  EXPECT_EQ(counters.at("request/requests_failed"), 1);
  EXPECT_EQ(counters.at("request/requests_in_flight"), 0);
  EXPECT_EQ(counters.at("request/request_slo_ratio"), 0);
  EXPECT_EQ(counters.count("request/request_p95_seconds"), 0u);  // none went well
  std::vector<std::string> events;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    events.push_back(trace.names[trace.events.name[i]].text);
  }
  for (const char* name : {"config", "first_byte", "target_out_of_reach"}) {
    EXPECT_EQ(std::count(events.begin(), events.end(), name) > 0, true) << name;
  }
}

}  // namespace
}  // namespace genscope::testing
