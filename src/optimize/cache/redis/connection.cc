// A socket that does not block, and poll() with what is left until the deadline: connecting,
// sending and each reply are all within one time. Nothing is tried twice here: whether a broken
// connection is opened again is for the tier to decide.
#include "optimize/cache/redis/connection.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/clock.h"

namespace genscope::optimize::cache {
namespace {

constexpr std::size_t kReadAtOnce = 64 << 10;

Error redis_error(std::string_view what) { return {ErrorCode::io, fmt::format("Redis: {}", what)}; }
Error redis_errno(std::string_view what, int error) {
  return redis_error(fmt::format("{}: {}", what, std::strerror(error)));
}

// 0 when the socket is ready, else an errno.
int wait_for(int fd, short events, std::int64_t deadline_ns) {
  for (;;) {
    const std::int64_t left = deadline_ns - base::monotonic_ns();
    if (left <= 0) return ETIMEDOUT;
    pollfd polled{fd, events, 0};
    const int ready =
        poll(&polled, 1, static_cast<int>(std::min<std::int64_t>(left / 1'000'000 + 1, 60'000)));
    if (ready > 0) return 0;
    if (ready < 0 && errno != EINTR) return errno;
  }
}

Result<base::UniqueFd> connect_to(int family, const sockaddr* address, socklen_t size,
                                  std::int64_t deadline_ns) {
  base::UniqueFd fd(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return redis_errno("no socket", errno);
  if (connect(fd.get(), address, size) != 0) {
    if (errno != EINPROGRESS) return redis_errno("cannot connect", errno);
    if (const int error = wait_for(fd.get(), POLLOUT, deadline_ns); error != 0) {
      return redis_errno("cannot connect", error);
    }
    int error = 0;
    socklen_t length = sizeof(error);
    getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) return redis_errno("cannot connect", error);
  }
  const int on = 1;
  if (family != AF_UNIX) setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return fd;
}

Result<base::UniqueFd> connect_to(const RedisAddress& to, std::int64_t deadline_ns) {
  if (to.host.empty()) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (to.socket.size() >= sizeof(address.sun_path))
      return redis_error("the path of the socket is too long");
    std::memcpy(address.sun_path, to.socket.c_str(), to.socket.size() + 1);
    return connect_to(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof(address),
                      deadline_ns);
  }
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  if (const int code = getaddrinfo(to.host.c_str(), to.port.c_str(), &wanted, &found); code != 0) {
    return redis_error(fmt::format("{}: {}", to.host, gai_strerror(code)));
  }
  Result<base::UniqueFd> last = redis_error("no address");
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    last = connect_to(at->ai_family, at->ai_addr, at->ai_addrlen, deadline_ns);
    if (last) break;
  }
  freeaddrinfo(found);
  return last;
}

std::int64_t deadline_in(double seconds) {
  return base::monotonic_ns() + static_cast<std::int64_t>(seconds * 1e9);
}

}  // namespace

Result<RedisAddress> parse_redis_url(const std::string& url) {
  const auto wrong = [&](const char* why) {
    return Error{
        ErrorCode::invalid_argument,
        fmt::format("{}: {}; write redis://[user:password@]host[:port][/database] or unix:///path",
                    url, why)};
  };
  RedisAddress address;
  if (url.starts_with("unix://")) {
    address.socket = url.substr(7);
    if (address.socket.empty()) return wrong("no path");
    return address;
  }
  if (url.starts_with("rediss://")) return wrong("TLS is not supported");
  if (!url.starts_with("redis://")) return wrong("not a Redis URL");
  std::string rest = url.substr(8);
  if (const std::size_t slash = rest.find('/'); slash != std::string::npos) {
    const std::string database = rest.substr(slash + 1);
    rest.resize(slash);
    const auto [end, error] =
        std::from_chars(database.data(), database.data() + database.size(), address.database);
    if (!database.empty() && (error != std::errc() || end != database.data() + database.size() ||
                              address.database < 0)) {
      return wrong("the database is not a number");
    }
  }
  if (const std::size_t at = rest.rfind('@'); at != std::string::npos) {
    const std::string login = rest.substr(0, at);
    rest.erase(0, at + 1);
    const std::size_t colon = login.find(':');
    if (colon == std::string::npos) return wrong("a user without a password");
    address.user = login.substr(0, colon);
    address.password = login.substr(colon + 1);
  }
  if (const std::size_t colon = rest.rfind(':');
      colon != std::string::npos && !rest.ends_with(']')) {
    address.port = rest.substr(colon + 1);
    rest.resize(colon);
    int port = 0;
    const auto [end, error] =
        std::from_chars(address.port.data(), address.port.data() + address.port.size(), port);
    if (error != std::errc() || end != address.port.data() + address.port.size() || port < 1 ||
        port > 65535) {
      return wrong("the port is not a number from 1 to 65535");
    }
  }
  if (rest.starts_with('[') && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
  if (rest.empty()) return wrong("no host");
  address.host = rest;
  return address;
}

Result<RedisConnection> RedisConnection::open(const RedisAddress& address, const RespLimits& limits,
                                              double timeout_s) {
  Result<base::UniqueFd> fd = connect_to(address, deadline_in(timeout_s));
  if (!fd) return fd.error();
  RedisConnection connection(std::move(*fd), limits);
  std::string hello;
  std::size_t commands = 0;
  if (!address.password.empty()) {
    if (address.user.empty()) {
      append_command(hello, {"AUTH", address.password});
    } else {
      append_command(hello, {"AUTH", address.user, address.password});
    }
    ++commands;
  }
  if (address.database != 0) {
    append_command(hello, {"SELECT", std::to_string(address.database)});
    ++commands;
  }
  if (commands > 0) {
    const auto replies = connection.ask(hello, commands, timeout_s);
    if (!replies) return replies.error();
    for (const RespReply& reply : *replies) {
      if (reply.kind == RespReply::Kind::error) return redis_error(reply.text);
    }
  }
  return connection;
}

Result<std::vector<RespReply>> RedisConnection::ask(std::string_view commands, std::size_t count,
                                                    double timeout_s) {
  const std::int64_t deadline = deadline_in(timeout_s);
  if (const Status sent = send(commands, deadline); !sent) return sent.error();
  std::vector<RespReply> replies;
  while (replies.size() < count) {
    RespReply reply;
    std::size_t used = 0;
    switch (read_reply(buffer_, limits_, reply, used)) {
      case RespState::ready:
        buffer_.erase(0, used);
        replies.push_back(std::move(reply));
        break;
      case RespState::more:
        if (const Status came = receive(deadline); !came) return came.error();
        break;
      case RespState::broken:
        return redis_error("the answer is not RESP, or too large");
    }
  }
  return replies;
}

Status RedisConnection::send(std::string_view bytes, std::int64_t deadline_ns) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (const int error = wait_for(fd_.get(), POLLOUT, deadline_ns); error != 0) {
        return redis_errno("cannot send", error);
      }
    } else if (sent < 0 && errno != EINTR) {
      return redis_errno("cannot send", errno);
    }
  }
  return Done{};
}

Status RedisConnection::receive(std::int64_t deadline_ns) {
  for (;;) {
    const std::size_t before = buffer_.size();
    buffer_.resize(before + kReadAtOnce);
    const ssize_t came = recv(fd_.get(), buffer_.data() + before, kReadAtOnce, 0);
    const int error = errno;
    buffer_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(came, 0)));
    if (came > 0) return Done{};
    if (came == 0) return redis_error("the connection was closed");
    if (error == EINTR) continue;
    if (error != EAGAIN && error != EWOULDBLOCK) return redis_errno("cannot receive", error);
    if (const int waited = wait_for(fd_.get(), POLLIN, deadline_ns); waited != 0) {
      return redis_errno("no answer", waited);
    }
  }
}

}  // namespace genscope::optimize::cache
