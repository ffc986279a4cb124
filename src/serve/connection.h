// One connection: reads requests, writes answers and events, each within its time. All of it runs
// on the server's own thread.
#pragma once

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <stop_token>
#include <string>

#include "serve/http.h"
#include "serve/request.h"

namespace genscope::serve {

class Connection;
using ConnectionList = std::list<std::shared_ptr<Connection>>;
using EventText = std::shared_ptr<const std::string>;

// What connections need of their server.
class ConnectionHost {
 public:
  explicit ConnectionHost(const HttpLimits& given) : limits(given) {}
  virtual ~ConnectionHost() = default;
  virtual void ask(const std::shared_ptr<Connection>& connection, HttpRequest request,
                   bool keep_alive) = 0;
  virtual bool takes_streams() const noexcept = 0;  // or has as many as it bears
  // Events reach `connection` from now on, and those after number `after` that are kept.
  virtual void subscribe(const std::shared_ptr<Connection>& connection, const std::string& channel,
                         std::uint64_t after) = 0;
  virtual void work(std::function<void()> task) = 0;
  virtual void gone(Connection& connection) = 0;
  virtual void idle(Connection& connection) = 0;  // it waits for its next request from now on
  virtual bool stopping() const noexcept = 0;

  const HttpLimits limits;
  std::atomic<std::uint64_t> accepted{0}, requests{0}, refused{0}, evicted{0}, slow_readers{0};
  std::atomic<std::size_t> sending_bytes{0};  // of answers that are being sent
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, ConnectionHost& host);

  void read();
  void answer(HttpResponse response, bool keep_alive, bool head_only);
  void refuse(HttpResponse response);  // and closes
  void push(EventText event);
  void close();
  // Watches for the client to leave until the answer is there. The token is of this request.
  std::stop_token watch();
  void end_when_idle();
  void end_when_sent();  // closes after the events that wait

  ConnectionList::iterator place;
  std::string channel;  // not empty: an event stream
  bool busy = false;    // a request has begun and is not answered

 private:
  void proceed(RequestReader::State state);
  void begin_stream(const HttpResponse& response);
  void write(HttpResponse response, bool keep_alive, bool head_only);
  void write_events();
  void finish();  // closes so that the answer is read
  void discard(std::size_t left);

  boost::beast::tcp_stream stream_;
  ConnectionHost& host_;
  RequestReader reader_;
  std::string head_, body_;       // being sent
  std::uint64_t last_event_ = 0;  // that the client has, it says
  std::deque<EventText> events_;
  std::size_t event_bytes_ = 0;
  std::stop_source gone_{std::nostopstate};  // of the request that is watched
  std::uint64_t watched_ = 0;                // counts requests that were watched
  bool writing_ = false, ending_ = false, closed_ = false;
};

}  // namespace genscope::serve
