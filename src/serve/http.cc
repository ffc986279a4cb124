#include "serve/http.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <deque>
#include <list>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "serve/url.h"

namespace genscope::serve {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using Trouble = boost::system::error_code;

using Text = std::shared_ptr<const std::string>;

// A command that `genscope run` starts must not hold our sockets open.
void keep_from_children(int descriptor) { fcntl(descriptor, F_SETFD, FD_CLOEXEC); }

// What has been said on one channel lately.
struct Channel {
  std::uint64_t next = 1;
  std::deque<std::pair<std::uint64_t, Text>> recent;
};

class Connection;

// All of it belongs to the server's own thread, but for the atomics.
class Server final : public HttpServer {
 public:
  Server(const HttpOptions& options, HttpHandler handler)
      : limits(options.limits), handler_(std::move(handler)), acceptor_(io_) {}
  ~Server() override { stop(std::chrono::milliseconds(0)); }

  Status open(const HttpOptions& options);
  std::uint16_t port() const noexcept override { return port_; }
  void publish(const std::string& channel, const std::string& name, std::string data) override;
  std::size_t readers(const std::string& channel) const override;
  void close_channel(const std::string& channel) override;
  HttpCounts counts() const override;
  void stop(std::chrono::milliseconds grace) override;

  // --- for connections
  void ask(const std::shared_ptr<Connection>& connection, HttpRequest request);
  void subscribe(const std::shared_ptr<Connection>& connection, const std::string& channel,
                 std::uint64_t after);
  void work(std::function<void()> task) { asio::post(workers_, std::move(task)); }
  void gone(Connection& connection);
  void idle(Connection& connection);  // it waits for its next request from now on
  bool stopping() const noexcept { return stopping_; }

  const HttpLimits limits;
  std::atomic<std::uint64_t> accepted{0}, requests{0}, refused{0}, evicted{0}, slow_readers{0};

 private:
  void accept();
  void evict();

  HttpHandler handler_;
  asio::io_context io_{1};
  asio::thread_pool workers_{1};
  tcp::acceptor acceptor_;
  asio::steady_timer pause_{io_};
  std::thread thread_;
  std::uint16_t port_ = 0;
  std::atomic<bool> stopping_{false};
  std::atomic<std::size_t> connection_count_{0}, stream_count_{0}, waiting_{0};
  std::list<std::shared_ptr<Connection>> connections_;  // longest idle first
  std::map<std::string, Channel> channels_;
  mutable std::mutex reader_mutex_;
  std::map<std::string, std::size_t> reader_counts_;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, Server& server) : stream_(std::move(socket)), server_(server) {}

  void read();
  void answer(HttpResponse response, bool keep_alive, bool head_only);
  void push(Text event);
  void close();
  void end_when_idle();
  void end_when_sent();  // closes after the events that wait

  std::list<std::shared_ptr<Connection>>::iterator place;
  std::string channel;  // not empty: an event stream
  bool busy = false;    // a request is being answered

 private:
  void on_request(Trouble error);
  void write_events();
  void refuse(int status, std::string why);

  beast::tcp_stream stream_;
  Server& server_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::optional<http::response<http::string_body>> response_;
  std::deque<Text> events_;
  bool writing_ = false, ending_ = false, closed_ = false;
};

// --- connection

void Connection::read() {
  busy = false;
  parser_.emplace();
  parser_->header_limit(server_.limits.header_bytes);
  parser_->body_limit(server_.limits.body_bytes);
  server_.idle(*this);
  // The first byte may take as long as a browser keeps a connection; a request then has to come in
  // one go, however slowly its bytes drip.
  const bool fresh = buffer_.size() == 0;
  stream_.expires_after(fresh ? server_.limits.idle : server_.limits.read);
  auto self = shared_from_this();
  const auto whole = [self](Trouble error) {
    if (error) return self->on_request(error);
    self->busy = true;
    self->stream_.expires_after(self->server_.limits.read);
    http::async_read(self->stream_, self->buffer_, *self->parser_,
                     [self](Trouble e, std::size_t) { self->on_request(e); });
  };
  if (!fresh) return whole({});
  stream_.async_read_some(buffer_.prepare(4096), [self, whole](Trouble error, std::size_t n) {
    self->buffer_.commit(n);
    whole(error);
  });
}

void Connection::on_request(Trouble error) {
  busy = true;
  if (error == http::error::header_limit) return refuse(431, "the header is too large");
  if (error == http::error::body_limit) return refuse(413, "the body is too large");
  // Whoever is gone, or took too long, gets no answer.
  const bool of_http =
      error.category() == http::make_error_code(http::error::bad_target).category();
  if (error == http::error::end_of_stream || error == http::error::partial_message ||
      (error && !of_http)) {
    return close();
  }
  if (error) return refuse(400, "this is not HTTP");
  auto& message = parser_->get();
  HttpRequest request;
  request.method = std::string(message.method_string());
  std::optional<Target> target = parse_target(std::string_view(message.target()));
  if (!target) return refuse(400, "the address is malformed");
  request.path = std::move(target->path);
  request.query = std::move(target->query);
  for (const auto& field : message) {
    std::string key(field.name_string());
    for (char& c : key) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    request.headers.emplace(std::move(key), std::string(field.value()));
  }
  stream_.expires_never();  // while the handler works
  server_.requests++;
  server_.ask(shared_from_this(), std::move(request));
}

