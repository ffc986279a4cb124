#include "base/file_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

namespace genscope::base {

int Files::open(const char* path) noexcept {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  return fd >= 0 ? fd : -errno;
}

long Files::read(int fd, const char* /*path*/, char* buffer, std::size_t size) noexcept {
  std::size_t got = 0;
  while (got < size) {
    const ssize_t n = ::pread(fd, buffer + got, size - got, static_cast<off_t>(got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -errno;
    got += static_cast<std::size_t>(n);
    // Most files of /proc and /sys give all in one read, and another would cost as much again.
    // Those that list things (diskstats, net/dev, maps) come in pieces of just under a page.
    constexpr ssize_t kWholeBelow = 2048;
    if (n < kWholeBelow) break;
  }
  return static_cast<long>(got);
}

Files& Files::system() noexcept {
  static Files files;
  return files;
}

int KeptFile::read_bytes(std::span<char> buffer, std::size_t& size) noexcept {
  size = 0;
  int fd = fd_.get();
  if (fd < 0) {
    fd = files_ != nullptr ? files_->open(path_.c_str()) : -ENOENT;
    if (fd < 0) return -fd;
    fd_ = GuestFd(fd);
  }
  const long got = files_->read(fd, path_.c_str(), buffer.data(), buffer.size());
  if (got < 0) {
    const int error = static_cast<int>(-got);
    if (error == ENODEV || error == ESRCH || error == ENOENT || error == EBADF) fd_.close();
    return error;
  }
  size = static_cast<std::size_t>(got);
  return 0;
}

int KeptFile::read(std::span<char> buffer, std::string_view& text) noexcept {
  std::size_t size = 0;
  const int error = read_bytes(buffer, size);
  text = std::string_view(buffer.data(), size);
  constexpr std::string_view kPadding{"\0 \t\r\n", 5};
  const std::size_t last = text.find_last_not_of(kPadding);
  text = text.substr(0, last == std::string_view::npos ? 0 : last + 1);
  return error;
}

int KeptFile::read_number(double& value) noexcept {
  char buffer[64];
  std::string_view text;
  if (const int error = read(buffer, text); error != 0) return error;
  std::string_view rest = next_part(text, '\n');
  return parse_number(next_word(rest), value) ? 0 : EINVAL;
}

std::string_view next_part(std::string_view& text, char separator) noexcept {
  const std::size_t at = text.find(separator);
  const std::string_view part = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return part;
}

std::string_view next_word(std::string_view& text) noexcept {
  const std::size_t from = text.find_first_not_of(" \t");
  if (from == std::string_view::npos) {
    text = {};
    return {};
  }
  const std::size_t to = text.find_first_of(" \t", from);
  const std::string_view word = text.substr(from, to == std::string_view::npos ? to : to - from);
  text = to == std::string_view::npos ? std::string_view() : text.substr(to);
  return word;
}

namespace {

template <class T>
bool parse(std::string_view text, T& value) noexcept {
  T parsed{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return false;
  value = parsed;
  return true;
}

}  // namespace

bool parse_number(std::string_view text, std::uint64_t& value) noexcept {
  return parse(text, value);
}
bool parse_number(std::string_view text, std::int64_t& value) noexcept {
  return parse(text, value);
}
bool parse_number(std::string_view text, double& value) noexcept {
  // from_chars knows "inf" and "nan"; no file that we read means those.
  double parsed = 0;
  if (text.find_first_of("iInN") != std::string_view::npos || !parse(text, parsed)) return false;
  value = parsed;
  return true;
}

}  // namespace genscope::base
