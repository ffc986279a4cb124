// Records of an imported file, in the order of the file, become columns in the order of a Trace.
//
// Records are grouped by row (process and thread) with a counting sort, each row is nested by
// itself (nest.cc), and rows follow one another as RowOrder says, so spans of a track lie together
// and ascend. Only then do indices exist: parents across rows, arguments and launches are joined
// last, through `new_index_`, old place to new.
//
// Times in a file may be microseconds since anything. They are shifted so that the first is
// kImportBegin; a few of 0 among those of today would stretch the run to fifty years, so what lies
// more than a year from the median is left out and counted. O(n log n) for the sorts within rows.
#include <algorithm>
#include <charconv>
#include <limits>
#include <tuple>

#include "store/import/device_time.h"
#include "store/import/nest.h"
#include "store/import/raw_trace.h"
#include "store/import/row_order.h"

namespace genscope::store {
namespace {

constexpr std::int64_t kYearNs = 365LL * 24 * 3600 * 1'000'000'000;
constexpr std::int64_t kMicrosecondNs = 1000;

// Indices of records, grouped by their row.
struct ByRow {
  std::vector<std::uint32_t> items;
  std::vector<std::uint32_t> first;

  template <class Records, class Keep>
  ByRow(const Records& records, std::size_t rows, Keep keep) : first(rows + 1) {
    for (const auto& r : records) first[r.row + 1] += keep(r) ? 1 : 0;
    for (std::size_t i = 0; i < rows; ++i) first[i + 1] += first[i];
    items.resize(first.back());
    std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
    for (std::uint32_t i = 0; i < records.size(); ++i) {
      if (keep(records[i])) items[next[records[i].row]++] = i;
    }
  }
  std::vector<std::uint32_t> of(std::size_t row) const {
    return {items.begin() + first[row], items.begin() + first[row + 1]};
  }
  bool empty(std::size_t row) const { return first[row] == first[row + 1]; }
};

std::int64_t at_of(const RawSpan& s) { return s.begin_ns; }
std::int64_t at_of(const RawEvent& e) { return e.at_ns; }
std::int64_t at_of(const RawCounter& c) { return c.at_ns; }
std::int64_t length_of(const RawSpan& s) { return s.duration_ns; }
template <class Record>
std::int64_t length_of(const Record&) {
  return 0;
}

// Some files hold times of 0 beside those of today: what lies more than a year from most is wrong.
struct Window {
  std::int64_t from = std::numeric_limits<std::int64_t>::min();
  std::int64_t to = std::numeric_limits<std::int64_t>::max();

  explicit Window(const RawTrace& raw) {
    std::int64_t low = to, high = from;
    std::vector<std::int64_t> all;
    const auto look = [&](const auto& records) {
      for (const auto& r : records) {
        low = std::min(low, at_of(r));
        high = std::max(high, at_of(r));
      }
    };
    look(raw.spans), look(raw.events), look(raw.counters);
    if (low > high || high - low <= kYearNs) return;
    const auto collect = [&](const auto& records) {
      for (const auto& r : records) all.push_back(at_of(r));
    };
    collect(raw.spans), collect(raw.events), collect(raw.counters);
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    from = *middle - kYearNs;
    to = *middle + kYearNs;
  }
  template <class Record>
  bool operator()(const Record& r) const {
    return at_of(r) >= from && at_of(r) <= to && length_of(r) <= kYearNs;
  }
};

class Arranger {
 public:
  explicit Arranger(RawTrace raw)
      : raw_(std::move(raw)),
        window_(raw_),
        spans_(raw_.spans, raw_.rows.size(), window_),
        events_(raw_.events, raw_.rows.size(), window_),
        counters_(raw_.counters, raw_.rows.size(), window_),
        new_index_(raw_.spans.size(), kNone) {
    out_.far_away = raw_.spans.size() - spans_.items.size() + raw_.events.size() -
                    events_.items.size() + raw_.counters.size() - counters_.items.size();
  }

  Arranged run() {
    find_extent();
    out_.linked = link_launches(raw_);
    out_.unlinked = raw_.device_spans - std::min(raw_.device_spans, out_.linked);
    reserve();
    const RowOrder order = order_rows(raw_);
    trace_.process.pid = order.main_pid;
    for (const OrderedRow& row : order.rows) add_row(row);
    join_spans();
    add_span_args();
    trace_.names = std::move(raw_.names);
    add_device_time(device_work_, trace_);
    trace_.texts = raw_.texts.take();
    decode_samples(trace_);
    out_.trace = std::move(trace_);
    return std::move(out_);
  }

 private:
  std::int64_t shifted(std::int64_t ns) const { return ns - out_.first_ns + kImportBegin; }