void Connection::refuse(int status, std::string why) {
  server_.refused++;
  answer({.status = status, .body = why + "\n"}, false, false);
}

void Connection::answer(HttpResponse response, bool keep_alive, bool head_only) {
  if (closed_) return;
  const bool streams = !response.stream.empty();
  keep_alive = keep_alive && !streams && !server_.stopping();
  response_.emplace(static_cast<http::status>(response.status), 11);
  response_->set(http::field::content_type, response.type);
  for (const auto& [name, value] : response.headers) response_->set(name, value);
  response_->keep_alive(keep_alive);
  if (streams) {
    response_->set(http::field::cache_control, "no-store");
    response_->body() = "";
  } else {
    response_->content_length(response.body.size());
    if (!head_only) response_->body() = std::move(response.body);
  }
  stream_.expires_after(server_.limits.write);
  auto self = shared_from_this();
  const auto done = [self, keep_alive, streams, channel_name = response.stream,
                     begun = std::move(response.streams),
                     after = parser_ && parser_->is_done()
                                 ? std::string(parser_->get()["Last-Event-ID"])
                                 : std::string()](Trouble error, std::size_t) {
    if (error || (!keep_alive && !streams)) return self->close();
    if (!streams) return self->read();
    self->writing_ = false;
    self->server_.subscribe(self, channel_name, parse_number(after));
    if (begun) self->server_.work(begun);
    self->write_events();
  };
  if (streams || head_only) {
    // Only the head: the events follow when there are some, or nothing does.
    auto head = std::make_shared<http::response<http::empty_body>>();
    head->base() = response_->base();
    auto serializer = std::make_shared<http::response_serializer<http::empty_body>>(*head);
    writing_ = true;
    http::async_write_header(stream_, *serializer,
                             [done, head, serializer](Trouble e, std::size_t n) { done(e, n); });
    return;
  }
  http::async_write(stream_, *response_, done);
}

void Connection::push(Text event) {
  if (closed_) return;
  if (events_.size() >= server_.limits.stream_events) {
    server_.slow_readers++;
    return close();
  }
  events_.push_back(std::move(event));
  write_events();
}

void Connection::write_events() {
  if (writing_ || closed_ || channel.empty()) return;
  auto self = shared_from_this();
  if (events_.empty()) {
    if (ending_) return close();
    stream_.expires_never();
    return;
  }
  writing_ = true;
  const Text event = events_.front();
  stream_.expires_after(server_.limits.write);
  asio::async_write(stream_, asio::buffer(*event), [self, event](Trouble error, std::size_t) {
    self->writing_ = false;
    if (error) return self->close();
    if (!self->events_.empty()) self->events_.pop_front();
    self->write_events();
  });
}

void Connection::close() {
  if (closed_) return;
  closed_ = true;
  Trouble ignored;
  stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
  stream_.close();
  server_.gone(*this);
}

void Connection::end_when_idle() {
  if (!busy || !channel.empty()) close();
}

void Connection::end_when_sent() {
  ending_ = true;
  write_events();
}

// --- server

Status Server::open(const HttpOptions& options) {
  const auto failed = [&](const char* what, const Trouble& error) {
    return Error{ErrorCode::io,
                 fmt::format("cannot {} {} port {}: {}; choose another --address or --port", what,
                             options.address, options.port, error.message())};
  };
  Trouble error;
  const asio::ip::address address = asio::ip::make_address(options.address, error);
  if (error) return failed("understand the address", error);
  const tcp::endpoint endpoint(address, options.port);
  acceptor_.open(endpoint.protocol(), error);
  keep_from_children(acceptor_.native_handle());
  if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error) return failed("listen on", error);
  port_ = acceptor_.local_endpoint().port();
  accept();
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "genscope-http");
    io_.run();
  });
  return Done{};
}

void Server::accept() {
  acceptor_.async_accept([this](Trouble error, tcp::socket socket) {
    if (stopping_ || error == asio::error::operation_aborted) return;
    if (error) {  // out of descriptors: the longest idle gives way, and we breathe before the next
      evict();
      pause_.expires_after(std::chrono::milliseconds(10));
      pause_.async_wait([this](Trouble) { accept(); });
      return;
    }
    accepted++;
    keep_from_children(socket.native_handle());
    if (connections_.size() >= limits.connections) evict();
    auto connection = std::make_shared<Connection>(std::move(socket), *this);
    connections_.push_back(connection);
    connection->place = std::prev(connections_.end());
    connection_count_ = connections_.size();
    connection->read();
    accept();
  });
}

