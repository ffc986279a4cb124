// The chunks of a trace, from its files and its live buffer, each exactly once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "genscope/error.h"
#include "genscope/trace.h"
#include "trace/frame.h"
#include "trace/live.h"

namespace genscope::store {

struct Chunk {
  std::uint32_t lane = 0;
  std::uint32_t seq = 0;
  std::uint64_t base_tick = 0;
  std::uint32_t words = 0;  // in all, also of those that were left out
  trace::Codec codec = trace::Codec::raw;
  bool from_live = false;        // no open stack is known
  bool still_open = false;       // live: its thread may add words
  std::uint32_t first_word = 0;  // live: those before it were left out
  std::uint32_t open_spans = 0;
  std::span<const std::byte> payload;  // open stack, then words or packed words
};

// Words of a live buffer and the drops that no chunk tells of.
struct LiveContent {
  struct Loss {
    std::uint32_t lane = 0;
    std::uint64_t spans = 0, records = 0, first_tick = 0, last_tick = 0;
  };
  std::vector<std::vector<std::uint64_t>> words;  // what the chunks below view
  std::vector<Chunk> chunks;
  std::vector<Loss> losses;
  bool in_use = false;  // the recorder holds its lock: it is alive
  std::string stopped;  // why it records no more, though it may be alive
  std::uint64_t bytes_read = 0;
};

// How many words of a chunk the caller has, or that it wants none of it.
inline constexpr std::uint32_t kNotWanted = 0xFFFFFFFF;
using KnownWords = std::function<std::uint32_t(std::uint32_t lane, std::uint32_t seq)>;

// Copies what the live file holds, also while its process writes on. Chunks that are recycled
// during the copy are left out: they are in the trace file by then, so read that afterwards.
// With `known`, words that the caller has are left out; a chunk without new ones still comes if it
// is filled, so that the caller learns that there are no more.
Result<LiveContent> read_live(const std::string& path, const std::string& trace_id,
                              const KnownWords& known = {});

// The chunk of a chunk frame; nothing if its sizes contradict each other.
std::optional<Chunk> chunk_of(const trace::FrameView& frame);

// What a trace's files and live buffer contain; owns the bytes that the chunks view.
struct TraceBytes {
  std::string process_json;  // of the first segment that has one
  std::vector<base::MappedFile> files;
  std::optional<LiveContent> live;
  std::vector<Chunk> process_lane;  // definitions, in any order
  std::vector<Chunk> lanes;         // by lane, then by number
  bool closed = false;
  bool folded = false;  // by another, after the process was gone: nothing else will come
  std::string stopped;  // why recording ended early, if it did: a word of ours, or a sentence
  std::uint64_t bytes = 0;
  Integrity integrity;
};

// `paths`: the segments of one trace, oldest first.
Result<TraceBytes> read_bytes(const std::vector<std::string>& paths);

}  // namespace genscope::store
