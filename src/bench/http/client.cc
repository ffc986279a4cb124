// The only file here that includes Asio and Beast.
//
// A request takes the connection that was used last (so that few are open), or a new one, or waits
// for one. It is written in one piece. Answers are read into a buffer and handed to Beast's parser
// as they come, so that the time of the first byte, and of each event of an event stream, is the
// time at which the read returned.
//
// A server may close a connection that idles, at any moment. One that is closed already is seen by
// a peek before it is used. One that is closed while we send, after it has idled a second, is the
// same, a little later: such a request is sent again on a new connection. Anything else that breaks
// is a failure of the request, for it may be the server's.
//
// For https a TLS stream lies on top of the same socket: it is made, and the server's certificate
// checked, as a part of connecting. Each connection makes a whole handshake, as most clients do.
// That takes both sides a millisecond of CPU time: were one begun for every request that finds no
// idle connection, a short stall would make hundreds, and they a long one. So at most as many are
// under way as connections are open, eight at least; who finds none waits for the first that is
// free, old or new. The number doubles with each handshake time where it has to.
#include "bench/http/client.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <deque>
#include <set>

#include <genscope/version.h>

#include "base/clock.h"
#include "bench/http/event_stream.h"
#include "bench/http/tls.h"

namespace genscope::bench::wire {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using boost::system::error_code;
using Tls = asio::ssl::stream<beast::tcp_stream&>;
using Steady = std::chrono::steady_clock;  // CLOCK_MONOTONIC

constexpr std::size_t kReadAtOnce = 64u << 10;
constexpr std::uint32_t kHeaderBytes = 64u << 10;
constexpr std::int64_t kIdleMayClose = 1'000'000'000;
constexpr std::size_t kSpareFiles = 64;
constexpr std::size_t kHandshakes = 8;

Steady::time_point time_point(std::int64_t ns) {
  return Steady::time_point(std::chrono::nanoseconds(ns));
}

std::size_t within_file_limit(std::size_t wanted) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return wanted;
  if (files.rlim_cur < files.rlim_max && files.rlim_cur < wanted + kSpareFiles) {
    files.rlim_cur = std::min<rlim_t>(files.rlim_max, wanted + kSpareFiles);
    setrlimit(RLIMIT_NOFILE, &files);
    getrlimit(RLIMIT_NOFILE, &files);
  }
  const rlim_t left = files.rlim_cur > kSpareFiles ? files.rlim_cur - kSpareFiles : 1;
  return std::max<std::size_t>(1, std::min<std::size_t>(wanted, left));
}

std::string bytes_of(const Outgoing& request, const std::string& authority) {
  const bool has_host =  // behind a proxy the user says it
      std::any_of(request.headers.begin(), request.headers.end(),
                  [](const auto& header) { return beast::iequals(header.first, "host"); });
  std::string out = fmt::format("{} {} HTTP/1.1\r\n", request.method, request.target);
  if (!has_host) out += fmt::format("Host: {}\r\n", authority);
  out += fmt::format("User-Agent: genscope/{}\r\n", GENSCOPE_VERSION_STRING);
  for (const auto& [name, value] : request.headers) out += fmt::format("{}: {}\r\n", name, value);
  if (!request.body.empty() || request.method == "POST" || request.method == "PUT") {
    out += fmt::format("Content-Length: {}\r\n", request.body.size());
  }
  return out + "\r\n" + request.body;
}

struct Exchange {
  std::string bytes;
  std::int64_t deadline_ns = 0;
  Client::Answered done;
  Reply reply;
  bool again = false;  // it was sent on a connection that the server had closed
};

class Pool;

// One connection and the exchange that it is at.
class Line : public std::enable_shared_from_this<Line> {
 public:
  Line(asio::io_context& io, Pool& pool) : stream_(io), pool_(pool) {}

  void begin(std::unique_ptr<Exchange> exchange);
  void cancel();
  bool alive();
  bool was_connected() const noexcept { return was_connected_; }
  void close() {
    error_code ignored;
    stream_.socket().close(ignored);
  }

 private:
  void connect();
  void shake_hands();
  void connected();
  template <class Act>
  void on_stream(Act&& act);
  void send();
  void read();
  void take();
  void follow();
  void end(std::optional<Failure> failure, bool keep);
  void broke(const char* doing, const error_code& error);

  beast::tcp_stream stream_;
  std::optional<Tls> tls_;  // on top of stream_; anew for each connection
  Pool& pool_;
  std::unique_ptr<Exchange> now_;
  beast::flat_buffer buffer_;
  std::optional<http::response_parser<http::string_body>> parser_;
  std::optional<EventStreamReader> events_;
  std::int64_t idle_since_ns_ = 0;
  bool connected_ = false, was_connected_ = false, reused_ = false, cancelled_ = false;
};

