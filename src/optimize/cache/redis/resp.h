// RESP, the protocol of Redis and Valkey: commands out, replies in. Pure: bytes in, values out.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace genscope::optimize::cache {

struct RespReply {
  enum class Kind : std::uint8_t { simple, error, integer, bulk, null, array };
  Kind kind = Kind::null;
  std::string text;  // of simple, error, bulk
  std::int64_t integer = 0;
  std::vector<RespReply> items;
};

// A reply beyond these is refused: a peer must not make us take memory.
struct RespLimits {
  std::size_t bulk_bytes = std::size_t{16} << 20;
  std::size_t line_bytes = 4096;
  std::size_t items = 1024;  // of all arrays of a reply together
  int depth = 4;
};

enum class RespState : std::uint8_t { ready, more, broken };

// The first reply in `bytes`. `used` is how many bytes it took, if it is ready. While a bulk string
// is on its way, each call costs O(1).
RespState read_reply(std::string_view bytes, const RespLimits& limits, RespReply& reply,
                     std::size_t& used);

// One command, as an array of bulk strings.
void append_command(std::string& out, std::initializer_list<std::string_view> parts);

}  // namespace genscope::optimize::cache
