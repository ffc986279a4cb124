#include "store/recorded.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "base/checksum.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "store/segments.h"
#include "trace/frame.h"
#include "trace/live.h"

namespace genscope::store {
namespace {

constexpr std::int64_t kPauseSeconds = 15 * 60;
constexpr std::size_t kEndBytes = 64u << 10;  // of a file, among which its last frame is

bool all_at(int fd, std::int64_t offset, void* out, std::size_t size) {
  return ::pread(fd, out, size, offset) == static_cast<ssize_t>(size);
}

// What a trace file says first: who records. Empty: not yet, or no trace.
Result<std::string> process_json(const std::string& path) {
  const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return base::errno_error("cannot open", path, errno);
  trace::Preamble preamble;
  const trace::Preamble wanted;
  trace::FrameHeader header;
  if (!all_at(fd.get(), 0, &preamble, sizeof preamble) || preamble.magic != wanted.magic ||
      !all_at(fd.get(), sizeof preamble, &header, sizeof header) || !trace::valid(header) ||
      header.type != trace::FrameType::process || header.stored_bytes > trace::kMaxFrameBytes) {
    return std::string();
  }
  std::string json(header.stored_bytes, '\0');
  const bool whole = all_at(fd.get(), sizeof preamble + sizeof header, json.data(), json.size()) &&
                     base::checksum(json.data(), json.size()) == header.payload_checksum;
  return whole ? json : std::string();
}

bool is_closed(const std::string& path) {
  const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0) return false;
  const auto size = static_cast<std::size_t>(std::max<off_t>(info.st_size, 0));
  std::vector<std::byte> end(std::min(size, kEndBytes));
  if (!all_at(fd.get(), static_cast<std::int64_t>(size - end.size()), end.data(), end.size())) {
    return false;
  }
  trace::FrameScanner scanner(end, 0);
  trace::FrameView frame;
  bool closed = false;
  while (scanner.next(frame)) closed = frame.header.type == trace::FrameType::close;
  return closed;
}

Result<bool> holds_lock(const std::string& path, const std::string& trace_id) {
  const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) {
    const Error error = base::errno_error("cannot open", path, errno);
    if (error.code == ErrorCode::io) return error;
    return false;  // not there, or not ours to open
  }
  trace::LiveHeader header;
  return all_at(fd.get(), 0, &header, sizeof header) && base::hex(header.trace_id) == trace_id &&
         lock_is_held(fd.get());
}

}  // namespace

bool lock_is_held(int live_fd) noexcept {
  return ::flock(live_fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

std::string this_boot() {
  const auto text = base::read_file("/proc/sys/kernel/random/boot_id", 256);
  return text.ok() ? text->substr(0, text->find('\n')) : std::string();
}

bool is_elsewhere(const std::string& host, const std::string& boot_id) {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return host != name.data() && boot_id != this_boot();
}

bool lately_written(const std::string& path) noexcept {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && ::time(nullptr) - info.st_mtime < kPauseSeconds;
}

Result<bool> is_recorded(const std::string& run_dir) {
  const Result<TraceFiles> found = list_trace_files(run_dir);
  if (!found) return found.error();
  for (const auto& [stem, segments] : *found) {
    const Result<std::string> text = process_json(segments.begin()->second);
    if (!text && text.error().code == ErrorCode::io) return text.error();
    if (!text || text->empty()) continue;
    const base::JsonObject json(*text);
    if (is_elsewhere(json.text("host"), json.text("boot_id"))) {
      const std::string& newest = segments.rbegin()->second;
      if (lately_written(newest) && !is_closed(newest)) return true;
      continue;
    }
    std::string live = json.text("live");
    if (live.empty()) continue;
    if (live.find('/') == std::string::npos) live = run_dir + "/" + live;
    const Result<bool> held = holds_lock(live, json.text("trace_id"));
    if (!held || *held) return held;
  }
  return false;
}

bool all_closed(const std::string& run_dir) {
  for (const auto& [stem, segments] : trace_files(run_dir)) {
    if (!is_closed(segments.rbegin()->second)) return false;
  }
  return true;
}

}  // namespace genscope::store
