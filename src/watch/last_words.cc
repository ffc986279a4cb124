// The command inherits our stderr, and with it the place in the file: where that was before and is
// afterwards tells what the command wrote. A file that is appended to has no place but its end.
#include "watch/last_words.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/characters.h"
#include "base/secrets.h"
#include "base/text.h"
#include "watch/logs/pieces.h"

namespace genscope::watch {
namespace {

constexpr std::size_t kMostLines = 5, kMostBytes = 400;
constexpr off_t kLookedAt = 8192;

// Where the next word on stderr would go, or -1.
off_t place_of_stderr() {
  struct stat file {};
  if (fstat(STDERR_FILENO, &file) != 0 || !S_ISREG(file.st_mode)) return -1;
  const int flags = fcntl(STDERR_FILENO, F_GETFL);
  if (flags < 0) return -1;
  return (flags & O_APPEND) != 0 ? file.st_size : lseek(STDERR_FILENO, 0, SEEK_CUR);
}

}  // namespace

std::vector<std::string> last_lines(std::string_view bytes) {
  std::vector<std::string> lines;
  std::string open;
  const auto keep = [&](std::string line) {
    line = base::mask_secrets(line);
    lines.emplace_back(base::cut_utf8(line, kMostBytes));
    if (lines.size() > kMostLines) lines.erase(lines.begin());
  };
  Pieces pieces;
  pieces.add(bytes, [&](std::string_view line, PieceEnd end) {
    open = end == PieceEnd::newline ? "" : std::string(line);
    if (end == PieceEnd::newline) keep(std::string(line));
  });
  if (!open.empty()) keep(open);
  return lines;
}

LastWords::LastWords() : begin_(place_of_stderr()) {}

std::vector<std::string> LastWords::read() const {
  const off_t end = begin_ < 0 ? -1 : place_of_stderr();
  if (end <= begin_) return {};
  // By its name, since ours may be for writing only; refused if we may not read the file.
  const int file = open("/proc/self/fd/2", O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (file < 0) return {};
  const auto size = static_cast<std::size_t>(std::min(end - begin_, kLookedAt));
  std::string bytes(size, '\0');
  const ssize_t got = pread(file, bytes.data(), size, end - static_cast<off_t>(size));
  close(file);
  if (got <= 0) return {};
  bytes.resize(static_cast<std::size_t>(got));
  // A line that is cut at its front says little.
  if (static_cast<off_t>(size) < end - begin_) bytes.erase(0, bytes.find('\n') + 1);
  return last_lines(bytes);
}

}  // namespace genscope::watch
