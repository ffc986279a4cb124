// A thread for each stream waits in poll() for its bytes and for one eventfd that ends it. Bytes go
// to where the command would have written them before anything looks at them, so whatever the
// reader does, it delays nothing; more than kMostBytesASecond are passed on unread.
//
// A write that fails ends the reading end too, so the command gets the SIGPIPE or EIO that it would
// have had without us. A full pipe is waited for, as the command itself would have.
//
// Who outlives the command and still writes must not find a closed pipe. So at the end a forked
// child is left for each stream that is open: it reads and writes until the last writer is gone,
// and holds nothing else.
#include "watch/logs/relay.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <system_error>

namespace genscope::watch {
namespace {

constexpr std::uint64_t kMostBytesASecond = 8u << 20;  // to look at; a log has kilobytes
constexpr int kPatienceMs = 300;

void close_fd(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = write(fd, bytes.data(), bytes.size());
    if (wrote > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(wrote));
    } else if (wrote < 0 && errno == EAGAIN) {  // whose descriptor this is, too, made it so
      pollfd room{fd, POLLOUT, 0};
      poll(&room, 1, -1);
    } else if (wrote < 0 && errno != EINTR) {
      return false;
    }
  }
  return true;
}

// Both ends of a pseudo-terminal that looks like `like` and leaves bytes alone.
bool open_terminal(int like, int& ours, int& theirs) {
  ours = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  char name[128];
  if (ours < 0 || grantpt(ours) != 0 || unlockpt(ours) != 0 ||
      ptsname_r(ours, name, sizeof name) != 0) {
    return false;
  }
  theirs = ::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (theirs < 0) return false;
  termios mode{};
  if (tcgetattr(like, &mode) == 0) {
    mode.c_oflag &= ~static_cast<tcflag_t>(OPOST);  // the real terminal does that
    mode.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    tcsetattr(theirs, TCSANOW, &mode);
  }
  winsize size{};
  if (ioctl(like, TIOCGWINSZ, &size) == 0) ioctl(ours, TIOCSWINSZ, &size);
  return true;
}

}  // namespace

std::unique_ptr<LogRelay> LogRelay::open(LogFormat format, LogSink& sink, std::string& why) {
  std::unique_ptr<LogRelay> relay(new LogRelay(format, sink));
  relay->wake_ = eventfd(0, EFD_CLOEXEC);
  struct stat out {
  }, err{};
  const bool has_out = fstat(STDOUT_FILENO, &out) == 0, has_err = fstat(STDERR_FILENO, &err) == 0;
  const bool same = has_out && has_err && out.st_dev == err.st_dev && out.st_ino == err.st_ino;
  if (!has_out && !has_err) why = "stdout and stderr are closed";
  if (relay->wake_ < 0) why = std::strerror(errno);
  if (why.empty() && has_out) relay->connect(STDOUT_FILENO, why);
  if (why.empty() && has_err && !same) relay->connect(STDERR_FILENO, why);
  if (why.empty() && has_err) relay->streams_.back()->has_stderr = true;
  if (same) relay->outputs_[1] = relay->outputs_[0];
  if (why.empty()) relay->make_threads(why);
  if (why.empty()) return relay;
  relay->start();  // closes what would keep a thread waiting
  return nullptr;
}

