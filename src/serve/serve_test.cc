#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "serve/alerts.h"
#include "serve/guard.h"
#include "serve/live.h"
#include "serve/metrics.h"
#include "serve/runs.h"
#include "serve/url.h"
#include "testing/temp_dir.h"

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
  const Guard guard("secret", "127.0.0.1");
  EXPECT_TRUE(guard.refuse(get("/", {})));
  EXPECT_FALSE(guard.refuse(get("/healthz", {})));
  EXPECT_FALSE(guard.refuse(get("/", {{"authorization", "Bearer secret"}})));
  EXPECT_FALSE(guard.refuse(get("/", {{"cookie", "a=b; " + guard.cookie() + "=secret; c=d"}})));
  EXPECT_FALSE(guard.refuse(get("/", {}, {{"token", "secret"}})));
  for (const char* const wrong : {"", "secre", "secrets", "SECRET"}) {
    EXPECT_TRUE(guard.refuse(get("/", {{"authorization", std::string("Bearer ") + wrong}})));
    EXPECT_TRUE(guard.refuse(get("/", {}, {{"token", wrong}}))) << wrong;
  }
  EXPECT_FALSE(Guard("", "127.0.0.1").refuse(get("/", {})));
}

TEST(Guard, HostMustBeOurs) {
  const Guard guard("", "192.168.1.5");
  const auto status = [&](const char* host) {
    const auto refused = guard.refuse({"GET", "/", {}, {{"host", host}}});
    return refused ? refused->status : 200;
  };
  for (const char* const ours :
       {"localhost", "localhost:8080", "127.0.0.1", "[::1]:80", "192.168.1.5:1"}) {
    EXPECT_EQ(status(ours), 200) << ours;
  }
  for (const char* const other :
       {"", "evil", "localhost.evil", "127.0.0.1.evil:80", "[::1].evil", "[::1]:80.evil:1"}) {
    EXPECT_EQ(status(other), 421) << other;
  }
}

TEST(Guard, TwoServersDoNotTakeEachOthersCookie) {
  EXPECT_NE(Guard("one", "127.0.0.1").cookie(), Guard("two", "127.0.0.1").cookie());
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

// A connection to a server on loopback; its receive buffer is as small as the kernel allows.
class SmallSocket {
 public:
  explicit SmallSocket(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const int bytes = 1024;
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address);
  }
  ~SmallSocket() { ::close(fd_); }
  void send(std::string_view text) {
    ASSERT_EQ(::write(fd_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

 private:
  int fd_;
};

TEST(Http, AReaderThatDoesNotReadIsDroppedNotBufferedFor) {
  HttpOptions options;
  options.limits.stream_events = 4;
  const auto server = HttpServer::start(options, [](const HttpRequest&) {
    return HttpResponse{.type = "text/event-stream", .stream = "news"};
  });
  ASSERT_TRUE(server.ok());
  const auto until = [&](auto&& condition) {
    for (int i = 0; i < 3000 && !condition(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return condition();
  };
  SmallSocket lazy((*server)->port());
  lazy.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(until([&] { return (*server)->readers("news") == 1; }));
  // More than the socket's buffers hold, whatever they grow to, and than may wait.
  for (int i = 0; i < 20; ++i) (*server)->publish("news", "tick", std::string(2 << 20, 'x'));
  EXPECT_TRUE(until([&] { return (*server)->counts().slow_readers == 1; }));
  EXPECT_TRUE(until([&] { return (*server)->readers("news") == 0; }));
}

TEST(Runs, AreFoundByNameOnly) {
  const genscope::testing::TempDir dir;
  RunRequest request;
  request.path = dir / "run a";
  request.name = "x";
  request.command = {"c"};
  const Result<std::string> made = create_run(request);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(list_runs(dir.path()).size(), 1u);
  EXPECT_TRUE(find_run(dir.path(), "run a"));
  for (const char* const id : {"", ".", "..", "../run a", "run a/", "/", "run"}) {
    EXPECT_FALSE(find_run(dir.path(), id)) << id;
  }
  EXPECT_TRUE(find_run(dir / "run a", "run a")) << "the folder may be a run itself";
  EXPECT_TRUE(list_runs(dir / "none").empty());
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
  p.last_steps = {0.4, 0.5};
  p.values = {{"gpu0/memory_total_bytes", 100.0}, {"gpu0/memory_used_bytes", 96.0}, {"loss", 0.25}};
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
  EXPECT_THAT(tick, HasSubstr(R"("steps":[0.4,0.5])"));
  EXPECT_THAT(tick,
              HasSubstr(R"("entity":"gpu0","metric":"memory_used_bytes","unit":"B","value":96)"));
  EXPECT_THAT(
      tick,
      HasSubstr(R"({"pid":7,"name":"loss","entity":null,"metric":null,"unit":null,"value":0.25})"));
  EXPECT_THAT(tick, HasSubstr("gpu0: memory is 96% full"));
  EXPECT_THAT(tick, Not(HasSubstr("\n")));
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
  EXPECT_EQ(alerts_of(progress)[0].text, "rank 2: a step takes 2.0 times the median rank's");
  progress.processes[2].step_seconds = 1.4;
  EXPECT_TRUE(alerts_of(progress).empty());
}

TEST(Metrics, CountersEndInTotalAndLabelsAreEscaped) {
  RunEntry run;
  run.id = "a\"b";
  Progress progress = sample_progress();
  progress.processes[0].values.emplace_back("tree/cpu_ns", 5.0);
  const std::string text = metrics_text({{run, progress}}, {});
  EXPECT_THAT(text, HasSubstr("# TYPE genscope_cpu_seconds_total counter\n"));
  EXPECT_THAT(
      text,
      HasSubstr("genscope_cpu_seconds_total{run=\"a\\\"b\",pid=\"7\",entity=\"tree\"} 5e-09\n"));
  EXPECT_THAT(
      text, HasSubstr("genscope_memory_used_bytes{run=\"a\\\"b\",pid=\"7\",entity=\"gpu0\"} 96\n"));
  EXPECT_THAT(text, HasSubstr("genscope_counter{run=\"a\\\"b\",pid=\"7\",name=\"loss\"} 0.25\n"))
      << "names of the program are no names of Prometheus";
}

}  // namespace
}  // namespace genscope::serve
