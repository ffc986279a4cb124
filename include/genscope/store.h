// Reading runs: a directory or a trace file becomes a Run or a Trace.
//
// Place in the flow: between what record.h wrote and analyze.h. Reading needs no cooperation
// of the recording process: a run may be read while it grows and after a crash, when what was not
// yet in the file is taken from the live buffers beside it. Those of a process that is gone are
// moved into its trace by the first who reads it and may write there; nothing else is ever written.
// Damaged bytes are skipped and counted in Trace::integrity; only a file of which nothing can be
// used is an error.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <genscope/error.h>
#include <genscope/trace.h>

namespace genscope {

// `path`: a run directory, or one trace file (then a Run of one Trace).
Result<Run> read_run(const std::string& path);

// One trace file (.gst), with its later segments and its live buffers if they are beside it.
Result<Trace> read_trace(const std::string& path);

// Makes a closed trace file of `trace`; read_trace gives the same Trace back. Kept are all columns,
// the process and Integrity::notes. Not kept: the counts in `integrity`, which tell how whole a
// file is and are found out anew; kSpanClipped; names beyond 255 bytes and texts beyond 512.
// Spans must be in the order that SpanColumns says, else they are put into it; a scoped span that
// does not lie within its parent on its track's stack becomes a detached one.
// `path` appears when the file is whole. Name it trace-<anything>.gst for read_run to find it.
Status write_trace(const Trace& trace, const std::string& path);

// --- the manifest, for a program that runs another one

struct RunRequest {
  std::string out;   // folder for the new run directory; empty: $GENSCOPE_OUT, else ./genscope-runs
  std::string path;  // the run directory itself, made if missing; empty: a new one in `out`
  std::string name;
  std::vector<std::string> command;
  // Keep `command` as it is. Else what looks like a secret in it is `***` (docs/security.md);
  // $GENSCOPE_KEEP_ARGS=1 keeps it, too.
  bool keep_args = false;
};
// Makes the directory and its run.json; the path.
Result<std::string> create_run(const RunRequest& request);
// Makes the directory only, for who puts something into it first: create_run() with it as `path`
// makes a run of it.
Result<std::string> create_run_folder(const RunRequest& request);
// What the kernel counted of a command that ended; absent: not known. As the fields of Run.
struct CommandUse {
  std::optional<std::int64_t> max_rss_bytes = {}, cpu_ns = {}, cpu_wait_ns = {};
  // How long what is recorded took, where that is not the time since the run was made: of a trace
  // that was imported.
  std::optional<std::int64_t> wall_ns = {};
  // The last lines on stderr of a command that did not end well, without secrets.
  std::vector<std::string> last_words = {};
};
// Adds to run.json how the command ended and what it used. Other keys stay.
Status finish_run(const std::string& path, int exit_code, const CommandUse& use = {});

// --- importing what others recorded

struct ImportOptions {
  // Against files that inflate without end: how much JSON may come out of gzip, in all and as a
  // multiple of what went in (past the first 64 MiB; traces reach some 40).
  std::uint64_t max_bytes = std::uint64_t{64} << 30;
  std::uint64_t max_ratio = 200;
  // Events that are kept; reading stops after them. An event takes some 100 to 300 bytes.
  std::uint64_t max_events = 200'000'000;
  // Called after each block with the bytes of the file that are read and all of them (0: not
  // known); false stops the reading, and what was read is the result.
  std::function<bool(std::uint64_t done, std::uint64_t all)> progress;
};

struct ImportSummary {
  std::uint64_t json_bytes = 0;       // decompressed
  std::uint64_t events = 0;           // that became something
  std::uint64_t malformed = 0;        // skipped
  std::uint64_t repaired = 0;         // strings that were not quite JSON: kept
  std::uint64_t flows = 0;            // arrows between events: dropped
  std::uint64_t other = 0;            // events of kinds that a Trace has no place for: dropped
  std::uint64_t unmatched_ends = 0;   // dropped
  std::uint64_t unfinished = 0;       // begun and never ended: kept, flagged
  std::uint64_t overlaps = 0;         // spans that went to a track beside their thread's
  std::uint64_t trimmed = 0;          // spans cut by up to 1 us to lie within their parent
  std::uint64_t linked = 0;           // device work whose launch was found
  std::uint64_t unlinked = 0;         // and not found
  bool truncated = false;             // the file was cut off or damaged
  bool stopped = false;               // by max_events or `progress`
  std::vector<std::string> problems;  // the first few, each with its offset
};

struct Imported {
  Trace trace;
  ImportSummary summary;
};

// A Chrome trace (JSON, or gzip of it), also as the PyTorch profiler writes it. Memory is bounded
// by the events that are kept, not by the file. docs/import.md tells what becomes what.
Result<Imported> import_chrome_trace(const std::string& path, const ImportOptions& options = {});

// --- many runs, one trace in memory at a time

// A trace, or a report of Inferix's profiler (compat/inferix.h reads those).
struct Recording {
  enum class Kind : std::uint8_t { trace, inferix_report };
  Kind kind = Kind::trace;
  std::string path;                   // of a trace its first segment
  std::vector<std::string> segments;  // of a trace
  std::string run_dir;                // that a trace lies in; empty: a file by itself
  std::uint64_t traces = 1;           // in that folder
  std::optional<int> rank;            // from a folder rank_N
};
struct Recordings {
  std::vector<Recording> found;      // in the order of paths
  std::vector<std::string> skipped;  // "PATH: why", of JSON files and folders; at most 1,000
};
// `path`: a run, a trace file, an Inferix report, or a folder that holds these at any depth (links
// to folders are not followed). Each folder is listed once.
Result<Recordings> find_recordings(const std::string& path);
// A Run of the one trace, with its run's manifest. A rank that the trace does not know is its
// folder's.
Result<Run> read_recording(const Recording& recording);
// The N of the innermost folder rank_N.
std::optional<int> rank_of_path(const std::string& path);

// --- following a run in progress

// Where a run is now: what each process is doing. Absent is what the program does not mark.
struct Progress {
  // The latest value of a counter.
  struct Value {
    std::string counter;  // its name
    double value = 0;
    // Of a sample of a probe; of a counter of the program's own `metric` is null.
    std::shared_ptr<const Metric> metric = nullptr;
    std::string entity = {};  // id
    EntityKind entity_kind = EntityKind::other;
  };
  struct Process {
    std::uint32_t pid = 0;
    bool alive = false;  // it still records
    std::string stage;   // the innermost open stage, load, request, batch or epoch
    SpanKind stage_kind = SpanKind::none;
    std::int64_t stage_begin_ns = 0;  // CLOCK_MONOTONIC
    // Finished steps directly or indirectly in that stage; steps within steps are not counted.
    std::uint64_t steps_done = 0;
    // From an argument of an open span: steps, num_inference_steps, total_steps, total or
    // num_steps.
    std::optional<std::uint64_t> steps_total;
    std::optional<double> step_seconds;  // median of the last 8 finished steps of the stage
    std::optional<double> eta_seconds;   // of the stage; needs both of the above
    std::string last_stage;              // that finished last, and how long it took
    double last_stage_seconds = 0;
    std::uint64_t dropped_spans = 0;
    std::optional<int> rank;
    std::uint64_t steps_ended = 0;   // of the process, since it began
    std::vector<double> last_steps;  // seconds of the newest of these, newest last; 32
    std::vector<Value> values;       // of each counter, by name; 4,096
  };
  std::vector<Process> processes;  // those that record; oldest first
};

// Follows a run directory. A poll costs as much as was recorded since the last one and what is
// still in the live buffers, not as much as the run is long.
class RunFollower {
 public:
  explicit RunFollower(std::string run_dir);
  ~RunFollower();
  RunFollower(RunFollower&&) noexcept;
  // Never fails: what cannot be read (yet) is not there.
  Progress poll();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace genscope
