#include "record/trace_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/file.h"

namespace genscope::record {
namespace {

// What closing a trace may need: definitions, clocks, losses, the close frame.
constexpr std::uint64_t kClosingBytes = 128 << 10;
// A flight recorder keeps this many segments, so at least 3/4 of the limit is always there.
constexpr std::uint64_t kSegments = 4;
// Of the room on the disk, what the trace has already included.
constexpr std::uint64_t kDiskShare = 4;
// The disk is asked again after so many bytes, or half of what was left.
constexpr std::uint64_t kAskBytes = 8 << 20;

}  // namespace

Result<TraceFile> TraceFile::create(const std::string& path, Limits limits) {
  TraceFile file;
  file.path_ = path;
  file.limits_ = limits;
  if (limits.max_bytes != 0) {
    file.limits_.max_bytes = std::max(limits.max_bytes, 4 * kClosingBytes);
  }
  if (Status opened = file.open_segment(path); !opened) return opened.error();
  return file;
}

Status TraceFile::open_segment(const std::string& path) {
  // What can throw comes first.
  segments_.push_back({path, 0});
  pending_.reserve(pending_.size() + sizeof(trace::Preamble));
  std::string own_path = path;
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) {
    const int error = errno;
    segments_.pop_back();
    return base::errno_error("cannot create", path, error);
  }
  file_ = base::GuestFile(std::move(own_path), O_WRONLY | O_APPEND, fd);
  const trace::Preamble preamble;
  const auto* p = reinterpret_cast<const std::byte*>(&preamble);
  pending_.insert(pending_.end(), p, p + sizeof preamble);
  return Done{};
}

void TraceFile::append(const trace::FrameHeader& header, std::span<const std::byte> payload,
                       std::span<const std::byte> elsewhere) {
  const std::size_t before = pending_.size();
  try {
    elsewhere_.reserve(elsewhere_.size() + 1);
    trace::append_frame(header, payload, pending_, elsewhere);
  } catch (...) {
    pending_.resize(before);
    throw;
  }
  if (elsewhere.empty()) return;
  elsewhere_.push_back({pending_.size(), elsewhere});
  elsewhere_bytes_ += elsewhere.size();
}

int TraceFile::write_with_elsewhere(int fd) noexcept {
  std::size_t done = 0;
  for (const Elsewhere& part : elsewhere_) {
    int error = base::write_all(fd, pending_.data() + done, part.at - done);
    if (error == 0) error = base::write_all(fd, part.bytes.data(), part.bytes.size());
    if (error != 0) return error;
    done = part.at;
  }
  return base::write_all(fd, pending_.data() + done, pending_.size() - done);
}

int TraceFile::write() noexcept {
  if (pending_.empty()) return 0;
  const base::NoWriteSignals no_signals;
  const int fd = file_.use();
  if (fd < 0) return -fd;
  Segment& segment = segments_.back();
  const int error = write_with_elsewhere(fd);
  if (error != 0) {
    // Take a half-written frame back; if that fails too, the reader skips it.
    const int same = file_.use();
    if (same >= 0) {
      [[maybe_unused]] const int ignored = ::ftruncate(same, static_cast<off_t>(segment.bytes));
    }
    return error;
  }
  segment.bytes += pending();
  bytes_ += pending();
  pending_.clear();
  elsewhere_.clear();
  elsewhere_bytes_ = 0;
  return 0;
}

int TraceFile::open_here() noexcept {
  const int fd = file_.use();
  return fd >= 0 ? 0 : -fd;
}

bool TraceFile::full(std::size_t more) const noexcept {
  return limits_.max_bytes != 0 && limits_.when_full == WhenFull::stop &&
         bytes_ + pending() + more + kClosingBytes > limits_.max_bytes;
}

bool TraceFile::crowded(std::size_t more) noexcept {
  const std::uint64_t wanted = bytes_ + pending() + more;
  if (wanted <= room_bytes_) return false;
  const int fd = file_.use();
  if (fd < 0) return false;  // write() will tell
  const std::uint64_t most = base::free_bytes(fd) / kDiskShare + bytes_ / kDiskShare;
  if (wanted > most) return true;
  room_bytes_ = wanted + std::min(kAskBytes, (most - wanted) / 2);
  return false;
}

bool TraceFile::segment_done() const noexcept {
  return limits_.max_bytes != 0 && limits_.when_full == WhenFull::keep_newest &&
         segments_.back().bytes + pending() > limits_.max_bytes / kSegments;
}

Status TraceFile::next_segment() {
  // "trace-7-0.gst" is followed by "trace-7-0.1.gst".
  const std::string stem = path_.substr(0, path_.rfind('.'));
  segment_++;
  Status opened = open_segment(stem + "." + std::to_string(segment_) + ".gst");
  if (!opened) return opened;
  while (segments_.size() > kSegments) {
    ::unlink(segments_.front().path.c_str());
    bytes_ -= segments_.front().bytes;
    segments_.pop_front();
  }
  return Done{};
}

bool TraceFile::removed() noexcept {
  struct stat info {};
  const int fd = file_.use();
  if (fd < 0) return fd == -ENOENT || fd == -ESTALE;
  return ::fstat(fd, &info) == 0 && info.st_nlink == 0;
}

}  // namespace genscope::record
