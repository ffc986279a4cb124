#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cmath>

#include "serve/alerts.h"
#include "serve/guard.h"
#include "serve/live.h"
#include "serve/metrics.h"
#include "serve/runs.h"
#include "serve/url.h"
#include "testing/exposition.h"
#include "testing/temp_dir.h"
#include "trace/sample_names.h"

namespace genscope::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

TEST(Url, PathAndQueryAreDecoded) {
  const auto target = parse_target("/runs/a%20b?token=x%2Fy&flag&z=1+2&z=9#part");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->path, "/runs/a b");
  EXPECT_THAT(target->query, ElementsAre(Pair("flag", ""), Pair("token", "x/y"), Pair("z", "1 2")));
}

TEST(Url, WhatIsMalformedIsRefused) {
  for (const char* const text :
       {"", "x", "http://h/", "/%", "/%4", "/%zz", "/a%00", "/a\n", "/?a=%1"}) {
    EXPECT_FALSE(parse_target(text)) << text;
  }
}

TEST(Url, AnAddressIsWrittenSoThatItIsReadTheSame) {
  const Target target{"/runs/a b\"%/\xe9", {{"x&y", "1=2"}, {"z", ""}}};
  const std::string text = target_text(target);
  EXPECT_EQ(text, "/runs/a%20b%22%25/%E9?x%26y=1%3D2&z=");
  const auto again = parse_target(text);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->path, target.path);
  EXPECT_EQ(again->query, target.query);
}

TEST(Url, NumbersOfEvents) {
  EXPECT_EQ(parse_number("17"), 17u);
  for (const char* const text : {"", "-1", "1x", "99999999999999999999999"}) {
    EXPECT_EQ(parse_number(text), 0u) << text;
  }
}

HttpRequest get(const std::string& path, std::map<std::string, std::string> headers,
                std::map<std::string, std::string> query = {}) {
  headers.emplace("host", "127.0.0.1:80");
  return {"GET", path, std::move(query), std::move(headers)};
}

TEST(Guard, TokenByHeaderQueryOrCookie) {
  const Guard guard("secret", {"127.0.0.1"});
  EXPECT_TRUE(guard.refuse(get("/", {})));
  EXPECT_FALSE(guard.refuse(get("/healthz", {})));
  EXPECT_FALSE(guard.refuse(get("/", {{"authorization", "Bearer secret"}})));
  EXPECT_FALSE(guard.refuse(get("/", {{"cookie", "a=b; " + guard.cookie() + "=secret; c=d"}})));
  EXPECT_FALSE(guard.refuse(get("/", {}, {{"token", "secret"}})));
  for (const char* const wrong : {"", "secre", "secrets", "SECRET"}) {
    EXPECT_TRUE(guard.refuse(get("/", {{"authorization", std::string("Bearer ") + wrong}})));
    EXPECT_TRUE(guard.refuse(get("/", {}, {{"token", wrong}}))) << wrong;
  }
  EXPECT_FALSE(Guard("", {"127.0.0.1"}).refuse(get("/", {})));
}

TEST(Guard, HostMustBeOurs) {
  const Guard guard("", {"192.168.1.5", "Node7", "fe80::1"});
  const auto status = [&](const char* host) {
    const auto refused = guard.refuse({"GET", "/", {}, {{"host", host}}});
    return refused ? refused->status : 200;
  };
  for (const char* const ours : {"localhost", "localhost:8080", "127.0.0.1", "[::1]:80",
                                 "192.168.1.5:1", "node7:80", "NODE7", "[fe80::1]:80"}) {
    EXPECT_EQ(status(ours), 200) << ours;
  }
  for (const char* const other :
       {"", "evil", "localhost.evil", "127.0.0.1.evil:80", "[::1].evil", "[::1]:80.evil:1",
        "localhost:evil", "localhost:80:80", "node8", "192.168.1.6", "fe80::1"}) {
    EXPECT_EQ(status(other), 421) << other;
  }
}

TEST(Guard, BehindAnyAddressTheMachinesOwnNamesAreKnown) {
  std::array<char, 256> name{};
  ASSERT_EQ(::gethostname(name.data(), name.size() - 1), 0);
  const Guard guard("", Guard::hosts_of("0.0.0.0"));
  const auto passes = [&](const std::string& host) {
    return !guard.refuse({"GET", "/", {}, {{"host", host}}});
  };
  EXPECT_TRUE(passes(std::string(name.data()) + ":80"));
  EXPECT_TRUE(passes("127.0.0.1:80"));
  EXPECT_TRUE(passes("0.0.0.0:80"));
  EXPECT_FALSE(passes("evil.example"));
  EXPECT_THAT(Guard::hosts_of("127.0.0.1"), ElementsAre("127.0.0.1"));
}

