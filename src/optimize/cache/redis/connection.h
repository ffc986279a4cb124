// One connection to Redis: commands are sent at once, replies read in order, each within a
// deadline.
#pragma once

#include <string>
#include <vector>

#include "base/file.h"
#include "genscope/error.h"
#include "optimize/cache/redis/resp.h"

namespace genscope::optimize::cache {

struct RedisAddress {
  std::string host;  // empty: `socket`
  std::string port = "6379";
  std::string socket;
  std::string user, password;
  int database = 0;
};
Result<RedisAddress> parse_redis_url(const std::string& url);

class RedisConnection {
 public:
  // Connects, logs in and chooses the database.
  static Result<RedisConnection> open(const RedisAddress& address, const RespLimits& limits,
                                      double timeout_s);

  // Sends `commands` (one or several, as append_command made them) and reads as many replies. After
  // an error the connection is of no use.
  Result<std::vector<RespReply>> ask(std::string_view commands, std::size_t replies,
                                     double timeout_s);

 private:
  explicit RedisConnection(base::UniqueFd fd, const RespLimits& limits)
      : fd_(std::move(fd)), limits_(limits) {}
  Status send(std::string_view bytes, std::int64_t deadline_ns);
  Status receive(std::int64_t deadline_ns);

  base::UniqueFd fd_;
  RespLimits limits_;
  std::string buffer_;  // received and not yet read
};

}  // namespace genscope::optimize::cache
