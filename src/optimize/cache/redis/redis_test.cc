#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "genscope/optimize/cache_tiers.h"
#include "optimize/cache/redis/connection.h"
#include "optimize/cache/redis/pause.h"
#include "optimize/cache/redis/resp.h"
#include "testing/temp_dir.h"

extern char** environ;

namespace genscope::optimize {
namespace {

using cache::RespReply;
using cache::RespState;

RespState resp(std::string_view bytes, RespReply& reply, std::size_t& used) {
  return cache::read_reply(bytes, {}, reply, used);
}

TEST(CacheResp, ReadsEveryKindOfReply) {
  RespReply reply;
  std::size_t used = 0;
  EXPECT_EQ(resp("+OK\r\nrest", reply, used), RespState::ready);
  EXPECT_EQ(reply.text, "OK");
  EXPECT_EQ(used, 5U);
  EXPECT_EQ(resp("-ERR no\r\n", reply, used), RespState::ready);
  EXPECT_EQ(reply.kind, RespReply::Kind::error);
  EXPECT_EQ(resp(":-12\r\n", reply, used), RespState::ready);
  EXPECT_EQ(reply.integer, -12);
  EXPECT_EQ(resp("$-1\r\n", reply, used), RespState::ready);
  EXPECT_EQ(reply.kind, RespReply::Kind::null);
  EXPECT_EQ(resp("$4\r\na\r\nb\r\n", reply, used), RespState::ready);
  EXPECT_EQ(reply.text, "a\r\nb");
  EXPECT_EQ(resp("*2\r\n:1\r\n*1\r\n$0\r\n\r\n", reply, used), RespState::ready);
  ASSERT_EQ(reply.items.size(), 2U);
  EXPECT_EQ(reply.items[1].items[0].kind, RespReply::Kind::bulk);
}

TEST(CacheResp, WaitsForTheRestAndRefusesNonsense) {
  const std::string whole = "*3\r\n$5\r\nhello\r\n:7\r\n+x\r\n";
  RespReply reply;
  std::size_t used = 0;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(resp(whole.substr(0, size), reply, used), RespState::more) << size;
  }
  for (const char* const wrong :
       {"hello\r\n", "$x\r\n", "$-2\r\n", "$3\r\nabcd\r\n", ":\r\n", ":1x\r\n", "*-5\r\n",
        "$99999999999\r\n", "\r\n", "*9999999\r\n"}) {
    std::string bytes = wrong;
    if (bytes == "*9999999\r\n") {
      for (int i = 0; i < 2'000; ++i) bytes += ":1\r\n";
    }
    EXPECT_EQ(resp(bytes, reply, used), RespState::broken) << wrong;
  }
  EXPECT_EQ(resp("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n", reply, used), RespState::broken);
  EXPECT_EQ(resp(std::string(5'000, '+'), reply, used), RespState::broken);
}

TEST(CacheResp, CommandsAreArraysOfBulkStrings) {
  std::string out;
  cache::append_command(out, {"GET", std::string_view("a\0b", 3)});
  EXPECT_EQ(out, std::string("*2\r\n$3\r\nGET\r\n$3\r\na\0b\r\n", 22));
}

TEST(CachePause, LeavesADeadServerAloneForLongerEachTime) {
  cache::Pause pause(100, 300);
  EXPECT_TRUE(pause.may_try(0));
  for (int i = 0; i < 3; ++i) pause.failed(0);
  EXPECT_FALSE(pause.may_try(99));
  EXPECT_TRUE(pause.may_try(100));   // the probe
  EXPECT_FALSE(pause.may_try(100));  // the others
  pause.failed(100);
  EXPECT_FALSE(pause.may_try(299));
  EXPECT_TRUE(pause.may_try(300));
  pause.failed(300);
  EXPECT_FALSE(pause.may_try(599));  // 300 is the longest
  EXPECT_TRUE(pause.may_try(600));
  pause.worked();
  EXPECT_TRUE(pause.may_try(600));
  EXPECT_TRUE(pause.may_try(600));
}

TEST(CacheRedisUrl, SaysWhatIsWrong) {
  const auto good = cache::parse_redis_url("redis://me:se@cret@cache.local:6380/3");
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(good->host, "cache.local");
  EXPECT_EQ(good->port, "6380");
  EXPECT_EQ(good->user, "me");
  EXPECT_EQ(good->password, "se@cret");
  EXPECT_EQ(good->database, 3);
  EXPECT_EQ(cache::parse_redis_url("redis://[::1]")->host, "::1");
  EXPECT_EQ(cache::parse_redis_url("unix:///tmp/s")->socket, "/tmp/s");
  for (const char* const wrong : {"", "http://x", "redis://", "redis://h:0", "redis://h:x",
                                  "redis://h/x", "rediss://h", "unix://", "redis://u@h"}) {
    const auto parsed = cache::parse_redis_url(wrong);
    ASSERT_FALSE(parsed.ok()) << wrong;
    EXPECT_EQ(parsed.error().code, ErrorCode::invalid_argument);
  }
}

// A real server on a socket of its own.
class RedisServer {
 public:
  RedisServer() { start(); }
  ~RedisServer() { kill_it(); }
  static bool is_installed() {
    for (const char* const path :
         {"/usr/bin/redis-server", "/usr/local/bin/redis-server", "/usr/bin/valkey-server"}) {
      if (access(path, X_OK) == 0) return true;
    }
    return false;
  }
  void start() {
    const std::string socket = path();
    const char* const arguments[] = {"redis-server", "--port",      "0",         "--unixsocket",
                                     socket.c_str(), "--save",      "",          "--appendonly",
                                     "no",           "--daemonize", "no",        "--loglevel",
                                     "warning",      "--logfile",   "/dev/null", nullptr};
    ASSERT_EQ(posix_spawnp(&pid_, "redis-server", nullptr, nullptr, const_cast<char**>(arguments),
                           environ),
              0);
    cache::RedisAddress address;
    address.socket = socket;
    for (int i = 0; i < 100'000; ++i) {  // until it listens
      if (cache::RedisConnection::open(address, {}, 1).ok()) return;
      std::this_thread::yield();
    }
    FAIL() << "redis-server does not listen";
  }
  void kill_it() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
    std::filesystem::remove(path());
  }
  std::string path() const { return folder_ / "redis.sock"; }
  std::string url() const { return "unix://" + path(); }

 private:
  testing::TempDir folder_;
  pid_t pid_ = -1;
};

Key redis_key(int number) { return KeyBuilder("redis").add(number).build(); }

TEST(CacheRedis, SharesValuesAndSurvivesTheDeathOfTheServer) {
  if (!RedisServer::is_installed()) GTEST_SKIP() << "redis-server is not installed";
  RedisServer server;
  const auto open = [&] {
    return std::move(*RedisTier::open({.url = server.url(), .timeout_s = 5, .pause_s = 1e-6}));
  };
  const std::unique_ptr<RedisTier> tier = open(), other = open();
  EXPECT_FALSE(tier->get(redis_key(1)));
  const std::string value = std::string("a\0b\r\n", 5) + std::string(3 << 20, 'x');
  EXPECT_TRUE(tier->put(redis_key(1), value, 100));
  EXPECT_EQ(other->get(redis_key(1)), value);
  EXPECT_FALSE(other->put(redis_key(1), "new", 100, true));
  EXPECT_TRUE(other->put(redis_key(2), "", 0, true));
  EXPECT_EQ(tier->get(redis_key(2)), "");
  EXPECT_TRUE(tier->erase(redis_key(2)));
  EXPECT_FALSE(tier->erase(redis_key(2)));
  EXPECT_FALSE(tier->put(redis_key(3), std::string(9 << 20, 'x')));
  EXPECT_EQ(tier->stats().refused, 1U);
  EXPECT_EQ(tier->stats().failures, 0U) << tier->stats().last_error;

  server.kill_it();
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(tier->get(redis_key(1)));
    EXPECT_FALSE(tier->put(redis_key(1), "y"));
  }
  const TierStats dead = tier->stats();
  EXPECT_GE(dead.failures, 3U);
  EXPECT_NE(dead.last_error, "");

  server.start();
  bool back = false;
  for (int i = 0; i < 1'000'000 && !back; ++i) back = tier->put(redis_key(1), "again");
  EXPECT_TRUE(back);
  EXPECT_EQ(tier->get(redis_key(1)), "again");
}

TEST(CacheRedis, ADeadServerIsSkippedAfterThreeFailures) {
  const auto tier =
      std::move(*RedisTier::open({.url = "unix:///nowhere/redis.sock", .pause_s = 1'000}));
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(tier->get(redis_key(1)));
  EXPECT_EQ(tier->stats().failures, 3U);
  EXPECT_EQ(tier->stats().skipped, 7U);
  EXPECT_EQ(tier->stats().misses, 10U);
}

}  // namespace
}  // namespace genscope::optimize
