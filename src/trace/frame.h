// Frames: what a trace file is made of. docs/trace-format.md draws them.
//
//   file  = preamble frame*          frame = header (64 bytes) payload
//
// A header carries a checksum of itself and one of its payload, so a reader can skip damage to the
// next whole frame. All numbers are little endian; files are append-only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "trace/open_spans.h"

namespace genscope::trace {

inline constexpr std::uint32_t kFormatVersion = 1;

struct Preamble {
  std::array<char, 8> magic = {'G', 'E', 'N', 'S', 'C', 'O', 'P', 'E'};
  std::uint32_t version = kFormatVersion;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(Preamble) == 16);

enum class FrameType : std::uint8_t {
  process = 1,  // JSON: who records, on which clock; first in every file
  chunk = 2,    // words of one lane
  close = 3,    // JSON: the recorder finished; last in every cleanly closed file
};
enum class Codec : std::uint8_t { raw = 0, packed = 1 };

enum FrameFlag : std::uint16_t {
  kFrameSnapshot = 1,  // lane 0: definitions repeated for a new session or segment, no chunk
  kFrameFromLive = 2,  // folded from a live file: no open stack is known (fold.h)
};

inline constexpr std::uint32_t kFrameMagic = 0x46534713;  // bytes 13 47 53 46: not ASCII text

struct FrameHeader {
  std::uint32_t magic = kFrameMagic;
  FrameType type = FrameType::chunk;
  Codec codec = Codec::raw;
  std::uint16_t flags = 0;
  std::uint32_t stored_bytes = 0;  // of the payload
  std::uint32_t words = 0;         // chunk: how many words
  std::uint32_t lane = 0;
  std::uint32_t seq = 0;         // chunk: its number in the lane
  std::uint64_t base_tick = 0;   // chunk: what the first words count from
  std::uint32_t open_spans = 0;  // chunk: entries of the open stack before the words
  std::uint32_t reserved = 0;
  std::uint64_t reserved2 = 0;
  std::uint64_t payload_checksum = 0;
  std::uint64_t header_checksum = 0;  // of the 56 bytes before it
};
static_assert(sizeof(FrameHeader) == 64);

// Larger claims are damage: a chunk's words, raw, with the deepest open stack.
inline constexpr std::uint32_t kMaxFrameBytes = 1u << 20;

// Fills sizes and checksums and appends header and payload to `out`. The payload may come in two
// parts; the second is then not appended, so that the writer can send it from where it lies.
void append_frame(FrameHeader header, std::span<const std::byte> payload,
                  std::vector<std::byte>& out, std::span<const std::byte> elsewhere = {});

// Whether `header` is one of ours and undamaged.
bool valid(const FrameHeader& header) noexcept;

// A frame within a file's bytes.
struct FrameView {
  FrameHeader header;
  std::span<const std::byte> payload;
  std::size_t offset = 0;
};

// Goes through a file's frames, over damage.
class FrameScanner {
 public:
  explicit FrameScanner(std::span<const std::byte> bytes, std::size_t from = sizeof(Preamble))
      : bytes_(bytes), at_(from) {}
  // The next whole frame, or false at the end. Damage on the way is counted.
  bool next(FrameView& frame);

  std::uint64_t bad_frames() const noexcept { return bad_frames_; }
  std::uint64_t bad_bytes() const noexcept { return bad_bytes_; }
  // The file ends inside a frame: it was cut off, or is being written. Counted as damage too.
  bool torn_tail() const noexcept { return torn_bytes_ > 0; }
  std::uint64_t torn_bytes() const noexcept { return torn_bytes_; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_;
  std::uint64_t bad_frames_ = 0;
  std::uint64_t bad_bytes_ = 0;
  std::uint64_t torn_bytes_ = 0;
};

}  // namespace genscope::trace
