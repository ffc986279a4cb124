// The terminal is opened anew, so that writing without blocking is a property of our description
// and not of the command's stderr. What the terminal does not take at once waits a moment and is
// then dropped: a block is drawn again soon. Should genscope crash, a handler that only writes and
// re-raises gives the lines back.
#include "watch/live_screen.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/terminal.h"

namespace genscope::watch {
namespace {

constexpr std::size_t kLeastColumns = 20;
constexpr std::size_t kLeastRows = 8;

// --- should genscope itself crash: the screen is given back before the process dies

constexpr std::array<int, 5> kFatal = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
std::array<struct sigaction, kFatal.size()> g_before;
std::atomic<int> g_fd{-1};

extern "C" void genscope_cli_on_crash(int signal_number) {
  constexpr std::string_view kGiveBack =
      "\x1b"
      "7\x1b[r\x1b"
      "8\x1b[J";
  const int fd = g_fd.exchange(-1);
  if (fd >= 0) {
    [[maybe_unused]] const ssize_t ignored = ::write(fd, kGiveBack.data(), kGiveBack.size());
  }
  for (std::size_t i = 0; i < kFatal.size(); ++i) sigaction(kFatal[i], &g_before[i], nullptr);
  raise(signal_number);
}

void guard_against_crashes(int fd) {
  struct sigaction action {};
  action.sa_handler = genscope_cli_on_crash;
  action.sa_flags = SA_NODEFER;
  for (std::size_t i = 0; i < kFatal.size(); ++i) sigaction(kFatal[i], &action, &g_before[i]);
  g_fd.store(fd);
}

void unguard() {
  if (g_fd.exchange(-1) < 0) return;
  for (std::size_t i = 0; i < kFatal.size(); ++i) sigaction(kFatal[i], &g_before[i], nullptr);
}

// --- which terminal, and what it can do

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// A description of our own for the terminal of stderr: that it does not block must not become the
// command's problem.
int open_terminal_of_stderr() {
  std::array<char, PATH_MAX> path;
  if (ttyname_r(STDERR_FILENO, path.data(), path.size()) == 0) {
    const int fd = ::open(path.data(), O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0) return fd;
  }
  return fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

}  // namespace

std::unique_ptr<LiveScreen> LiveScreen::open(const std::string& live, const std::string& color) {
  if (live == "never") return nullptr;
  const bool always = live == "always";
  const std::string term = environment("TERM");
  if (!always && (term.empty() || term == "dumb")) return nullptr;
  int fd = -1;
  if (isatty(STDERR_FILENO) == 1) {
    fd = open_terminal_of_stderr();
  } else if (always) {
    fd = ::open("/dev/tty", O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  }
  if (fd < 0) return nullptr;
  const bool plain = !environment("NO_COLOR").empty() || term == "dumb";
  Look look;
  look.color = color == "auto" ? !plain : color == "always";
  look.unicode = base::output_is_utf8();
  return std::unique_ptr<LiveScreen>(new LiveScreen(fd, look));
}

LiveScreen::LiveScreen(int fd, Look look) : fd_(fd), look_(look) {
  guard_against_crashes(fd_);
  measure();
}

LiveScreen::~LiveScreen() {
  leave();
  unguard();
  ::close(fd_);
}

void LiveScreen::measure() {
  winsize size{};
  if (ioctl(fd_, TIOCGWINSZ, &size) != 0) size = {};
  look_.width = size.ws_col;
  rows_ = size.ws_row;
}

std::size_t LiveScreen::max_lines() const {
  if (look_.width < kLeastColumns || rows_ < kLeastRows) return 0;
  return rows_ / 2;
}

bool LiveScreen::is_free() const {
  const pid_t foreground = tcgetpgrp(fd_);
  if (foreground >= 0 && foreground != getpgrp()) return false;
  termios modes{};
  return tcgetattr(fd_, &modes) != 0 || (modes.c_lflag & ICANON) != 0;
}

void LiveScreen::draw(const std::vector<std::string>& lines) {
  if (max_lines() > 0) put(text_.draw(lines, rows_));
}

void LiveScreen::forget() { put(text_.forget()); }

void LiveScreen::leave() {
  constexpr int kLongPatienceMs = 2000;  // what is not undone now stays
  put(text_.leave(), kLongPatienceMs);
}

void LiveScreen::put(const std::string& bytes, int patience_ms) {
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const ssize_t written = ::write(fd_, rest.data(), rest.size());
    if (written > 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd ready{fd_, POLLOUT, 0};
      if (poll(&ready, 1, patience_ms) <= 0) return;
    } else if (errno != EINTR) {
      return;
    }
  }
}

}  // namespace genscope::watch
