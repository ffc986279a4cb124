// The generator against servers of the tests. No assertion on how fast this machine is.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "bench/http/load.h"
#include "bench/http/running_server.h"
#include "bench/http/testing/raw_server.h"

namespace genscope::bench {
namespace {

using testing::RawConnection;
using testing::RawRequest;
using testing::RawServer;

LoadOptions options_for(const RawServer& server) {
  LoadOptions options;
  options.http.url = server.url("/x");
  options.http.timeout_s = 60;
  options.warmup = 0;
  return options;
}

TEST(LoadRun, OpenLoopSendsAllAndTheServersCountAgrees) {
  RawServer server([](const RawRequest&, RawConnection& c) { c.answer("{}"); });
  LoadOptions options = options_for(server);
  options.arrivals = Arrivals::poisson;
  options.rate = 500;
  options.requests = 300;
  options.warmup = 2;
  const Result<LoadRun> run = run_load(options);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->requests.size(), 300U);
  EXPECT_EQ(server.requests(), 302U);
  for (const LoadRequest& request : run->requests) {
    EXPECT_FALSE(request.failure);
    EXPECT_GE(request.began_ns, request.scheduled_ns);
    EXPECT_GE(request.sent_ns, request.began_ns);
    EXPECT_GE(request.first_byte_ns, request.sent_ns);
    EXPECT_GE(request.done_ns, request.first_byte_ns);
  }
}

// One worker that stalls at one request for 300 ms: those that arrive meanwhile wait. From their
// arrival this shows; asked one after the other only one of them is slow.
TEST(LoadRun, AStallShowsFromTheArrivalAndIsHiddenByAClosedLoop) {
  std::mutex worker;
  std::atomic<int> served{0};
  const auto script = [&](const RawRequest&, RawConnection& c) {
    const std::lock_guard lock(worker);
    if (++served == 10) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    c.answer("{}");
  };
  const auto slow = [](const LoadRun& run) {
    return std::count_if(run.requests.begin(), run.requests.end(), [](const LoadRequest& r) {
      return r.done_ns - r.scheduled_ns > 100'000'000;
    });
  };
  RawServer server(script);
  LoadOptions options = options_for(server);
  options.requests = 60;
  options.arrivals = Arrivals::constant;
  options.rate = 100;
  const Result<LoadRun> open = run_load(options);
  ASSERT_TRUE(open);
  EXPECT_GE(slow(*open), 15);  // 20 arrive in the first 200 ms of the stall

  served = 0;
  options.arrivals = Arrivals::closed;
  const Result<LoadRun> closed = run_load(options);
  ASSERT_TRUE(closed);
  EXPECT_GE(slow(*closed), 1);
  EXPECT_LT(slow(*closed), slow(*open));
}

TEST(LoadRun, ClosedLoopKeepsItsConcurrency) {
  std::atomic<int> now{0}, most{0};
  RawServer server([&](const RawRequest&, RawConnection& c) {
    const int n = ++now;
    int seen = most;
    while (n > seen && !most.compare_exchange_weak(seen, n)) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    --now;
    c.answer("{}");
  });
  LoadOptions options = options_for(server);
  options.concurrency = 3;
  options.requests = 40;
  const Result<LoadRun> run = run_load(options);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->requests.size(), 40U);
  EXPECT_LE(most, 3);
  EXPECT_LE(server.connections(), 3U);
}

TEST(LoadRun, FailuresAreCountedByClass) {
  RawServer server([](const RawRequest& request, RawConnection& c) {
    if (request.number % 4 == 1) return c.answer("no", "text/plain", 503);
    if (request.number % 4 == 2) return c.close();
    c.answer("{}");
  });
  LoadOptions options = options_for(server);
  options.arrivals = Arrivals::constant;
  options.rate = 200;
  options.requests = 40;
  const Result<LoadOutcome> outcome = measure_load(options, false);
  ASSERT_TRUE(outcome);
  const LoadResultSummary& summary = outcome->summary;
  EXPECT_EQ(summary.requests, 40U);
  EXPECT_EQ(summary.failed, 20U);
  EXPECT_EQ(summary.failures.at("http_error"), 20U);
  EXPECT_EQ(outcome->sample.metrics.at("failed_ratio"), 0.5);
  ASSERT_TRUE(outcome->sample.failure);  // the median is among those that were not answered
  EXPECT_EQ(outcome->sample.failure->kind, FailureClass::http_error);
  BenchResult result;
  result.load.push_back(summary);
  EXPECT_EQ(decide_exit(result, false).code, kProductFailed);
}

