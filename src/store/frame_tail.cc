// The file is read from the end of the last whole frame, in blocks that hold any frame. A frame
// that is not whole yet is left for the next look; one whose checksum fails is skipped to the next
// magic number, as a reader of the closed file does. So each byte is read once, and a frame twice
// at most.
#include "store/frame_tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/checksum.h"
#include "base/file.h"

namespace genscope::store {
namespace {

// Any frame fits, so that a block always yields a frame, or damage, or the end of the file.
constexpr std::size_t kTailBytes = std::size_t{2} << 20;
static_assert(kTailBytes > sizeof(trace::FrameHeader) + trace::kMaxFrameBytes);

// Fewer bytes than asked for at the end of the file, or on an error.
std::size_t read_some(int fd, std::uint64_t offset, std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t n =
        ::pread(fd, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

// Where the next frame may begin, at `from` or behind it.
std::size_t find_magic(std::span<const std::byte> bytes, std::size_t from) {
  constexpr std::size_t kSize = sizeof trace::kFrameMagic;
  const void* const found =
      ::memmem(bytes.data() + from, bytes.size() - from, &trace::kFrameMagic, kSize);
  if (found != nullptr) {
    return static_cast<std::size_t>(static_cast<const std::byte*>(found) - bytes.data());
  }
  // The last bytes may be the start of one.
  return std::max(from, bytes.size() - std::min(bytes.size(), kSize - 1));
}

}  // namespace

FrameTail::Scanned FrameTail::frames(std::span<const std::byte> bytes,
                                     const OnFrame& on_frame) const {
  constexpr std::size_t kHeader = sizeof(trace::FrameHeader);
  std::size_t at = 0;
  while (at + kHeader <= bytes.size()) {
    trace::FrameView frame;
    std::memcpy(&frame.header, bytes.data() + at, kHeader);
    if (trace::valid(frame.header)) {
      const std::size_t size = frame.header.stored_bytes;
      if (size > bytes.size() - at - kHeader) return {at};
      frame.payload = bytes.subspan(at + kHeader, size);
      frame.offset = offset_ + at;
      if (base::checksum(frame.payload.data(), size) == frame.header.payload_checksum) {
        at += kHeader + size;
        if (!on_frame(frame)) return {at, true};
        continue;
      }
    }
    at = find_magic(bytes, at + 1);
  }
  return {at};
}

bool FrameTail::start(int fd) {
  trace::Preamble preamble;
  const trace::Preamble wanted;
  if (read_some(fd, 0, std::as_writable_bytes(std::span(&preamble, 1))) < sizeof preamble) {
    return false;
  }
  foreign_ = preamble.magic != wanted.magic || preamble.version > wanted.version;
  offset_ = sizeof preamble;
  return !foreign_;
}

void FrameTail::read(std::vector<std::byte>& scratch, const OnFrame& on_frame) {
  if (foreign_) return;
  const base::UniqueFd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return;
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (size == seen_bytes_) return;
  seen_bytes_ = size;
  if (offset_ == 0 && !start(fd.get())) return;
  // A recorder takes a write back that failed half-way.
  offset_ = std::min(offset_, size);
  while (offset_ < size) {
    scratch.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kTailBytes, size - offset_)));
    const std::size_t got = read_some(fd.get(), offset_, scratch);
    bytes_read_ += got;
    reads_++;
    const Scanned scanned = frames(std::span(scratch).first(got), on_frame);
    offset_ += scanned.bytes;
    if (scanned.stopped || scanned.bytes == 0) return;
  }
}

}  // namespace genscope::store
