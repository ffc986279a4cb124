// One thread owns all connections, three others do the work: one quick requests, two the slow ones.
// Each kind waits in a line of its own, of bounded length, so that a report that takes seconds
// delays no list of runs. What does not fit in its line is answered 503 at once.
//
// When connections run out the one that has idled longest gives way. The list is kept in that
// order: who turns idle goes to its end, so finding it costs nothing. Events of a channel are
// numbered and kept for a while, so that a reader who comes back is sent what it missed.
#include "serve/http.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <deque>
#include <filesystem>
#include <mutex>
#include <thread>

#include "serve/connection.h"

namespace genscope::serve {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using boost::system::error_code;
using std::chrono::milliseconds;

constexpr std::size_t kLeastConnections = 4;
constexpr milliseconds kOutOfDescriptors{20};  // until accept is tried again
constexpr milliseconds kCut{200};              // for threads to see that they are to end

// A command that `genscope run` starts must not hold our sockets open.
void keep_from_children(int descriptor) { fcntl(descriptor, F_SETFD, FD_CLOEXEC); }

// What the limit on open files leaves for connections: reading runs needs some of it too.
HttpLimits within_descriptors(HttpLimits limits) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return limits;
  std::error_code failed;
  const std::filesystem::directory_iterator open("/proc/self/fd", failed);
  const auto in_use = static_cast<std::uint64_t>(std::distance(begin(open), end(open)));
  const std::uint64_t taken = in_use + limits.spare_descriptors;
  const std::uint64_t left = files.rlim_cur > taken ? files.rlim_cur - taken : 0;
  limits.connections = static_cast<std::size_t>(std::clamp<std::uint64_t>(
      left, kLeastConnections, std::max(limits.connections, kLeastConnections)));
  return limits;
}

// What has been said on one channel lately.
struct Channel {
  std::uint64_t next = 1;
  std::deque<std::pair<std::uint64_t, EventText>> recent;
  std::size_t bytes = 0;
};

// Threads that handlers run on, and how many requests they have.
struct Worker {
  explicit Worker(std::size_t count) : thread(count) {}
  asio::thread_pool thread;
  std::atomic<std::size_t> waiting{0};  // not yet answered
};

// All of it belongs to the server's own thread, but for the atomics.
class Server final : public HttpServer, public ConnectionHost {
 public:
  Server(const HttpOptions& options, HttpHandlers handlers)
      : ConnectionHost(within_descriptors(options.limits)),
        handlers_(std::move(handlers)),
        acceptor_(io_) {}
  ~Server() override {
    stop(milliseconds(0));
    for (Worker* worker : {&quick_, &slow_}) worker->thread.join();
  }

  Status open(const HttpOptions& options);
  std::uint16_t port() const noexcept override { return port_; }
  void publish(const std::string& channel, const std::string& name, std::string data) override;
  std::size_t readers(const std::string& channel) const override;
  void close_channel(const std::string& channel) override;
  HttpCounts counts() const override;
  bool stop(milliseconds grace) override;

 private:
  void ask(const std::shared_ptr<Connection>& connection, HttpRequest request,
           bool keep_alive) override;
  bool takes_streams() const noexcept override { return stream_count_ < limits.connections / 2; }
  void subscribe(const std::shared_ptr<Connection>& connection, const std::string& channel,
                 std::uint64_t after) override;
  void work(std::function<void()> task) override;
  void gone(Connection& connection) override;
  void idle(Connection& connection) override;
  bool stopping() const noexcept override { return stopping_; }

  void accept();
  void admit(tcp::socket socket);
  void evict();
  void handle(const std::shared_ptr<Connection>& connection, const HttpRequest& request,
              bool keep_alive);
  void hand_over(const std::shared_ptr<Connection>& connection, HttpRequest request,
                 bool keep_alive);
  template <class Do>
  void for_each_connection(Do&& act);

  const HttpHandlers handlers_;
  // Shared with the replies that are to come, which may outlive the server.
  const std::shared_ptr<asio::io_context> shared_io_ = std::make_shared<asio::io_context>(1);
  asio::io_context& io_ = *shared_io_;
  // Its thread runs until stop(): a connection whose handler is at work has nothing to wait for.
  asio::executor_work_guard<asio::io_context::executor_type> running_{io_.get_executor()};
  Worker quick_{1}, slow_{2};
  tcp::acceptor acceptor_;
  asio::steady_timer pause_{io_};
  std::thread thread_;
  std::uint16_t port_ = 0;
  std::atomic<bool> stopping_{false}, cut_{false};
  std::atomic<std::size_t> connection_count_{0}, stream_count_{0};
  std::atomic<std::size_t> tasks_{0};  // given to the workers and not done
  const std::shared_ptr<std::atomic<std::size_t>> later_waiting_ =
      std::make_shared<std::atomic<std::size_t>>(0);
  ConnectionList connections_;  // longest idle first
  std::map<std::string, Channel> channels_;
  mutable std::mutex reader_mutex_;
  std::map<std::string, std::size_t> reader_counts_;
};

