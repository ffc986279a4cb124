// An HTTP/1.1 server for a few pages and event streams, on one thread of its own and one for
// handlers. Every resource is bounded: bytes of a request, time to send it, connections, events
// that wait for a slow reader (who is dropped, not buffered for).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <genscope/error.h>

namespace genscope::serve {

struct HttpRequest {
  std::string method;
  std::string path;  // decoded; no query
  std::map<std::string, std::string> query;
  std::map<std::string, std::string> headers;                // names in lower case
  const std::string& header(const std::string& name) const;  // "" if there is none
};

struct HttpResponse {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string stream = {};             // not empty: the body begins an event stream of this channel
  std::function<void()> streams = {};  // called on the worker thread when events reach the reader
};

// Called on the server's worker thread, one call at a time.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

struct HttpLimits {
  std::uint32_t header_bytes = 16u << 10;
  std::uint64_t body_bytes = 4u << 10;
  std::size_t connections = 4096;           // over it, the one that has idled longest is closed
  std::size_t waiting_requests = 64;        // for the handler; over it the answer is 503
  std::size_t stream_events = 32;           // that may wait for one reader
  std::size_t replay_events = 512;          // kept for readers that come back
  std::chrono::milliseconds read{10'000};   // for a whole request
  std::chrono::milliseconds idle{60'000};   // between requests
  std::chrono::milliseconds write{30'000};  // for a whole answer, or one event
};

struct HttpOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any that is free
  HttpLimits limits = {};
};

struct HttpCounts {
  std::uint64_t accepted = 0, requests = 0, refused = 0, evicted = 0, slow_readers = 0;
  std::size_t connections = 0, streams = 0;
};

class HttpServer {
 public:
  // Listens and serves until stop() or destruction.
  static Result<std::unique_ptr<HttpServer>> start(const HttpOptions& options, HttpHandler handler);
  virtual ~HttpServer() = default;

  virtual std::uint16_t port() const noexcept = 0;
  // One event to all readers of a channel; any thread. `name`: of the event; `data`: one line.
  virtual void publish(const std::string& channel, const std::string& name, std::string data) = 0;
  // Readers of a channel now.
  virtual std::size_t readers(const std::string& channel) const = 0;
  // Ends the streams of a channel, after what waits to be sent, and forgets its events.
  virtual void close_channel(const std::string& channel) = 0;
  virtual HttpCounts counts() const = 0;
  // Accepts no more, answers what is being asked, ends the streams; then cuts what is left.
  virtual void stop(std::chrono::milliseconds grace) = 0;
};

}  // namespace genscope::serve
