// Ids become indices by two binary searches: an id is lane, chunk and word, chunks are sorted by
// the first two, and the words of one chunk ascend as spans were added. So no hash table with an
// entry for each span is needed, only 2 bytes for each span and a few for each chunk.
//
// The order of the steps matters. Ends come first, because a scoped span that another thread ended
// stops being the parent of what its own thread began later (apply_ends walks up to the first
// ancestor that still ran). Then parents, then what is still open is closed at the last record of
// its lane. A parent must have begun before its child, by time and then by index: a damaged file
// can point anywhere, but not make a circle in an order.
//
// A reference to a span that is not there counts as damage only if the chunk that should hold it is
// whole: chunks that are missing were counted when the hole was seen.
#include "store/references.h"

#include <algorithm>

#include "genscope/internal/word.h"

namespace genscope::store {
namespace {

using LaneRange = References::LaneRange;

constexpr std::uint64_t kWordMask = (std::uint64_t{1} << internal::kIdChunkShift) - 1;
using ChunkIterator = std::vector<References::ChunkStart>::const_iterator;

// The chunk that this id lies in, or the end.
ChunkIterator chunk_of(const References& refs, std::uint64_t id) {
  const auto it = std::lower_bound(
      refs.chunks.begin(), refs.chunks.end(), id & ~kWordMask,
      [](const References::ChunkStart& c, std::uint64_t start) { return c.id < start; });
  return it != refs.chunks.end() && it->id == (id & ~kWordMask) ? it : refs.chunks.end();
}

// The span with this id, or kNone.
std::uint32_t find(const References& refs, std::uint64_t id) {
  const ChunkIterator chunk = chunk_of(refs, id);
  if (chunk == refs.chunks.end()) return kNone;
  const ChunkIterator next = std::next(chunk);
  const auto begin = refs.span_words.begin() + chunk->first;
  const auto end =
      next != refs.chunks.end() ? refs.span_words.begin() + next->first : refs.span_words.end();
  const auto it = std::lower_bound(begin, end, static_cast<std::uint16_t>(id & kWordMask));
  if (it == end || *it != (id & kWordMask)) return kNone;
  return static_cast<std::uint32_t>(it - refs.span_words.begin());
}

// Counts a reference to a span that does not exist, unless its chunk is missing: what was
// discarded or damaged is counted already.
void count_unknown(const References& refs, std::uint64_t id, Integrity& integrity) {
  const ChunkIterator chunk = chunk_of(refs, id);
  if (chunk != refs.chunks.end() && chunk->whole) integrity.bad_words++;
}

// Ends that were recorded elsewhere. A scoped span that another thread ended stood as the parent
// of whatever its own thread began later: those move up.
void apply_ends(const References& refs, Trace& trace) {
  SpanColumns& s = trace.spans;
  std::vector<std::uint32_t> moved;
  for (const References::End& end : refs.ends) {
    const std::uint32_t span = find(refs, end.id);
    if (span == kNone || s.duration_ns[span] >= 0) {
      count_unknown(refs, end.id, trace.integrity);
      continue;
    }
    s.duration_ns[span] = std::max<std::int64_t>(0, end.at_ns - s.begin_ns[span]);
    if (end.failed) s.flags[span] |= kSpanFailed;
    if ((s.flags[span] & kSpanDetached) == 0) moved.push_back(span);
  }
  if (moved.empty()) return;
  std::vector<bool> is_moved(s.size());
  for (const std::uint32_t span : moved) is_moved[span] = true;
  for (std::size_t i = 0; i < s.size(); ++i) {
    std::uint32_t p = s.parent[i];
    while (p != kNone && is_moved[p] && s.begin_ns[i] >= s.begin_ns[p] + s.duration_ns[p]) {
      p = s.parent[p];
    }
    s.parent[i] = p;
  }
}

void apply_parents(const References& refs, Trace& trace) {
  for (const References::Parent& ref : refs.parents) {
    const std::uint32_t parent = find(refs, ref.id);
    // A damaged file could make a span its own ancestor, but not in an order.
    const auto order = [&](std::uint32_t i) { return std::pair(trace.spans.begin_ns[i], i); };
    const bool sane = parent != kNone && order(parent) < order(ref.span);
    if (sane) trace.spans.parent[ref.span] = parent;
  }
}

void close_unfinished(const References& refs, Trace& trace) {
  SpanColumns& s = trace.spans;
  for (const LaneRange& lane : refs.lanes) {
    for (std::uint32_t i = lane.first; i < lane.end; ++i) {
      if (s.duration_ns[i] >= 0) continue;
      const std::int64_t until = (s.flags[i] & kSpanDetached) != 0 ? trace.end_ns : lane.last_ns;
      s.duration_ns[i] = std::max<std::int64_t>(0, until - s.begin_ns[i]);
      s.flags[i] |= kSpanUnfinished;
      trace.integrity.unfinished_spans++;
    }
  }
}

void fill(ArgColumns& columns, std::vector<PendingArg>& args) {
  const auto by_owner = [](const auto& a, const auto& b) { return a.owner < b.owner; };
  if (!std::is_sorted(args.begin(), args.end(), by_owner)) {
    std::stable_sort(args.begin(), args.end(), by_owner);
  }
  for (const PendingArg& arg : args) {
    columns.owner.push_back(static_cast<std::uint32_t>(arg.owner));
    columns.key.push_back(arg.key);
    columns.type.push_back(arg.type);
    columns.bits.push_back(arg.bits);
  }
  args = {};
}

void apply_args(References& refs, Trace& trace) {
  for (PendingArg& arg : refs.args) {
    const std::uint32_t span = find(refs, arg.owner);
    if (span == kNone) count_unknown(refs, arg.owner, trace.integrity);
    arg.owner = span;
  }
  std::erase_if(refs.args, [](const PendingArg& a) { return a.owner == kNone; });
  refs.span_args.insert(refs.span_args.end(), refs.args.begin(), refs.args.end());
  refs.args = {};
  fill(trace.span_args, refs.span_args);
  fill(trace.event_args, refs.event_args);
}

void apply_device(const References& refs, Trace& trace) {
  struct Row {
    std::uint32_t span;
    std::int64_t duration_ns;
    std::int64_t begin_ns;
  };
  std::vector<Row> rows;
  for (const References::Device& d : refs.device) {
    const std::uint32_t span = find(refs, d.id);
    if (span == kNone || d.value_ns < 0) {
      count_unknown(refs, d.id, trace.integrity);
    } else {
      rows.push_back({span, d.is_begin ? 0 : d.value_ns, d.is_begin ? d.value_ns : -1});
    }
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.span < b.span; });
  DeviceColumns& out = trace.device;
  for (const Row& row : rows) {
    if (out.size() == 0 || out.span.back() != row.span) {
      out.span.push_back(row.span);
      out.duration_ns.push_back(row.duration_ns);
      out.begin_ns.push_back(row.begin_ns);
      continue;
    }
    // Several device intervals of one span add up; the first begin counts.
    constexpr std::int64_t kMax = std::int64_t{1} << 62;
    out.duration_ns.back() =
        std::min(kMax, out.duration_ns.back() + std::min(kMax, row.duration_ns));
    if (out.begin_ns.back() < 0) out.begin_ns.back() = row.begin_ns;
  }
}

}  // namespace

void resolve(References& refs, Trace& trace) {
  apply_ends(refs, trace);
  apply_parents(refs, trace);
  close_unfinished(refs, trace);
  for (const References::EventOn& ref : refs.events_on) {
    trace.events.span[ref.event] = find(refs, ref.id);
  }
  apply_args(refs, trace);
  apply_device(refs, trace);
}

}  // namespace genscope::store
