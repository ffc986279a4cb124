#include "base/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace genscope::base {

std::uint64_t checksum(const void* data, std::size_t size) noexcept {
  return XXH3_64bits(data, size);
}

}  // namespace genscope::base
