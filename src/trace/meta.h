// Records of lane 0, the process's own lane: names, threads, clock snapshots, losses.
//
// Each is a meta word (internal/word.h) followed by these words, little endian:
//   site    id | kind << 32, then the name's bytes
//   thread  lane | tid << 32, then the name's bytes
//   clock   ticks, monotonic_ns, realtime_ns, boottime_ns, width_ticks
//   loss    lane, spans, records, first tick, last tick
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "base/clock.h"
#include "genscope/internal/word.h"

namespace genscope::trace {

struct SiteMeta {
  std::uint32_t id = 0;
  SpanKind kind = SpanKind::none;
  std::string_view name;
};
struct ThreadMeta {
  std::uint32_t lane = 0;
  std::uint32_t tid = 0;
  std::string_view name;
};
using ClockMeta = base::ClockSnapshot;
struct LossMeta {
  std::uint32_t lane = 0;
  std::uint64_t spans = 0;
  std::uint64_t records = 0;
  std::uint64_t first_tick = 0;
  std::uint64_t last_tick = 0;
};
using Meta = std::variant<SiteMeta, ThreadMeta, ClockMeta, LossMeta>;

// The largest record: a name of 255 bytes.
inline constexpr std::size_t kMaxMetaWords = 1 + 1 + 32;

// Writes the record to `out`, which has room for kMaxMetaWords; returns the words used.
// A name is cut to 255 bytes.
std::size_t encode(const Meta& meta, std::uint64_t* out) noexcept;

// `payload`: the words behind the meta word `head`. Nothing if it is malformed or of a type that
// this version does not know.
std::optional<Meta> decode(std::uint64_t head, std::span<const std::uint64_t> payload) noexcept;

}  // namespace genscope::trace
