// A chain of asynchronous reads and writes on one thread, so nothing here needs a lock. Each state
// has a time of its own: idle until a request begins, then one time for the whole of it, however
// slowly its bytes drip; none while the handler works; one for each write.
//
// Whoever is refused may still be sending, and a reset would destroy the answer on its way: so its
// bytes are read and forgotten for a second, or a quarter of a megabyte.
#include "serve/connection.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/write.hpp>
#include <boost/beast/http/status.hpp>
#include <cerrno>

#include "serve/url.h"

namespace genscope::serve {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// Who is refused may still be sending: what comes is read and forgotten for a while, since a reset
// connection would take the answer away from the client.
constexpr std::chrono::milliseconds kDiscardTime{1000};
constexpr std::size_t kDiscardBytes = 256u << 10;

// A header field is one line, whatever a name holds that went into it.
std::string one_line(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return out;
}

std::string head_of(const HttpResponse& response, bool keep_alive) {
  const auto reason =
      boost::beast::http::obsolete_reason(static_cast<boost::beast::http::status>(response.status));
  std::string head =
      fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\n", response.status,
                  std::string_view(reason.data(), reason.size()), one_line(response.type));
  for (const auto& [name, value] : response.headers) {
    head += fmt::format("{}: {}\r\n", name, one_line(value));
  }
  if (response.stream.empty()) head += fmt::format("Content-Length: {}\r\n", response.body.size());
  return head + (keep_alive ? "\r\n" : "Connection: close\r\n\r\n");
}

}  // namespace

Connection::Connection(asio::ip::tcp::socket socket, ConnectionHost& host)
    : stream_(std::move(socket)),
      host_(host),
      reader_(host.limits.header_bytes, host.limits.body_bytes) {}

void Connection::read() {
  busy = false;
  host_.idle(*this);
  proceed(reader_.next());
}

// The first byte may take as long as a browser keeps a connection; a request then has to come in
// one go, however slowly its bytes drip.
void Connection::proceed(RequestReader::State state) {
  if (closed_) return;
  if (state == RequestReader::State::refused) {
    host_.refused++;
    return refuse(reader_.refusal());
  }
  if (state == RequestReader::State::request) {
    busy = true;
    stream_.expires_never();  // while the handler works
    host_.requests++;
    last_event_ = parse_number(reader_.request().header("last-event-id"));
    return host_.ask(shared_from_this(), std::move(reader_.request()), reader_.keep_alive());
  }
  if (!reader_.begun()) {
    stream_.expires_after(host_.limits.idle);
  } else if (!busy) {
    busy = true;
    stream_.expires_after(host_.limits.read);
  }
  const std::span<char> room = reader_.room();
  stream_.async_read_some(asio::buffer(room.data(), room.size()),
                          [self = shared_from_this()](error_code error, std::size_t n) {
                            // Whoever is gone, or took too long, gets no answer.
                            if (error) return self->close();
                            self->proceed(self->reader_.take(n));
                          });
}

void Connection::refuse(HttpResponse response) {
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  response.headers.emplace_back("Cache-Control", "no-store");
  answer(std::move(response), false, false);
}

// While a handler works nothing is read, so that a client cannot fill our memory; but the end of
// the connection shows as readable without bytes. Bytes are its next request: they wait, and from
// then on its leaving is not seen.
std::stop_token Connection::watch() {
  gone_ = std::stop_source();
  stream_.socket().async_wait(asio::ip::tcp::socket::wait_read,
                              [self = shared_from_this(), number = ++watched_](error_code error) {
                                if (error || self->closed_ || self->watched_ != number) return;
                                if (!self->gone_.stop_possible()) return;  // answered meanwhile
                                char byte = 0;
                                const ssize_t n = recv(self->stream_.socket().native_handle(),
                                                       &byte, 1, MSG_PEEK | MSG_DONTWAIT);
                                if (n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK))
                                  self->close();
                              });
  return gone_.get_token();
}

