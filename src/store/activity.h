// What a process is doing: its open stages and their steps, from its lanes' words as they come.
//
// Unlike lane_decoder, which builds columns of everything, this keeps only what is open. Words of a
// chunk may come in parts, from the live buffer and later from the file; none is taken twice.
// Memory is bounded by what is open, and that by limits: nothing here grows with the run.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "genscope/store.h"
#include "store/chunks.h"
#include "store/clock_map.h"
#include "store/sites.h"
#include "trace/open_spans.h"
#include "trace/sample_names.h"

namespace genscope::store {

class Activity {
 public:
  // Both are asked while words are taken, and must outlive this.
  Activity(Sites& sites, ClockMap& clock) : sites_(sites), clock_(clock) {}

  // How many words of this chunk were taken; kNotWanted if there can be no more.
  std::uint32_t known_words(std::uint32_t lane, std::uint32_t seq) const;
  // Whether the chunk begins where the lane is: nothing is missing in between.
  bool follows(const Chunk& chunk) const;
  // `words`: the chunk's from chunk.first_word on. `open`: its frame's open stack.
  void take(const Chunk& chunk, std::span<const std::uint64_t> words,
            std::span<const trace::OpenSpan> open);

  // The innermost open stage and its steps; the one that finished last.
  void describe_open(Progress::Process& out) const;
  void describe_last(Progress::Process& out) const;
  void describe_values(Progress::Process& out) const;
  std::uint64_t dropped_spans() const noexcept { return dropped_spans_; }

 private:
  struct Lane {
    std::uint32_t seq = 0;
    std::uint32_t words = 0;  // of that chunk
    bool complete = false;    // that chunk has no more
    bool from_file = false;
    std::uint64_t base = 0;   // tick
    std::uint64_t owner = 0;  // span that the next argument belongs to, or 0
    // Or the event that says something of samples, and what of: an entity's id, a counter.
    SiteInfo::Tells tells = SiteInfo::Tells::nothing;
    std::string subject;
    std::vector<trace::OpenSpan> stack;
  };
  struct Detached {
    std::uint64_t begin_tick = 0;
    std::uint64_t parent = 0;
    std::uint32_t site = 0;
  };
  struct Stage {
    std::uint64_t begin_tick = 0;
    std::uint32_t site = 0;
    std::uint64_t steps = 0;
    std::array<std::int64_t, 8> last_ns{};  // of the steps, in a ring
  };
  struct Total {
    int rank = 0;
    std::uint64_t steps = 0;
  };

  void resume(Lane& lane, const Chunk& chunk, std::span<const trace::OpenSpan> open);
  void words(Lane& lane, const Chunk& chunk, std::span<const std::uint64_t> content);
  void record(Lane& lane, std::uint64_t id, std::uint64_t word,
              std::span<const std::uint64_t> payload);
  void count(std::uint32_t site, double value);
  void told(Lane& lane, std::uint64_t word, std::span<const std::uint64_t> payload);
  Progress::Value value_of(const std::string& counter, double value) const;
  void push(Lane& lane, const trace::OpenSpan& span);
  void begin(std::uint64_t id, std::uint64_t tick, std::uint32_t site);
  void end(Lane& lane, std::uint32_t tag, std::uint64_t tick);
  void end_at(std::vector<trace::OpenSpan>& stack, std::size_t place, std::uint64_t tick);
  void end_by_id(std::uint64_t id, std::uint64_t tick);
  void finish(const trace::OpenSpan& span, std::uint64_t parent, std::uint64_t end_tick);
  void finish_step(std::uint64_t parent, std::int64_t ns);
  void argument(std::uint64_t owner, std::uint64_t word, std::span<const std::uint64_t> payload);
  bool is_open(std::uint64_t id) const;
  bool yet_to_come(std::uint64_t id) const;
  void forget(std::uint64_t id);
  void forget_detached_before(std::uint64_t tick);
  void forget_older_half();
  void prune();
  template <class Visit>
  void around(std::uint64_t id, Visit visit) const;
  std::optional<std::uint64_t> total_for(std::uint64_t stage) const;
  std::int64_t duration_ns(std::uint64_t from_tick, std::uint64_t to_tick) const;

  Sites& sites_;
  ClockMap& clock_;
  std::unordered_map<std::uint32_t, Lane> lanes_;
  std::size_t prune_at_ = 1 << 12;                         // lanes
  std::unordered_map<std::uint64_t, Detached> detached_;   // open, by id
  std::unordered_map<std::uint64_t, Stage> stages_;        // open, by id
  std::unordered_map<std::uint64_t, Total> totals_;        // arguments of open spans
  std::unordered_map<std::uint64_t, std::uint64_t> ends_;  // ticks; of spans yet to come
  std::uint32_t last_site_ = 0;                            // stage that finished last
  std::uint64_t last_end_tick_ = 0;
  std::int64_t last_ns_ = -1;  // none yet
  std::uint64_t dropped_spans_ = 0;
  std::array<std::int64_t, 32> step_ns_{};  // of the steps that finished last, in a ring
  std::uint64_t steps_ = 0;
  std::unordered_map<std::uint32_t, double> values_;  // latest, by counter
  std::unordered_map<std::string, EntityKind> entities_;
  std::unordered_map<std::string, trace::OwnMetric> own_metrics_;  // by counter
};

}  // namespace genscope::store
