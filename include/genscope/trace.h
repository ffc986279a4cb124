// Trace and Run: what was recorded, as columns in memory.
//
// Place in the flow: store.h fills these, analyze.h reads them. Data only: nothing here does I/O,
// and nothing is shared, so a const Run may be read by any number of threads.
//
// Times are nanoseconds on the CLOCK_MONOTONIC scale of the host that recorded; processes of one
// boot share it. Add `process.unix_offset_ns` for Unix time. Indices are into the columns of the
// same Trace; kNone stands for "no such thing".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <genscope/internal/word.h>

namespace genscope {

inline constexpr std::uint32_t kNone = 0xFFFFFFFF;

// The lower-case word for a kind, as in JSON: "stage", "step", ... "none" for a plain name.
std::string_view name(SpanKind kind) noexcept;

// A name with the kind it was declared for; spans, events, counters and keys refer to these.
struct Name {
  std::string text;
  SpanKind kind = SpanKind::none;
};

// A row of the timeline: a thread, or a track that the program named.
struct TrackInfo {
  std::string name;              // given, or the OS's name of the thread; may be empty
  std::uint32_t tid = 0;         // 0 for a named track
  std::uint64_t lost_spans = 0;  // dropped because buffers were full
  std::uint64_t lost_records = 0;
};

// A stretch in which a track dropped spans.
struct Gap {
  std::uint32_t track = kNone;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t lost = 0;
};

enum SpanFlag : std::uint8_t {
  kSpanFailed = 1,
  kSpanUnfinished = 2,  // no end was recorded: duration_ns reaches to the track's last record
  kSpanDetached = 4,    // opened with begin() or an explicit parent: not part of a thread's stack
  kSpanClipped = 8,     // its begin was lost; begin_ns is the start of what was kept
};

// One entry per span, thread by thread, in the order of their begins. The parent of a scoped span
// comes before it; that of a detached one may stand anywhere, but began no later.
struct SpanColumns {
  std::vector<std::int64_t> begin_ns;
  std::vector<std::int64_t> duration_ns;
  std::vector<std::uint32_t> name;
  std::vector<std::uint32_t> track;
  std::vector<std::uint32_t> parent;  // span, or kNone
  std::vector<std::uint8_t> flags;    // SpanFlag
  std::size_t size() const noexcept { return begin_ns.size(); }
};

using ArgType = internal::ArgType;

// Arguments, grouped by owner in ascending order.
struct ArgColumns {
  std::vector<std::uint32_t> owner;  // span or event
  std::vector<std::uint32_t> key;    // name
  std::vector<ArgType> type;
  std::vector<std::uint64_t> bits;  // the value's bits; for text an index into Trace::texts
  std::size_t size() const noexcept { return owner.size(); }
};

// Device time of spans that have it, ascending by span.
struct DeviceColumns {
  std::vector<std::uint32_t> span;
  std::vector<std::int64_t> duration_ns;
  std::vector<std::int64_t> begin_ns;  // -1: not known
  std::size_t size() const noexcept { return span.size(); }
};

struct EventColumns {
  std::vector<std::int64_t> at_ns;
  std::vector<std::uint32_t> name;
  std::vector<std::uint32_t> track;
  std::vector<std::uint32_t> span;  // that it belongs to, or kNone
  std::size_t size() const noexcept { return at_ns.size(); }
};

struct CounterColumns {
  std::vector<std::int64_t> at_ns;
  std::vector<std::uint32_t> name;
  std::vector<std::uint32_t> track;
  std::vector<double> value;
  std::size_t size() const noexcept { return at_ns.size(); }
};

struct ProcessInfo {
  std::string trace_id;  // 32 hex digits
  std::uint32_t pid = 0;
  std::uint32_t ppid = 0;
  std::string host;
  std::string boot_id;
  std::vector<std::string> command;
  std::string version;  // of genscope, that recorded
  std::string clock;    // "tsc" or "monotonic"
  std::int64_t started_ns = 0;
  std::int64_t unix_offset_ns = 0;
  std::optional<int> rank;
  std::optional<int> world_size;
};

// How whole the bytes were. Everything 0 and `closed` true: nothing is missing.
struct Integrity {
  bool closed = false;                 // the recorder finished; else it ended by _exit or a signal,
                                       // or still runs
  bool in_progress = false;            // its process is alive
  std::uint64_t recovered_chunks = 0;  // taken from the live buffers after a crash: not a loss
  std::uint64_t bad_frames = 0;        // damaged parts of the file that were skipped
  std::uint64_t bad_bytes = 0;         // how large they were
  std::uint64_t missing_chunks = 0;    // holes in the numbering of a thread's chunks
  std::uint64_t bad_words = 0;         // words that made no sense
  std::uint64_t unfinished_spans = 0;
  std::uint64_t clamped_ticks = 0;  // steps back of the clock on one thread
  std::string stopped;              // why recording ended before the program did; empty: it did not
  std::vector<std::string> notes;   // a sentence for each kind of damage
};

// What one process recorded.
struct Trace {
  ProcessInfo process;
  std::vector<Name> names;
  std::vector<TrackInfo> tracks;
  SpanColumns spans;
  ArgColumns span_args;
  DeviceColumns device;
  EventColumns events;
  ArgColumns event_args;
  CounterColumns counters;
  std::vector<std::string> texts;
  std::vector<Gap> gaps;
  Integrity integrity;
  std::uint64_t file_bytes = 0;
  std::int64_t begin_ns = 0;  // of the recording
  std::int64_t end_ns = 0;

  SpanKind kind(std::size_t span) const { return names[spans.name[span]].kind; }
  const std::string& span_name(std::size_t span) const { return names[spans.name[span]].text; }
};

// One recorded execution: the manifest and the traces of its processes.
struct Run {
  std::string path;
  std::string id;
  std::string name;
  std::int64_t started_unix_ns = 0;
  std::vector<std::string> command;
  std::string host;
  std::optional<int> exit_code;
  // Greatest resident memory of one process of the command, as the kernel said at its end: samples
  // miss a short peak.
  std::optional<std::uint64_t> max_rss_bytes;
  // CPU time of the command and of what it waited for, and how long its main thread could have run
  // and had no CPU: as the kernel said at its end.
  std::optional<std::int64_t> cpu_ns, cpu_wait_ns;
  std::vector<Trace> traces;
  std::vector<std::string> notes;  // files that could not be read, and why
};

}  // namespace genscope
