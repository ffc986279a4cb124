#include "cli/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace genscope::cli {
namespace {

// The unfinished file, for the signal handler: a fixed place, as a handler may not allocate.
std::array<char, PATH_MAX> g_unfinished;
std::atomic<bool> g_has_unfinished{false};

void remember_unfinished(const std::string& path) {
  if (path.size() >= g_unfinished.size()) return;
  std::memcpy(g_unfinished.data(), path.c_str(), path.size() + 1);
  g_has_unfinished.store(true);
}

extern "C" void genscope_cli_on_signal(int signal_number) {
  if (g_has_unfinished.load()) unlink(g_unfinished.data());
  constexpr int kSignalBase = 128;
  _exit(kSignalBase + signal_number);
}

Error write_error(const std::string& path, int error_number) {
  const bool full = error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG;
  const bool denied = error_number == EACCES || error_number == EPERM || error_number == EROFS;
  const bool nowhere = error_number == ENOENT || error_number == ENOTDIR || error_number == EISDIR;
  return {full      ? ErrorCode::no_space
          : denied  ? ErrorCode::permission
          : nowhere ? ErrorCode::not_found
                    : ErrorCode::io,
          fmt::format("cannot write {}: {}", path == "-" ? "stdout" : path,
                      std::strerror(error_number))};
}

// Names of files end so too.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kOtherEnds = {
    {{"htm", "html"},
     {"markdown", "md"},
     {"xml", "junit"},
     {"pftrace", "perfetto"},
     {"perfetto-trace", "perfetto"},
     {"jsonl", "json"}}};

// How names of files in a format usually end.
std::string_view usual_end(std::string_view format) {
  if (format == "perfetto") return "pftrace";
  return format == "junit" ? "xml" : format;
}

// What follows the last dot of a file's name, in small letters, if it looks like the name of a
// format; "" for "-", "report", ".hidden", "report.2026".
std::string end_of_name(std::string_view path) {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  const std::size_t dot = file.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return "";
  std::string end;
  bool letters = false;
  for (const char c : file.substr(dot + 1)) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter && c != '-' && (c < '0' || c > '9')) return "";
    letters = letters || letter;
    end += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  constexpr std::size_t kLongest = 14;
  return letters && end.size() <= kLongest ? end : "";
}

std::string follow_links(const std::string& path) {
  std::array<char, PATH_MAX> resolved;
  return realpath(path.c_str(), resolved.data()) != nullptr ? resolved.data() : path;
}

}  // namespace

Result<Output> Output::open(const std::string& path) {
  if (path == "-") return Output(path, {}, {}, STDOUT_FILENO);
  const std::string target = follow_links(path);
  struct stat status {};
  const bool exists = stat(target.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) return write_error(path, EISDIR);
  if (exists && !S_ISREG(status.st_mode)) {
    const int fd = ::open(target.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return write_error(path, errno);
    return Output(path, target, {}, fd);
  }
  const std::string temporary = fmt::format("{}.tmp-{}", target, getpid());
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return write_error(path, errno);
  remember_unfinished(temporary);
  return Output(path, target, temporary, fd);
}

Output::Output(Output&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      fd_(std::exchange(other.fd_, -1)) {}

Output::~Output() {
  if (fd_ > STDERR_FILENO) ::close(fd_);
  if (!temporary_.empty()) {
    unlink(temporary_.c_str());
    g_has_unfinished.store(false);
  }
}

Sink Output::sink() {
  return [this](std::string_view piece) {
    while (!piece.empty()) {
      const ssize_t written = ::write(fd_, piece.data(), piece.size());
      if (written < 0) {
        if (errno == EINTR) continue;
        if (errno == EPIPE) throw BrokenPipe{};
        throw OutputFailure{write_error(path_, errno)};
      }
      piece.remove_prefix(static_cast<std::size_t>(written));
    }
  };
}

Status Output::commit() {
  if (fd_ > STDERR_FILENO && ::close(std::exchange(fd_, -1)) != 0) {
    return write_error(path_, errno);
  }
  if (temporary_.empty()) return Done{};
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) return write_error(path_, errno);
  temporary_.clear();
  g_has_unfinished.store(false);
  return Done{};
}

void add_output_option(Options& options, std::string& path) {
  options.add("-o,--output", path, "PATH", "Write to this file, whole or not at all; - is stdout")
      .show_default();
}

void add_print_options(Options& options, std::string& format, bool& json, std::string& path) {
  options
      .add("-f,--format", format, "FORMAT",
           "text, json or md; default: by the name of PATH, else text")
      .one_of({"text", "json", "md"});
  options.flag("--json", json, "Short for --format json");
  add_output_option(options, path);
}

Result<std::string> format_for(std::string_view asked, std::string_view path,
                               std::span<const std::string_view> formats) {
  if (!asked.empty()) return std::string(asked);
  const std::string end = end_of_name(path);
  if (end.empty() || end == "txt" || end == "log" || end == "text") return std::string("text");
  for (const auto& [other, format] : kOtherEnds) {
    if (end == other && std::find(formats.begin(), formats.end(), format) != formats.end()) {
      return std::string(format);
    }
  }
  std::string ends;
  for (const std::string_view format : formats) {
    if (end == format) return std::string(format);
    ends += fmt::format("{}.{}", ends.empty() ? "" : ", ", usual_end(format));
  }
  return Error{ErrorCode::invalid_argument,
               fmt::format("{}: this command writes no .{}; end the name with {} or .txt, or name "
                           "a format with --format",
                           path, end, ends)};
}

void keep_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    [[maybe_unused]] const int lowest = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  }
}

void clean_up_on_signals() {
  struct sigaction action {};
  action.sa_handler = genscope_cli_on_signal;
  for (const int number : {SIGINT, SIGTERM}) {
    struct sigaction before {};
    sigaction(number, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(number, &action, nullptr);  // nohup, cmd &
  }
  std::signal(SIGPIPE, SIG_IGN);  // a sink sees EPIPE instead
}

}  // namespace genscope::cli
