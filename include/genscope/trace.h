// Trace and Run: what was recorded, as columns in memory. Samples and metrics: what a probe
// measured, of what, in which unit, and how sure it is.
//
// Place in the flow: store.h fills these, analyze.h reads them. Data only: nothing here does I/O,
// and nothing is shared, so a const Run may be read by any number of threads.
//
// Times are nanoseconds on the CLOCK_MONOTONIC scale of the host that recorded; processes of one
// boot share it. Add `process.unix_offset_ns` for Unix time. Indices are into the columns of the
// same Trace; kNone stands for "no such thing".
//
// A value that is not known is absent with a reason: never 0, never NaN. So a Reading has a status,
// and `value` means something only when that is ok.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <genscope/internal/word.h>

namespace genscope {

// ---- samples: probe.h makes readings, a SampleSink takes them (record.h has one that writes them
// into the trace), analyze.h reads them back

enum class SampleStatus : std::uint8_t {
  ok,
  stale,          // the source goes on repeating an old value
  pending,        // no value yet: a difference needs two readings, a driver needs time
  not_supported,  // this device, driver or kernel does not have it
  not_permitted,  // it has it, and we may not read it
  absent,         // the source is not there: no such file, library or device
  lost,           // the device was there and has gone
  suspended,      // the device sleeps, and reading would wake it
  implausible,    // a value came that cannot be true; it is not aggregated
  error,          // the source failed in another way
};
inline constexpr std::size_t kSampleStatuses = 10;
// The lower-case word: "ok", "not_supported", ...
std::string_view name(SampleStatus status) noexcept;

enum class MetricKind : std::uint8_t {
  gauge,    // a level: aggregate as min, max, time-weighted mean
  counter,  // only grows, until a reset: differences and rates mean something
  bits,     // a set of flags in an integer: aggregate as OR and time per bit
};
inline constexpr std::size_t kMetricKinds = 3;
std::string_view name(MetricKind kind) noexcept;  // "gauge", "counter", "bits"

// One row of the table of metrics (docs/metrics.md). The unit ends the id.
struct Metric {
  std::string_view id;           // "power_watts"; unique
  std::string_view unit;         // "W"
  std::string_view description;  // one line
  MetricKind kind = MetricKind::gauge;
  double low = 0;      // plausible range, inclusive: outside it a reading is implausible
  double high = 1e18;  // (below 2^60, so that every counter of bytes or nanoseconds fits)
};

// Every built-in metric, in the order of docs/metrics.md.
std::span<const Metric> all_metrics() noexcept;
// The built-in metric of that id, or null.
const Metric* find_metric(std::string_view id) noexcept;

// What is measured. `id` is stable over re-enumeration, restarts and boots where the thing itself
// is: the UUID of a GPU, else its PCI address; "tree"; "machine".
enum class EntityKind : std::uint8_t {
  machine,       // the host
  process_tree,  // the watched command and all its descendants
  cgroup,
  cpu_package,
  gpu,
  gpu_instance,  // a MIG slice
  sampler,       // genscope itself
  other,         // of a user's own probe
  allocator,     // a framework's caching allocator; `name` is its device
};
inline constexpr std::size_t kEntityKinds = 9;
std::string_view name(EntityKind kind) noexcept;  // "machine", "process_tree", ...

struct Entity {
  EntityKind kind = EntityKind::other;
  std::string id;
  std::string name;  // for people: "NVIDIA H100 80GB HBM3"
  // What does not change: {"vendor", "nvidia"}, {"pci", "0000:01:00.0"}, {"driver", "550.54"}.
  std::vector<std::pair<std::string, std::string>> facts;
};

struct Reading {
  double value = 0;  // meaningful when status is ok; for implausible the raw value, for the log
  SampleStatus status = SampleStatus::pending;
  const char* reason = nullptr;  // why not ok: a literal, or null when the status says it all
  std::int64_t at_ns = 0;        // CLOCK_MONOTONIC, when it was read
};

// A process as a probe of processes sees it; fixed size, so that a tick allocates nothing.
struct ProcessRow {
  std::uint32_t pid = 0;
  std::uint32_t parent = 0;
  std::uint64_t start = 0;  // field 22 of its stat file: with the pid a stable identity; 0 unknown
  char name[32] = {};       // as in comm; zero-terminated
  bool visible = true;      // false: outside our pid namespace, known to a driver only
  Reading cpu_ns;
  Reading rss_bytes;
  Reading gpu_memory_bytes;
  Reading gpu_busy_ratio;
};

// Takes what a Sampler reads. Called on the sampler's thread only; must not block, and should not
// allocate after the series are known.
class SampleSink {
 public:
  virtual ~SampleSink() = default;
  // A new entity, or one whose facts changed. `entity` is its number from now on.
  virtual void add_entity(std::uint32_t entity, const Entity& what) noexcept = 0;
  // A new series of readings. `source` says where they come from: "nvml field 186 scope 0".
  virtual void add_series(std::uint32_t series, std::uint32_t entity, const Metric& metric,
                          std::string_view source) noexcept = 0;
  virtual void add_reading(std::uint32_t series, const Reading& reading) noexcept = 0;
  // Something happened to an entity: "device_lost", "probe_slowed", "process_started".
  virtual void add_event(std::uint32_t entity, std::string_view name,
                         std::string_view detail) noexcept = 0;
  // The processes of an entity (of the tree, of a GPU) as they are now; replaces the last list.
  virtual void set_processes(std::uint32_t entity, std::span<const ProcessRow> rows) noexcept = 0;
};

// ---- what one process recorded

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
  std::string name;                 // given, or the OS's name of the thread; may be empty
  std::uint32_t tid = 0;            // 0 for a named track
  std::uint64_t dropped_spans = 0;  // dropped because buffers were full
  std::uint64_t dropped_records = 0;
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

// --- samples: what probes measured. They lie in the file as counters and events; who reads one has
// them decoded here, and looks at no name of a counter.

// One metric of one entity.
struct SampleSeries {
  std::uint32_t entity = 0;              // into Samples::entities
  std::shared_ptr<const Metric> metric;  // of the table, or the program's own; never null
  std::uint32_t name = kNone;            // of its counter; kNone: it never had a value
  // Its finite readings: rows of Trace::counters, in the order of time.
  std::vector<std::uint32_t> rows;
  std::string source;  // "nvml field 186 scope 0"
  // The last status that was not ok, since when, and why; ok: there was none.
  SampleStatus status = SampleStatus::ok;
  std::int64_t status_at_ns = 0;
  std::string reason;
};

// A process as a probe saw it: when it was new, and when what it used had grown notably.
struct ProcessSample {
  std::int64_t at_ns = 0;
  std::string entity;  // id of what it was seen in: "tree", or a GPU
  std::uint32_t pid = 0, parent = 0;
  std::string name;
  std::optional<double> cpu_ns, rss_bytes, gpu_memory_bytes;
};

// Something that happened to an entity: "device_lost".
struct SampleEvent {
  std::int64_t at_ns = 0;
  std::string entity;  // its id
  std::string name;
  std::string detail;
};

struct Samples {
  std::vector<Entity> entities;  // in the order in which they appeared
  std::vector<SampleSeries> series;
  std::vector<ProcessSample> processes;
  std::vector<SampleEvent> events;
  // Per name of the trace: the series whose counter it is, or kNone: a counter of the program's
  // own. Empty: all are.
  std::vector<std::uint32_t> series_of_name;

  // The series whose counter has that name, or null.
  const SampleSeries* of_name(std::uint32_t name) const noexcept {
    if (name >= series_of_name.size() || series_of_name[name] == kNone) return nullptr;
    return &series[series_of_name[name]];
  }
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
  CounterColumns counters;  // the program's, and the readings of `samples`
  Samples samples;
  std::vector<std::string> texts;
  std::vector<Gap> gaps;
  Integrity integrity;
  std::uint64_t file_bytes = 0;
  std::int64_t begin_ns = 0;  // of the recording
  std::int64_t end_ns = 0;

  SpanKind kind(std::size_t span) const { return names[spans.name[span]].kind; }
  const std::string& span_name(std::size_t span) const { return names[spans.name[span]].text; }
};

// Fills trace.samples from its other columns. What store.h reads has it done; for who builds a
// Trace.
void decode_samples(Trace& trace);
// Whether an event tells of samples (they are in Trace::samples), rather than of the program.
bool is_sampler_event(const Trace& trace, std::size_t event) noexcept;

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
  // The last lines that a command which did not end well wrote to stderr; empty: not known.
  std::vector<std::string> last_words;
  std::vector<Trace> traces;
  std::vector<std::string> notes;  // files that could not be read, and why
};

}  // namespace genscope