TEST(Guard, WhichAddressesAreLoopback) {
  for (const char* const address : {"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE(Guard::is_loopback(address)) << address;
  }
  for (const char* const address : {"0.0.0.0", "::", "192.168.1.5", "::ffff:10.0.0.1", "x", ""}) {
    EXPECT_FALSE(Guard::is_loopback(address)) << address;
  }
}

TEST(Guard, ALinkFromAnotherSiteLoadsItselfOnce) {
  const Guard guard("secret", {});
  const auto body = [&](const char* site) {
    return guard.refuse(get("/", {{"sec-fetch-site", site}, {"sec-fetch-mode", "navigate"}}))->body;
  };
  EXPECT_THAT(body("cross-site"), HasSubstr("http-equiv=refresh"));
  EXPECT_THAT(body("same-origin"), Not(HasSubstr("refresh")));
}

TEST(Guard, TwoServersDoNotTakeEachOthersCookie) {
  EXPECT_NE(Guard("one", {}).cookie(), Guard("two", {}).cookie());
}

TEST(Guard, WhatATokenMayBe) {
  EXPECT_TRUE(Guard::usable(Guard::random_token()));
  EXPECT_TRUE(Guard::usable("a-Z_0.~"));
  for (const std::string& text : {std::string(), std::string("a;b"), std::string("a b"),
                                  std::string("a%20"), std::string(257, 'a')}) {
    EXPECT_FALSE(Guard::usable(text)) << text;
  }
}

TEST(Guard, TokensAreNotTheSameTwice) {
  EXPECT_EQ(Guard::random_token().size(), 32u);
  EXPECT_NE(Guard::random_token(), Guard::random_token());
}

TEST(Runs, AreFoundByNameOnly) {
  const genscope::testing::TempDir dir;
  RunRequest request;
  request.path = dir / "run a";
  request.name = "x";
  request.command = {"c"};
  const Result<std::string> made = create_run(request);
  ASSERT_TRUE(made.ok());
  const auto found = [](const std::string& folder, const char* id) {
    const auto run = find_run(folder, id);
    return run && *run;
  };
  EXPECT_EQ(list_runs(dir.path())->size(), 1u);
  EXPECT_TRUE(found(dir.path(), "run a"));
  for (const char* const id : {"", ".", "..", "../run a", "run a/", "/", "run"}) {
    EXPECT_FALSE(found(dir.path(), id)) << id;
  }
  EXPECT_TRUE(found(dir / "run a", "run a")) << "the folder may be a run itself";
}

TEST(Runs, WhatCannotBeLookedAtIsAnErrorAndNotNothing) {
  const genscope::testing::TempDir dir;
  RunRequest request;
  request.path = dir / "a";
  request.command = {"c"};
  ASSERT_TRUE(create_run(request).ok());
  EXPECT_FALSE(list_runs(dir / "none").ok()) << "the folder is gone";
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto list = list_runs(dir.path());
  const auto one = find_run(dir.path(), "a");
  const auto itself = list_runs(dir / "a");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(list.ok());
  EXPECT_THAT(list.error().message, HasSubstr("Too many open files"));
  EXPECT_FALSE(one.ok());
  EXPECT_FALSE(itself.ok());
  EXPECT_EQ(list_runs(dir.path())->size(), 1u);
}

Progress::Value sample(EntityKind kind, const char* entity, std::string_view metric, double value) {
  return {.counter = trace::sample_name(entity, metric),
          .value = value,
          .metric = trace::metric_of(metric, nullptr),
          .entity = entity,
          .entity_kind = kind};
}

Progress::Value counter(std::string name, double value) {
  return {.counter = std::move(name), .value = value};
}

Progress sample_progress() {
  Progress progress;
  Progress::Process p;
  p.pid = 7;
  p.alive = true;
  p.stage = "den\"oise\x1b";
  p.stage_kind = SpanKind::stage;
  p.stage_begin_ns = 1'000'000'000;
  p.steps_done = 3;
  p.step_seconds = 0.5;
  p.steps_ended = 9;
  p.last_steps = {0.4, 0.5};
  p.values = {sample(EntityKind::gpu, "gpu0", "memory_total_bytes", 100),
              sample(EntityKind::gpu, "gpu0", "memory_used_bytes", 96), counter("loss", 0.25)};
  progress.processes.push_back(p);
  return progress;
}

TEST(Live, TickSaysWhereTheRunIs) {
  RunEntry run;
  run.started_unix_ns = 5;
  const std::string tick = tick_json(run, sample_progress(), 15, 3'000'000'000);
  EXPECT_THAT(tick, HasSubstr(R"("at_ns":10,"in_progress":true)"));
  EXPECT_THAT(tick,
              HasSubstr(R"("stage":"den\"oise\u001b","stage_kind":"stage","stage_seconds":2,)"));
  EXPECT_THAT(tick, HasSubstr(R"("steps_total":null,"step_seconds":0.5,"eta_seconds":null)"));
  EXPECT_THAT(tick, HasSubstr(R"("eta_low_seconds":null,"eta_high_seconds":null)"));
  EXPECT_THAT(tick, HasSubstr(R"("steps":[0.4,0.5],"steps_pid":7,"steps_ended":9,)"));
  EXPECT_THAT(tick,
              HasSubstr(R"("entity":"gpu0","metric":"memory_used_bytes","unit":"B","value":96)"));
  EXPECT_THAT(
      tick,
      HasSubstr(R"({"pid":7,"name":"loss","entity":null,"metric":null,"unit":null,"value":0.25})"));
  EXPECT_THAT(
      tick,
      HasSubstr(
          R"("severity":"warning","rule":"MEM-HIGH","text":"gpu0: GPU memory is nearly full: The peak is 96% of)"));
  EXPECT_THAT(tick, Not(HasSubstr("\n")));
}

TEST(Live, TheEstimateSaysHowFarItMayBeOff) {
  Progress progress = sample_progress();
  Progress::Process& p = progress.processes[0];
  p.steps_total = 105;
  p.steps_done = 5;
  p.step_seconds = 0.5;
  p.eta_seconds = 50;
  const auto tick = [&] { return tick_json({}, progress, 0, 0); };
  // The first of the stage warms up; those before belong to another one.
  p.last_steps = {9, 9, 9, 0.5, 0.5, 0.5, 0.5};
  EXPECT_THAT(tick(), HasSubstr(R"("eta_seconds":50,"eta_low_seconds":50,"eta_high_seconds":50,)"));
  p.last_steps = {9, 9, 9, 0.4, 0.6, 0.4, 0.6};
  // 100 steps of 0.5 s: s = 0.1155, times sqrt(100 + 100 * 100 / 4), times Student's 2.31 for 3.
  EXPECT_THAT(tick(), ::testing::ContainsRegex(
                          R"("eta_low_seconds":36\.[34][0-9]*,"eta_high_seconds":63\.[56])"));
  p.steps_done = 4;
  EXPECT_THAT(tick(), HasSubstr(R"("eta_low_seconds":null,"eta_high_seconds":null)"))
      << "of three steps nothing can be said";
}

TEST(Alerts, OfTheSlowestRank) {
  Progress progress;
  for (int rank = 0; rank < 4; ++rank) {
    Progress::Process p;
    p.rank = rank;
    p.step_seconds = rank == 2 ? 2.0 : 1.0;
    progress.processes.push_back(p);
  }
  ASSERT_EQ(alerts_of(progress).size(), 1u);
  EXPECT_EQ(alerts_of(progress)[0].rule, "RANK-STEP");
  EXPECT_THAT(alerts_of(progress)[0].text,
              HasSubstr("rank 2 with the others': its step takes 2x the median rank's"));
  progress.processes[2].step_seconds = 1.4;
  EXPECT_TRUE(alerts_of(progress).empty());
}

std::string text_of(const Progress& progress, const std::string& id = "a\"b") {
  const std::string text = metrics_text({{id, std::make_shared<Progress>(progress)}}, {});
  EXPECT_EQ(genscope::testing::Exposition::problem_of(text), "");
  return text;
}

TEST(Metrics, CountersEndInTotalAndLabelsAreEscaped) {
  Progress progress = sample_progress();
  progress.processes[0].values.push_back(sample(EntityKind::process_tree, "tree", "cpu_ns", 5));
  const std::string text = text_of(progress);
  EXPECT_THAT(text, HasSubstr("# TYPE genscope_cpu_seconds_total counter\n"));
  EXPECT_THAT(
      text,
      HasSubstr("genscope_cpu_seconds_total{run=\"a\\\"b\",pid=\"7\",entity=\"tree\"} 5e-09\n"));
  EXPECT_THAT(
      text, HasSubstr("genscope_memory_used_bytes{run=\"a\\\"b\",pid=\"7\",entity=\"gpu0\"} 96\n"));
  EXPECT_THAT(text,
              HasSubstr("genscope_program_value{run=\"a\\\"b\",pid=\"7\",name=\"loss\"} 0.25\n"))
      << "names of the program are no names of Prometheus";
}

TEST(Metrics, EveryMetricHasANameThatTheLinterTakes) {
  Progress progress;
  progress.processes.resize(1);
  for (const Metric& metric : all_metrics()) {
    progress.processes[0].values.push_back(sample(EntityKind::other, "x", metric.id, 1));
  }
  const std::string text = text_of(progress);
  EXPECT_THAT(text, HasSubstr("genscope_cpus{"));
  EXPECT_THAT(text, HasSubstr("genscope_series_left_out 0\n"));
}

TEST(Metrics, AMetricOfTheProgramsOwnKeepsItsMeaning) {
  Progress progress;
  progress.processes.resize(1);
  const auto own = [&](const char* id, const char* kind, const char* unit) {
    const trace::OwnMetric said{unit, kind, ""};
    Progress::Value value = counter(std::string("queue/") + id, 3);
    value.entity = "queue";
    value.metric = trace::metric_of(id, &said);
    progress.processes[0].values.push_back(std::move(value));
  };
  own("queue_length", "gauge", "requests");
  own("d\xe9j\xe0-vu_total", "counter", "1");
  const std::string text = text_of(progress, "r");
  EXPECT_THAT(text, HasSubstr("genscope_own_metric{run=\"r\",pid=\"0\",entity=\"queue\","
                              "metric=\"queue_length\",unit=\"requests\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE genscope_own_metric_total counter\n"));
}

TEST(Metrics, NamesThatAreNotUtf8SpoilNothing) {
  Progress progress;
  progress.processes.resize(2);  // of one pid, as on two hosts
  progress.processes[0].stage = "\xff\n\\\"";
  progress.processes[0].values = {counter("temp\xe9rature", 1), counter("temp\xe8rature", 2),
                                  counter("x", std::nan("")), counter("\n", 3)};
  const std::string text = text_of(progress, "run\xc3");
  EXPECT_THAT(text, HasSubstr("name=\"temp\xEF\xBF\xBDrature\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("run=\"run\xEF\xBF\xBD\""));
  EXPECT_THAT(text, HasSubstr("genscope_series_left_out 1\n")) << "two names became one";
  EXPECT_THAT(text, HasSubstr("pid=\"0\",nth=\"2\"} 0\n"));
}

TEST(Metrics, TheTextIsBounded) {
  Progress progress;
  progress.processes.resize(300);
  for (std::size_t i = 0; i < progress.processes.size(); ++i) {
    progress.processes[i].pid = static_cast<std::uint32_t>(i);
    for (int c = 0; c < 300; ++c) {
      progress.processes[i].values.push_back(counter(fmt::format("counter {}", c), 1));
    }
  }
  const std::string text = text_of(progress);
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 50'100);
  EXPECT_THAT(text, HasSubstr("genscope_series_left_out 40600\n"));
}

TEST(Metrics, ARunThatIsNotReadYetIsCounted) {
  const std::string text = metrics_text({{"long", nullptr}}, {});
  EXPECT_EQ(genscope::testing::Exposition::problem_of(text), "");
  EXPECT_THAT(text, HasSubstr("genscope_runs_in_progress 1\n"));
  EXPECT_THAT(text, HasSubstr("genscope_runs_not_read_yet 1\n"));
}

TEST(Exposition, FindsWhatIsWrong) {
  const auto problem = [](const char* text) {
    return genscope::testing::Exposition::problem_of(text);
  };
  EXPECT_EQ(problem("# HELP a b\n# TYPE a gauge\na{x=\"1\"} 2\na{x=\"\\\\\"} 3\n"), "");
  for (const char* const wrong :
       {"# HELP a b\n# TYPE a gauge\na 2", "a 1\n", "# HELP a b\n# TYPE a gauge\na 1\na 2\n",
        "# HELP a b\n# TYPE a gauge\na{x=\"\xe9\"} 1\n", "# HELP a b\n# TYPE a counter\na 1\n",
        "# HELP a b\n# TYPE a gauge\na{x=\"\\t\"} 1\n", "# HELP a b\n# TYPE a gauge\na{x=\"1} 1\n",
        "# HELP a b\n# TYPE a gauge\na NaNa\n", "# HELP a_count b\n# TYPE a_count gauge\n",
        "# HELP a b\n# TYPE a gauge\n# HELP a b\n",
        "# HELP a b\n# TYPE a gauge\na{x=\"1\",x=\"2\"} 1\n"}) {
    EXPECT_NE(problem(wrong), "") << wrong;
  }
}

}  // namespace
}  // namespace genscope::serve