void Connection::answer(HttpResponse response, bool keep_alive, bool head_only) {
  if (closed_) return;
  if (gone_.stop_possible()) {
    gone_ = std::stop_source(std::nostopstate);
    error_code ignored;
    stream_.socket().cancel(ignored);  // nothing else is under way
  }
  busy = true;
  if (!response.stream.empty() && !head_only) {
    if (host_.takes_streams()) return begin_stream(response);
    return refuse({.status = 503, .body = "too many streams; try again\n"});
  }
  write(std::move(response), keep_alive && !host_.stopping(), head_only);
}

void Connection::write(HttpResponse response, bool keep_alive, bool head_only) {
  head_ = head_of(response, keep_alive);
  body_ = head_only ? std::string() : std::move(response.body);
  const std::size_t bytes = body_.size();
  host_.sending_bytes += bytes;
  stream_.expires_after(host_.limits.write);
  const std::array<asio::const_buffer, 2> parts = {asio::buffer(head_), asio::buffer(body_)};
  asio::async_write(stream_, parts,
                    [self = shared_from_this(), bytes, keep_alive](error_code error, std::size_t) {
                      self->host_.sending_bytes -= bytes;
                      self->body_ = std::string();
                      if (error) return self->close();
                      keep_alive ? self->read() : self->finish();
                    });
}

// Only the head: the events follow when there are some.
void Connection::begin_stream(const HttpResponse& response) {
  head_ = head_of(response, false);
  writing_ = true;
  stream_.expires_after(host_.limits.write);
  asio::async_write(stream_, asio::buffer(head_),
                    [self = shared_from_this(), name = response.stream, begun = response.streams](
                        error_code error, std::size_t) {
                      if (error || self->closed_) return self->close();
                      self->writing_ = false;
                      self->host_.subscribe(self, name, self->last_event_);
                      if (begun) self->host_.work(begun);
                      self->write_events();
                    });
}

void Connection::push(EventText event) {
  if (closed_) return;
  const bool many = events_.size() >= host_.limits.stream_events;
  const bool large = !events_.empty() && event_bytes_ + event->size() > host_.limits.stream_bytes;
  if (many || large) {
    host_.slow_readers++;
    return close();
  }
  event_bytes_ += event->size();
  events_.push_back(std::move(event));
  write_events();
}

void Connection::write_events() {
  if (writing_ || closed_ || channel.empty()) return;
  if (events_.empty()) {
    if (ending_) return finish();
    stream_.expires_never();
    return;
  }
  writing_ = true;
  const EventText event = events_.front();
  stream_.expires_after(host_.limits.write);
  asio::async_write(stream_, asio::buffer(*event),
                    [self = shared_from_this(), event](error_code error, std::size_t) {
                      self->writing_ = false;
                      if (error) return self->close();
                      if (!self->events_.empty()) self->events_.pop_front();
                      self->event_bytes_ -= event->size();
                      self->write_events();
                    });
}

void Connection::finish() {
  if (closed_) return;
  busy = false;
  error_code failed;
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, failed);
  if (failed || host_.stopping()) return close();
  stream_.expires_after(kDiscardTime);
  discard(kDiscardBytes);
}

void Connection::discard(std::size_t left) {
  if (closed_) return;
  body_.resize(4096);
  stream_.async_read_some(asio::buffer(body_),
                          [self = shared_from_this(), left](error_code error, std::size_t n) {
                            if (error || n >= left) return self->close();
                            self->discard(left - n);
                          });
}

void Connection::close() {
  if (closed_) return;
  closed_ = true;
  error_code ignored;
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  stream_.close();
  host_.gone(*this);
  gone_.request_stop();
}

void Connection::end_when_idle() {
  if (!busy || !channel.empty()) close();
}

void Connection::end_when_sent() {
  ending_ = true;
  write_events();
}

}  // namespace genscope::serve