  void find_extent() {
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
    const auto look = [&](const auto& records) {
      for (const auto& r : records) {
        if (!window_(r)) continue;
        first = std::min(first, at_of(r));
        last = std::max(last, at_of(r) + length_of(r));
      }
    };
    look(raw_.spans), look(raw_.events), look(raw_.counters);
    if (first > last) first = last = 0;
    out_.first_ns = first;
    trace_.begin_ns = trace_.process.started_ns = kImportBegin;
    trace_.end_ns = shifted(last);
  }

  void reserve() {
    SpanColumns& s = trace_.spans;
    const std::size_t n = spans_.items.size();
    s.begin_ns.reserve(n), s.duration_ns.reserve(n), s.name.reserve(n);
    s.track.reserve(n), s.parent.reserve(n), s.flags.reserve(n);
  }

  std::uint32_t add_track(const OrderedRow& row, std::size_t level) {
    TrackInfo info;
    info.name = row.name;
    if (level > 0) info.name += " (overlap " + std::to_string(level) + ")";
    info.tid = level > 0 ? 0 : row.tid;
    trace_.tracks.push_back(std::move(info));
    return static_cast<std::uint32_t>(trace_.tracks.size() - 1);
  }

  // Parents are still of the raw list: they may be on a track that comes later.
  void add_span(const RawSpan& span, std::uint32_t index, std::uint32_t track, std::uint8_t flags,
                std::uint32_t parent) {
    new_index_[index] = static_cast<std::uint32_t>(trace_.spans.size());
    SpanColumns& s = trace_.spans;
    s.begin_ns.push_back(shifted(span.begin_ns));
    s.duration_ns.push_back(span.duration_ns);
    s.name.push_back(span.name);
    s.track.push_back(track);
    s.parent.push_back(parent);
    s.flags.push_back(flags);
  }

  void add_row(const OrderedRow& row) {
    if (spans_.empty(row.row) && events_.empty(row.row) && counters_.empty(row.row)) return;
    const std::uint32_t track = add_track(row, 0);
    std::vector<std::uint32_t> events = events_.of(row.row);
    std::stable_sort(events.begin(), events.end(), [&](std::uint32_t a, std::uint32_t b) {
      return raw_.events[a].at_ns < raw_.events[b].at_ns;
    });
    if (raw_.rows[row.row].row_class == RowClass::thread) {
      add_thread(row, track, events);
    } else {
      add_loose(row.row, track);
    }
    add_events(events, track);
    add_counters(row.row, track);
  }

  void add_thread(const OrderedRow& row, std::uint32_t track,
                  const std::vector<std::uint32_t>& events) {
    std::vector<Slice> slices;
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
    for (const std::uint32_t i : spans_.of(row.row)) {
      const RawSpan& s = raw_.spans[i];
      slices.push_back({s.begin_ns, s.begin_ns + s.duration_ns, i});
      last = std::max(last, slices.back().end_ns);
    }
    std::vector<std::int64_t> times;
    for (const std::uint32_t e : events) times.push_back(raw_.events[e].at_ns);
    if (!times.empty()) last = std::max(last, times.back());
    const auto unfinished = [&](const Slice& slice) {
      return (raw_.spans[slice.span].flags & kSpanUnfinished) != 0;
    };
    for (Slice& slice : slices) {
      if (unfinished(slice)) slice.end_ns = kOpenEnd;
    }
    const Nested nested = nest(std::move(slices), raw_.whole_microseconds ? kMicrosecondNs : 0);
    out_.trimmed += nested.trimmed;
    for (std::size_t l = 0; l < nested.levels.size(); ++l) {
      const NestLevel& level = nested.levels[l];
      const std::uint32_t place = l == 0 ? track : add_track(row, l);
      if (l > 0) out_.overlaps += level.slices.size();
      for (std::size_t i = 0; i < level.slices.size(); ++i) {
        const Slice& slice = level.slices[i];
        RawSpan& s = raw_.spans[slice.span];
        s.duration_ns = (unfinished(slice) ? last : slice.end_ns) - slice.begin_ns;
        const auto loose = static_cast<std::uint8_t>(level.loose ? kSpanDetached : 0);
        add_span(s, slice.span, place, s.flags | loose, level.parents[i]);
      }
    }
    const std::vector<std::uint32_t> around = enclosing(nested.levels[0], times);
    for (std::size_t i = 0; i < events.size(); ++i) raw_.events[events[i]].span = around[i];
  }

  void add_loose(std::uint32_t row, std::uint32_t track) {
    std::vector<std::uint32_t> items = spans_.of(row);
    std::stable_sort(items.begin(), items.end(), [&](std::uint32_t a, std::uint32_t b) {
      return raw_.spans[a].begin_ns < raw_.spans[b].begin_ns;
    });
    for (const std::uint32_t i : items) {
      RawSpan& s = raw_.spans[i];
      if ((s.flags & kSpanUnfinished) != 0) {  // it reaches to the end of the trace
        s.duration_ns = trace_.end_ns - shifted(s.begin_ns);
      }
      add_span(s, i, track, s.flags | kSpanDetached, s.parent);
    }
  }

