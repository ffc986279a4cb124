#include "cli/top/screen.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string_view>

namespace genscope::cli::top {
namespace {

// Alternate screen, cursor off, no wrapping; and back, colours off.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
constexpr std::string_view kLeave = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";

constexpr std::array<int, 6> kWatched = {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP, SIGCONT};
constexpr std::array<int, 5> kFatal = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

// For handlers, which know nothing else: there is one terminal, and so one Screen at a time.
std::array<struct sigaction, kWatched.size()> g_watched_before;
std::array<struct sigaction, kFatal.size()> g_fatal_before;
std::array<int, 2> g_pipe = {-1, -1};  // numbers of signals, from handlers to wait()
termios g_modes_before;
std::atomic<int> g_keys{-1};  // terminal to restore; -1 while it is as it was

void restore_terminal() noexcept {
  const int keys = g_keys.exchange(-1);
  if (keys < 0) return;
  [[maybe_unused]] const ssize_t ignored = ::write(STDOUT_FILENO, kLeave.data(), kLeave.size());
  tcsetattr(keys, TCSAFLUSH, &g_modes_before);
}

extern "C" void genscope_top_on_signal(int signal_number) {
  const int before = errno;
  const auto byte = static_cast<char>(signal_number);
  [[maybe_unused]] const ssize_t ignored = ::write(g_pipe[1], &byte, 1);
  errno = before;
}

extern "C" void genscope_top_on_crash(int signal_number) {
  restore_terminal();
  for (std::size_t i = 0; i < kFatal.size(); ++i) sigaction(kFatal[i], &g_fatal_before[i], nullptr);
  raise(signal_number);
}

// A write of everything; a terminal that takes nothing any more is the next wait()'s affair.
void put(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (written > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd ready{STDOUT_FILENO, POLLOUT, 0};
      if (poll(&ready, 1, 1000) <= 0) return;
    } else if (errno != EINTR) {
      return;
    }
  }
}

Error no_screen(std::string_view why) {
  return {
      ErrorCode::invalid_argument,
      fmt::format("{}; `genscope top --once` prints one screen, `--json` a line per tick", why)};
}

Event event_of_signal(int signal_number) {
  switch (signal_number) {
    case SIGINT:
      return {Input::interrupt};
    case SIGTSTP:
      return {Input::suspend};
    case SIGWINCH:
    case SIGCONT:
      return {Input::resize};
    default:
      return {Input::terminate};
  }
}

Event event_of_key(char key) {
  constexpr char kCtrlC = 0x03;
  constexpr char kCtrlL = 0x0C;
  constexpr char kCtrlZ = 0x1A;
  if (key == kCtrlC) return {Input::interrupt};
  if (key == kCtrlL) return {Input::resize};
  if (key == kCtrlZ) return {Input::suspend};
  return {Input::key, key};
}

}  // namespace

std::string redraw(const std::vector<std::string>& shown, const std::vector<std::string>& lines,
                   std::size_t rows) {
  std::string bytes;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::string_view before = row < shown.size() ? std::string_view(shown[row]) : "";
    const std::string_view now = row < lines.size() ? std::string_view(lines[row]) : "";
    if (before == now) continue;
    bytes += fmt::format("\x1b[{};1H{}\x1b[K", row + 1, now);
  }
  return bytes;
}

Result<std::unique_ptr<Screen>> Screen::open() {
  if (isatty(STDOUT_FILENO) != 1) return no_screen("stdout is not a terminal");
  const char* term = std::getenv("TERM");
  if (term == nullptr || *term == '\0' || std::string_view(term) == "dumb") {
    return no_screen("TERM says that this terminal cannot be drawn on");
  }
  int keys = isatty(STDIN_FILENO) == 1 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
                                       : ::open("/dev/tty", O_RDWR | O_CLOEXEC);
  if (keys < 0) return no_screen("there is no terminal to read keys from");
  if (pipe2(g_pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    ::close(keys);
    return Error{ErrorCode::io, "cannot make a pipe: too many open files"};
  }
  return std::unique_ptr<Screen>(new Screen(keys));
}

Screen::Screen(int keys) : keys_(keys) {
  struct sigaction action {};
  action.sa_handler = genscope_top_on_signal;
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < kWatched.size(); ++i) {
    sigaction(kWatched[i], &action, &g_watched_before[i]);
  }
  action.sa_handler = genscope_top_on_crash;
  action.sa_flags = SA_NODEFER;
  for (std::size_t i = 0; i < kFatal.size(); ++i) sigaction(kFatal[i], &action, &g_fatal_before[i]);
  enter();
}

Screen::~Screen() {
  leave();
  for (std::size_t i = 0; i < kWatched.size(); ++i) {
    sigaction(kWatched[i], &g_watched_before[i], nullptr);
  }
  for (std::size_t i = 0; i < kFatal.size(); ++i) sigaction(kFatal[i], &g_fatal_before[i], nullptr);
  for (int& end : g_pipe) ::close(std::exchange(end, -1));
  ::close(keys_);
}

void Screen::enter() {
  tcgetattr(keys_, &g_modes_before);
  take_terminal();
}

void Screen::take_terminal() {
  termios raw = g_modes_before;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG | IEXTEN);
  raw.c_iflag &= ~static_cast<tcflag_t>(IXON | ICRNL);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  g_keys.store(keys_);
  tcsetattr(keys_, TCSAFLUSH, &raw);
  put(kEnter);
  measure();
}

void Screen::leave() { restore_terminal(); }

void Screen::measure() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
    columns_ = size.ws_col;
    rows_ = size.ws_row;
  }
  shown_.clear();
  put("\x1b[2J");
}

void Screen::draw(const std::vector<std::string>& lines) {
  put(redraw(shown_, lines, rows_));
  shown_ = lines;
}

Event Screen::wait(double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) return {};
    std::array<pollfd, 2> sources = {{{keys_, POLLIN, 0}, {g_pipe[0], POLLIN, 0}}};
    if (poll(sources.data(), sources.size(), static_cast<int>(left)) < 0) continue;  // EINTR
    char byte = 0;
    if (sources[1].revents != 0 && ::read(g_pipe[0], &byte, 1) == 1) {
      if (byte == SIGCONT) take_terminal();  // the shell had it meanwhile
      if (byte == SIGWINCH) measure();
      return event_of_signal(byte);
    }
    if (sources[0].revents == 0) continue;
    const ssize_t got = ::read(keys_, &byte, 1);
    if (got == 1) {
      const Event event = event_of_key(byte);
      if (event.input == Input::resize) measure();
      return event;
    }
    const bool failed = got < 0 && errno != EINTR && errno != EAGAIN;
    if (failed || (sources[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) {
      return {Input::terminate};  // the terminal is gone
    }
  }
}

void Screen::suspend() {
  leave();
  struct sigaction usual {
  }, ours{};
  usual.sa_handler = SIG_DFL;
  sigaction(SIGTSTP, &usual, &ours);
  raise(SIGTSTP);  // returns when somebody continues us
  sigaction(SIGTSTP, &ours, nullptr);
  enter();
}

}  // namespace genscope::cli::top
