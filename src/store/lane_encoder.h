// Spans, events and counters of a Trace become the words of a lane: the way back of LaneDecoder.
#pragma once

#include <cstdint>
#include <queue>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "genscope/trace.h"
#include "store/lane_plan.h"
#include "store/trace_output.h"
#include "trace/open_spans.h"

namespace genscope::store {

// Words of one lane, cut into chunks. Records that belong together stand in one chunk.
class LaneWords {
 public:
  static constexpr std::size_t kMaxWords = 8184;  // as many as the recorder puts into a chunk

  // `out` may be null: then only ids are dealt out.
  void start(std::uint32_t lane, TraceOutput* out);
  // Makes room for `words` at the time `tick`, which never decreases: a new chunk or a rebase if
  // need be. Afterwards low() fits and next_id() is the id of the next word.
  void room(std::size_t words, std::uint64_t tick);
  std::uint64_t low(std::uint64_t tick) const { return tick - base_; }
  std::uint64_t next_id() const;
  void put(std::uint64_t word) { words_.push_back(word); }
  // Writes the last chunk; an empty one if the lane has none, so that its track exists.
  void finish();

 private:
  void flush();

  std::uint32_t lane_ = 0;
  std::uint32_t seq_ = 0;
  std::uint64_t base_ = 0;        // of the next word
  std::uint64_t chunk_base_ = 0;  // of the chunk's first
  std::vector<std::uint64_t> words_;
  trace::OpenSpans open_;
  TraceOutput* out_ = nullptr;
};

// Finds the rows of one owner in a column that ascends; at once if owners are asked for in order.
class OwnerCursor {
 public:
  explicit OwnerCursor(const std::vector<std::uint32_t>& owners) : owners_(owners) {}
  std::pair<std::size_t, std::size_t> rows_of(std::uint32_t owner);

 private:
  const std::vector<std::uint32_t>& owners_;
  std::size_t at_ = 0;
};

class LaneEncoder {
 public:
  // `guest_sites`: the site of the name of each guest track.
  LaneEncoder(const Trace& trace, const LanePlan& plan,
              const std::unordered_map<std::uint32_t, std::uint32_t>& guest_sites)
      : trace_(trace),
        plan_(plan),
        guest_sites_(guest_sites),
        span_args_(trace.span_args.owner),
        event_args_(trace.event_args.owner),
        device_(trace.device.span),
        ids_(trace.spans.size()) {}

  // All lanes in order. With a null `out` it only learns the ids of spans, for a second call.
  void encode(TraceOutput* out);

 private:
  struct End {
    std::int64_t at_ns;
    std::uint32_t place;  // in the lane: of ends at one instant the inner span's comes first
    std::uint32_t span;
    bool operator<(const End& other) const {
      return at_ns != other.at_ns ? at_ns > other.at_ns : place < other.place;
    }
  };
  struct Open {
    std::uint32_t span;
    std::uint32_t place;
  };

  void lane(std::uint32_t lane, TraceOutput* out);
  void losses(std::uint32_t track);
  void span(std::uint32_t span, std::uint32_t place);
  void event(std::uint32_t event);
  void counter(std::uint32_t counter);
  // Ends that come before `at_ns`, and those at it of spans after `above`.
  void ends_until(std::int64_t at_ns, std::int64_t above);
  void end(const End& end);
  void arguments(const ArgColumns& args, std::size_t first, std::size_t last);
  void number(std::uint32_t site, ArgType type, std::uint64_t bits);

  const Trace& trace_;
  const LanePlan& plan_;
  const std::unordered_map<std::uint32_t, std::uint32_t>& guest_sites_;
  OwnerCursor span_args_, event_args_, device_;
  std::vector<std::uint64_t> ids_;
  LaneWords words_;
  std::priority_queue<End> ends_;
  std::vector<Open> stack_;
  std::vector<bool> made_detached_;  // spans that no stack could hold as they are
  std::int64_t last_ns_ = 0;         // of this lane
  std::int64_t unfinished_ns_ = 0;   // where its open spans end
  bool has_unfinished_ = false;
  bool end_is_kept_ = false;  // some lane reaches to the trace's end
};

// The site of a name: names are numbered from 1; those beyond what a word can hold share one.
std::uint32_t site_of(std::uint32_t name);

// How many words one argument takes.
std::size_t argument_words(const Trace& trace, ArgType type, std::uint64_t bits);

// Texts are cut to this, as the recorder does.
inline constexpr std::size_t kMaxTextBytes = 512;

}  // namespace genscope::store
