// A server on the loopback address that does whatever a test says, byte by byte. A thread for each
// connection; requests are read whole before the script is asked.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace genscope::bench::testing {

// What a script does with one request.
class RawConnection {
 public:
  explicit RawConnection(int fd) : fd_(fd) {}
  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  void answer(std::string_view body, std::string_view type = "application/json", int status = 200) {
    send("HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Type: " + std::string(type) +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body));
  }
  void close() { open = false; }
  bool open = true;

 private:
  int fd_;
};

struct RawRequest {
  std::string head, body;
  std::size_t number = 0;      // over all connections, from 0
  std::size_t connection = 0;  // from 0
};

class RawServer {
 public:
  using Script = std::function<void(const RawRequest&, RawConnection&)>;

  explicit RawServer(Script script) : script_(std::move(script)) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof place;
    auto* const generic = reinterpret_cast<sockaddr*>(&place);
    if (bind(listener_, generic, size) != 0 || listen(listener_, 512) != 0 ||
        getsockname(listener_, generic, &size) != 0) {
      std::abort();
    }
    port_ = ntohs(place.sin_port);
    accepting_ = std::thread([this] { accept_all(); });
  }
  ~RawServer() {
    shutdown(listener_, SHUT_RDWR);
    accepting_.join();
    ::close(listener_);
    {
      const std::lock_guard lock(mutex_);
      for (const int fd : open_) shutdown(fd, SHUT_RDWR);
    }
    for (std::thread& thread : threads_) thread.join();
  }

  std::string url(const std::string& path = "/") const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
  std::size_t requests() const { return requests_; }
  std::size_t connections() const { return connections_; }

 private:
  void accept_all() {
    while (true) {
      const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      const std::size_t number = connections_++;
      const std::lock_guard lock(mutex_);
      open_.push_back(fd);
      threads_.emplace_back([this, fd, number] { serve(fd, number); });
    }
  }

  void serve(int fd, std::size_t number) {
    RawConnection connection(fd);
    std::string bytes;
    while (connection.open) {
      RawRequest request;
      if (!read_request(fd, bytes, request)) break;
      request.number = requests_++;
      request.connection = number;
      script_(request, connection);
    }
    {
      const std::lock_guard lock(mutex_);
      open_.remove(fd);
    }
    ::close(fd);
  }

  static bool read_request(int fd, std::string& bytes, RawRequest& request) {
    const auto more = [&] {
      char buffer[8192];
      const ssize_t n = recv(fd, buffer, sizeof buffer, 0);
      if (n > 0) bytes.append(buffer, static_cast<std::size_t>(n));
      return n > 0;
    };
    std::size_t end = 0;
    while ((end = bytes.find("\r\n\r\n")) == std::string::npos) {
      if (!more()) return false;
    }
    request.head = bytes.substr(0, end + 4);
    bytes.erase(0, end + 4);
    const std::size_t field = request.head.find("Content-Length: ");
    const std::size_t size = field == std::string::npos
                                 ? 0
                                 : static_cast<std::size_t>(std::atoll(&request.head[field + 16]));
    while (bytes.size() < size) {
      if (!more()) return false;
    }
    request.body = bytes.substr(0, size);
    bytes.erase(0, size);
    return true;
  }

  Script script_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::thread accepting_;
  std::mutex mutex_;
  std::list<std::thread> threads_;
  std::list<int> open_;
  std::atomic<std::size_t> requests_{0}, connections_{0};
};

}  // namespace genscope::bench::testing