// Before there is a command: without them its output would go nowhere.
void LogRelay::make_threads(std::string& why) {
  sigset_t all, before;  // signals are the watcher's
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    for (const auto& stream : streams_) {
      stream->thread = std::thread([this, raw = stream.get()] { pass_on(*raw); });
    }
  } catch (const std::system_error& failure) {
    why = failure.what();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

bool LogRelay::connect(int fd, std::string& why) {
  auto stream = std::make_unique<Stream>();
  int theirs = -1;
  stream->terminal = isatty(fd) == 1;
  int ends[2] = {-1, -1};
  const bool fine =
      stream->terminal ? open_terminal(fd, stream->from, theirs) : pipe2(ends, O_CLOEXEC) == 0;
  if (!stream->terminal && fine) {
    stream->from = ends[0];
    theirs = ends[1];
  }
  stream->to = fine ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
  if (stream->to < 0) {
    why = std::strerror(errno);
    close_fd(stream->from);
    close_fd(theirs);
    return false;
  }
  outputs_[static_cast<std::size_t>(fd - STDOUT_FILENO)] = theirs;
  streams_.push_back(std::move(stream));
  return true;
}

void LogRelay::start() {
  if (outputs_[1] != outputs_[0]) close_fd(outputs_[1]);
  close_fd(outputs_[0]);
  outputs_ = {-1, -1};
}

void LogRelay::resize() {
  const std::lock_guard lock(mutex_);  // pass_on() closes what it has read to its end
  for (const auto& stream : streams_) {
    winsize size{};
    if (stream->terminal && stream->from >= 0 && ioctl(stream->to, TIOCGWINSZ, &size) == 0) {
      ioctl(stream->from, TIOCSWINSZ, &size);
    }
  }
}

void LogRelay::pass_on(Stream& stream) {
  // All signals are blocked here; a closed pipe is an error of write().
  std::array<char, 64u << 10> buffer;
  bool over = false;
  while (!over) {
    pollfd wait[2] = {{stream.from, POLLIN, 0}, {wake_, POLLIN, 0}};
    if (poll(wait, 2, -1) < 0 && errno != EINTR) break;
    if (wait[0].revents == 0) {
      if (wait[1].revents != 0) break;  // nothing is left to pass on at this moment
      continue;
    }
    const ssize_t got = read(stream.from, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    over = got <= 0;  // a pseudo-terminal whose other side is closed gives EIO
    if (over) break;
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
    over = !write_all(stream.to, bytes);
    look_at(stream, bytes);
  }
  const std::lock_guard lock(mutex_);
  if (over) close_fd(stream.from);  // so that who writes on learns it as it would without us
  stream.over = over;
  over_.notify_all();
}

void LogRelay::remember(std::string_view bytes) {
  constexpr std::size_t kKept = 8192;
  try {
    last_ += bytes.substr(bytes.size() - std::min(bytes.size(), kKept));
    if (last_.size() > 2 * kKept) last_.erase(0, last_.size() - kKept);
  } catch (...) {  // out of memory: what it says last is not known
    last_.clear();
  }
}

void LogRelay::look_at(Stream& stream, std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  if (!reading_) return;
  if (stream.has_stderr) remember(bytes);
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (now.tv_sec != second_) {
    second_ = now.tv_sec;
    bytes_ = 0;
  }
  bytes_ += bytes.size();
  if (bytes_ > kMostBytesASecond) {
    skipped_ += bytes.size();
    return;
  }
  try {
    stream.pieces.add(bytes,
                      [this](std::string_view line, PieceEnd end) { reader_.line(line, end); });
  } catch (...) {  // out of memory: the bytes go on without us
    reading_ = false;
  }
}

void LogRelay::finish() {
  std::unique_lock lock(mutex_);
  over_.wait_for(lock, std::chrono::milliseconds(kPatienceMs), [this] {
    bool all = true;
    for (const auto& stream : streams_) all &= stream->over;
    return all;
  });
  if (reading_) reader_.finish();
  reading_ = false;
}

LogRelay::~LogRelay() {
  const std::uint64_t one = 1;
  if (wake_ >= 0 && write(wake_, &one, sizeof one) < 0) return;
  for (const auto& stream : streams_) {
    if (stream->thread.joinable()) stream->thread.join();
  }
  hand_over();
  if (outputs_[1] != outputs_[0]) close_fd(outputs_[1]);
  close_fd(outputs_[0]);
  for (const auto& stream : streams_) {
    close_fd(stream->from);
    close_fd(stream->to);
  }
  close_fd(wake_);
}

// A child of this process that does nothing but read and write until the last writer is gone.
void LogRelay::hand_over() {
  for (const auto& stream : streams_) {
    if (stream->over || stream->from < 0 || outputs_[0] >= 0) continue;
    const pid_t pid = fork();
    if (pid != 0) continue;
    signal(SIGPIPE, SIG_IGN);
    for (const auto& other : streams_) {
      if (other == stream) continue;
      close_fd(other->from);
      close_fd(other->to);
    }
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) close(fd);
    char buffer[16u << 10];
    for (;;) {
      const ssize_t got = read(stream->from, buffer, sizeof buffer);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0 || !write_all(stream->to, {buffer, static_cast<std::size_t>(got)})) _exit(0);
    }
  }
}

std::string LogRelay::last_of_stderr() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

std::uint64_t LogRelay::understood() const {
  const std::lock_guard lock(mutex_);
  return reader_.understood();
}

std::uint64_t LogRelay::skipped_bytes() const {
  const std::lock_guard lock(mutex_);
  return skipped_;
}

}  // namespace genscope::watch
