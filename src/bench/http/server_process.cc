#include "bench/http/server_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/clock.h"
#include "base/exec_words.h"
#include "base/printable.h"
#include "bench/run/spawn.h"

namespace genscope::bench {
namespace {

constexpr std::size_t kTailBytes = 8u << 10;
constexpr std::size_t kTailLines = 12;

Error cannot_start(const char* what, int error_number) {
  return base::errno_error(what, "the server", error_number);
}

bool connects(const addrinfo& place, int timeout_ms) {
  const base::UniqueFd fd(socket(place.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return false;
  if (connect(fd.get(), place.ai_addr, place.ai_addrlen) == 0) return true;
  if (errno != EINPROGRESS) return false;
  pollfd wait{fd.get(), POLLOUT, 0};
  if (poll(&wait, 1, timeout_ms) != 1) return false;
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

}  // namespace

Result<std::unique_ptr<ServerProcess>> ServerProcess::start(
    const std::string& command, const std::string& cwd,
    const std::vector<std::pair<std::string, std::string>>& env) {
  std::unique_ptr<ServerProcess> server(new ServerProcess);
  int output[2], wake[2];
  if (pipe2(output, O_CLOEXEC) != 0) return cannot_start("make a pipe for", errno);
  server->output_.reset(output[0]);
  base::UniqueFd writing(output[1]);
  if (pipe2(wake, O_CLOEXEC) != 0) return cannot_start("make a pipe for", errno);
  server->wake_read_.reset(wake[0]);
  server->wake_write_.reset(wake[1]);

  const base::UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  Launch launch;
  launch.path = "/bin/sh";
  launch.argv = {"sh", "-c", command};
  launch.env = base::environment_with(env);
  launch.cwd = cwd;
  const int failed = Spawner().start(
      launch, {.in = null.get(), .out = writing.get(), .err = writing.get()}, server->pid_);
  if (failed != 0) {
    server->pid_ = -1;
    return cannot_start("start", failed);
  }
  server->reader_ = std::thread([raw = server.get()] { raw->read_output(); });
  return server;
}

ServerProcess::~ServerProcess() {
  stop(0);
  if (reader_.joinable()) {
    wake_write_.reset();  // the reader sees the end
    reader_.join();
  }
}

void ServerProcess::read_output() {
  pollfd both[2] = {{output_.get(), POLLIN, 0}, {wake_read_.get(), POLLIN, 0}};
  char buffer[4096];
  while (poll(both, 2, -1) >= 0 || errno == EINTR) {
    if ((both[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
      const ssize_t n = read(output_.get(), buffer, sizeof buffer);
      if (n <= 0) return;
      const std::lock_guard lock(mutex_);
      tail_.append(buffer, static_cast<std::size_t>(n));
      if (tail_.size() > 2 * kTailBytes) tail_.erase(0, tail_.size() - kTailBytes);
    } else if (both[1].revents != 0) {
      return;
    }
  }
}

std::optional<Failure> ServerProcess::ended() {
  if (pid_ > 0 && !status_) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
  }
  if (!status_) return std::nullopt;
  std::string how;
  FailureClass kind = FailureClass::exit_nonzero;
  if (WIFSIGNALED(*status_)) {
    kind = FailureClass::crash;
    const char* const name = sigabbrev_np(WTERMSIG(*status_));
    how = fmt::format("the server was ended by SIG{}", name != nullptr ? name : "?");
  } else {
    how = fmt::format("the server ended with exit code {}", WEXITSTATUS(*status_));
  }
  const std::string lines = last_lines();
  return Failure{kind, lines.empty() ? how : how + "; its last lines:\n" + lines};
}

void ServerProcess::stop(double grace_s) {
  if (pid_ <= 0) return;
  kill(-pid_, SIGTERM);
  const std::int64_t until = base::monotonic_ns() + static_cast<std::int64_t>(grace_s * 1e9);
  while (grace_s > 0 && base::monotonic_ns() < until) {
    ended();
    // The group lives as long as anything in it, our own child's remains included.
    if (status_ && kill(-pid_, 0) != 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill(-pid_, SIGKILL);
  if (!status_) {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    status_ = status;
  }
  pid_ = -1;
}

std::string ServerProcess::last_lines() const {
  std::string text;
  {
    const std::lock_guard lock(mutex_);
    text = tail_;
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::size_t from = text.size();
  for (std::size_t n = 0; n < kTailLines && from != std::string::npos && from > 0; ++n) {
    from = text.rfind('\n', from - 1);
  }
  if (from != std::string::npos && from > 0) text.erase(0, from + 1);
  return base::printable(text, base::Lines::keep);
}

bool accepts_connections(const Address& address, int timeout_ms) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* places = nullptr;
  const std::string port = std::to_string(address.port);
  if (getaddrinfo(address.host.c_str(), port.c_str(), &hints, &places) != 0) return false;
  bool found = false;
  for (const addrinfo* place = places; place != nullptr && !found; place = place->ai_next) {
    found = connects(*place, timeout_ms);
  }
  freeaddrinfo(places);
  return found;
}

Result<std::uint16_t> free_port() {
  const base::UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof place;
  auto* const generic = reinterpret_cast<sockaddr*>(&place);
  if (!fd.valid() || bind(fd.get(), generic, size) != 0 ||
      getsockname(fd.get(), generic, &size) != 0) {
    return base::errno_error("find a free port on", "127.0.0.1", errno);
  }
  return ntohs(place.sin_port);
}

}  // namespace genscope::bench
