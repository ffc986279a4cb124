// The server on its sockets, and what it makes of the bytes that come.
#include "serve/http.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "serve/request.h"

namespace genscope::serve {
namespace {

using ::testing::HasSubstr;

// What a reader makes of bytes: the path and whether the connection stays, or a status.
std::string made_of(std::string_view bytes, std::size_t piece = 7) {
  RequestReader reader(1024, 256);
  auto state = reader.next();
  while (state == RequestReader::State::more && !bytes.empty()) {
    const std::span<char> room = reader.room();
    const std::size_t n = std::min({room.size(), bytes.size(), piece});
    std::copy_n(bytes.begin(), n, room.begin());
    bytes.remove_prefix(n);
    state = reader.take(n);
  }
  if (state == RequestReader::State::more) return "more";
  if (state == RequestReader::State::refused) return std::to_string(reader.refusal().status);
  return reader.request().path + (reader.keep_alive() ? "" : " close");
}

std::string with(std::string_view fields, std::string_view version = "1.1") {
  return fmt::format("GET /a HTTP/{}\r\nHost: x\r\n{}\r\n", version, fields);
}

TEST(Request, ClosesWhereTheClientSaysSo) {
  EXPECT_EQ(made_of(with("")), "/a");
  EXPECT_EQ(made_of(with("Connection: keep-alive\r\n")), "/a");
  EXPECT_EQ(made_of(with("", "1.0")), "/a close");
  EXPECT_EQ(made_of(with("Connection: keep-alive\r\n", "1.0")), "/a close");
  for (const char* const value : {"close", "Close", "CLOSE", "te, close", "close,te", " close "}) {
    EXPECT_EQ(made_of(with(fmt::format("Connection: {}\r\n", value))), "/a close") << value;
  }
  EXPECT_EQ(made_of(with("Connection: te\r\nConnection: close\r\n")), "/a close");
}

TEST(Request, WhatItDoesNotNeedIsRefusedOnceTheHeaderIsThere) {
  const std::pair<const char*, const char*> cases[] = {
      {"Host: y\r\n", "400"},
      {"host: x\r\n", "400"},
      {"Content-Length: 3\r\nContent-Length: 3\r\n", "400"},
      {"Content-Length: 3, 3\r\n", "400"},
      {"Content-Length: -1\r\n", "400"},
      {"Content-Length: +1\r\n", "400"},
      {"Content-Length: 257\r\n", "413"},
      {"Content-Length: 99999999999999999999\r\n", "400"},
      {"Transfer-Encoding: chunked\r\n", "411"},
      {"Transfer-Encoding: Chunked\r\nTrailer: x\r\n", "411"},
      {"Transfer-Encoding: gzip, chunked\r\n", "501"},
      {"Transfer-Encoding: identity\r\n", "501"},
      {"Expect: 100-continue\r\nContent-Length: 3\r\n", "417"},
      {"Upgrade: websocket\r\nConnection: Upgrade\r\n", "501"},
      {"Upgrade: h2c\r\nConnection: Upgrade\r\n", "/a"},
      {"Upgrade-Insecure-Requests: 1\r\n", "/a"},
      {"TE: trailers\r\n", "/a"},
  };
  for (const auto& [fields, wanted] : cases) EXPECT_EQ(made_of(with(fields)), wanted) << fields;
  EXPECT_EQ(made_of(with("Transfer-Encoding: chunked\r\n", "1.0")), "400");
  EXPECT_EQ(made_of("GET /a HTTP/1.1\r\n\r\n"), "400") << "1.1 needs a Host";
  EXPECT_EQ(made_of("GET /a HTTP/1.0\r\n\r\n"), "/a close");
}

TEST(Request, WithoutEndIsCutAtTheLimit) {
  const std::string much(100'000, 'a');
  EXPECT_EQ(made_of("GET /" + much), "431");
  EXPECT_EQ(made_of("GET / HTTP/1.1\r\n" + much), "431");
  EXPECT_EQ(made_of("GET / HTTP/1.1\r\nX: " + much, 4096), "431");
  EXPECT_EQ(made_of(with("Content-Length: 256\r\n") + much), "/a") << "passed over";
}

TEST(Request, TheNextOneBeginsWhereTheLastBodyEnds) {
  RequestReader reader(1024, 256);
  const std::string bytes = with("Content-Length: 3\r\n") + "abc" + with("");
  ASSERT_EQ(reader.next(), RequestReader::State::more);
  std::copy(bytes.begin(), bytes.end(), reader.room().begin());
  ASSERT_EQ(reader.take(bytes.size()), RequestReader::State::request);
  EXPECT_EQ(reader.next(), RequestReader::State::request);
  EXPECT_EQ(reader.request().path, "/a");
  EXPECT_EQ(reader.next(), RequestReader::State::more);
  EXPECT_FALSE(reader.begun());
}

// A connection to a server on loopback; its receive buffer may be as small as the kernel allows.
class Socket {
 public:
  explicit Socket(std::uint16_t port, bool small = false) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const int bytes = 1024;
    if (small) ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address);
  }
  ~Socket() { ::close(fd_); }
  void send(std::string_view text) {
    ASSERT_EQ(::write(fd_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  std::string read_to_end() {
    std::string out;
    std::array<char, 4096> part{};
    for (ssize_t n = 0; (n = ::read(fd_, part.data(), part.size())) > 0;) {
      out.append(part.data(), static_cast<std::size_t>(n));
    }
    return out;
  }

 private:
  int fd_;
};

constexpr const char* kAskOnce = "GET /{} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
std::string ask_once(const char* path) { return fmt::format(fmt::runtime(kAskOnce), path); }

template <class Condition>
bool comes_true(Condition&& condition) {
  for (int i = 0; i < 3000 && !condition(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return condition();
}

TEST(Http, AReaderThatDoesNotReadIsDroppedNotBufferedFor) {
  HttpOptions options;
  options.limits.stream_events = 4;
  const auto server =
      HttpServer::start(options, {.answer = [](const HttpRequest&) {
                          return HttpResponse{.type = "text/event-stream", .stream = "news"};
                        }});
  ASSERT_TRUE(server.ok());
  Socket lazy((*server)->port(), true);
  lazy.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(comes_true([&] { return (*server)->readers("news") == 1; }));
  // More than the socket's buffers hold, whatever they grow to, and than may wait.
  for (int i = 0; i < 20; ++i) (*server)->publish("news", "tick", std::string(2 << 20, 'x'));
  EXPECT_TRUE(comes_true([&] { return (*server)->counts().slow_readers == 1; }));
  EXPECT_TRUE(comes_true([&] { return (*server)->readers("news") == 0; }));
}

// A handler that stays at work until it is let go.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  int entered = 0;
  bool open = false;

  void pass() {
    std::unique_lock lock(mutex);
    entered++;
    changed.notify_all();
    changed.wait(lock, [this] { return open; });
  }
  void wait_for(int count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return entered >= count; });
  }
  void let_go() {
    const std::lock_guard lock(mutex);
    open = true;
    changed.notify_all();
  }
};

HttpHandlers gated(Gate& gate) {
  return {.answer =
              [&gate](const HttpRequest& request) {
                if (request.path == "/slow") gate.pass();
                return HttpResponse{.body = request.path};
              },
          .slow = [](const HttpRequest& request) { return request.path == "/slow"; },
          .at_once = [](const HttpRequest& request) -> std::optional<HttpResponse> {
            if (request.path != "/health") return std::nullopt;
            return HttpResponse{.body = "well"};
          }};
}

TEST(Http, BesideASlowAnswerOthersAreGiven) {
  Gate gate;
  const auto server = HttpServer::start({}, gated(gate));
  ASSERT_TRUE(server.ok());
  Socket slow((*server)->port()), quick((*server)->port()), health((*server)->port());
  slow.send(ask_once("slow"));
  gate.wait_for(1);
  quick.send(ask_once("quick"));
  EXPECT_THAT(quick.read_to_end(), HasSubstr("/quick"));
  health.send(ask_once("health"));
  EXPECT_THAT(health.read_to_end(), HasSubstr("well"));
  gate.let_go();
  EXPECT_THAT(slow.read_to_end(), HasSubstr("/slow"));
}

TEST(Http, StopDoesNotWaitForAHandlerNorBeginWhatWaits) {
  Gate gate;
  auto server = HttpServer::start({}, gated(gate));
  ASSERT_TRUE(server.ok());
  Socket first((*server)->port()), second((*server)->port()), third((*server)->port());
  first.send(ask_once("slow"));
  second.send(ask_once("slow"));
  gate.wait_for(2);  // side by side
  third.send(ask_once("slow"));
  ASSERT_TRUE(comes_true([&] { return (*server)->counts().requests == 3; }));
  EXPECT_FALSE((*server)->stop(std::chrono::milliseconds(1)));
  EXPECT_EQ(third.read_to_end(), "");
  gate.let_go();
  (*server).reset();  // waits for the two
  EXPECT_EQ(gate.entered, 2);
}

TEST(Http, TooManyAnswersAtOnceAreRefused) {
  HttpOptions options;
  options.limits.answer_bytes = 1 << 20;
  const auto server = HttpServer::start(
      options, {.answer = [](const HttpRequest& request) {
        return HttpResponse{.body = std::string(request.path == "/large" ? 64 << 20 : 1, 'x')};
      }});
  ASSERT_TRUE(server.ok());
  Socket lazy((*server)->port(), true);
  lazy.send(ask_once("large"));
  const auto status = [&] {
    Socket other((*server)->port());
    other.send(ask_once("small"));
    return other.read_to_end().substr(9, 3);
  };
  EXPECT_TRUE(comes_true([&] { return status() == "503"; }));
}

TEST(Http, MoreConnectionsThanItTakesPushOutTheOldest) {
  HttpOptions options;
  options.limits.connections = 4;
  Gate gate;
  const auto server = HttpServer::start(options, gated(gate));
  ASSERT_TRUE(server.ok());
  std::vector<std::unique_ptr<Socket>> held;
  for (int i = 0; i < 20; ++i) held.push_back(std::make_unique<Socket>((*server)->port()));
  held.back()->send(ask_once("health"));
  EXPECT_THAT(held.back()->read_to_end(), HasSubstr("well"));
  EXPECT_LE((*server)->counts().connections, 4u);
  EXPECT_GE((*server)->counts().evicted, 16u);
}

}  // namespace
}  // namespace genscope::serve
