// Stores into a MAP_SHARED file survive kill -9, because the pages are the kernel's. They also
// raise SIGBUS if the file has no block for the page and the disk is full. So blocks are reserved
// with fallocate before a chunk is handed out, and never more than an eighth of the free space:
// where they cannot be had, fewer are asked for, by halves, down to what one thread needs.
//
// The address range is reserved whole at the start, since a mapping cannot grow in place, and costs
// no memory until it is used. After a session it is mapped to anonymous memory rather than
// unmapped: a thread that was about to store stores into nothing. Ten seconds later no such thread
// can be left, and the next session of the same size takes the range over, so that a program which
// opens sessions without end does not run out of addresses.
//
// Whether the process lives is told by a lock on the file. Closing a descriptor drops flock's lock
// on some file systems (overlayfs) and keeps it on others, while the mapping lasts:
// close_keeping_lock() finds out by trying to take it again.
#include "record/live_buffer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/clock.h"
#include "base/file.h"
#include "genscope/internal/hot.h"

namespace genscope::record {
namespace {

using internal::kChunkBytes;

constexpr std::uint32_t kMinMaxChunks = 8;  // that a buffer may grow to
constexpr std::uint32_t kFewestChunks = 4;  // process lane, its spare, a thread, and its next
constexpr std::uint32_t kFewSlots = (16384 - trace::kSlotsOffset) / sizeof(trace::LaneSlot);
constexpr std::int64_t kQuarantineNs = 10'000'000'000;
// Of the room that is free, with what the buffer has already.
constexpr std::uint64_t kRoomShare = 8;
// Of the address space that a limit leaves.
constexpr std::uint64_t kAddressShare = 16;

// Address ranges of closed sessions. Beyond these they are left unused.
struct Retired {
  std::byte* base = nullptr;
  std::size_t bytes = 0;
  std::int64_t since_ns = 0;
};
constinit std::array<Retired, 64> g_retired;

void* reusable_range(std::size_t bytes) noexcept {
  const std::int64_t now = base::monotonic_ns();
  for (Retired& range : g_retired) {
    if (range.bytes != bytes || now - range.since_ns < kQuarantineNs) continue;
    void* const found = range.base;
    range = {};
    return found;
  }
  return nullptr;
}

std::uint64_t chunks_end(std::uint32_t count) noexcept {
  return trace::kChunkOffset + std::uint64_t{count} * kChunkBytes;
}

// 0 or an errno. Reserves blocks even where the file system has no fallocate.
int reserve(int fd, std::uint64_t from, std::uint64_t bytes) noexcept {
  if (::fallocate(fd, 0, static_cast<off_t>(from), static_cast<off_t>(bytes)) == 0) return 0;
  if (errno != EOPNOTSUPP && errno != ENOSYS) return errno;
  return ::posix_fallocate(fd, static_cast<off_t>(from), static_cast<off_t>(bytes));
}

bool no_room(int error) noexcept { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

// The largest mapping that leaves a limited address space (ulimit -v) to the program.
std::size_t within_address_space(std::size_t bytes) noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return bytes;
  const int fd = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  char text[64] = {};
  const ssize_t n = fd >= 0 ? ::read(fd, text, sizeof text - 1) : -1;
  if (fd >= 0) ::close(fd);
  if (n <= 0) return bytes;
  const std::uint64_t used =
      std::strtoull(text, nullptr, 10) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t left = limit.rlim_cur > used ? limit.rlim_cur - used : 0;
  return std::min<std::uint64_t>(bytes, left / kAddressShare);
}

struct Reserved {
  int error = 0;
  std::uint32_t chunks = 0, slots = 0;
};

// The first blocks: as wanted, or as few as will do.
Reserved reserve_first(int fd, const LiveSize& size, std::uint32_t max_chunks) noexcept {
  const std::uint64_t free = base::free_bytes(fd);
  Reserved got;
  got.slots = std::min(size.first_slots, trace::kLaneSlots);
  got.chunks = std::clamp(size.first_chunks, kFewestChunks, max_chunks);
  for (;;) {
    const std::uint64_t head = trace::kSlotsOffset + got.slots * sizeof(trace::LaneSlot);
    const std::uint64_t chunk_bytes = std::uint64_t{got.chunks} * kChunkBytes;
    got.error = head + chunk_bytes > free / kRoomShare ? ENOSPC : reserve(fd, 0, head);
    if (got.error == 0) got.error = reserve(fd, trace::kChunkOffset, chunk_bytes);
    if (!no_room(got.error)) return got;
    if (::ftruncate(fd, 0) != 0) return got;
    if (got.chunks == kFewestChunks && got.slots <= kFewSlots) return got;
    got.slots = std::min(got.slots, kFewSlots);
    got.chunks = std::max(got.chunks / 2, kFewestChunks);
  }
}

// Whether the lock of `fd`, which is closed here, stays for as long as the file is mapped. If not,
// the result is a descriptor that holds it again.
int close_keeping_lock(const std::string& path, int fd) noexcept {
  const int other = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (other < 0) return fd;
  ::close(fd);
  if (::flock(other, LOCK_EX | LOCK_NB) == 0) return other;
  ::close(other);
  return -1;
}

}  // namespace

Result<LiveBuffer> make_live_buffer(const std::string& path, const LiveSize& size) {
  const base::NoWriteSignals no_signals;
  // For us alone, whatever the umask: it may lie in /dev/shm, where all look.
  base::UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid()) return base::errno_error("cannot create", path, errno);
  const auto given_up = [&](const char* what, int error) {
    ::unlink(path.c_str());
    return base::errno_error(what, path, error);
  };
  LiveBuffer buffer;
  buffer.max_chunks = static_cast<std::uint32_t>(std::clamp<std::size_t>(
      within_address_space(size.max_bytes) / kChunkBytes, kMinMaxChunks, 1u << 20));
  const Reserved first = reserve_first(fd.get(), size, buffer.max_chunks);
  if (first.error != 0) return given_up("cannot reserve buffers in", first.error);
  buffer.path = path;
  buffer.bytes = chunks_end(buffer.max_chunks);
  buffer.chunk_count = first.chunks;
  buffer.slot_count = first.slots;
  void* const range = reusable_range(buffer.bytes);
  const int fixed = range != nullptr ? MAP_FIXED : 0;
  void* const p =
      ::mmap(range, buffer.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | fixed, fd.get(), 0);
  if (p == MAP_FAILED) return given_up("cannot map", errno);
  buffer.base = static_cast<std::byte*>(p);
  ::flock(fd.get(), LOCK_EX | LOCK_NB);
  auto* const header = new (p) trace::LiveHeader;
  header->lane_slots = trace::kLaneSlots;
  header->chunk_count = first.chunks;
  header->chunk_bytes = kChunkBytes;
  header->chunk_offset = trace::kChunkOffset;
  buffer.file = base::GuestFile(path, O_RDWR, fd.get());
  buffer.file.forget();
  const int lock = close_keeping_lock(path, fd.release());
  if (lock >= 0) {
    header->lock_by_descriptor = 1;
    buffer.file = base::GuestFile(path, O_RDWR, lock);
  }
  return buffer;
}

