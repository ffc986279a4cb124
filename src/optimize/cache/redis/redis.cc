// What is kept under a key of Redis: the length of the whole key, the key, a checksum, the value.
// So a value of another key with the same hash, or damaged on its way, is a miss.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>

#include "base/checksum.h"
#include "base/clock.h"
#include "genscope/optimize/cache_tiers.h"
#include "optimize/cache/redis/connection.h"
#include "optimize/cache/redis/pause.h"

namespace genscope::optimize {
namespace {

constexpr std::size_t kIdleConnections = 8;
constexpr double kLongestPause = 30;

std::string wrapped(const Key& key, std::string_view value) {
  std::string out;
  const auto key_size = static_cast<std::uint32_t>(key.bytes().size());
  const std::uint64_t checksum = base::checksum(value.data(), value.size());
  out.reserve(sizeof(key_size) + key_size + sizeof(checksum) + value.size());
  out.append(reinterpret_cast<const char*>(&key_size), sizeof(key_size)).append(key.bytes());
  out.append(reinterpret_cast<const char*>(&checksum), sizeof(checksum)).append(value);
  return out;
}

std::optional<std::string> unwrapped(const Key& key, std::string_view stored) {
  std::uint32_t key_size = 0;
  std::uint64_t checksum = 0;
  if (stored.size() < sizeof(key_size)) return std::nullopt;
  std::memcpy(&key_size, stored.data(), sizeof(key_size));
  stored.remove_prefix(sizeof(key_size));
  if (stored.size() < key_size + sizeof(checksum) || stored.substr(0, key_size) != key.bytes()) {
    return std::nullopt;
  }
  stored.remove_prefix(key_size);
  std::memcpy(&checksum, stored.data(), sizeof(checksum));
  stored.remove_prefix(sizeof(checksum));
  if (base::checksum(stored.data(), stored.size()) != checksum) return std::nullopt;
  return std::string(stored);
}

std::int64_t ns_of_seconds(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

}  // namespace

struct RedisTier::Impl {
  RedisOptions options;
  cache::RedisAddress address;
  cache::RespLimits limits;
  mutable std::mutex mutex;
  std::vector<cache::RedisConnection> idle;
  cache::Pause pause{ns_of_seconds(1), ns_of_seconds(kLongestPause)};
  TierStats counts;

  // The reply to one command; empty for any failure, which is counted.
  std::optional<cache::RespReply> ask(const std::string& command) {
    std::optional<cache::RedisConnection> connection;
    {
      const std::lock_guard lock(mutex);
      if (!pause.may_try(base::monotonic_ns())) {
        ++counts.skipped;
        return std::nullopt;
      }
      if (!idle.empty()) {
        connection = std::move(idle.back());
        idle.pop_back();
      }
    }
    const bool was_idle = connection.has_value();
    Result<std::vector<cache::RespReply>> replies = try_once(connection, command);
    // An idle connection may have been closed by a restart of the server: once more, with a new
    // one.
    if (!replies && was_idle) {
      connection.reset();
      replies = try_once(connection, command);
    }
    const std::lock_guard lock(mutex);
    if (!replies || replies->front().kind == cache::RespReply::Kind::error) {
      ++counts.failures;
      counts.last_error = replies ? replies->front().text : replies.error().message;
      pause.failed(base::monotonic_ns());
      idle.clear();
      return std::nullopt;
    }
    pause.worked();
    if (idle.size() < kIdleConnections) idle.push_back(std::move(*connection));
    return std::move(replies->front());
  }

  Result<std::vector<cache::RespReply>> try_once(std::optional<cache::RedisConnection>& connection,
                                                 const std::string& command) const {
    if (!connection) {
      Result<cache::RedisConnection> opened =
          cache::RedisConnection::open(address, limits, options.timeout_s);
      if (!opened) return opened.error();
      connection = std::move(*opened);
    }
    return connection->ask(command, 1, options.timeout_s);
  }

  std::string name_of(const Key& key) const { return options.prefix + key.hex(); }
};

RedisTier::RedisTier(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RedisTier::~RedisTier() = default;

Result<std::unique_ptr<RedisTier>> RedisTier::open(RedisOptions options) {
  Result<cache::RedisAddress> address = cache::parse_redis_url(options.url);
  if (!address) return address.error();
  auto impl = std::make_unique<Impl>();
  impl->address = std::move(*address);
  impl->limits.bulk_bytes = options.largest_bytes + (64 << 10);  // and the key
  impl->pause = cache::Pause(ns_of_seconds(options.pause_s),
                             ns_of_seconds(std::max(kLongestPause, options.pause_s)));
  impl->options = std::move(options);
  return std::unique_ptr<RedisTier>(new RedisTier(std::move(impl)));
}

std::optional<std::string> RedisTier::get(const Key& key) {
  std::string command;
  cache::append_command(command, {"GET", impl_->name_of(key)});
  const std::optional<cache::RespReply> reply = impl_->ask(command);
  std::optional<std::string> value;
  if (reply && reply->kind == cache::RespReply::Kind::bulk) value = unwrapped(key, reply->text);
  const std::lock_guard lock(impl_->mutex);
  ++(value ? impl_->counts.hits : impl_->counts.misses);
  if (reply && reply->kind == cache::RespReply::Kind::bulk && !value) ++impl_->counts.damaged;
  return value;
}

bool RedisTier::put(const Key& key, std::string_view bytes, double ttl_s, bool only_new) {
  if (bytes.size() > impl_->options.largest_bytes) {
    const std::lock_guard lock(impl_->mutex);
    ++impl_->counts.refused;
    return false;
  }
  const std::string name = impl_->name_of(key), value = wrapped(key, bytes);
  const std::string ms = std::to_string(std::max<std::int64_t>(1, std::llround(ttl_s * 1'000)));
  std::string command;
  if (ttl_s > 0 && only_new) {
    cache::append_command(command, {"SET", name, value, "PX", ms, "NX"});
  } else if (ttl_s > 0) {
    cache::append_command(command, {"SET", name, value, "PX", ms});
  } else if (only_new) {
    cache::append_command(command, {"SET", name, value, "NX"});
  } else {
    cache::append_command(command, {"SET", name, value});
  }
  const std::optional<cache::RespReply> reply = impl_->ask(command);
  if (!reply || reply->kind != cache::RespReply::Kind::simple) return false;
  const std::lock_guard lock(impl_->mutex);
  ++impl_->counts.writes;
  return true;
}

bool RedisTier::erase(const Key& key) {
  std::string command;
  cache::append_command(command, {"DEL", impl_->name_of(key)});
  const std::optional<cache::RespReply> reply = impl_->ask(command);
  return reply && reply->kind == cache::RespReply::Kind::integer && reply->integer > 0;
}

TierStats RedisTier::stats() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->counts;
}

}  // namespace genscope::optimize