TEST(LoadRun, LargeAnswersAreJudgedBesideTheSchedule) {
  const std::string body = R"({"data": [{"b64_json": ")" + std::string(200'000, 'A') + "\"}]}";
  RawServer server([&](const RawRequest&, RawConnection& c) { c.answer(body); });
  LoadOptions options = options_for(server);
  options.http.url = server.url("/v1/images/generations");
  options.arrivals = Arrivals::at_once;
  options.requests = 12;
  options.http.connections = 2;
  const Result<LoadRun> run = run_load(options);
  ASSERT_TRUE(run);
  const LoadResultSummary summary = summarize_load({&*run, 1}, std::nullopt);
  EXPECT_EQ(summary.failures.at("blank_output"), 12U);  // all zeros
  EXPECT_LE(server.connections(), 2U);
}

// Else a server with a cache would answer the first ones from what it made in the warm-up.
TEST(LoadRun, WarmUpRequestsAreNoneOfThoseThatCount) {
  std::mutex mutex;
  std::multiset<std::string> bodies;
  RawServer server([&](const RawRequest& request, RawConnection& c) {
    const std::lock_guard lock(mutex);
    bodies.insert(request.body);
    c.answer("{}");
  });
  LoadOptions options = options_for(server);
  options.http.method = "POST";
  options.http.body = R"({"seed": {seed}, "n": {iteration}})";
  options.requests = 20;
  options.warmup = 5;
  ASSERT_TRUE(run_load(options));
  EXPECT_EQ(bodies.size(), 25U);
  for (const std::string& body : bodies) EXPECT_EQ(bodies.count(body), 1U) << body;
}

TEST(LoadRun, WarmUpThatFailsEndsIt) {
  RawServer server([](const RawRequest&, RawConnection& c) { c.answer("x", "text/plain", 500); });
  LoadOptions options = options_for(server);
  options.warmup = 2;
  options.requests = 100;
  const Result<LoadRun> run = run_load(options);
  ASSERT_TRUE(run);
  EXPECT_TRUE(run->requests.empty());
  EXPECT_EQ(server.requests(), 2U);
  EXPECT_FALSE(run->examples.empty());
}

TEST(LoadRun, StoppedItKeepsWhatWasMeasured) {
  RawServer server([](const RawRequest& request, RawConnection& c) {
    if (request.number < 5) c.answer("{}");  // the others are never answered
  });
  LoadOptions options = options_for(server);
  options.arrivals = Arrivals::constant;
  options.rate = 100;
  options.requests = 1000;
  const Result<LoadRun> run =
      run_load(options, [](const LoadProgress& now) { return now.answered < 5 || now.sent < 10; });
  ASSERT_TRUE(run);
  EXPECT_TRUE(run->interrupted);
  EXPECT_EQ(run->requests.size(), 5U);
  EXPECT_GE(run->cancelled, 5U);
}

TEST(LoadRun, MultiStreamSendsEightAtOnce) {
  RawServer server([](const RawRequest&, RawConnection& c) { c.answer("{}"); });
  LoadOptions options = options_for(server);
  options.requests = 32;
  ASSERT_TRUE(apply_scenario("multi-stream", options));
  const Result<LoadRun> run = run_load(options);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->requests.size(), 32U);
  EXPECT_EQ(run->requests.back().query, 3U);
}