class Pool final : public Client {
 public:
  Pool(const Address& address, const ClientOptions& options)
      : options_(options),
        authority_(address.authority()),
        host_(address.host),
        most_(within_file_limit(options.connections)) {}
  ~Pool() override {
    for (const auto& line : idle_) line->close();
  }

  Status look_up(const Address& address);
  Status prepare_tls(const TlsOptions& options);
  void ask(Outgoing request, std::int64_t deadline_ns, Answered done) override;
  void at(std::int64_t time_ns, std::function<void()> act) override;
  void run() override {
    io_.restart();
    io_.run();
  }
  void stop() override { io_.stop(); }
  void post(std::function<void()> act) override { asio::post(io_, std::move(act)); }
  void cancel() override;
  std::size_t open_connections() const noexcept override { return busy_.size() + idle_.size(); }
  std::size_t most_connections() const noexcept override { return most_; }

  void begin(std::unique_ptr<Exchange> exchange);
  void finished(const std::shared_ptr<Line>& line, std::unique_ptr<Exchange> exchange, bool keep);
  void connected();  // one of those that connect is there

  const ClientOptions& options() const noexcept { return options_; }
  const tcp::resolver::results_type& places() const noexcept { return places_; }
  asio::ssl::context* tls() noexcept { return tls_ ? &*tls_ : nullptr; }  // null: plain http
  const std::string& host() const noexcept { return host_; }

 private:
  void begin_waiting();
  bool may_connect() const {
    const std::size_t open = busy_.size() - connecting_ + idle_.size();
    return busy_.size() < most_ && (!tls_ || connecting_ < std::max(kHandshakes, open));
  }

  const ClientOptions options_;
  const std::string authority_, host_;
  const std::size_t most_;
  asio::io_context io_{1};
  std::optional<asio::ssl::context> tls_;
  tcp::resolver::results_type places_;
  std::vector<std::shared_ptr<Line>> idle_;  // used last at the end
  std::set<std::shared_ptr<Line>> busy_;     // connecting ones, too
  std::size_t connecting_ = 0;
  std::deque<std::unique_ptr<Exchange>> waiting_;
};

// ---- one connection

void Line::begin(std::unique_ptr<Exchange> exchange) {
  now_ = std::move(exchange);
  reused_ = connected_;
  buffer_.clear();
  events_.reset();
  parser_.emplace();
  parser_->eager(true);
  parser_->header_limit(kHeaderBytes);
  parser_->body_limit(pool_.options().body_limit_bytes);
  stream_.expires_at(time_point(now_->deadline_ns));
  now_->reply.began_ns = base::monotonic_ns();
  connected_ ? send() : connect();
}

void Line::connect() {
  stream_.async_connect(pool_.places(), [self = shared_from_this()](error_code error, const auto&) {
    if (error) return self->broke("connect", error);
    error_code ignored;
    tcp::socket& socket = self->stream_.socket();
    fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
    socket.set_option(tcp::no_delay(true), ignored);
    self->pool_.tls() != nullptr ? self->shake_hands() : self->connected();
  });
}

void Line::shake_hands() {
  tls_.emplace(stream_, *pool_.tls());
  if (const Status fine = expect_host(tls_->native_handle(), pool_.host()); !fine) {
    return end(Failure{FailureClass::http_error, fine.error().message}, false);
  }
  tls_->async_handshake(Tls::client, [self = shared_from_this()](error_code error) {
    if (!error) return self->connected();
    const std::string why = mistrust(self->tls_->native_handle());
    if (why.empty()) return self->broke("agree on TLS", error);
    self->end(Failure{FailureClass::http_error, why}, false);
  });
}

void Line::connected() {
  connected_ = was_connected_ = true;
  now_->reply.connected_ns = base::monotonic_ns();
  send();
  pool_.connected();
}

template <class Act>
void Line::on_stream(Act&& act) {
  tls_ ? act(*tls_) : act(stream_);
}

void Line::send() {
  if (cancelled_) return end(Failure{FailureClass::cancelled, "cancelled"}, false);
  const auto sent = [self = shared_from_this()](error_code error, std::size_t) {
    if (error) return self->broke("send", error);
    self->now_->reply.sent_ns = base::monotonic_ns();
    self->read();
  };
  on_stream([&](auto& stream) { asio::async_write(stream, asio::buffer(now_->bytes), sent); });
}

