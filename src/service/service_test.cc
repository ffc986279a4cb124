// The service over real sockets, with an engine that the test holds and lets go.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <future>
#include <mutex>
#include <set>
#include <thread>

#include <genscope/service.h>

#include "service/ask.h"
#include "testing/exposition.h"

namespace genscope::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// --- reading

ServiceOptions with_fields() {
  return {.models = {{"a", 0, nullptr}, {"b", 0, nullptr}},
          .fields = {field("prompt"), field("seed", 0), field("steps", 4, 1, 50),
                     field("scale", 7.5, 0.0, 20.0), field("style", "none")},
          .alike = {"steps", "scale"}};
}

std::string complaint(std::string_view body) {
  const Result<ServiceAsk> ask = read_ask(with_fields(), body);
  return ask ? "" : ask.error().message;
}

TEST(ServiceAsk, HasWhatTheRequestSaysAndDefaults) {
  const auto ask =
      read_ask(with_fields(), R"({"prompt": "x", "steps": 9, "model": "b", "priority": "bulk",
                                  "deadline": 2, "tenant": "t", "scale": 3})");
  ASSERT_TRUE(ask) << ask.error().message;
  EXPECT_EQ(ask->text("prompt"), "x");
  EXPECT_EQ(ask->integer("seed"), 0);
  EXPECT_EQ(ask->integer("steps"), 9);
  EXPECT_DOUBLE_EQ(ask->number("scale"), 3);
  EXPECT_EQ(ask->text("style"), "none");
  EXPECT_EQ(ask->model, "b");
  EXPECT_EQ(ask->priority, "bulk");
  EXPECT_EQ(ask->tenant, "t");
  EXPECT_DOUBLE_EQ(ask->deadline_seconds, 2);
  EXPECT_EQ(batch_key(with_fields(), *ask), "b steps=9 scale=3");
}

TEST(ServiceAsk, ComplaintsNameTheFieldAndTheRemedy) {
  EXPECT_THAT(complaint("[]"), HasSubstr("send {\"prompt\": ...}"));
  EXPECT_THAT(complaint("{"), HasSubstr("no JSON object"));
  EXPECT_EQ(complaint("{}"), "prompt: it is needed");
  EXPECT_EQ(complaint(R"({"prompt": 1})"), "prompt: give a text");
  EXPECT_EQ(complaint(R"({"prompt": "x", "steps": 0})"), "steps: it is 0; give 1 to 50");
  EXPECT_EQ(complaint(R"({"prompt": "x", "steps": 1.5})"), "steps: give a whole number, 1 to 50");
  EXPECT_THAT(complaint(R"({"prompt": "x", "seed": 18446744073709551615})"), StartsWith("seed: "));
  EXPECT_THAT(complaint(R"({"prompt": "x", "step": 5})"),
              StartsWith("step: there is no such field; there are prompt, seed, steps"));
  EXPECT_EQ(complaint(R"({"prompt": "x", "model": "c"})"), "model: there are a, b");
  EXPECT_THAT(complaint(R"({"prompt": "x", "deadline": 0})"), StartsWith("deadline: "));
  EXPECT_THAT(complaint("{\"prompt\": \"" + std::string(17'000, 'x') + "\"}"),
              HasSubstr("give at most 16384"));
}

TEST(ServiceAsk, KeysDifferByEverythingThatGoesIntoTheAnswer) {
  std::set<std::string> keys;
  const char* const bodies[] = {R"({"prompt": "x"})", R"({"prompt": "y"})",
                                R"({"prompt": "x", "seed": 1})", R"({"prompt": "x", "model": "b"})",
                                R"({"prompt": "x", "scale": 1})"};
  for (const char* body : bodies) {
    keys.insert(answer_key(with_fields(), *read_ask(with_fields(), body)).hex());
  }
  EXPECT_EQ(keys.size(), 5u);
  const auto key_of = [](const char* body) {
    return answer_key(with_fields(), *read_ask(with_fields(), body)).hex();
  };
  EXPECT_EQ(key_of(R"({"prompt": "x", "tenant": "t", "priority": "bulk", "deadline": 9})"),
            key_of(R"({"prompt": "x", "seed": 0})"));
}

TEST(Service, OptionsThatMakeNoSenseAreRefused) {
  const auto refusal = [](ServiceOptions options) {
    return Service::start(std::move(options)).error().message;
  };
  EXPECT_THAT(refusal({}), HasSubstr("models is empty"));
  EXPECT_THAT(refusal(with_fields()), HasSubstr("a has no load"));
}

// --- serving

// An engine that runs when the test lets it, and writes down what it ran.
struct Floor {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = true;
  int entered = 0;
  std::vector<std::vector<std::string>> runs;  // prompts, by batch
  int loads = 0, alive = 0, most_alive = 0;
  bool saw_stop = false;

  void hold() {
    const std::lock_guard lock(mutex);
    open = false;
  }
  void let_go() {
    const std::lock_guard lock(mutex);
    open = true;
    changed.notify_all();
  }
  void wait_entered(int count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return entered >= count; });
  }
};

