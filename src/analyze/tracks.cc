#include "analyze/tracks.h"

#include <algorithm>

#include "analyze/time.h"

namespace genscope::analysis {
namespace {

struct Seen {
  std::uint64_t spans = 0;
  std::uint64_t others = 0;  // events and counters
  std::int64_t busy_ns = 0;
  std::int64_t first_ns = kLatest;
  std::int64_t last_ns = kEarliest;
  Coverage coverage;
};

std::vector<Seen> look_at(const Trace& trace) {
  std::vector<Seen> seen(trace.tracks.size());
  std::vector<std::uint8_t> is_session(trace.names.size());
  for (std::size_t n = 0; n < is_session.size(); ++n) {
    is_session[n] = trace.names[n].kind == SpanKind::session ? 1 : 0;
  }
  const SpanColumns& spans = trace.spans;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    Seen& track = seen[spans.track[i]];
    const Interval here = interval(spans.begin_ns[i], spans.duration_ns[i]);
    ++track.spans;
    if (is_session[spans.name[i]] == 0) {
      track.busy_ns = add(track.busy_ns, track.coverage.add(here));
    }
    track.first_ns = std::min(track.first_ns, here.begin);
    track.last_ns = std::max(track.last_ns, here.end);
  }
  for (const std::uint32_t track : trace.events.track) {
    if (track < seen.size()) ++seen[track].others;
  }
  for (const std::uint32_t track : trace.counters.track) {
    if (track < seen.size()) ++seen[track].others;
  }
  return seen;
}

}  // namespace

std::vector<TrackRow> track_table(const Run& run, const Clocks& clocks) {
  std::vector<TrackRow> table;
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    const Trace& trace = run.traces[t];
    const std::int64_t shift = subtract(clocks.offset_ns[t], clocks.begin_ns);
    const std::vector<Seen> seen = look_at(trace);
    for (std::size_t k = 0; k < seen.size(); ++k) {
      const TrackInfo& info = trace.tracks[k];
      if (seen[k].spans + seen[k].others + info.dropped_spans + info.dropped_records == 0) continue;
      TrackRow row;
      row.trace = static_cast<std::uint32_t>(t);
      row.pid = trace.process.pid;
      row.tid = info.tid;
      row.name = info.name;
      row.spans = seen[k].spans;
      row.busy_ns = seen[k].busy_ns;
      if (row.spans > 0) {
        row.first_ns = add(seen[k].first_ns, shift);
        row.last_ns = add(seen[k].last_ns, shift);
      }
      row.dropped_spans = info.dropped_spans;
      row.dropped_records = info.dropped_records;
      table.push_back(std::move(row));
    }
  }
  return table;
}

}  // namespace genscope::analysis
