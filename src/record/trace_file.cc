#include "record/trace_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace genscope::record {
namespace {

// What closing a trace may need: definitions, clocks, losses, the close frame.
constexpr std::uint64_t kClosingBytes = 128 << 10;
// A flight recorder keeps this many segments, so at least 3/4 of the limit is always there.
constexpr std::uint64_t kSegments = 4;

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
  base::UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644));
  if (!fd.valid()) return base::errno_error("cannot create", path, errno);
  fd_ = std::move(fd);
  segments_.push_back({path, 0});
  const trace::Preamble preamble;
  const auto* p = reinterpret_cast<const std::byte*>(&preamble);
  pending_.insert(pending_.end(), p, p + sizeof preamble);
  return Done{};
}

void TraceFile::append(const trace::FrameHeader& header, std::span<const std::byte> payload,
                       std::span<const std::byte> elsewhere) {
  trace::append_frame(header, payload, pending_, elsewhere);
  if (elsewhere.empty()) return;
  elsewhere_.push_back({pending_.size(), elsewhere});
  elsewhere_bytes_ += elsewhere.size();
}

int TraceFile::write_with_elsewhere() noexcept {
  std::size_t done = 0;
  for (const Elsewhere& part : elsewhere_) {
    int error = base::write_all(fd_.get(), pending_.data() + done, part.at - done);
    if (error == 0) error = base::write_all(fd_.get(), part.bytes.data(), part.bytes.size());
    if (error != 0) return error;
    done = part.at;
  }
  return base::write_all(fd_.get(), pending_.data() + done, pending_.size() - done);
}

int TraceFile::write() noexcept {
  if (pending_.empty()) return 0;
  Segment& segment = segments_.back();
  const int error = write_with_elsewhere();
  if (error != 0) {
    // Take a half-written frame back; if that fails too, the reader skips it.
    [[maybe_unused]] const int ignored = ::ftruncate(fd_.get(), static_cast<off_t>(segment.bytes));
    return error;
  }
  segment.bytes += pending();
  bytes_ += pending();
  pending_.clear();
  elsewhere_.clear();
  elsewhere_bytes_ = 0;
  return 0;
}

bool TraceFile::full(std::size_t more) const noexcept {
  return limits_.max_bytes != 0 && limits_.when_full == WhenFull::stop &&
         bytes_ + pending() + more + kClosingBytes > limits_.max_bytes;
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

bool TraceFile::removed() const noexcept {
  struct stat info {};
  return ::fstat(fd_.get(), &info) == 0 && info.st_nlink == 0;
}

}  // namespace genscope::record
