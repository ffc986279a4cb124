// Answers that come later: from any thread, or never, to clients that wait or have left.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "serve/http.h"

namespace genscope::serve {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;

class LaterClient {
 public:
  explicit LaterClient(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address);
  }
  ~LaterClient() { leave(); }
  void leave() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  void post(std::string_view body) {
    const std::string text = fmt::format(
        "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{}", body.size(), body);
    ASSERT_EQ(::write(fd_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  // One answer of a body that ends in "\n".
  std::string read() {
    std::string out;
    std::array<char, 4096> part{};
    while (out.find("\r\n\r\n") == std::string::npos || out.back() != '\n' ||
           out.ends_with("\r\n\r\n")) {
      const ssize_t n = ::read(fd_, part.data(), part.size());
      if (n <= 0) break;
      out.append(part.data(), static_cast<std::size_t>(n));
    }
    return out;
  }

 private:
  int fd_;
};

// Requests that wait for the test to answer.
struct Desk {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::pair<HttpRequest, HttpReply>> asked;

  HttpHandlers handlers() {
    return {.answer = {}, .later = [this](HttpRequest request, HttpReply reply) {
              const std::lock_guard lock(mutex);
              asked.emplace_back(std::move(request), std::move(reply));
              changed.notify_all();
            }};
  }
  std::pair<HttpRequest, HttpReply> next() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return !asked.empty(); });
    auto out = std::move(asked.front());
    asked.pop_front();
    return out;
  }
};

std::unique_ptr<HttpServer> started(Desk& desk, HttpOptions options = {}) {
  auto server = HttpServer::start(options, desk.handlers());
  EXPECT_TRUE(server.ok());
  return *std::move(server);
}

TEST(HttpLater, AnswersFromAnotherThreadInAnyOrderWithTheirBodies) {
  Desk desk;
  const auto server = started(desk);
  LaterClient first(server->port()), second(server->port());
  first.post("one");
  auto one = desk.next();
  second.post("two");
  auto two = desk.next();
  EXPECT_EQ(one.first.body, "one");
  EXPECT_EQ(two.first.body, "two");
  two.second.send({.body = "2\n"});
  EXPECT_THAT(second.read(), EndsWith("\r\n\r\n2\n"));
  one.second.send({.body = "1\n"});
  one.second.send({.body = "again\n"});  // ignored
  EXPECT_THAT(first.read(), EndsWith("\r\n\r\n1\n"));
  first.post("three");  // the connection stays
  desk.next().second.send({.status = 201, .body = "3\n"});
  EXPECT_THAT(first.read(), StartsWith("HTTP/1.1 201"));
}

TEST(HttpLater, AReplyThatIsDroppedIsA500) {
  Desk desk;
  const auto server = started(desk);
  LaterClient client(server->port());
  client.post("");
  desk.next();
  EXPECT_THAT(client.read(), StartsWith("HTTP/1.1 500"));
}

TEST(HttpLater, SaysThatAClientHasLeft) {
  Desk desk;
  const auto server = started(desk);
  LaterClient stays(server->port());
  stays.post("");
  auto kept = desk.next();
  std::mutex mutex;
  std::condition_variable changed;
  bool gone = false;
  LaterClient leaves(server->port());
  leaves.post("");
  auto asked = desk.next();
  const std::stop_callback told(asked.second.gone(), [&] {
    const std::lock_guard lock(mutex);
    gone = true;
    changed.notify_all();
  });
  EXPECT_FALSE(asked.second.gone().stop_requested());
  leaves.leave();
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return gone; });
  asked.second.send({.body = "to nobody\n"});
  EXPECT_FALSE(kept.second.gone().stop_requested());
  kept.second.send({.body = "here\n"});
  EXPECT_THAT(stays.read(), EndsWith("here\n"));
}

TEST(HttpLater, TheNextRequestOnTheConnectionWaitsForTheFirstAnswer) {
  Desk desk;
  const auto server = started(desk);
  LaterClient client(server->port());
  client.post("a");
  auto first = desk.next();
  client.post("b");  // bytes while the answer is being made: not a client that left
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(first.second.gone().stop_requested());
  first.second.send({.body = "A\n"});
  EXPECT_THAT(client.read(), EndsWith("A\n"));
  auto second = desk.next();
  EXPECT_EQ(second.first.body, "b");
  second.second.send({.body = "B\n"});
  EXPECT_THAT(client.read(), EndsWith("B\n"));
}

TEST(HttpLater, MoreThanMayWaitAreRefused) {
  Desk desk;
  HttpOptions options;
  options.limits.waiting_later = 1;
  const auto server = started(desk, options);
  LaterClient first(server->port()), second(server->port());
  first.post("");
  auto held = desk.next();
  second.post("");
  EXPECT_THAT(second.read(), StartsWith("HTTP/1.1 503"));
  held.second.send({.body = "done\n"});
  EXPECT_THAT(first.read(), EndsWith("done\n"));
}

TEST(HttpLater, StopWaitsForAnswersAndRepliesMayOutliveTheServer) {
  Desk desk;
  auto server = started(desk);
  LaterClient client(server->port()), cut(server->port());
  client.post("");
  auto answered = desk.next();
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    answered.second.send({.body = "in time\n"});
  });
  EXPECT_TRUE(server->stop(std::chrono::seconds(60)));
  later.join();
  EXPECT_THAT(client.read(), EndsWith("in time\n"));

  server = started(desk);
  LaterClient other(server->port());
  other.post("");
  auto late = desk.next();
  server->stop(std::chrono::milliseconds(0));
  EXPECT_TRUE(late.second.gone().stop_requested());
  server.reset();
  late.second.send({.body = "nobody reads this\n"});
}

}  // namespace
}  // namespace genscope::serve
