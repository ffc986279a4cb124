#include "base/checksum.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/file.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace genscope::base {

std::uint64_t checksum(const void* data, std::size_t size) noexcept {
  return XXH3_64bits(data, size);
}

std::uint64_t checksum(const void* first, std::size_t first_size, const void* second,
                       std::size_t second_size) noexcept {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, first, first_size);
  XXH3_64bits_update(&state, second, second_size);
  return XXH3_64bits_digest(&state);
}

std::optional<std::uint64_t> checksum_of_file(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return std::nullopt;
  std::vector<char> block(std::size_t{64} << 10);
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  while (true) {
    const ssize_t n = ::read(fd.get(), block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::nullopt;
    if (n == 0) return XXH3_64bits_digest(&state);
    XXH3_64bits_update(&state, block.data(), static_cast<std::size_t>(n));
  }
}

}  // namespace genscope::base