Status Server::open(const HttpOptions& options) {
  const auto failed = [&](const char* what, const error_code& error) {
    return Error{ErrorCode::io,
                 fmt::format("cannot {} {} port {}: {}; choose another --address or --port", what,
                             options.address, options.port, error.message())};
  };
  error_code error;
  const asio::ip::address address = asio::ip::make_address(options.address, error);
  if (error) return failed("understand the address", error);
  const tcp::endpoint endpoint(address, options.port);
  acceptor_.open(endpoint.protocol(), error);
  if (error) return failed("listen on", error);
  keep_from_children(acceptor_.native_handle());
  acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error) return failed("listen on", error);
  port_ = acceptor_.local_endpoint().port();
  accept();
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "genscope-http");
    // No memory for a handler: that connection waits to be evicted, the others go on.
    for (bool ended = false; !ended;) {
      try {
        io_.run();
        ended = true;
      } catch (const std::exception&) {
        refused++;
      }
    }
  });
  return Done{};
}

void Server::accept() {
  acceptor_.async_accept([this](error_code error, tcp::socket socket) {
    if (stopping_ || error == asio::error::operation_aborted) return;
    if (error) {  // out of descriptors: the longest idle gives way, and we breathe before the next
      evict();
      pause_.expires_after(kOutOfDescriptors);
      pause_.async_wait([this](error_code) {
        if (!stopping_) accept();
      });
      return;
    }
    accepted++;
    keep_from_children(socket.native_handle());
    if (connections_.size() >= limits.connections) evict();
    try {
      if (connections_.size() < limits.connections) admit(std::move(socket));
    } catch (const std::bad_alloc&) {
      refused++;
    }
    accept();
  });
}

void Server::admit(tcp::socket socket) {
  const auto connection = std::make_shared<Connection>(std::move(socket), *this);
  connections_.push_back(connection);
  connection->place = std::prev(connections_.end());
  connection_count_ = connections_.size();
  connection->read();
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
    const auto count = reader_counts_.find(connection.channel);
    if (--count->second == 0) reader_counts_.erase(count);
  }
  connections_.erase(connection.place);
  connection_count_ = connections_.size();
}

// `act` may take its connection out.
template <class Do>
void Server::for_each_connection(Do&& act) {
  for (auto it = connections_.begin(); it != connections_.end();) {
    const std::shared_ptr<Connection> connection = *it++;
    act(*connection);
  }
}

// On a worker's thread.
void Server::handle(const std::shared_ptr<Connection>& connection, const HttpRequest& request,
                    bool keep_alive) {
  const auto send = [&](HttpResponse response) {
    asio::post(io_, [connection, keep_alive, head = request.method == "HEAD",
                     response = std::make_shared<HttpResponse>(std::move(response))] {
      connection->answer(std::move(*response), keep_alive, head);
    });
  };
  try {
    send(handlers_.answer(request));
  } catch (const std::bad_alloc&) {
    send({.status = 503, .body = "there is not enough memory for this\n"});
  } catch (const std::exception& error) {
    send({.status = 500, .body = std::string("this went wrong: ") + error.what() + "\n"});
  }
}

void Server::work(std::function<void()> task) {
  tasks_++;
  asio::post(quick_.thread, [this, task = std::move(task)] {
    try {
      if (!cut_) task();
    } catch (const std::exception&) {
      refused++;
    }
    tasks_--;
  });
}

