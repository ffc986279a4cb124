// A server that answers "{}" to everything and counts, on one thread with epoll: as little as an
// HTTP server can do, so that what is measured is who asks.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace bench {

class CountServer {
 public:
  // A process of its own, on a free port of the loopback address. With TLS: a certificate that
  // nobody trusts, and a thread for each connection.
  explicit CountServer(bool tls = false);
  ~CountServer();
  std::uint16_t port() const { return port_; }
  std::uint64_t requests() const;  // that it has answered

 private:
  struct Shared;
  Shared* shared_ = nullptr;
  std::uint16_t port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace bench
