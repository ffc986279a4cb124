// The bytes are read first (recorded.h), then assembled in one pass over the lanes: each lane's
// chunks are contiguous and in order, and become one track. Columns are reserved by the number of
// words, two a span, and asked to lie on huge pages, which saves most of the page faults of a large
// trace. References between spans are resolved at the end, since a parent may be in a lane that
// comes later.
#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/json.h"
#include "genscope/store.h"
#include "store/chunks.h"
#include "store/clock_map.h"
#include "store/definitions.h"
#include "store/lane_decoder.h"
#include "store/recorded.h"
#include "store/references.h"
#include "store/segments.h"

namespace genscope::store {
namespace {

struct Header {
  ProcessInfo process;
  base::ClockSnapshot started;
  double ticks_per_second = 1e9;
  bool keep_newest = false;
  std::vector<std::string> notes;  // of whoever made the file from something else
};

Header parse_process(const std::string& text) {
  const base::JsonObject json(text);
  Header header;
  ProcessInfo& p = header.process;
  p.trace_id = json.text("trace_id");
  p.pid = static_cast<std::uint32_t>(json.natural("pid"));
  p.ppid = static_cast<std::uint32_t>(json.natural("ppid"));
  p.host = json.text("host");
  p.boot_id = json.text("boot_id");
  p.version = json.text("version");
  p.clock = json.text("clock");
  p.command = json.texts("command");
  if (json.has("rank")) p.rank = static_cast<int>(json.integer("rank"));
  if (json.has("world_size")) p.world_size = static_cast<int>(json.integer("world_size"));
  header.started.ticks = json.natural("started_ticks");
  header.started.monotonic_ns = json.integer("started_monotonic_ns");
  header.started.realtime_ns = json.integer("started_unix_ns");
  header.ticks_per_second = json.number("ticks_per_second", 1e9);
  header.keep_newest = json.flag("keep_newest");
  header.notes = json.texts("notes");
  return header;
}

void add_losses(const TraceBytes& bytes, const Definitions& definitions,
                const std::unordered_map<std::uint32_t, std::uint32_t>& tracks, ClockMap& clock,
                Trace& trace) {
  const auto add = [&](std::uint32_t lane, std::uint64_t spans, std::uint64_t records,
                       std::uint64_t first, std::uint64_t last) {
    const auto it = tracks.find(lane);
    std::uint32_t track = it != tracks.end() ? it->second : kNone;
    if (track == kNone) {  // lost before its thread could record anything
      track = static_cast<std::uint32_t>(trace.tracks.size());
      const auto known = definitions.threads.find(lane);
      const bool named = known != definitions.threads.end();
      trace.tracks.push_back(
          {named ? known->second.name : "(several threads)", named ? known->second.tid : 0, 0, 0});
    }
    trace.tracks[track].dropped_spans += spans;
    trace.tracks[track].dropped_records += records;
    if (spans > 0 && lane != 0) {
      trace.gaps.push_back({track, clock.to_ns(first), clock.to_ns(last), spans});
    }
  };
  for (const trace::LossMeta& l : definitions.losses) {
    add(l.lane, l.spans, l.records, l.first_tick, l.last_tick);
  }
  if (!bytes.live) return;
  for (const LiveContent::Loss& l : bytes.live->losses) {
    add(l.lane, l.spans, l.records, l.first_tick, l.last_tick);
  }
}

void add_notes(const TraceBytes& bytes, const Header& header, Trace& trace) {
  Integrity& in = trace.integrity;
  in.notes = header.notes;
  const auto note = [&](std::string text) { in.notes.push_back(std::move(text)); };
  const auto count = [](std::uint64_t n, const char* thing) {
    return std::to_string(n) + " " + thing + (n == 1 ? "" : "s");
  };
  if (in.in_progress) {
    note("the process is still recording");
  } else if (!in.closed && !bytes.live && !bytes.folded && trace.process.boot_id != this_boot()) {
    note("the trace is not closed and its buffers are not here: it was recorded on another host (" +
         trace.process.host + ") or before a reboot");
  } else if (!in.closed) {
    note("the process ended without closing its trace; " + count(in.recovered_chunks, "chunk") +
         " recovered from its buffers");
  }
  if (!in.stopped.empty()) note("recording stopped early: " + in.stopped);
  if (in.bad_frames > 0) {
    note(count(in.bad_frames, "damaged part") + " of the file skipped, " +
         count(in.bad_bytes, "byte"));
  }
  if (in.missing_chunks > 0) {
    note(header.keep_newest
             ? count(in.missing_chunks, "older chunk") + " discarded to keep the newest"
             : count(in.missing_chunks, "chunk") + " missing");
  }
  if (in.bad_words > 0) note(count(in.bad_words, "record") + " made no sense");
  if (in.clamped_ticks > 0) note("the clock stepped back " + count(in.clamped_ticks, "time"));
}

void set_extent(const References& refs, const Header& header, Trace& trace) {
  std::int64_t begin = header.started.monotonic_ns;
  std::int64_t end = begin;
  if (begin == 0 && trace.spans.size() > 0) {
    begin = *std::min_element(trace.spans.begin_ns.begin(), trace.spans.begin_ns.end());
    end = begin;
  }
  for (const auto& lane : refs.lanes) end = std::max(end, lane.last_ns);
  trace.begin_ns = begin;
  trace.end_ns = end;
}

// The words that a close frame uses, as sentences; other reasons are sentences already.
std::string stop_reason(const std::string& stopped) {
  if (stopped == "max_trace_bytes") return "the trace reached its size limit";
  if (stopped == "disk_share") return "the trace had taken its share of the space on the disk";
  return stopped;
}

Trace assemble(TraceBytes bytes) {
  Trace trace;
  const Header header = parse_process(bytes.process_json);
  trace.process = header.process;
  trace.integrity = bytes.integrity;
  trace.integrity.stopped = stop_reason(bytes.stopped);
  trace.file_bytes = bytes.bytes;
  NameIndex names(trace.names);
  Definitions definitions = read_definitions(bytes.process_lane, names, trace.integrity);
  if (header.started.monotonic_ns != 0) definitions.clocks.push_back(header.started);
  ClockMap clock(definitions.clocks, header.ticks_per_second);
  trace.process.started_ns = header.started.monotonic_ns;
  trace.process.unix_offset_ns = clock.unix_offset_ns();

  std::uint64_t words = 0;
  for (const Chunk& chunk : bytes.lanes) words += chunk.words;
  References refs;
  const std::size_t guess = words / 2;
  SpanColumns& s = trace.spans;
  const auto reserve = [&](auto& column) {
    column.reserve(guess);
    base::advise_huge(column.data(), guess * sizeof(column[0]));
  };
  reserve(s.begin_ns);
  reserve(s.duration_ns);
  reserve(s.name);
  reserve(s.track);
  reserve(s.parent);
  reserve(s.flags);
  reserve(refs.span_words);

  LaneDecoder decoder(trace, refs, names, clock);
  std::unordered_map<std::uint32_t, std::uint32_t> tracks;
  for (std::size_t i = 0; i < bytes.lanes.size();) {
    const std::uint32_t lane = bytes.lanes[i].lane;
    std::size_t end = i;
    while (end < bytes.lanes.size() && bytes.lanes[end].lane == lane) ++end;
    const auto track = static_cast<std::uint32_t>(trace.tracks.size());
    const auto thread = definitions.threads.find(lane);
    const bool known = thread != definitions.threads.end();
    trace.tracks.push_back(
        {known ? thread->second.name : "", known ? thread->second.tid : 0, 0, 0});
    tracks[lane] = track;
    decoder.decode(std::span(bytes.lanes).subspan(i, end - i), track);
    i = end;
  }
  set_extent(refs, header, trace);
  resolve(refs, trace);
  add_losses(bytes, definitions, tracks, clock, trace);
  trace.integrity.in_progress = bytes.live && bytes.live->in_use;
  add_notes(bytes, header, trace);
  decode_samples(trace);
  return trace;
}

}  // namespace

Result<Trace> read_segments(const std::vector<std::string>& paths) {
  Result<TraceBytes> bytes = read_bytes(paths);
  if (!bytes.ok()) return bytes.error();
  return assemble(std::move(*bytes));
}

Result<Trace> read_listed(const std::vector<std::string>& paths) {
  Result<Trace> trace = read_segments(paths);
  if (!trace.ok() && trace.error().code == ErrorCode::not_found) return read_trace(paths.front());
  return trace;
}

}  // namespace genscope::store

namespace genscope {

Result<Trace> read_trace(const std::string& path) {
  // A flight recorder may delete every segment that we listed before we open one: list again.
  constexpr int kTries = 20;
  for (int i = 1;; ++i) {
    const std::vector<std::string> segments = store::segments_of(path);
    Result<Trace> trace = store::read_segments(segments);
    const bool moved_on = !trace.ok() && trace.error().code == ErrorCode::not_found &&
                          segments != store::segments_of(path);
    if (!moved_on || i == kTries) return trace;
  }
}

}  // namespace genscope
