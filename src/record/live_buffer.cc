#include "record/live_buffer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "genscope/internal/hot.h"

namespace genscope::record {
namespace {

constexpr std::uint32_t kMinChunks = 8;
constexpr std::int64_t kQuarantineNs = 10'000'000'000;

// Address ranges of closed sessions.
struct Retired {
  std::byte* base;
  std::size_t bytes;
  std::int64_t since_ns;
};
std::vector<Retired>& ranges() {
  static auto* const leaked = new std::vector<Retired>;  // used during static destruction
  return *leaked;
}

void* reusable_range(std::size_t bytes) {
  const std::int64_t now = base::monotonic_ns();
  for (auto it = ranges().begin(); it != ranges().end(); ++it) {
    if (it->bytes != bytes || now - it->since_ns < kQuarantineNs) continue;
    void* const found = it->base;
    ranges().erase(it);
    return found;
  }
  return nullptr;
}

// 0 or an errno. Reserves blocks even where the file system has no fallocate.
int reserve(int fd, std::size_t bytes) {
  if (::fallocate(fd, 0, 0, static_cast<off_t>(bytes)) == 0) return 0;
  if (errno != EOPNOTSUPP && errno != ENOSYS) return errno;
  return ::posix_fallocate(fd, 0, static_cast<off_t>(bytes));
}

}  // namespace

Result<LiveBuffer> make_live_buffer(const std::string& path, std::size_t bytes) {
  using internal::kChunkBytes;
  base::UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!fd.valid()) return base::errno_error("cannot create", path, errno);
  auto count = static_cast<std::uint32_t>(
      std::clamp<std::size_t>(bytes / kChunkBytes, kMinChunks, 1u << 20));
  int error = 0;
  std::size_t size = 0;
  for (;; count /= 2) {
    size = trace::kChunkOffset + std::size_t{count} * kChunkBytes;
    error = reserve(fd.get(), size);
    if (error != ENOSPC && error != EDQUOT && error != EFBIG) break;
    if (::ftruncate(fd.get(), 0) != 0 || count / 2 < kMinChunks) break;
  }
  if (error != 0) {
    ::unlink(path.c_str());
    return base::errno_error("cannot reserve buffers in", path, error);
  }
  void* const range = reusable_range(size);
  const int fixed = range != nullptr ? MAP_FIXED : 0;
  void* const p = ::mmap(range, size, PROT_READ | PROT_WRITE, MAP_SHARED | fixed, fd.get(), 0);
  if (p == MAP_FAILED) {
    error = errno;
    ::unlink(path.c_str());
    return base::errno_error("cannot map", path, error);
  }
  ::madvise(p, size, MADV_DONTFORK);
  ::flock(fd.get(), LOCK_EX | LOCK_NB);
  LiveBuffer buffer{path, static_cast<std::byte*>(p), size, count, fd.release()};
  auto* const header = new (p) trace::LiveHeader;
  header->lane_slots = trace::kLaneSlots;
  header->chunk_count = count;
  header->chunk_bytes = kChunkBytes;
  header->chunk_offset = trace::kChunkOffset;
  return buffer;
}

void retire(LiveBuffer& buffer) noexcept {
  if (buffer.base == nullptr) return;
  if (buffer.fd >= 0) ::close(buffer.fd);
  buffer.fd = -1;
  ::mmap(buffer.base, buffer.bytes, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  ranges().push_back({buffer.base, buffer.bytes, base::monotonic_ns()});
}

}  // namespace genscope::record