class HeldEngine final : public ServiceEngine {
 public:
  HeldEngine(Floor& floor, std::string name) : floor_(floor), name_(std::move(name)) {
    const std::lock_guard lock(floor_.mutex);
    ++floor_.loads;
    floor_.most_alive = std::max(floor_.most_alive, ++floor_.alive);
  }
  ~HeldEngine() override {
    const std::lock_guard lock(floor_.mutex);
    --floor_.alive;
  }
  Answers run(Asks asks) override {
    std::unique_lock lock(floor_.mutex);
    std::vector<std::string> out, prompts;
    ++floor_.entered;
    floor_.changed.notify_all();
    while (!floor_.open) {
      floor_.changed.wait_for(lock, std::chrono::milliseconds(1));
      if (asks[0]->stop.stop_requested()) {
        floor_.saw_stop = true;
        break;
      }
    }
    for (const ServiceAsk* ask : asks) {
      prompts.push_back(ask->text("prompt"));
      if (ask->text("prompt") == "bad") {
        floor_.runs.push_back(prompts);
        return optimize::Failed{optimize::Failure::validation, "a bad prompt", std::nullopt};
      }
      out.push_back(name_ + " made " + ask->text("prompt") + "\n");
    }
    floor_.runs.push_back(prompts);
    return out;
  }

 private:
  Floor& floor_;
  std::string name_;
};

class Served : public ::testing::Test {
 protected:
  void start(ServiceOptions options = {}) {
    for (const char* model : {"day", "night"}) {
      options.models.push_back({model, 100, [this, model] {
                                  return Result<std::unique_ptr<ServiceEngine>>(
                                      std::make_unique<HeldEngine>(floor_, model));
                                }});
    }
    if (options.fields.empty()) options.fields = {field("prompt"), field("steps", 1, 1, 9)};
    options.alike = {"steps"};
    options.slo_seconds = 600;
    auto made = Service::start(std::move(options));
    ASSERT_TRUE(made) << made.error().message;
    service_ = *std::move(made);
  }
  ~Served() override { floor_.let_go(); }

