// The 8-byte words that a thread writes into its lane, and that a trace file holds.
//
// Here only because the inline hot path of record.h needs it (it belongs to src/trace).
// docs/trace-format.md is the full description of the bytes; this header is its code.
//
//   63    60 59                40 39                                              0
//   +-------+--------------------+------------------------------------------------+
//   |  op   |  field (20 bits)   |  low (40 bits)                                 |
//   +-------+--------------------+------------------------------------------------+
//
// `low` is a tick relative to the chunk's base (or to the last rebase) for every op that happens
// at an instant; some ops are followed by payload words (see payload_words).
#pragma once

#include <cstdint>

namespace genscope {

// What a span stands for; decides the table it is summed in. `none` marks a plain name.
enum class SpanKind : std::uint8_t {
  none,
  session,
  load,
  stage,
  step,
  block,
  forward,
  request,
  batch,
  epoch,
  task,
  function,
};

}  // namespace genscope

namespace genscope::internal {

enum class Op : std::uint8_t {
  pad = 0,          // never written: what zeroed memory decodes to
  begin = 1,        // field: site            low: tick
  end = 2,          // field: tag of begin    low: tick
  end_failed = 3,   // like end, for a span that failed
  arg = 4,          // field: key             low: unsigned value; belongs to the last head word
  wide_arg = 5,     // field: key             low: ArgType << 32 | bytes; the value follows
  async_begin = 6,  // field: site            low: tick; 1 payload: id of the parent, or 0
  async_end = 7,    // field: 1 if failed     low: tick; 1 payload: id of the span
  attach = 8,       // field: 0               low: tick; 1 payload: id; args that follow are its
  event = 9,        // field: site            low: tick
  event_on = 10,    // field: site            low: tick; 1 payload: id of the span it belongs to
  counter = 11,     // field: site            low: tick; 1 payload: the value, an IEEE double
  rebase = 12,      // field: 0               low: 0; 1 payload: the new absolute base tick
  lost = 13,        // field: 0 spans, 1 rest low: how many; 2 payloads: first and last tick
  meta = 14,        // field: MetaType        low: bytes; the payload follows, padded to words
};

enum class ArgType : std::uint8_t { int64 = 0, uint64 = 1, float64 = 2, text = 3, boolean = 4 };

// Records of lane 0, the process's own lane. Layouts: src/trace/meta.h.
enum class MetaType : std::uint8_t { site = 1, thread = 2, clock = 3, loss = 4 };

inline constexpr int kOpShift = 60;
inline constexpr int kFieldShift = 40;
inline constexpr std::uint64_t kLowMask = (std::uint64_t{1} << 40) - 1;
inline constexpr std::uint32_t kFieldMask = (1u << 20) - 1;

// Ids that every process shares; user names are numbered from 1.
inline constexpr std::uint32_t kMaxUserSite = 0xFFEFF;
inline constexpr std::uint32_t kKeyDeviceNs = 0xFFF00;     // device time of a span, ns
inline constexpr std::uint32_t kKeyDeviceBegin = 0xFFF01;  // when the device began, host ns
inline constexpr std::uint32_t kKeyTrack = 0xFFF02;        // site id of the track's name
inline constexpr std::uint32_t kKeyIndex = 0xFFF03;        // number of a step, block, batch, ...
inline constexpr std::uint32_t kSiteStep = 0xFFF04;
inline constexpr std::uint32_t kSiteBlock = 0xFFF05;
inline constexpr std::uint32_t kSiteOther = 0xFFF06;  // stands for names beyond the limit

constexpr std::uint64_t make_word(Op op, std::uint32_t field, std::uint64_t low) noexcept {
  return std::uint64_t{static_cast<std::uint8_t>(op)} << kOpShift |
         std::uint64_t{field} << kFieldShift | low;
}
constexpr Op op_of(std::uint64_t word) noexcept { return static_cast<Op>(word >> kOpShift); }
constexpr std::uint32_t field_of(std::uint64_t word) noexcept {
  return static_cast<std::uint32_t>(word >> kFieldShift) & kFieldMask;
}
constexpr std::uint64_t low_of(std::uint64_t word) noexcept { return word & kLowMask; }

// How many words follow `word` before the next one. Hostile input may claim up to 2^37.
constexpr std::uint64_t payload_words(std::uint64_t word) noexcept {
  switch (op_of(word)) {
    case Op::async_begin:
    case Op::async_end:
    case Op::attach:
    case Op::event_on:
    case Op::counter:
    case Op::rebase:
      return 1;
    case Op::lost:
      return 2;
    case Op::wide_arg:
      return ((word & 0xFFFFFFFF) + 7) / 8;
    case Op::meta:
      return (low_of(word) + 7) / 8;
    default:
      return 0;
  }
}
constexpr bool has_tick(Op op) noexcept {
  constexpr std::uint32_t with =
      1u << 1 | 1u << 2 | 1u << 3 | 1u << 6 | 1u << 7 | 1u << 8 | 1u << 9 | 1u << 10 | 1u << 11;
  return (with >> static_cast<unsigned>(op) & 1) != 0;
}

// A span's id is the place of its begin word: lane (22 bits) | chunk (27) | word in chunk (13).
// The low 20 bits are the tag that a sync end carries to say which begin it closes. The two bits
// above are only set in a handle in memory, never in a file: they make its lane differ from the
// thread's, so that the inline end needs no further test to leave the rare cases to the slow path.
inline constexpr int kIdLaneShift = 40;
inline constexpr int kIdChunkShift = 13;
inline constexpr std::uint32_t kMaxLane = (1u << 22) - 1;
inline constexpr std::uint64_t kIdAsync = std::uint64_t{1} << 62;
inline constexpr std::uint64_t kIdFailed = std::uint64_t{1} << 63;
inline constexpr std::uint64_t kIdMask = kIdAsync - 1;
inline constexpr std::uint32_t kMaxChunkSeq = (1u << 27) - 1;

constexpr std::uint64_t make_id(std::uint32_t lane, std::uint32_t seq, std::uint32_t at) noexcept {
  return std::uint64_t{lane} << kIdLaneShift | std::uint64_t{seq} << kIdChunkShift | at;
}
constexpr std::uint32_t lane_of(std::uint64_t id) noexcept {
  return static_cast<std::uint32_t>(id >> kIdLaneShift) & kMaxLane;
}
constexpr std::uint32_t tag_of(std::uint64_t id) noexcept {
  return static_cast<std::uint32_t>(id) & kFieldMask;
}

}  // namespace genscope::internal