void Line::read() {
  if (cancelled_) return end(Failure{FailureClass::cancelled, "cancelled"}, false);
  const auto came = [self = shared_from_this()](error_code error, std::size_t n) {
    Reply& reply = self->now_->reply;
    if (n > 0 && reply.first_byte_ns == 0) reply.first_byte_ns = base::monotonic_ns();
    self->buffer_.commit(n);
    if (error == asio::error::eof && self->parser_->got_some()) {
      error_code wrong;
      self->parser_->put_eof(wrong);
      if (!wrong && self->parser_->is_done()) return self->end(std::nullopt, false);
    }
    if (error) return self->broke("receive", error);
    self->take();
  };
  on_stream([&](auto& stream) { stream.async_read_some(buffer_.prepare(kReadAtOnce), came); });
}

void Line::take() {
  while (buffer_.size() > 0 && !parser_->is_done()) {
    error_code error;
    buffer_.consume(parser_->put(buffer_.data(), error));
    if (error == http::error::need_more) break;
    if (error == http::error::body_limit) {
      return end(Failure{FailureClass::bad_output, fmt::format("the answer is larger than {} bytes",
                                                               pool_.options().body_limit_bytes)},
                 false);
    }
    if (error) {
      return end(Failure{FailureClass::bad_output, "the answer is not HTTP: " + error.message()},
                 false);
    }
  }
  if (parser_->is_header_done()) follow();
  if (!now_) return;
  if (!parser_->is_done()) return read();
  end(std::nullopt, parser_->keep_alive() && buffer_.size() == 0);
}

// Events are taken out of the body as they come.
void Line::follow() {
  Reply& reply = now_->reply;
  if (reply.status == 0) {
    reply.status = static_cast<int>(parser_->get().result_int());
    reply.type = parser_->get()[http::field::content_type];
    reply.event_stream = beast::iequals(
        beast::string_view(reply.type).substr(0, std::string_view("text/event-stream").size()),
        "text/event-stream");
    if (reply.event_stream) events_.emplace(pool_.options().body_limit_bytes);
  }
  if (!events_) return;
  std::string& body = parser_->get().body();
  const std::int64_t now = base::monotonic_ns();
  const bool fits = events_->take(body, [&](std::string data) {
    reply.events.push_back({now, std::move(data)});
  });
  reply.bytes += body.size();
  body.clear();
  if (!fits || reply.bytes > pool_.options().body_limit_bytes) {
    end(Failure{FailureClass::bad_output, fmt::format("the event stream is larger than {} bytes",
                                                      pool_.options().body_limit_bytes)},
        false);
  }
}

void Line::broke(const char* doing, const error_code& error) {
  if (cancelled_) return end(Failure{FailureClass::cancelled, "cancelled"}, false);
  if (error == beast::error::timeout) {
    const char* const until = doing == std::string_view("connect") ? "no connection"
                              : now_->reply.first_byte_ns == 0     ? "no answer"
                                                                   : "the answer did not end";
    return end(Failure{FailureClass::timeout, fmt::format("{} within the time limit", until)},
               false);
  }
  const bool was_closed = reused_ && now_->reply.first_byte_ns == 0 && !now_->again &&
                          now_->reply.began_ns - idle_since_ns_ >= kIdleMayClose;
  if (was_closed) {
    now_->again = true;
    const std::int64_t began = now_->reply.began_ns;
    now_->reply = Reply{};
    now_->reply.began_ns = began;
    auto exchange = std::move(now_);
    const auto self = shared_from_this();
    pool_.finished(self, nullptr, false);
    return pool_.begin(std::move(exchange));
  }
  const bool dropped = error == asio::error::eof || error == asio::error::connection_reset ||
                       error == asio::error::broken_pipe ||
                       error == asio::ssl::error::stream_truncated;
  end(Failure{FailureClass::http_error,
              dropped ? fmt::format("the server closed the connection {}",
                                    now_->reply.first_byte_ns == 0 ? "without an answer"
                                                                   : "before the answer ended")
                      : fmt::format("cannot {}: {}", doing, error.message())},
      false);
}

void Line::end(std::optional<Failure> failure, bool keep) {
  if (!now_) return;
  Reply& reply = now_->reply;
  reply.done_ns = base::monotonic_ns();
  if (reply.status == 0 && parser_->is_header_done()) {
    reply.status = static_cast<int>(parser_->get().result_int());
  }
  if (!reply.event_stream && parser_->is_header_done()) {
    reply.body = std::move(parser_->get().body());
    reply.bytes = reply.body.size();
  }
  reply.failure = std::move(failure);
  stream_.expires_never();
  idle_since_ns_ = reply.done_ns;
  keep = keep && !cancelled_;
  if (!keep) {
    connected_ = false;
    close();
  }
  pool_.finished(shared_from_this(), std::move(now_), keep);
}

