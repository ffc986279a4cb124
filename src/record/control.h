// Process-wide control of recording: which trace is open, who is attached, the switch, fork, exit.
//
// One object, never destroyed. Its lock is taken for opening, closing, attaching and detaching,
// never by a span; all of these also mark the thread's lane busy, so that a signal handler that
// records meanwhile drops instead of waiting for a lock that its own thread holds.
//
// Nothing here throws: what cannot be done for want of memory, threads, files or disk turns
// recording off, with one line on stderr, and the program goes on.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "base/guest.h"
#include "genscope/record.h"
#include "record/lane.h"
#include "record/reason.h"
#include "record/recorder.h"

namespace genscope::record {

// Values of internal::g_mode.
enum Mode : std::uint32_t {
  kOff = 0,
  kOn = 1,       // a trace is open
  kPending = 2,  // one opens with the first span: a run to join, or a forked child
};

class Control {
 public:
  static Control& instance();

  Recorder* current() const noexcept { return current_.load(std::memory_order_acquire); }

  // Session::Session and ~Session.
  struct Opened {
    bool active = false;
    std::string run_dir;
  };
  Opened open_session(std::string_view name, const SessionOptions& options) noexcept;
  void close_session() noexcept;

  // Gives the calling thread a lane in the open trace; opens one if that is pending.
  bool attach(Lane& lane) noexcept;
  void detach(Lane& lane) noexcept;

  void begin_small() noexcept;
  void end_trace() noexcept;

  void set_enabled(bool enabled) noexcept;
  bool enabled() const noexcept { return enabled_; }

  // Closes whatever is open; also at exit and when the library is unloaded.
  void shut_down() noexcept;
  // Recording cannot go on: says so once and turns it off. From any thread.
  void fail(const Reason& reason) noexcept;
  std::string error() noexcept;
  // Whether stderr is the program's on this thread; if not, another thread says what there is to
  // say.
  static void speaks_here(bool yes) noexcept;
  // Says it, if nobody has yet.
  void speak() noexcept;
  bool has_to_speak() const noexcept { return to_say_.load(std::memory_order_relaxed); }

  // Whether this is a process that was made without fork()'s handlers (a bare system call): it has
  // our memory, but neither our threads nor a trace, and locks may be held by nobody.
  static bool stranger() noexcept;

  RecorderStats stats() noexcept;
  // Counts what was dropped. `told`: the thread's lane slot has it too, and so will the trace;
  // else it is a loss of no particular thread.
  void count_lost(std::uint64_t spans, std::uint64_t records, bool told = false) noexcept {
    dropped_spans_.fetch_add(spans, std::memory_order_relaxed);
    dropped_records_.fetch_add(records, std::memory_order_relaxed);
    Recorder* const recorder = told ? nullptr : current();
    if (recorder != nullptr) recorder->add_losses(spans, records);
  }

 private:
  Control();
  // On failure `why` says it.
  bool open_locked(std::string_view name, const SessionOptions& options, Reason& why) noexcept;
  Result<Recorder*> make_recorder(std::string_view name, const SessionOptions& options);
  void read_environment() noexcept;
  void close_locked(std::unique_lock<std::mutex>& lock) noexcept;
  void update_mode() noexcept;
  void release_state(LaneState& state, Recorder* recorder) noexcept;
  static void before_fork();
  static void after_fork_in_parent();
  static void after_fork_in_child();

  std::mutex mutex_;
  std::atomic<Recorder*> current_{nullptr};
  Recorder* newest_ = nullptr;
  LaneState* states_;  // kLaneSlots of them
  std::uint32_t state_hint_ = 0;
  std::uint32_t next_lane_ = 1;
  std::uint64_t threads_ = 0;
  int sessions_ = 0;
  bool ambient_ = false;  // GENSCOPE_RUN_DIR: open until the process ends
  bool pending_ = false;
  bool disabled_ = false;  // GENSCOPE_DISABLE
  bool enabled_ = true;
  bool failed_ = false;
  bool quiet_ = false;
  bool small_ =
      false;  // a trace begins with the least buffers: see begin_small(); in a forked child
  Reason error_;
  std::atomic<bool> to_say_{false};
  base::FileId stderr_;      // as the program was given it: nothing else is written to
  std::string pending_dir_;  // the run that a forked child joins
  SessionOptions pending_options_;
  std::atomic<std::uint64_t> dropped_spans_{0};
  std::atomic<std::uint64_t> dropped_records_{0};
};

}  // namespace genscope::record
