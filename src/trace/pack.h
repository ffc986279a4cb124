// Packing: the words of a chunk as delta columns, compressed; and back.
//
// A pure transform of words: unpack(pack(words)) == words for every input, also for words that
// make no sense, so the decoder behind it sees the same thing in a live buffer and in a file.
//
// Columns: an op byte per record; for each tick the bit length of its delta (one byte) and the
// bits below its leading one (a bit stream, which no compressor could shorten); names and
// argument values as varints, the latter as deltas to the last value under the same key; payload
// words as they are. All but the bit stream go through zstd.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "genscope/error.h"
#include "trace/open_spans.h"

namespace genscope::trace {

// What a chunk's words count from.
struct ChunkBase {
  std::uint64_t first_id = 0;  // id of the chunk's first word
  std::uint64_t base_tick = 0;
};

// Moves `open` over `words` without packing them.
void advance(std::span<const std::uint64_t> words, const ChunkBase& base, OpenSpans& open);

class Packer {
 public:
  Packer();
  ~Packer();
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

  // Appends the packed form to `out` and moves `open`, which is the stack before the words.
  // Keeps its scratch memory: no allocation after the first full chunk. Throws std::bad_alloc, and
  // then leaves `open` and `out` half changed.
  void pack(std::span<const std::uint64_t> words, const ChunkBase& base, OpenSpans& open,
            std::vector<std::byte>& out);

 private:
  struct Scratch;
  std::unique_ptr<Scratch> scratch_;
};

class Unpacker {
 public:
  Unpacker();
  ~Unpacker();
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  // The `word_count` words of a packed chunk; valid until the next call. `open` is the stack
  // before them. Any bytes are safe: what is malformed is an Error.
  Result<std::span<const std::uint64_t>> unpack(std::span<const std::byte> packed,
                                                std::size_t word_count, std::uint64_t first_id,
                                                std::span<const OpenSpan> open);

  // The words of a chunk that was not packed, with the same lifetime; any alignment.
  std::span<const std::uint64_t> copy(std::span<const std::byte> raw);

 private:
  struct Columns;
  Result<std::span<const std::uint64_t>> decode(Columns& columns, std::uint64_t first_id);
  struct Scratch;
  std::unique_ptr<Scratch> scratch_;
};

}  // namespace genscope::trace
