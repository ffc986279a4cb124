// What ran, and for how long: stages, settings, tracks, counters.
//
// A part of analyze.h, which says what holds for all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <genscope/trace.h>

namespace genscope {

// Rows that a table of an Analysis has at most of one kind, beside the row kOthers that sums up the
// others: a program that makes a new name for each request must not make a report without end.
inline constexpr std::size_t kMaxNamedRows = 1000;
inline constexpr std::string_view kOthers = "others";

// All spans of one name and kind, over all threads and processes. Of more than kMaxNamedRows names
// of one kind those with the most self time have a row.
struct StageRow {
  std::string name;
  SpanKind kind = SpanKind::none;
  std::uint64_t count = 0;  // finished spans; min, mean, the percentiles and max are over these
  // Time covered, unfinished spans included up to where their record ends: a span inside another
  // of the same row on the same thread's stack adds nothing. Detached spans overlap freely, so
  // each counts, less what lies within a direct parent of the same row.
  std::int64_t total_ns = 0;
  // Duration less what direct children cover. Children of a thread's stack span are the stack
  // spans in it, so that over all rows no instant of a thread's stack counts twice; detached
  // children and those on other tracks run beside it and take nothing. Of a detached span it is
  // what none of its direct children covers, and of a session, which spans its whole process, the
  // time in which no thread of the process was in any other span.
  std::int64_t self_ns = 0;
  double share = 0;  // total_ns / wall_ns of the run; above 1 when threads overlap; 0 if wall is 0
  // Nearest rank; all 0 when `count` is 0.
  std::int64_t min_ns = 0, p50_ns = 0, p95_ns = 0, p99_ns = 0, max_ns = 0;
  double mean_ns = 0;
  std::optional<std::int64_t> device_ns;  // sum over the spans that have device time
  std::uint64_t device_spans = 0;         // how many have it
  // The times above are of the host's clock, but for these spans.
  std::uint64_t log_spans = 0;       // read from a program's log (source="log"): when lines came
  std::uint64_t imported_spans = 0;  // of a file of another profiler: as that has them
  std::uint64_t failed = 0;
  std::uint64_t unfinished = 0;  // still open when the recording ended
  // Of all devices while these spans ran; absent without energy readings, for kinds that are too
  // many and short, and for rows shorter than three readings. Rows that overlap share it.
  std::optional<double> energy_joules;
  std::uint64_t folded = 0;  // not 0: the row kOthers of its kind, for so many names
};

// All stages and loads that do one thing, whatever programs call it: load, text_encode, vae_encode,
// denoise, vae_decode, post, save, or a stage's own name where it is none of these. What a stage
// spends in steps, layers and other spans is its own, what it spends in another stage is not, so
// that these shares add up.
struct StageGroup {
  std::string name;
  std::uint64_t count = 0;
  std::int64_t exclusive_ns = 0;
  double exclusive_share = 0;         // of the wall time of the processes that have stages
  std::optional<double> first_ratio;  // first call over the median of the later ones, of 3 or more
};

// Where the time of the processes that mark stages goes: loads, stages, blocks, requests, batches
// and epochs, one node per name, kind and node around it. What runs in a node but in none of its
// own is its self time, steps and layers included.
struct StageNode {
  std::string name;
  SpanKind kind = SpanKind::stage;
  std::uint32_t parent = kNone;  // its index in StageTree::nodes; kNone: in no other
  std::uint64_t count = 0;
  std::int64_t total_ns = 0;  // of all its spans
  std::int64_t self_ns = 0;   // less what nodes within it cover
  std::uint64_t steps = 0;    // finished steps in it and in no node within it
};
struct StageTree {
  std::vector<StageNode> nodes;  // a node before those in it; siblings by total, largest first
  std::uint64_t processes = 0;   // that have a node
  std::int64_t wall_ns = 0;      // of the run, times `processes`
  std::int64_t outside_ns = 0;   // of that, covered by no node of its process
};

// What a program says of itself (docs/analysis.md): the arguments of its sessions and of the events
// `config` and `environment`.
using SettingValue = std::variant<double, bool, std::string>;
using Settings = std::map<std::string, SettingValue, std::less<>>;
struct SettingUse {
  SettingValue value;
  std::uint64_t requests = 0;
};
// A key of which at least two values had requests; those values, in the order in which they were
// told.
struct MixedSetting {
  std::string key;
  std::vector<SettingUse> values;
};

// A thread or named track that recorded or lost something.
struct TrackRow {
  std::uint32_t trace = 0;  // index into Run::traces
  std::uint32_t pid = 0;
  std::uint32_t tid = 0;  // 0 for a named track
  std::string name;
  std::uint64_t spans = 0;
  std::int64_t busy_ns = 0;                // covered by at least one span that is not a session
  std::int64_t first_ns = 0, last_ns = 0;  // of its spans, since Analysis::begin_ns
  std::uint64_t dropped_spans = 0, dropped_records = 0;
};

// A counter of one name, over all processes, in order of time. Of more than kMaxNamedRows those
// with the most values have a row.
struct CounterRow {
  std::string name;
  std::uint64_t count = 0;
  std::uint64_t not_finite = 0;       // of these: NaN or infinite, left out of the next line
  double min = 0, max = 0, mean = 0;  // 0 when no value is finite
  double first = 0, last = 0;         // as recorded
  std::uint64_t folded = 0;  // not 0: the row kOthers, for so many names; first and last are 0
};

struct RecorderSummary {
  std::uint64_t spans = 0, events = 0, counters = 0;
  std::uint64_t dropped_spans = 0, dropped_records = 0;
  std::uint64_t threads = 0;  // of the tracks, those that are threads
  std::uint64_t bytes = 0;
  std::optional<std::int64_t> probe_cpu_ns;  // of all of genscope's threads
  // The same from each sampler's first reading on, over that time, as a share of one core: what
  // sampling more or less often would change. Starting the probes is not in it. Absent: the run had
  // one reading only.
  std::optional<double> probe_steady_ratio;
  std::vector<std::string> stopped;  // why recording ended early, each reason once
};

// What genscope hooked into by itself, or could not (docs/python.md).
struct InstrumentRow {
  std::string target;           // "diffusers", "diffusers.FluxPipeline"
  bool hooked = false;          // else `reason` says why not
  std::string reason;           // of a hook that works: what it records; may be empty
  std::uint64_t processes = 1;  // that said the same
};

}  // namespace genscope