int LiveBuffer::hold_lock() noexcept {
  const int fd = file.use();
  if (fd < 0) return -fd;
  // The maker of the file is about to close its own descriptor. If the lock stays taken after that,
  // the mapping has it, which is as good.
  for (int i = 0; i < 100 && header()->lock_by_descriptor != 0; ++i) {
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) break;
    const timespec pause{0, 100'000};
    ::nanosleep(&pause, nullptr);
  }
  return 0;
}

int LiveBuffer::grow_chunks(std::uint32_t count) noexcept {
  count = std::min(count, max_chunks);
  if (count <= chunk_count) return ENOSPC;
  const base::NoWriteSignals no_signals;
  const int fd = file.use();
  if (fd < 0) return -fd;
  if (chunks_end(count) > (base::free_bytes(fd) + chunks_end(chunk_count)) / kRoomShare) {
    return ENOSPC;
  }
  const std::uint64_t from = chunks_end(chunk_count);
  if (const int error = reserve(fd, from, chunks_end(count) - from); error != 0) return error;
  chunk_count = count;
  std::atomic_ref(header()->chunk_count).store(count, std::memory_order_release);
  return 0;
}

int LiveBuffer::grow_slots() noexcept {
  if (slot_count >= trace::kLaneSlots) return ENOSPC;
  const base::NoWriteSignals no_signals;
  const int fd = file.use();
  if (fd < 0) return -fd;
  constexpr std::uint64_t kAll = trace::kLaneSlots * sizeof(trace::LaneSlot);
  if (const int error = reserve(fd, trace::kSlotsOffset, kAll); error != 0) return error;
  std::atomic_ref(slot_count).store(trace::kLaneSlots, std::memory_order_release);
  return 0;
}

void retire(LiveBuffer& buffer) noexcept {
  if (buffer.base == nullptr) return;
  buffer.file.close();
  ::mmap(buffer.base, buffer.bytes, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  for (Retired& range : g_retired) {
    if (range.base != nullptr) continue;
    range = {buffer.base, buffer.bytes, base::monotonic_ns()};
    return;
  }
}

void leave_to_parent(LiveBuffer& buffer) noexcept {
  if (buffer.base != nullptr) ::munmap(buffer.base, buffer.bytes);
  buffer.base = nullptr;
}

void note_stop(LiveBuffer& buffer, std::string_view reason) noexcept {
  trace::LiveHeader& header = *buffer.header();
  const std::size_t n = std::min(reason.size(), header.reason.size() - 1);
  std::memcpy(header.reason.data(), reason.data(), n);
  std::atomic_ref(header.stopped).store(1, std::memory_order_release);
}

}  // namespace genscope::record