  int connect() {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(service_->port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return fd;
  }
  static void send(int fd, const std::string& text) {
    EXPECT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  static std::string read_all(int fd) {
    std::string out;
    std::array<char, 4096> part{};
    for (ssize_t n = 0; (n = ::read(fd, part.data(), part.size())) > 0;) {
      out.append(part.data(), static_cast<std::size_t>(n));
    }
    ::close(fd);
    return out;
  }
  int begin(const std::string& body, const char* type = "application/json") {
    const int fd = connect();
    send(fd, fmt::format("POST /generate HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                         "Content-Type: {}\r\nContent-Length: {}\r\n\r\n{}",
                         type, body.size(), body));
    return fd;
  }
  std::string ask(const std::string& body) { return read_all(begin(body)); }
  std::string get(const char* path) {
    const int fd = connect();
    send(fd, fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path));
    return read_all(fd);
  }
  template <class Condition>
  static bool becomes_true(Condition&& condition) {
    for (int i = 0; i < 6000 && !condition(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return condition();
  }
  bool stats_say(const char* text) {
    return becomes_true([&] { return get("/stats").find(text) != std::string::npos; });
  }

  Floor floor_;
  std::unique_ptr<Service> service_;
};

TEST_F(Served, AnswersAndKeepsAnswers) {
  start();
  const std::string first = ask(R"({"prompt": "cat"})");
  EXPECT_THAT(first, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(first, HasSubstr("X-Cache: miss"));
  EXPECT_THAT(first, HasSubstr("day made cat"));
  const std::string again = ask(R"({"prompt": "cat", "tenant": "other"})");
  EXPECT_THAT(again, HasSubstr("X-Cache: hit"));
  EXPECT_THAT(again, HasSubstr("day made cat"));
  EXPECT_EQ(floor_.runs.size(), 1u);
  EXPECT_THAT(ask(R"({"prompt": "cat", "model": "night"})"), HasSubstr("night made cat"));
  EXPECT_EQ(service_->stats().hits, 1u);
}

TEST_F(Served, SaysWhatIsWrong) {
  start();
  EXPECT_THAT(ask("{"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(ask(R"({"prompt": "x", "steps": 10})"), HasSubstr("steps: it is 10; give 1 to 9"));
  EXPECT_THAT(ask(R"({"prompt": "bad"})"), StartsWith("HTTP/1.1 422"));
  EXPECT_THAT(read_all(begin("{}", "text/plain")), StartsWith("HTTP/1.1 415"));
  EXPECT_THAT(get("/generate"), StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(get("/other"), StartsWith("HTTP/1.1 404"));
  const int rebound = connect();
  send(rebound, "GET /stats HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(read_all(rebound), StartsWith("HTTP/1.1 4"));
  EXPECT_EQ(service_->stats().bad, 2u);
}

TEST_F(Served, EqualRequestsAreMadeOnceAndTheFirstMayLeave) {
  start();
  floor_.hold();
  const int first = begin(R"({"prompt": "cat"})");
  floor_.wait_entered(1);
  const int second = begin(R"({"prompt": "cat"})"), third = begin(R"({"prompt": "cat"})");
  ASSERT_TRUE(becomes_true([&] { return service_->stats().shared == 2; }));
  ::close(first);
  ASSERT_TRUE(becomes_true([&] { return service_->stats().abandoned == 1; }));
  floor_.let_go();
  EXPECT_THAT(read_all(second), HasSubstr("X-Cache: shared"));
  EXPECT_THAT(read_all(third), HasSubstr("day made cat"));
  EXPECT_EQ(floor_.runs.size(), 1u);
  EXPECT_FALSE(floor_.saw_stop);
}

TEST_F(Served, WhoLeavesStopsTheRunAndTakesItsPlaceInTheQueueAlong) {
  start({.batch = 1});
  floor_.hold();
  const int running = begin(R"({"prompt": "running"})");
  floor_.wait_entered(1);
  const int waiting = begin(R"({"prompt": "waiting"})");
  ASSERT_TRUE(stats_say("\"waiting\": 1"));
  ::close(waiting);
  ASSERT_TRUE(becomes_true([&] { return service_->stats().abandoned == 1; }));
  EXPECT_TRUE(stats_say("\"cancelled\": 1"));
  ::close(running);
  ASSERT_TRUE(becomes_true([&] {
    const std::lock_guard lock(floor_.mutex);
    return floor_.saw_stop;
  }));
  floor_.let_go();
  // What was cut short was not kept.
  EXPECT_THAT(ask(R"({"prompt": "running"})"), HasSubstr("X-Cache: miss"));
  EXPECT_THAT(floor_.runs, ElementsAre(ElementsAre("running"), ElementsAre("running")));
}

TEST_F(Served, ClassesGoInOrderAndFullQueuesRefuseWithATime) {
  start({.classes = {{"interactive", 8}, {"bulk", 1}}, .batch = 1});
  floor_.hold();
  const int first = begin(R"({"prompt": "1"})");
  floor_.wait_entered(1);
  const int bulk = begin(R"({"prompt": "2", "priority": "bulk"})");
  ASSERT_TRUE(stats_say("\"waiting\": 1"));
  const int urgent = begin(R"({"prompt": "3"})");
  ASSERT_TRUE(stats_say("\"waiting\": 2"));
  const std::string refused = ask(R"({"prompt": "4", "priority": "bulk"})");
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(refused, HasSubstr("Retry-After: 1\r\n"));
  floor_.let_go();
  for (const int fd : {first, bulk, urgent}) EXPECT_THAT(read_all(fd), HasSubstr("200 OK"));
  EXPECT_THAT(floor_.runs, ElementsAre(ElementsAre("1"), ElementsAre("3"), ElementsAre("2")));
}

TEST_F(Served, AModelLeavesForAnother) {
  start({.budget_bytes = 150});
  EXPECT_THAT(ask(R"({"prompt": "1"})"), HasSubstr("day made 1"));
  EXPECT_THAT(ask(R"({"prompt": "1", "model": "night"})"), HasSubstr("night made 1"));
  EXPECT_THAT(ask(R"({"prompt": "2"})"), HasSubstr("day made 2"));
  EXPECT_EQ(floor_.loads, 3);
  EXPECT_EQ(floor_.most_alive, 1);
}

TEST_F(Served, RequestsThatAreAlikeShareARun) {
  start({.batch = 4});
  EXPECT_THAT(ask(R"({"prompt": "first"})"), HasSubstr("200 OK"));  // the cost of one is known
  floor_.hold();
  const int busy = begin(R"({"prompt": "busy"})");
  floor_.wait_entered(2);
  std::vector<int> more;
  for (const char* prompt : {"a", "b", "c"})
    more.push_back(begin(fmt::format(R"({{"prompt": "{}"}})", prompt)));
  ASSERT_TRUE(stats_say("\"running\": 4"));
  floor_.let_go();
  EXPECT_THAT(read_all(busy), HasSubstr("day made busy"));
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_THAT(read_all(more[i]), HasSubstr(std::string("day made ") + "abc"[i]));
  ASSERT_GE(floor_.runs.size(), 3u);
  EXPECT_EQ(floor_.runs[2].size(), 2u);  // two at once are tried
}

TEST_F(Served, MetricsAreThoseOfPrometheus) {
  start({.name = "pictures"});
  ask(R"({"prompt": "x", "tenant": "t"})");
  const std::string text = service_->metrics();
  EXPECT_EQ(testing::Exposition::problem_of(text), "") << text;
  EXPECT_THAT(text, HasSubstr("genscope_admission_queue_seconds_count{name=\"pictures/admission\","
                              "class=\"interactive\",tenant=\"t\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("genscope_batcher_queue_seconds_count{name=\"pictures/batcher\","
                              "key=\"day steps=1\"} 1\n"));
  EXPECT_THAT(get("/metrics"), HasSubstr("genscope_service_cache_hits_total"));
  EXPECT_THAT(get("/healthz"), HasSubstr("ok"));
}

TEST_F(Served, DrainRefusesWhatWaitsAndLetsEndWhatRuns) {
  start({.batch = 1});
  floor_.hold();
  const int running = begin(R"({"prompt": "running"})");
  floor_.wait_entered(1);
  const int waiting = begin(R"({"prompt": "waiting"})");
  ASSERT_TRUE(stats_say("\"waiting\": 1"));
  auto drained = std::async(std::launch::async, [&] { return service_->drain(60); });
  EXPECT_THAT(read_all(waiting), HasSubstr("the service is closing"));
  floor_.let_go();
  EXPECT_THAT(read_all(running), HasSubstr("day made running"));
  EXPECT_TRUE(drained.get());
}

TEST_F(Served, DrainCutsOffWhatDoesNotEnd) {
  start({.batch = 1});
  floor_.hold();
  const int running = begin(R"({"prompt": "running"})");
  floor_.wait_entered(1);
  EXPECT_FALSE(service_->drain(0.01));  // the engine looks at its token
  EXPECT_EQ(read_all(running), "");
  EXPECT_TRUE(floor_.saw_stop);
}

TEST_F(Served, ManyClientsThatComeAndGo) {
  start({.budget_bytes = 150, .classes = {{"interactive", 8}, {"bulk", 8}}, .batch = 3});
  std::vector<std::thread> clients;
  std::atomic<int> answered = 0, refused = 0, odd = 0;
  for (int c = 0; c < 6; ++c) {
    clients.emplace_back([&, c] {
      for (int i = 0; i < 40; ++i) {
        const int fd = begin(fmt::format(R"({{"prompt": "{}", "model": "{}", "priority": "{}"}})",
                                         (c + i) % 17, i % 8 == 0 ? "night" : "day",
                                         c % 2 == 0 ? "interactive" : "bulk"));
        if ((c + i) % 5 == 0) {
          ::close(fd);
          continue;
        }
        const std::string text = read_all(fd);
        const bool ok = text.find(fmt::format("made {}\n", (c + i) % 17)) != std::string::npos;
        ++(ok ? answered : text.starts_with("HTTP/1.1 503") ? refused : odd);
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(odd, 0);
  EXPECT_EQ(answered + refused, 192);
  EXPECT_GT(answered, 0);
  EXPECT_EQ(floor_.most_alive, 1);
  EXPECT_TRUE(service_->drain(60));
}

}  // namespace
}  // namespace genscope::service