void Server::ask(const std::shared_ptr<Connection>& connection, HttpRequest request,
                 bool keep_alive) {
  if (handlers_.at_once) {
    if (std::optional<HttpResponse> known = handlers_.at_once(request)) {
      return connection->answer(*std::move(known), keep_alive, request.method == "HEAD");
    }
  }
  if (handlers_.later) return hand_over(connection, std::move(request), keep_alive);
  const bool slow = handlers_.slow && handlers_.slow(request);
  Worker& worker = slow ? slow_ : quick_;
  const std::size_t most = slow ? limits.waiting_slow : limits.waiting_quick;
  if (worker.waiting >= most || sending_bytes > limits.answer_bytes) {
    refused++;
    return connection->refuse({.status = 503, .body = "busy; try again\n"});
  }
  worker.waiting++;
  tasks_++;
  asio::post(worker.thread, [this, connection = connection, &worker, keep_alive,
                             request = std::move(request)]() mutable {
    try {
      if (!cut_) handle(connection, request, keep_alive);
    } catch (const std::exception&) {  // not even memory to say so
      refused++;
    }
    connection.reset();
    worker.waiting--;
    tasks_--;
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
  const auto known = channels_.find(channel);
  if (after == 0 || known == channels_.end()) return;
  for (const auto& [number, event] : known->second.recent) {  // what was missed
    if (number > after) connection->push(event);
  }
}

void Server::publish(const std::string& channel, const std::string& name, std::string data) {
  asio::post(io_, [this, channel, name, data = std::move(data)] {
    Channel& to = channels_[channel];
    const std::uint64_t number = to.next++;
    const EventText event = std::make_shared<const std::string>(
        fmt::format("id: {}\nevent: {}\ndata: {}\n\n", number, name, data));
    to.recent.emplace_back(number, event);
    to.bytes += event->size();
    while (to.recent.size() > limits.stream_events || to.bytes > limits.stream_bytes) {
      to.bytes -= to.recent.front().second->size();
      to.recent.pop_front();
    }
    for_each_connection([&](Connection& connection) {
      if (connection.channel == channel) connection.push(event);
    });
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
    for_each_connection([&](Connection& connection) {
      if (connection.channel == channel) connection.end_when_sent();
    });
  });
}

HttpCounts Server::counts() const {
  return {accepted, requests, refused, evicted, slow_readers, connection_count_, stream_count_};
}

bool Server::stop(milliseconds grace) {
  if (!thread_.joinable()) return tasks_ == 0;
  stopping_ = true;
  asio::post(io_, [this] {
    error_code ignored;
    acceptor_.close(ignored);
    pause_.cancel();
    for_each_connection([](Connection& connection) { connection.end_when_idle(); });
  });
  using Clock = std::chrono::steady_clock;
  const auto until = [](Clock::time_point deadline, auto&& done) {
    while (!done() && Clock::now() < deadline) std::this_thread::sleep_for(milliseconds(5));
    return done();
  };
  until(Clock::now() + grace, [this] { return connection_count_ == 0; });
  cut_ = true;
  asio::post(io_, [this] {
    for_each_connection([](Connection& connection) { connection.close(); });
    io_.stop();
  });
  thread_.join();
  return until(Clock::now() + kCut, [this] { return tasks_ == 0; });
}

}  // namespace

// Connections belong to the server's thread, so an answer goes there, too. `connection` before `io`
// in destruction: its socket needs it.
class HttpReply::Impl {
 public:
  Impl(std::shared_ptr<asio::io_context> to, std::shared_ptr<Connection> of, std::stop_token left,
       std::shared_ptr<std::atomic<std::size_t>> counted, bool stays, bool head_only)
      : io(std::move(to)),
        connection(std::move(of)),
        gone(std::move(left)),
        waiting(std::move(counted)),
        keep_alive(stays),
        head(head_only) {
    ++*waiting;
  }
  ~Impl() {
    try {
      if (connection) send({.status = 500, .body = "there is no answer\n"});
    } catch (const std::exception&) {  // no memory to say so: the client waits until it leaves
    }
    --*waiting;
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void send(HttpResponse response) {
    asio::post(*io, [to = std::move(connection), stays = keep_alive, head_only = head,
                     answer = std::make_shared<HttpResponse>(std::move(response))] {
      to->answer(std::move(*answer), stays, head_only);
    });
    connection = nullptr;
  }

  const std::shared_ptr<asio::io_context> io;
  std::shared_ptr<Connection> connection;
  const std::stop_token gone;

 private:
  const std::shared_ptr<std::atomic<std::size_t>> waiting;
  const bool keep_alive, head;
};

namespace {
void Server::hand_over(const std::shared_ptr<Connection>& connection, HttpRequest request,
                       bool keep_alive) {
  if (*later_waiting_ >= limits.waiting_later || sending_bytes > limits.answer_bytes) {
    refused++;
    return connection->refuse({.status = 503, .body = "busy; try again\n"});
  }
  HttpReply reply(std::make_unique<HttpReply::Impl>(shared_io_, connection, connection->watch(),
                                                    later_waiting_, keep_alive,
                                                    request.method == "HEAD"));
  handlers_.later(std::move(request), std::move(reply));  // what it throws drops the reply: a 500
}
}  // namespace

HttpReply::HttpReply(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
HttpReply::HttpReply(HttpReply&&) noexcept = default;
HttpReply& HttpReply::operator=(HttpReply&&) noexcept = default;
HttpReply::~HttpReply() = default;

void HttpReply::send(HttpResponse response) {
  if (impl_) impl_->send(std::move(response));
  impl_.reset();
}
std::stop_token HttpReply::gone() const { return impl_ ? impl_->gone : std::stop_token(); }

const std::string& HttpRequest::header(const std::string& name) const {
  static const std::string kNone;
  const auto found = headers.find(name);
  return found != headers.end() ? found->second : kNone;
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(const HttpOptions& options,
                                                      HttpHandlers handlers) {
  try {
    auto server = std::make_unique<Server>(options, std::move(handlers));
    if (const Status opened = server->open(options); !opened) return opened.error();
    return std::unique_ptr<HttpServer>(std::move(server));
  } catch (const std::exception& error) {  // no thread, no memory, no descriptor
    return Error{ErrorCode::io, std::string("cannot start a server: ") + error.what()};
  }
}

}  // namespace genscope::serve
