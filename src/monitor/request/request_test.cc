#include <genscope/monitor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "monitor/request/rates.h"

namespace genscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

thread_local std::int64_t t_now = 1'000'000'000;
std::int64_t test_clock() noexcept { return t_now; }
void pass(double seconds) { t_now += static_cast<std::int64_t>(seconds * 1e9 + 0.5); }

RequestMonitorOptions scripted() {
  RequestMonitorOptions options;
  options.clock = test_clock;
  return options;
}

RequestRecord serve(RequestMonitor& monitor, double seconds, int status = 200) {
  ServedRequest request = monitor.begin("/generate");
  pass(seconds);
  return request.finish(status);
}

TEST(RequestMonitor, TakesAProxysWordForTheWaitBefore) {
  RequestMonitor monitor(scripted());
  ServedRequest request = monitor.begin("/generate");
  request.waited(0.75);
  request.waited(-1);  // clocks that disagree
  pass(2);
  const RequestRecord record = request.finish(200);
  EXPECT_EQ(record.queue_seconds, 0.75);
  EXPECT_EQ(record.total_seconds, 2);
  EXPECT_EQ(monitor.stats().queue_wait.p50, 0.75);
}

TEST(RequestMonitor, TimesQueueFirstByteAndWhole) {
  RequestMonitor monitor(scripted());
  ServedRequest request = monitor.enqueue("/generate");
  EXPECT_EQ(monitor.stats().waiting, 1U);
  pass(1.5);
  request.started();
  request.started();
  pass(2);
  request.first_byte();
  pass(0.5);
  request.first_byte();
  EXPECT_EQ(monitor.stats().in_flight, 1U);
  EXPECT_EQ(monitor.stats().waiting, 0U);
  EXPECT_DOUBLE_EQ(request.elapsed_seconds(), 4);
  const RequestRecord record = request.finish();
  EXPECT_DOUBLE_EQ(record.total_seconds, 4);
  EXPECT_DOUBLE_EQ(record.queue_seconds.value(), 1.5);
  EXPECT_DOUBLE_EQ(record.first_byte_seconds.value(), 3.5);
  EXPECT_EQ(record.http_status, 200);
  EXPECT_EQ(record.error_class, "");
  const RequestStats stats = monitor.stats();
  EXPECT_EQ(stats.in_flight, 0U);
  EXPECT_EQ(stats.in_flight_peak, 1U);
  EXPECT_DOUBLE_EQ(stats.queue_wait.p95.value(), 1.5);
  EXPECT_DOUBLE_EQ(stats.first_byte.p50.value(), 3.5);
}

TEST(RequestMonitor, CountsErrorsByClass) {
  RequestMonitorOptions options = scripted();
  options.error_classes = 4;
  RequestMonitor monitor(options);
  serve(monitor, 1);
  serve(monitor, 1, 404);
  serve(monitor, 1, 503);
  serve(monitor, 1, 500);
  monitor.begin("/x").fail("timeout");
  monitor.begin("/x").fail("");
  monitor.begin("/x").fail("one too many");
  monitor.begin("/x").fail("and another");
  const RequestStats stats = monitor.stats();
  EXPECT_EQ(stats.finished, 8U);
  EXPECT_EQ(stats.failed, 7U);
  EXPECT_THAT(stats.errors, ElementsAre(Pair("4xx", 1), Pair("5xx", 2), Pair("error", 1),
                                        Pair("other", 2), Pair("timeout", 1)));
  EXPECT_EQ(stats.total.count, 1U);  // times are of those that went well
}

TEST(RequestMonitor, ARequestThatIsDroppedOrThrownOutOfIsAnError) {
  RequestMonitor monitor(scripted());
  { const ServedRequest dropped = monitor.enqueue("/x"); }
  try {
    const ServedRequest thrown = monitor.begin("/x");
    throw std::runtime_error("broken");
  } catch (const std::runtime_error&) {
  }
  const RequestStats stats = monitor.stats();
  EXPECT_THAT(stats.errors, ElementsAre(Pair("abandoned", 1), Pair("exception", 1)));
  EXPECT_EQ(stats.waiting, 0U);
  EXPECT_EQ(stats.in_flight, 0U);
  ServedRequest request = monitor.begin("/x");
  request.finish();
  EXPECT_EQ(request.finish().id, 0U);
  EXPECT_EQ(monitor.stats().finished, 3U);
}

TEST(RequestMonitor, PercentilesAreOfTheLastN) {
  RequestMonitorOptions options = scripted();
  options.window = 100;
  options.slo_seconds = 0.9;
  RequestMonitor monitor(options);
  for (int i = 0; i < 500; ++i) serve(monitor, 60);
  for (int i = 1; i <= 100; ++i) serve(monitor, i / 100.0);
  const RequestStats stats = monitor.stats();
  EXPECT_EQ(stats.window, 100U);
  EXPECT_NEAR(stats.total.p50.value(), 0.505, 1e-9);
  EXPECT_NEAR(stats.total.p95.value(), 0.9505, 1e-9);
  EXPECT_NEAR(stats.total.p99.value(), 0.9901, 1e-9);
  EXPECT_DOUBLE_EQ(stats.total.max.value(), 1);
  EXPECT_NEAR(stats.slo_share.value(), 0.9, 1e-9);
  EXPECT_NEAR(stats.slo_share_lifetime.value(), 90.0 / 600, 1e-9);
  EXPECT_EQ(monitor.recent().size(), 100U);
  EXPECT_EQ(monitor.recent().back().id, 600U);
}

