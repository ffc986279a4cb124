#include "store/import/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace genscope::store {
namespace {

constexpr std::size_t kSourceBytes = 256 << 10;

}  // namespace

struct ByteSource::Impl {
  std::string path;
  InflateLimits limits;
  base::UniqueFd fd;
  std::uint64_t file_bytes = 0;
  std::uint64_t consumed = 0;
  std::uint64_t produced = 0;
  std::string problem;
  bool gzip = false;
  bool ended = false;  // of the file
  bool within_member = false;
  z_stream zlib{};
  std::array<char, kSourceBytes> block;  // what was read and not yet handed out or inflated
  std::size_t block_at = 0, block_size = 0;

  ~Impl() {
    if (gzip) inflateEnd(&zlib);
  }

  // 0 or an errno.
  int fill() {
    block_at = block_size = 0;
    while (!ended) {
      const ssize_t n = ::read(fd.get(), block.data(), block.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno;
      ended = n == 0;
      block_size = static_cast<std::size_t>(n);
      break;
    }
    return 0;
  }

  Error limit_error(const std::string& what, const char* option) const {
    return {ErrorCode::no_space, path + ": " + what + " after " + std::to_string(consumed) +
                                     " bytes of it; if it is no bomb, raise " + option};
  }

  // Without the block between: for who has room for more than that.
  Result<std::size_t> straight(char* out, std::size_t size) {
    ssize_t n = 0;
    while (!ended && (n = ::read(fd.get(), out, size)) < 0) {
      if (errno != EINTR) return base::errno_error("cannot read", path, errno);
    }
    ended |= n == 0;
    consumed += static_cast<std::uint64_t>(n);
    return static_cast<std::size_t>(n);
  }

  Result<std::size_t> plain(char* out, std::size_t size) {
    if (block_at == block_size && size >= block.size()) return straight(out, size);
    if (block_at == block_size) {
      if (const int error = fill(); error != 0) {
        return base::errno_error("cannot read", path, error);
      }
    }
    const std::size_t n = std::min(size, block_size - block_at);
    std::memcpy(out, block.data() + block_at, n);
    block_at += n;
    consumed += n;
    return n;
  }

  Result<std::size_t> inflated(char* out, std::size_t size) {
    size = std::min(size, std::size_t{1} << 30);
    zlib.next_out = reinterpret_cast<Bytef*>(out);
    zlib.avail_out = static_cast<uInt>(size);
    while (zlib.avail_out == size && problem.empty()) {
      if (block_at == block_size) {
        if (const int error = fill(); error != 0) {
          return base::errno_error("cannot read", path, error);
        }
        if (ended) {
          if (within_member) problem = "the compressed data is cut off";
          break;
        }
      }
      inflate_block();
    }
    const std::size_t n = size - zlib.avail_out;
    produced += n;
    if (produced > limits.max_bytes) {
      return limit_error("it inflates to more than " + std::to_string(limits.max_bytes) + " bytes",
                         "ImportOptions::max_bytes (--max-gib)");
    }
    if (produced > InflateLimits::kFreeBytes && produced / (consumed + 1) > limits.max_ratio) {
      return limit_error(
          "it inflates to more than " + std::to_string(limits.max_ratio) + " times its size",
          "ImportOptions::max_ratio (--max-ratio)");
    }
    return n;
  }

  // A file may be several members one after another.
  void inflate_block() {
    zlib.next_in = reinterpret_cast<Bytef*>(block.data() + block_at);
    zlib.avail_in = static_cast<uInt>(block_size - block_at);
    if (!within_member) inflateReset(&zlib);
    within_member = true;
    const int result = inflate(&zlib, Z_NO_FLUSH);
    const std::size_t left = zlib.avail_in;
    consumed += block_size - block_at - left;
    block_at = block_size - left;
    if (result == Z_STREAM_END) {
      within_member = false;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      problem = "the compressed data is damaged at byte " + std::to_string(consumed);
    }
  }
};

ByteSource::ByteSource(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ByteSource::ByteSource(ByteSource&&) noexcept = default;
ByteSource::~ByteSource() = default;

Result<ByteSource> ByteSource::open(const std::string& path, InflateLimits limits) {
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  impl->limits = limits;
  impl->fd.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!impl->fd.valid()) return base::errno_error("cannot open", path, errno);
  struct stat info {};
  if (::fstat(impl->fd.get(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) {
      return Error{ErrorCode::invalid_argument, path + " is a folder; give the trace files in it"};
    }
    if (S_ISREG(info.st_mode)) impl->file_bytes = static_cast<std::uint64_t>(info.st_size);
  }
  if (const int error = impl->fill(); error != 0) {
    return base::errno_error("cannot read", path, error);
  }
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(impl->block[i]); };
  if (impl->block_size >= 2 && byte(0) == 0x1F && byte(1) == 0x8B) {
    constexpr int kGzipOnly = 16;
    if (inflateInit2(&impl->zlib, MAX_WBITS + kGzipOnly) != Z_OK) {
      return Error{ErrorCode::no_space, "no memory to decompress " + path};
    }
    impl->gzip = true;
  }
  return ByteSource(std::move(impl));
}

Result<std::size_t> ByteSource::read(char* out, std::size_t size) {
  return impl_->gzip ? impl_->inflated(out, size) : impl_->plain(out, size);
}

const std::string& ByteSource::problem() const { return impl_->problem; }
std::uint64_t ByteSource::consumed() const { return impl_->consumed; }
std::uint64_t ByteSource::file_bytes() const { return impl_->file_bytes; }

}  // namespace genscope::store
