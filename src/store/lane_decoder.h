// A lane's words become spans, events and counters of a Trace.
//
// Spans of one lane are appended in the order of their begins, which is the order of their ids;
// what refers to a span by id, possibly in another lane, is left in `References` for later.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "genscope/trace.h"
#include "store/chunks.h"
#include "store/clock_map.h"
#include "store/definitions.h"
#include "trace/open_spans.h"
#include "trace/pack.h"

namespace genscope::store {

// One argument, its owner still an id or already an index.
struct PendingArg {
  std::uint64_t owner = 0;
  std::uint32_t key = 0;  // name
  ArgType type = ArgType::int64;
  std::uint64_t bits = 0;
};

struct References {
  struct End {
    std::uint64_t id;
    std::int64_t at_ns;
    bool failed;
  };
  struct Parent {
    std::uint32_t span;
    std::uint64_t id;
  };
  struct EventOn {
    std::uint32_t event;
    std::uint64_t id;
  };
  struct Device {
    std::uint64_t id;
    std::int64_t value_ns;
    bool is_begin;
  };
  // A span's id is lane, chunk and word: the first two are kept per chunk, ascending, and only
  // the word per span.
  struct ChunkStart {
    std::uint64_t id;     // of the chunk's first word
    std::uint32_t first;  // span
    bool whole = true;    // false: only spans that a later chunk knew to be open
  };
  std::vector<ChunkStart> chunks;
  std::vector<std::uint16_t> span_words;
  std::vector<End> ends;
  std::vector<Parent> parents;
  std::vector<EventOn> events_on;
  std::vector<Device> device;
  std::vector<PendingArg> span_args;   // owner: span index, ascending
  std::vector<PendingArg> args;        // owner: span id
  std::vector<PendingArg> event_args;  // owner: event index
  struct LaneRange {
    std::uint32_t lane, first, end;  // spans
    std::int64_t last_ns;
  };
  std::vector<LaneRange> lanes;  // ascending by lane
};

class LaneDecoder {
 public:
  LaneDecoder(Trace& trace, References& references, NameIndex& names, ClockMap& clock)
      : trace_(trace),
        refs_(references),
        names_(names),
        clock_(clock),
        recent_texts_(4096, kNone) {}

  // All chunks of one lane, in order. `track` is the lane's row.
  void decode(std::span<const Chunk> chunks, std::uint32_t track);

 private:
  struct Open {
    std::uint32_t span;
    std::uint32_t tag;
    std::uint64_t id;
  };
  // What the next argument belongs to.
  enum class Owner : std::uint8_t { none, span, event };

  void chunk(const Chunk& chunk);
  void resume(const Chunk& chunk, const std::vector<trace::OpenSpan>& open);
  void words(std::span<const std::uint64_t> words, const Chunk& chunk);
  std::uint32_t add_span(std::uint64_t id, std::int64_t at_ns, std::uint32_t site,
                         std::uint32_t parent, std::uint8_t flags);
  void end(std::uint32_t tag, std::int64_t at_ns, bool failed);
  void argument(std::uint64_t word, std::span<const std::uint64_t> payload);
  void lost(std::uint64_t word, std::span<const std::uint64_t> payload);
  std::int64_t time(std::uint64_t tick) noexcept;
  std::uint32_t named_track(std::uint32_t site);
  // An index of Trace::texts; a text that came lately is not stored again.
  std::uint32_t text(std::string_view text);

  Trace& trace_;
  References& refs_;
  NameIndex& names_;
  ClockMap& clock_;
  trace::Unpacker unpacker_;
  std::vector<trace::OpenSpan> open_list_;
  std::vector<Open> stack_;
  std::unordered_map<std::uint32_t, std::uint32_t> track_of_site_;
  std::vector<std::uint32_t> recent_texts_;  // by hash

  std::uint32_t track_ = 0;
  std::uint32_t next_seq_ = 0;
  std::uint64_t last_id_ = 0;  // of the span that was added last
  std::int64_t last_ns_ = 0;
  Owner owner_ = Owner::none;
  std::uint64_t owner_id_ = 0;
};

}  // namespace genscope::store
