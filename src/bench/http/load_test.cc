// Schedules and figures of load, without a clock.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "bench/http/load.h"

namespace genscope::bench {
namespace {

LoadOptions open_loop(Arrivals arrivals, double rate, double seconds) {
  LoadOptions options;
  options.arrivals = arrivals;
  options.rate = rate;
  options.duration_s = seconds;
  return options;
}

TEST(LoadSchedule, PoissonHasTheRateAndIsTheSameForASeed) {
  LoadOptions options = open_loop(Arrivals::poisson, 1000, 20);
  const auto times = arrival_times(options);
  ASSERT_TRUE(times);
  EXPECT_NEAR(static_cast<double>(times->size()), 20'000, 4 * std::sqrt(20'000));
  EXPECT_TRUE(std::is_sorted(times->begin(), times->end()));
  EXPECT_LT(times->back(), 20'000'000'000);
  EXPECT_EQ(*arrival_times(options), *times);
  options.seed = 2;
  EXPECT_NE(*arrival_times(options), *times);
}

TEST(LoadSchedule, GeneratorsShareTheRateAndDiffer) {
  LoadOptions options = open_loop(Arrivals::poisson, 1000, 20);
  options.generators = 2;
  const auto first = arrival_times(options);
  options.generator = 2;
  const auto second = arrival_times(options);
  EXPECT_NEAR(static_cast<double>(first->size()), 10'000, 4 * std::sqrt(10'000));
  EXPECT_NE(*first, *second);
}

TEST(LoadSchedule, ConstantAndTraceAreSplitByNumber) {
  LoadOptions options = open_loop(Arrivals::constant, 10, 1);
  EXPECT_EQ(arrival_times(options)->size(), 10U);
  options.generators = 3;
  options.generator = 2;
  EXPECT_EQ(*arrival_times(options),
            (std::vector<std::int64_t>{100'000'000, 400'000'000, 700'000'000}));
  options.arrivals = Arrivals::trace;
  options.duration_s.reset();
  options.trace_s = {0, 0.25, 0.5, 0.75, 1};
  EXPECT_EQ(*arrival_times(options), (std::vector<std::int64_t>{250'000'000, 1'000'000'000}));
}

// The mean and the spread of the times between arrivals, and that generators share one schedule.
TEST(LoadSchedule, GammaHasTheRateAndTheSpread) {
  for (const double cv : {0.5, 1.0, 3.0}) {
    LoadOptions options = open_loop(Arrivals::gamma, 1000, 40);
    options.cv = cv;
    const std::vector<std::int64_t> times = *arrival_times(options);
    EXPECT_NEAR(static_cast<double>(times.size()), 40'000, 5 * cv * std::sqrt(40'000)) << cv;
    double sum = 0, squares = 0;
    for (std::size_t i = 1; i < times.size(); ++i) {
      const double gap = static_cast<double>(times[i] - times[i - 1]) * 1e-9;
      sum += gap;
      squares += gap * gap;
    }
    const auto n = static_cast<double>(times.size() - 1);
    const double mean = sum / n, sd = std::sqrt(squares / n - mean * mean);
    EXPECT_NEAR(sd / mean, cv, 0.05 * cv);
    EXPECT_EQ(*arrival_times(options), times);
    options.generators = 2;
    std::vector<std::int64_t> both = *arrival_times(options);
    options.generator = 2;
    const std::vector<std::int64_t> second = *arrival_times(options);
    both.insert(both.end(), second.begin(), second.end());
    std::sort(both.begin(), both.end());
    EXPECT_EQ(both, times);
  }
}

TEST(LoadSpec, WordsBecomeOptions) {
  LoadSpec spec;
  LoadOptions options;
  ASSERT_FALSE(apply_spec(spec, options));
  EXPECT_EQ(options.arrivals, Arrivals::closed);
  EXPECT_EQ(options.duration_s, 10);
  spec.rate = 5;
  spec.arrivals = "gamma";
  spec.cv = 2;
  ASSERT_FALSE(apply_spec(spec, options = {}));
  EXPECT_EQ(options.arrivals, Arrivals::gamma);
  EXPECT_EQ(load_words(options, false), "gamma arrivals (cv 2), 5/s, for 10.0 s");
  spec = {};
  spec.scenario = "multi_stream";
  ASSERT_FALSE(apply_spec(spec, options = {}));
  EXPECT_EQ(options.scenario, "multi-stream");
  EXPECT_EQ(options.samples_per_query, 8U);
}

TEST(LoadSpec, NamesTheFieldThatIsWrong) {
  const auto field = [](const LoadSpec& spec) {
    LoadOptions options;
    const auto wrong = apply_spec(spec, options);
    return wrong ? wrong->field : "";
  };
  LoadSpec spec;
  spec.rate = 1;
  spec.concurrency = 2;
  EXPECT_EQ(field(spec), "concurrency");
  spec = {};
  spec.arrivals = "constant";
  EXPECT_EQ(field(spec), "arrivals");
  spec.arrivals = "gamma";
  spec.rate = 1;
  EXPECT_EQ(field(spec), "cv");
  spec = {};
  spec.scenario = "server";
  EXPECT_EQ(field(spec), "rate");
  spec.scenario = "sever";
  EXPECT_EQ(field(spec), "scenario");
  spec = {};
  spec.min_goodput = 1;
  EXPECT_EQ(field(spec), "slo");
  spec = {};
  spec.scenario = "closed";
  spec.rate = 1;
  EXPECT_EQ(field(spec), "scenario");
}

TEST(LoadSchedule, RequestsAreSharedWithoutALoss) {
  LoadOptions options;
  options.arrivals = Arrivals::at_once;
  options.requests = 11;
  options.generators = 4;
  std::size_t sum = 0;
  for (options.generator = 1; options.generator <= 4; ++options.generator) {
    sum += arrival_times(options)->size();
  }
  EXPECT_EQ(sum, 11U);
}

TEST(LoadSchedule, RefusesWhatHasNoEndOrNoRate) {
  LoadOptions options;
  options.arrivals = Arrivals::poisson;
  options.rate = 1;
  EXPECT_FALSE(arrival_times(options));
  options.duration_s = 1;
  options.rate = 0;
  EXPECT_FALSE(arrival_times(options));
  options.rate = 1e6;
  options.duration_s = 1e6;
  EXPECT_FALSE(arrival_times(options));
  options.generator = 2;
  EXPECT_FALSE(arrival_times(options));
}

TEST(LoadScenario, FillsInTheRules) {
  LoadOptions options;
  ASSERT_TRUE(apply_scenario("multi-stream", options));
  EXPECT_EQ(options.samples_per_query, 8U);
  EXPECT_EQ(options.duration_s, 600);
  options = {};
  ASSERT_TRUE(apply_scenario("offline", options));
  EXPECT_EQ(options.requests, 24'576U);
  options = {};
  options.requests = 5;
  ASSERT_TRUE(apply_scenario("single-stream", options));
  EXPECT_FALSE(options.duration_s);
  EXPECT_EQ(departures_from_rules(options, LoadRun{}).size(), 1U);
  EXPECT_NE(apply_scenario("ofline", options).error().message.find("'offline'"), std::string::npos);
}

// Requests at 10/s that take `seconds[i]` each from their arrival; negative: it failed.
LoadRun made_run(const std::vector<double>& seconds) {
  LoadRun run;
  run.scenario = "open";
  run.arrivals = Arrivals::constant;
  run.started_unix_ns = 1'000'000'000'000;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    LoadRequest request;
    request.index = request.query = i;
    request.scheduled_ns = static_cast<std::int64_t>(i) * 100'000'000;
    request.began_ns = request.sent_ns = request.scheduled_ns + 1000;
    request.done_ns = request.scheduled_ns + static_cast<std::int64_t>(std::abs(seconds[i]) * 1e9);
    if (seconds[i] < 0) request.failure = FailureClass::timeout;
    run.requests.push_back(request);
  }
  run.window_s = static_cast<double>(seconds.size()) / 10;
  return run;
}

Exit exit_of(LoadResultSummary summary, double max_failed, bool strict) {
  summary.max_failed = max_failed;
  BenchResult result;
  result.load.push_back(std::move(summary));
  return decide_exit(result, strict);
}

TEST(LoadSummary, RefusesP99From20RequestsAndNamesWhatCanBeHad) {
  const LoadRun run = made_run(std::vector<double>(20, 0.5));
  const LoadResultSummary summary = summarize_load({&run, 1}, std::nullopt);
  EXPECT_FALSE(summary.from_arrival_s.contains("p99"));
  EXPECT_DOUBLE_EQ(summary.from_arrival_s.at("p50"), 0.5);
  EXPECT_EQ(summary.refused,
            "p99 needs 662 requests, 20 were made; the highest that they can carry is p50");
  EXPECT_NEAR(*summary.offered_per_s, 10, 1e-9);
}

TEST(LoadSummary, GivesP99FromEnough) {
  const LoadRun run = made_run(std::vector<double>(662, 0.5));
  const LoadResultSummary summary = summarize_load({&run, 1}, Slo{1, 0.99});
  EXPECT_TRUE(summary.from_arrival_s.contains("p99"));
  EXPECT_EQ(summary.slo_verdict, "met");
  EXPECT_EQ(exit_of(summary, 0.01, true).code, kPass);
}

TEST(LoadSummary, SloIsNotShownByFewAndMissedByMany) {
  std::vector<double> seconds(100, 0.5);
  const LoadRun few = made_run(seconds);
  const LoadResultSummary open = summarize_load({&few, 1}, Slo{1, 0.99});
  EXPECT_EQ(open.slo_verdict, "not_shown");
  EXPECT_EQ(exit_of(open, 0.01, false).code, kPass);
  EXPECT_EQ(exit_of(open, 0.01, true).code, kInconclusive);
  seconds[3] = seconds[4] = 2;
  const LoadRun slow = made_run(seconds);
  const LoadResultSummary missed = summarize_load({&slow, 1}, Slo{1, 0.99});
  EXPECT_EQ(missed.slo_verdict, "missed");
  EXPECT_DOUBLE_EQ(*missed.slo_attainment, 0.98);
  EXPECT_EQ(exit_of(missed, 0.01, false).code, kVerdictFailed);
}

TEST(LoadSummary, AFailureCountsAsNeverAnswered) {
  std::vector<double> seconds(1000, 0.5);
  for (std::size_t i = 0; i < 20; ++i) seconds[i] = -0.001;  // quick to fail
  const LoadRun run = made_run(seconds);
  const LoadResultSummary summary = summarize_load({&run, 1}, Slo{1, 0.99});
  EXPECT_EQ(summary.slo_verdict, "missed");
  EXPECT_FALSE(summary.from_arrival_s.contains("p99"));
  EXPECT_TRUE(summary.from_arrival_s.contains("p95"));
  EXPECT_NE(summary.refused.find("failed"), std::string::npos);
  EXPECT_EQ(exit_of(summary, 0.01, false).code, kProductFailed);
  EXPECT_EQ(exit_of(summary, 0.05, false).code, kVerdictFailed);
}

TEST(LoadSummary, NothingMeasuredIsSeven) {
  const LoadRun run = made_run({});
  EXPECT_EQ(exit_of(summarize_load({&run, 1}, std::nullopt), 0.01, false).code, kNothingMeasured);
}

TEST(LoadSummary, GoodputBelowWhatIsAskedForFails) {
  const LoadRun run = made_run(std::vector<double>(662, 0.5));
  LoadResultSummary summary = summarize_load({&run, 1}, Slo{1, 0.99});
  summary.min_goodput_per_s = *summary.goodput_per_s + 1;
  EXPECT_EQ(exit_of(summary, 0.01, false).code, kVerdictFailed);
  summary.min_goodput_per_s = *summary.goodput_per_s;
  EXPECT_EQ(exit_of(summary, 0.01, true).code, kPass);
}

TEST(LoadSummary, OneThatNeverBeganAmongOthersIsAFailure) {
  const LoadRun good = made_run(std::vector<double>(20, 0.5)), none = made_run({});
  BenchResult result;
  result.load.push_back(summarize_load({&good, 1}, std::nullopt));
  result.load.push_back(summarize_load({&none, 1}, std::nullopt));
  result.load[0].cell = "a";
  result.load[1].cell = "b";
  EXPECT_EQ(decide_exit(result, false).code, kProductFailed);
  EXPECT_EQ(decide_exit(result, false).reasons.front().substr(0, 3), "b: ");
}

TEST(LoadSample, HasWhatVerdictsAreMadeOf) {
  std::vector<double> seconds(700, 0.5);
  for (std::size_t i = 0; i < 7; ++i) seconds[i] = -0.1;
  const LoadRun run = made_run(seconds);
  const LoadResultSummary summary = summarize_load({&run, 1}, Slo{1, 0.9});
  const Sample sample = load_sample({&run, 1}, summary);
  EXPECT_DOUBLE_EQ(sample.metrics.at("latency_s"), 0.5);
  EXPECT_DOUBLE_EQ(sample.metrics.at("latency_p95_s"), 0.5);
  EXPECT_DOUBLE_EQ(sample.metrics.at("failed_ratio"), 0.01);
  EXPECT_DOUBLE_EQ(sample.metrics.at("slo_attainment_ratio"), 0.99);
  EXPECT_GT(sample.metrics.at("goodput_per_s"), 9);
  EXPECT_FALSE(sample.metrics.contains("latency_p99.9_s"));
  EXPECT_EQ(metric("goodput_per_s").direction, Direction::higher_is_better);
  EXPECT_EQ(metric("latency_p95_s").direction, Direction::lower_is_better);
}

TEST(LoadSummary, AQueryOfSeveralRequestsCountsOnceByItsLast) {
  LoadRun run = made_run({0.1, 0.2, 0.3, 0.4});
  run.arrivals = Arrivals::closed;
  run.samples_per_query = 2;
  for (std::size_t i = 0; i < 4; ++i) {
    run.requests[i].query = i / 2;
    run.requests[i].scheduled_ns = run.requests[i].began_ns = 0;
    run.requests[i].done_ns = static_cast<std::int64_t>(i + 1) * 100'000'000;
  }
  const LoadResultSummary summary = summarize_load({&run, 1}, Slo{0.25, 0.5});
  EXPECT_DOUBLE_EQ(*summary.slo_attainment, 0.5);
  EXPECT_FALSE(summary.offered_per_s);
}

TEST(LoadPool, PercentilesComeAfterPooling) {
  const LoadRun quick = made_run(std::vector<double>(400, 0.1));
  const LoadRun slow = made_run(std::vector<double>(400, 0.9));
  const LoadRun both[] = {quick, slow};
  const LoadResultSummary summary = summarize_load(both, std::nullopt);
  EXPECT_DOUBLE_EQ(summary.from_arrival_s.at("p90"), 0.9);
  EXPECT_TRUE(summary.from_arrival_s.contains("p99"));
  EXPECT_NEAR(*summary.offered_per_s, 20, 1e-9);
  EXPECT_FALSE(summary.notes.empty());
}

TEST(LoadRaw, ComesBackAsItWas) {
  LoadRun run = made_run({0.1, -0.2});
  run.target = "127.0.0.1:1/x";
  run.clock_error_s = 0.002;
  run.requests[0].ttft_s = 0.5F;
  run.requests[0].first_byte_ns = 77;
  const std::string text = load_to_jsonl(run);
  const Result<LoadRun> again = load_from_jsonl(text, "raw");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(load_to_jsonl(*again), text);
  EXPECT_EQ(again->requests[1].failure, FailureClass::timeout);
}

TEST(LoadRaw, NamesTheLineThatIsWrong) {
  std::string text = load_to_jsonl(made_run({0.1}));
  EXPECT_NE(load_from_jsonl(text + "{}\n", "raw").error().message.find("raw:3"), std::string::npos);
  EXPECT_FALSE(load_from_jsonl("", "raw"));
  EXPECT_FALSE(load_from_jsonl("[]\n", "raw"));
  EXPECT_FALSE(load_from_jsonl("{\"schema\": \"genscope.load/1\"}\n", "raw"));
}

}  // namespace
}  // namespace genscope::bench