TEST(RequestMonitor, SloLeavesOutWhatClientsDidWrong) {
  RequestMonitor monitor(scripted());
  serve(monitor, 1);
  serve(monitor, 1, 400);
  serve(monitor, 1, 500);
  EXPECT_DOUBLE_EQ(monitor.stats().slo_share.value(), 0.5);
}

TEST(RequestMonitor, NothingIsNotZero) {
  RequestMonitor monitor(scripted());
  const RequestStats stats = monitor.stats();
  EXPECT_FALSE(stats.total.p50);
  EXPECT_FALSE(stats.slo_share);
  EXPECT_FALSE(stats.per_second_1m);
  EXPECT_THAT(to_json(stats), HasSubstr("\"slo_share\": null"));
  EXPECT_THAT(monitor.prometheus_text(), Not(HasSubstr("p95")));
}

TEST(RequestMonitor, RatesOverOneFiveAndFifteenMinutes) {
  RequestMonitor monitor(scripted());
  for (int i = 0; i < 1200; ++i) serve(monitor, 0.5);  // ten minutes at 2 a second
  EXPECT_NEAR(monitor.stats().per_second_1m.value(), 2, 0.05);
  EXPECT_NEAR(monitor.stats().per_second_5m.value(), 2, 0.02);
  EXPECT_NEAR(monitor.stats().per_second_15m.value(), 2, 0.01);
  pass(120);  // and two of silence
  EXPECT_DOUBLE_EQ(monitor.stats().per_second_1m.value(), 0);
  EXPECT_NEAR(monitor.stats().per_second_5m.value(), 2 * 180.0 / 300, 0.02);
  EXPECT_NEAR(monitor.stats().per_second_15m.value(), 2 * 600.0 / 720, 0.01);
}

TEST(Rates, ForgetWhatIsOld) {
  monitor::Rates rates;
  for (std::int64_t second = 0; second < 3000; ++second) rates.add(second);
  EXPECT_NEAR(rates.per_second(3000, 900).value(), 1, 0.01);
  EXPECT_FALSE(monitor::Rates().per_second(0.5, 60));
  EXPECT_DOUBLE_EQ(monitor::Rates().per_second(5000, 900).value(), 0);
}

TEST(RequestMonitor, JoinsARequestToItsGeneration) {
  GenerationMonitorOptions options;
  options.clock = test_clock;
  options.gpu_memory = false;
  GenerationMonitor generations(options);
  RequestMonitor requests(scripted());
  ServedRequest request = requests.enqueue("/generate");
  pass(1);
  request.started();
  Generation generation = generations.start(request.generation({.model_name = "Qwen-Image"}));
  pass(2.5);
  const GenerationMetrics metrics = generation.end();
  EXPECT_EQ(metrics.request_id, request.id());
  EXPECT_EQ(metrics.model_name, "Qwen-Image");
  request.join(metrics);
  pass(1.5);
  const RequestRecord record = request.finish();
  EXPECT_EQ(record.generation_id, metrics.id);
  EXPECT_DOUBLE_EQ(record.generation_seconds.value(), 2.5);
  EXPECT_DOUBLE_EQ(record.generation_score.value(), 100);
  EXPECT_DOUBLE_EQ(requests.stats().generation_share.value(), 0.5);
}

TEST(RequestMonitor, PrometheusTextIsWellFormedAndEscaped) {
  RequestMonitorOptions options = scripted();
  options.name = "a\"b\\c\nd";
  RequestMonitor monitor(options);
  for (int i = 0; i < 4; ++i) serve(monitor, 1);
  monitor.begin("/x").fail("say \"no\"");
  const std::string text = monitor.prometheus_text();
  EXPECT_THAT(text, HasSubstr("# TYPE genscope_requests_finished_total counter\n"
                              "genscope_requests_finished_total{entity=\"a\\\"b\\\\c\\nd\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE genscope_request_p95_seconds gauge\n"));
  EXPECT_THAT(text, HasSubstr("genscope_request_slo_ratio{"));
  EXPECT_THAT(text, HasSubstr("class=\"say \\\"no\\\"\"} 1\n"));
}

TEST(Originals000, MiddlewareHeaders) {
  RequestMonitor monitor(scripted());
  ServedRequest first = monitor.begin("/generate");
  pass(1);
  EXPECT_THAT(monitor.response_headers(first), ElementsAre(Pair("X-Request-Time", "1.000")));
  first.finish();
  ServedRequest second = monitor.begin("/generate");
  pass(0.25);
  EXPECT_THAT(monitor.response_headers(second),
              ElementsAre(Pair("X-Request-Time", "0.250"), Pair("X-Avg-Request-Time", "1.000")));
  second.finish();
}

TEST(RequestMonitor, ManyThreads) {
  RequestMonitorOptions options;
  options.publish_seconds = 1e-6;
  RequestMonitor monitor(options);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        ServedRequest request = monitor.enqueue("/generate");
        request.started();
        request.first_byte();
        request.finish(i % 10 == 0 ? 500 : 200);
        if (i % 100 == 0) monitor.prometheus_text();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const RequestStats stats = monitor.stats();
  EXPECT_EQ(stats.finished, 4000U);
  EXPECT_EQ(stats.failed, 400U);
  EXPECT_EQ(stats.in_flight, 0U);
  EXPECT_EQ(stats.waiting, 0U);
  EXPECT_LE(stats.in_flight_peak, 8U);
}

}  // namespace
}  // namespace genscope
