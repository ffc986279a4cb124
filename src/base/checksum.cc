#include "base/checksum.h"

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

}  // namespace genscope::base