void Line::cancel() {
  cancelled_ = true;
  stream_.cancel();
}

// Nothing waits to be read: neither the end nor bytes that nobody asked for.
bool Line::alive() {
  char byte = 0;
  const auto n = recv(stream_.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

// ---- all of them

Status Pool::look_up(const Address& address) {
  error_code error;
  tcp::resolver resolver(io_);
  places_ = resolver.resolve(address.host, std::to_string(address.port),
                             tcp::resolver::numeric_service, error);
  if (!error && !places_.empty()) return Done{};
  return Error{ErrorCode::not_found, fmt::format("{}: no such host: {}; check the address",
                                                 address.host, error.message())};
}

Status Pool::prepare_tls(const TlsOptions& options) {
  const Result<ssl_ctx_st*> made = new_tls_context(options);
  if (!made) return made.error();
  tls_.emplace(*made);  // it owns it
  return Done{};
}

void Pool::ask(Outgoing request, std::int64_t deadline_ns, Answered done) {
  auto exchange = std::make_unique<Exchange>();
  exchange->bytes = bytes_of(request, authority_);
  exchange->deadline_ns = deadline_ns;
  exchange->done = std::move(done);
  begin(std::move(exchange));
}

void Pool::begin(std::unique_ptr<Exchange> exchange) {
  while (!idle_.empty()) {
    std::shared_ptr<Line> line = std::move(idle_.back());
    idle_.pop_back();
    if (!line->alive()) {
      line->close();
      continue;
    }
    busy_.insert(line);
    return line->begin(std::move(exchange));
  }
  if (!may_connect()) {
    waiting_.push_back(std::move(exchange));
    return;
  }
  const auto line = std::make_shared<Line>(io_, *this);
  busy_.insert(line);
  ++connecting_;
  line->begin(std::move(exchange));
}

void Pool::finished(const std::shared_ptr<Line>& line, std::unique_ptr<Exchange> exchange,
                    bool keep) {
  busy_.erase(line);
  if (!line->was_connected()) --connecting_;
  if (keep) {
    idle_.push_back(line);
  } else {
    line->close();
  }
  if (exchange) exchange->done(std::move(exchange->reply));
  begin_waiting();
}

void Pool::connected() {
  --connecting_;
  begin_waiting();
}

void Pool::begin_waiting() {
  while (!waiting_.empty() && (!idle_.empty() || may_connect())) {
    std::unique_ptr<Exchange> next = std::move(waiting_.front());
    waiting_.pop_front();
    if (base::monotonic_ns() < next->deadline_ns) {
      begin(std::move(next));
      continue;
    }
    next->reply.began_ns = next->reply.done_ns = base::monotonic_ns();
    next->reply.failure =
        Failure{FailureClass::timeout, "no free connection within the time limit"};
    next->done(std::move(next->reply));
  }
}

void Pool::at(std::int64_t time_ns, std::function<void()> act) {
  auto timer = std::make_shared<asio::steady_timer>(io_, time_point(time_ns));
  timer->async_wait([timer, act = std::move(act)](error_code error) {
    if (!error) act();
  });
}

void Pool::cancel() {
  auto waiting = std::move(waiting_);
  waiting_.clear();
  for (const auto& line : busy_) line->cancel();
  for (const auto& exchange : waiting) {
    exchange->reply.began_ns = exchange->reply.done_ns = base::monotonic_ns();
    exchange->reply.failure = Failure{FailureClass::cancelled, "cancelled"};
    exchange->done(std::move(exchange->reply));
  }
}

}  // namespace
}  // namespace genscope::bench::wire

namespace genscope::bench {

ClientOptions client_options(const HttpOptions& http) {
  return {.connections = http.connections,
          .body_limit_bytes = http.body_limit_bytes,
          .tls = {.ca_file = http.ca_file, .insecure = http.insecure}};
}

Result<std::unique_ptr<Client>> Client::open(const Address& address, const ClientOptions& options) {
  auto pool = std::make_unique<wire::Pool>(address, options);
  if (const Status found = pool->look_up(address); !found) return found.error();
  if (address.tls) {
    if (const Status fine = pool->prepare_tls(options.tls); !fine) return fine.error();
  }
  return std::unique_ptr<Client>(std::move(pool));
}

}  // namespace genscope::bench
