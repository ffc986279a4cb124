// An HTTP/1.1 client, plain or over TLS, that many requests share: connections are kept and used
// again, every request has its deadline, answers are bounded. One thread runs it; what it calls
// runs on that thread. All times are nanoseconds of CLOCK_MONOTONIC.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <genscope/bench.h>

#include "bench/http/address.h"
#include "bench/http/tls.h"

namespace genscope::bench {

struct Outgoing {
  std::string method = "GET";
  std::string target = "/";
  std::vector<std::pair<std::string, std::string>> headers;  // names and values are valid
  std::string body;
};

struct TimedEvent {
  std::int64_t at_ns = 0;
  std::string data;
};

struct Reply {
  int status = 0;  // 0: there was none
  std::string type;
  std::string body;  // empty for an event stream
  bool event_stream = false;
  std::vector<TimedEvent> events;
  std::uint64_t bytes = 0;         // of the body
  std::int64_t began_ns = 0;       // a connection was taken, or begun to be made
  std::int64_t connected_ns = 0;   // a new connection (and TLS) was there; 0: one was used again
  std::int64_t sent_ns = 0;        // all bytes were with the kernel
  std::int64_t first_byte_ns = 0;  // 0: none came
  std::int64_t done_ns = 0;        // the last byte came, or it failed
  std::optional<double> poll_error_s;  // how much later than it was the end was seen, at most
  std::optional<Failure> failure;      // of the exchange; any status is none
};

struct ClientOptions {
  std::size_t connections = 1024;  // fewer where the process may not open as many files
  std::uint64_t body_limit_bytes = 64u << 20;
  TlsOptions tls = {};  // for https
};
// What of them a person says.
ClientOptions client_options(const HttpOptions& http);

class Client {
 public:
  using Answered = std::function<void(Reply)>;

  // Looks up the host.
  static Result<std::unique_ptr<Client>> open(const Address& address, const ClientOptions& options);
  virtual ~Client() = default;

  // Waits for a connection if all are busy; `done` is called once, from run(), after cancel() too.
  virtual void ask(Outgoing request, std::int64_t deadline_ns, Answered done) = 0;
  // Calls at that time or as soon as possible after it; never after stop().
  virtual void at(std::int64_t time_ns, std::function<void()> act) = 0;
  // Until nothing is left to do, or stop().
  virtual void run() = 0;
  virtual void stop() = 0;  // from a call of run()
  // Any thread: `act` is called by run(), which must be at work or be called again.
  virtual void post(std::function<void()> act) = 0;
  // All that are under way fail as cancelled, now.
  virtual void cancel() = 0;
  // Connections that are open now, and the most there may be.
  virtual std::size_t open_connections() const noexcept = 0;
  virtual std::size_t most_connections() const noexcept = 0;
};

}  // namespace genscope::bench