  void add_events(const std::vector<std::uint32_t>& events, std::uint32_t track) {
    for (const std::uint32_t i : events) {
      const RawEvent& e = raw_.events[i];
      const auto owner = static_cast<std::uint32_t>(trace_.events.size());
      trace_.events.at_ns.push_back(shifted(e.at_ns));
      trace_.events.name.push_back(e.name);
      trace_.events.track.push_back(track);
      trace_.events.span.push_back(e.span);
      copy_args(raw_.event_args, i, owner, trace_.event_args);
    }
  }

  void add_counters(std::uint32_t row, std::uint32_t track) {
    std::vector<std::uint32_t> items = counters_.of(row);
    std::stable_sort(items.begin(), items.end(), [&](std::uint32_t a, std::uint32_t b) {
      return raw_.counters[a].at_ns < raw_.counters[b].at_ns;
    });
    for (const std::uint32_t i : items) {
      const RawCounter& c = raw_.counters[i];
      trace_.counters.at_ns.push_back(shifted(c.at_ns));
      trace_.counters.name.push_back(c.name);
      trace_.counters.track.push_back(track);
      trace_.counters.value.push_back(c.value);
    }
  }

  static void copy_args(const ArgColumns& from, std::uint32_t old_owner, std::uint32_t new_owner,
                        ArgColumns& to) {
    const auto range = std::equal_range(from.owner.begin(), from.owner.end(), old_owner);
    for (auto it = range.first; it != range.second; ++it) {
      const auto i = static_cast<std::size_t>(it - from.owner.begin());
      to.owner.push_back(new_owner);
      to.key.push_back(from.key[i]);
      to.type.push_back(from.type[i]);
      to.bits.push_back(from.bits[i]);
    }
  }

  // References to spans become indices of the Trace; a parent that began later is none.
  void join_spans() {
    SpanColumns& s = trace_.spans;
    const auto renumbered = [&](std::uint32_t raw) {
      return raw == kNone ? kNone : new_index_[raw];
    };
    const auto order = [&](std::uint32_t i) { return std::pair(s.begin_ns[i], i); };
    for (std::uint32_t i = 0; i < s.size(); ++i) {
      const std::uint32_t raw_parent = s.parent[i];
      const std::uint32_t parent = renumbered(raw_parent);
      s.parent[i] = parent != kNone && order(parent) < order(i) ? parent : kNone;
      if (parent != kNone && raw_.rows[raw_.spans[raw_parent].row].row_class == RowClass::thread &&
          (s.flags[i] & kSpanDetached) != 0) {
        const bool by_call = is_call(raw_parent);
        device_work_.push_back({parent, by_call, s.begin_ns[i], s.duration_ns[i]});
      }
    }
    for (std::uint32_t& span : trace_.events.span) span = renumbered(span);
  }

  bool is_call(std::uint32_t raw_span) {
    if (calls_.empty()) {
      calls_.resize(raw_.spans.size());
      for (const RawLink& launch : raw_.launches) calls_[launch.span] = true;
    }
    return calls_[raw_span];
  }

  // Into the order of the new owners: counted first, then put in place.
  void add_span_args() {
    ArgColumns& from = raw_.span_args;
    std::vector<std::uint32_t> next(trace_.spans.size() + 1);
    for (const std::uint32_t owner : from.owner) {
      if (new_index_[owner] != kNone) next[new_index_[owner] + 1]++;
    }
    for (std::size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
    const std::size_t total = next.back();
    ArgColumns& to = trace_.span_args;
    to.owner.resize(total), to.key.resize(total), to.type.resize(total), to.bits.resize(total);
    for (std::size_t i = 0; i < from.size(); ++i) {
      const std::uint32_t owner = new_index_[from.owner[i]];
      if (owner == kNone) continue;
      const std::uint32_t place = next[owner]++;
      to.owner[place] = owner;
      to.key[place] = from.key[i];
      to.type[place] = from.type[i];
      to.bits[place] = from.bits[i];
    }
    from = {};
  }

  RawTrace raw_;
  Window window_;
  ByRow spans_, events_, counters_;
  std::vector<std::uint32_t> new_index_;  // of raw spans
  std::vector<bool> calls_;               // of raw spans: those that launch
  std::vector<DeviceWork> device_work_;
  Trace trace_;
  Arranged out_;
};

}  // namespace

Arranged arrange(RawTrace raw) { return Arranger(std::move(raw)).run(); }

}  // namespace genscope::store
