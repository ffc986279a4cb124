// An HTTP/1.1 server for a few pages and event streams, on one thread of its own and three for
// handlers: one for what is quick, two for what may take seconds. Every resource is bounded: bytes
// of a request, time to send it, connections, answers that are being sent, events that wait for a
// slow reader (who is dropped, not buffered for).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <genscope/error.h>

namespace genscope::serve {

struct HttpRequest {
  std::string method;
  std::string path;  // decoded; no query
  std::map<std::string, std::string> query;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body = {};
  const std::string& header(const std::string& name) const;  // "" if there is none
};

struct HttpResponse {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string stream = {};             // not empty: the body begins an event stream of this channel
  std::function<void()> streams = {};  // called on a worker thread when events reach the reader
};

using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

// A request whose answer comes later, from any thread. Dropped without an answer, the client gets a
// 500. It may outlive the server; then nobody is answered.
class HttpReply {
 public:
  class Impl;
  explicit HttpReply(std::unique_ptr<Impl> impl) noexcept;
  HttpReply(HttpReply&&) noexcept;
  HttpReply& operator=(HttpReply&&) noexcept;
  ~HttpReply();

  void send(HttpResponse response);  // the first one counts
  // Asked to stop when the client has left. Callbacks run on the server's own thread: they must not
  // wait.
  std::stop_token gone() const;

 private:
  std::unique_ptr<Impl> impl_;  // null: moved from, or answered
};

struct HttpHandlers {
  // On a worker thread; quick requests have one and slow ones two, so calls may run side by side.
  HttpHandler answer;
  // Whether an answer may take seconds; absent: none does.
  std::function<bool(const HttpRequest&)> slow = {};
  // Asked first, on the server's own thread, so it must not wait: an answer that takes no work, or
  // nothing. What is refused here costs no place in a queue.
  std::function<std::optional<HttpResponse>(const HttpRequest&)> at_once = {};
  // If there is one, it gets all that `at_once` left, on the server's own thread, so it must not
  // wait; `answer` is not asked. For services whose requests wait for each other.
  std::function<void(HttpRequest, HttpReply)> later = {};
};

struct HttpLimits {
  std::uint32_t header_bytes = 16u << 10;
  std::uint32_t body_bytes = 4u << 10;
  // Over it, the one that has idled longest is closed. Fewer where the process may not open as many
  // files: `spare_descriptors` stay free.
  std::size_t connections = 4096;
  std::size_t spare_descriptors = 24;
  // That wait for a worker, over it the answer is 503: few reports, but hundreds of viewers that
  // come at once (each keeps the bytes of its request, no more).
  std::size_t waiting_slow = 64, waiting_quick = 512;
  std::size_t waiting_later = 1024;         // that `later` has taken and not answered; over it 503
  std::size_t answer_bytes = 256u << 20;    // of all answers being sent; over it 503
  std::size_t stream_events = 32;           // that may wait for one reader, and for who comes back
  std::size_t stream_bytes = 16u << 20;     // of them; one event may be larger
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
  static Result<std::unique_ptr<HttpServer>> start(const HttpOptions& options,
                                                   HttpHandlers handlers);
  virtual ~HttpServer() = default;

  virtual std::uint16_t port() const noexcept = 0;
  // One event to all readers of a channel; any thread. `name`: of the event; `data`: one line.
  virtual void publish(const std::string& channel, const std::string& name, std::string data) = 0;
  // Readers of a channel now.
  virtual std::size_t readers(const std::string& channel) const = 0;
  // Ends the streams of a channel, after what waits to be sent, and forgets its events.
  virtual void close_channel(const std::string& channel) = 0;
  virtual HttpCounts counts() const = 0;
  // Accepts no more, ends the streams, answers what is being asked; after `grace`, cuts what is
  // left. False: a handler is still at work and cannot be cut. The destructor waits for it; who
  // cannot wait must end the process instead.
  virtual bool stop(std::chrono::milliseconds grace) = 0;
};

}  // namespace genscope::serve
