// Reading runs: a directory or a trace file becomes a Run or a Trace.
//
// Place in the flow: between what record.h wrote and analyze.h. Reading never writes and needs no
// cooperation of the recording process: a run may be read while it grows and after a crash, when
// what was not yet in the file is taken from the live buffers beside it. Damaged bytes are
// skipped and counted in Trace::integrity; only a file of which nothing can be used is an error.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <genscope/error.h>
#include <genscope/trace.h>

namespace genscope {

// `path`: a run directory, or one trace file (then a Run of one Trace).
Result<Run> read_run(const std::string& path);

// One trace file (.gst), with its later segments and its live buffers if they are beside it.
Result<Trace> read_trace(const std::string& path);

// --- the manifest, for a program that runs another one

struct RunRequest {
  std::string out;   // folder for the new run directory; empty: $GENSCOPE_OUT, else ./genscope-runs
  std::string path;  // the run directory itself, made if missing; empty: a new one in `out`
  std::string name;
  std::vector<std::string> command;
};
// Makes the directory and its run.json; the path.
Result<std::string> create_run(const RunRequest& request);
// Adds to run.json how the command ended. Other keys stay.
Status finish_run(const std::string& path, int exit_code);

// --- following a run in progress

// Where a run is now: what each process is doing. Absent is what the program does not mark.
struct Progress {
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
    std::uint64_t lost_spans = 0;
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