// A server that takes 4 ms for each and one at a time keeps up to 250/s. How exactly depends on
// the machine; that a search ends, with a bracket, does not.
TEST(LoadPeak, FindsABracket) {
  std::mutex worker;
  std::multiset<std::string> bodies;
  RawServer server([&](const RawRequest& request, RawConnection& c) {
    {
      const std::lock_guard lock(worker);
      bodies.insert(request.body);
      std::this_thread::sleep_for(std::chrono::milliseconds(4));
    }
    c.answer("{}");
  });
  LoadOptions options = options_for(server);
  options.http.body = R"({"seed": {seed}})";
  options.arrivals = Arrivals::constant;
  options.slo = Slo{0.2, 0.5};
  options.requests = 30;
  PeakOptions limits;
  limits.first_rate = 60;
  limits.precision = 0.5;
  const Result<Peak> peak = find_peak(options, limits);
  ASSERT_TRUE(peak) << peak.error().message;
  ASSERT_FALSE(peak->trials.empty());
  EXPECT_FALSE(peak->ended.empty());
  if (peak->rate && peak->invalid) {
    EXPECT_LT(*peak->rate, *peak->invalid);
  }
  const std::set<std::string> asked(bodies.begin(), bodies.end());
  EXPECT_EQ(asked.size(), bodies.size()) << "a cache would answer later trials";
}

TEST(LoadPeak, NeedsAnSlo) {
  LoadOptions options;
  options.http.url = "http://127.0.0.1:1/";
  options.arrivals = Arrivals::poisson;
  EXPECT_FALSE(find_peak(options, {}));
}

ServerOptions python_server(const std::string& code) {
  ServerOptions options;
  options.command = "exec python3 -c '" + code + "' {port}";
  options.http.url = "http://127.0.0.1:{port}/";
  options.startup_timeout_s = 60;
  return options;
}

constexpr const char* kServe =
    "import sys, http.server as h, time; print(\"hello\", flush=True); time.sleep(0.1); "
    "h.HTTPServer((\"127.0.0.1\", int(sys.argv[1])), h.SimpleHTTPRequestHandler).serve_forever()";

TEST(ServerSubject, StartsIsAskedAndStops) {
  ServerOptions options = python_server(kServe);
  options.ready_url = "http://127.0.0.1:{port}/";
  options.once = true;
  const auto subject = server_subject(options);
  ASSERT_FALSE(subject->begin({})) << "did not start";
  EXPECT_FALSE(subject->measure({}).failure);
  subject->end();
  ASSERT_FALSE(subject->begin({}));
  EXPECT_FALSE(subject->measure({}).failure);
}

TEST(ServerSubject, WhatDoesNotStartShowsItsLastLines) {
  const auto subject = server_subject(
      python_server("import sys; print(\"no model\", file=sys.stderr); sys.exit(3)"));
  const std::optional<Failure> failure = subject->begin({});
  ASSERT_TRUE(failure);
  EXPECT_EQ(name(failure->kind), "startup_failed");
  EXPECT_NE(failure->detail.find("exit code 3"), std::string::npos) << failure->detail;
  EXPECT_NE(failure->detail.find("no model"), std::string::npos) << failure->detail;
}

TEST(ServerSubject, ASlowStartRunsOutOfTime) {
  ServerOptions options = python_server("import time; time.sleep(60)");
  options.startup_timeout_s = 0.2;
  const std::optional<Failure> failure = server_subject(options)->begin({});
  ASSERT_TRUE(failure);
  EXPECT_NE(failure->detail.find("not ready within 0.2 s"), std::string::npos) << failure->detail;
}

TEST(ServerSubject, APortInUseIsRefused) {
  RawServer other([](const RawRequest&, RawConnection& c) { c.answer("{}"); });
  ServerOptions options;
  options.command = "sleep 60";
  options.http.url = other.url();
  const std::optional<Failure> failure = server_subject(options)->begin({});
  ASSERT_TRUE(failure);
  EXPECT_NE(failure->detail.find("in use already"), std::string::npos) << failure->detail;
}

}  // namespace
}  // namespace genscope::bench
