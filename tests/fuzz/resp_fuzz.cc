// Replies of Redis: the first byte cuts the input in two, as a network does.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "optimize/cache/redis/resp.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace genscope::optimize::cache;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const RespLimits limits{.bulk_bytes = 4096, .line_bytes = 256, .items = 64, .depth = 4};
  RespReply whole, part;
  std::size_t used = 0, part_used = 0;
  const RespState state = read_reply(bytes, limits, whole, used);
  const RespState early = read_reply(bytes.substr(0, data[0] % size), limits, part, part_used);
  // What is known early stays true.
  if (early == RespState::ready && (state != RespState::ready || used != part_used)) std::abort();
  if (early == RespState::broken && state != RespState::broken) std::abort();
  if (state == RespState::ready && (used == 0 || used > bytes.size())) std::abort();
  return 0;
}