// Closes the connection that has idled longest; if none idles, the oldest that is not a stream.
void Server::evict() {
  for (const bool busy : {false, true}) {
    for (const auto& connection : connections_) {
      if (connection->busy != busy || !connection->channel.empty()) continue;
      evicted++;
      const auto kept = connection;  // close() takes it out of the list
      return kept->close();
    }
  }
}

void Server::idle(Connection& connection) {
  connections_.splice(connections_.end(), connections_, connection.place);
}

void Server::gone(Connection& connection) {
  if (!connection.channel.empty()) {
    stream_count_--;
    const std::lock_guard lock(reader_mutex_);
    reader_counts_[connection.channel]--;
  }
  connections_.erase(connection.place);
  connection_count_ = connections_.size();
}

void Server::ask(const std::shared_ptr<Connection>& connection, HttpRequest request) {
  if (waiting_ >= limits.waiting_requests) {
    refused++;
    return connection->answer({.status = 503, .body = "busy; try again\n"}, false, false);
  }
  waiting_++;
  asio::post(workers_, [this, connection, request = std::move(request)] {
    HttpResponse response;
    try {
      response = handler_(request);
    } catch (const std::exception& error) {
      response = {.status = 500, .body = std::string("this went wrong: ") + error.what() + "\n"};
    }
    const auto found = request.headers.find("connection");
    const bool keep = found == request.headers.end() || found->second != "close";
    asio::post(io_, [this, connection, response = std::move(response), keep,
                     head = request.method == "HEAD"]() mutable {
      waiting_--;
      connection->answer(std::move(response), keep, head);
    });
  });
}

void Server::subscribe(const std::shared_ptr<Connection>& connection, const std::string& channel,
                       std::uint64_t after) {
  connection->channel = channel;
  stream_count_++;
  {
    const std::lock_guard lock(reader_mutex_);
    reader_counts_[channel]++;
  }
  if (after == 0) return;
  // What a reader who comes back has missed, as far as its queue takes it.
  const auto& recent = channels_[channel].recent;
  auto first = std::find_if(recent.begin(), recent.end(),
                            [&](const auto& event) { return event.first > after; });
  const auto room = static_cast<std::ptrdiff_t>(limits.stream_events);
  if (recent.end() - first > room) first = recent.end() - room;
  for (; first != recent.end(); ++first) connection->push(first->second);
}

void Server::publish(const std::string& channel, const std::string& name, std::string data) {
  asio::post(io_, [this, channel, name, data = std::move(data)] {
    Channel& to = channels_[channel];
    const std::uint64_t number = to.next++;
    const Text event = std::make_shared<const std::string>(
        fmt::format("id: {}\nevent: {}\ndata: {}\n\n", number, name, data));
    to.recent.emplace_back(number, event);
    while (to.recent.size() > limits.replay_events) to.recent.pop_front();
    for (auto it = connections_.begin(); it != connections_.end();) {
      const std::shared_ptr<Connection> connection = *it++;  // push() may take it out
      if (connection->channel == channel) connection->push(event);
    }
  });
}

std::size_t Server::readers(const std::string& channel) const {
  const std::lock_guard lock(reader_mutex_);
  const auto found = reader_counts_.find(channel);
  return found != reader_counts_.end() ? found->second : 0;
}

void Server::close_channel(const std::string& channel) {
  asio::post(io_, [this, channel] {
    channels_.erase(channel);
    for (auto it = connections_.begin(); it != connections_.end();) {
      const std::shared_ptr<Connection> connection = *it++;
      if (connection->channel == channel) connection->end_when_sent();
    }
  });
}

HttpCounts Server::counts() const {
  return {accepted, requests, refused, evicted, slow_readers, connection_count_, stream_count_};
}

void Server::stop(std::chrono::milliseconds grace) {
  if (!thread_.joinable()) return;
  stopping_ = true;
  asio::post(io_, [this] {
    Trouble ignored;
    acceptor_.close(ignored);
    for (auto it = connections_.begin(); it != connections_.end();) {
      const std::shared_ptr<Connection> connection = *it++;
      connection->end_when_idle();
    }
  });
  const auto deadline = std::chrono::steady_clock::now() + grace;
  while (connection_count_ > 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  workers_.join();
  asio::post(io_, [this] {
    while (!connections_.empty()) {
      const std::shared_ptr<Connection> connection = connections_.front();
      connection->close();
    }
    pause_.cancel();
  });
  thread_.join();
}

}  // namespace

const std::string& HttpRequest::header(const std::string& name) const {
  static const std::string kNone;
  const auto found = headers.find(name);
  return found != headers.end() ? found->second : kNone;
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(const HttpOptions& options,
                                                      HttpHandler handler) {
  auto server = std::make_unique<Server>(options, std::move(handler));
  if (const Status opened = server->open(options); !opened) return opened.error();
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace genscope::serve
