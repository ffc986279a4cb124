#include "record/control.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>

#include "base/file.h"
#include "base/may_throw.h"
#include "record/drain.h"
#include "record/names.h"
#include "record/process_info.h"
#include "record/skip.h"
#include "trace/run_folder.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

namespace genscope::internal {

constinit Mode g_mode;

}  // namespace genscope::internal

namespace genscope::record {
namespace {

using internal::t_lane;

pthread_key_t g_thread_exit;
constinit LaneState g_states[trace::kLaneSlots];
// False on a thread that has a descriptor table of its own.
constinit thread_local bool t_speaks = true;
// Where the kernel cannot empty a page: who we are.
constinit std::atomic<pid_t> g_owner{0};

// Keeps a signal handler on this thread out of the locks we are about to take.
class BusyLane {
 public:
  BusyLane() noexcept : before_(t_lane.busy) {
    t_lane.busy = 1;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~BusyLane() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    t_lane.busy = before_;
  }

 private:
  std::uint32_t before_;
};

bool set(const char* variable) noexcept {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
}

std::string text_of(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr ? value : "";
}

// Empties the page of g_mode in every child.
bool wiped_on_fork() noexcept {
  static const bool done =
      ::sysconf(_SC_PAGESIZE) <= static_cast<long>(sizeof(internal::Mode)) &&
      ::madvise(&internal::g_mode, sizeof(internal::Mode), MADV_WIPEONFORK) == 0;
  return done;
}

void clear(Lane& lane) noexcept {
  lane.limit.store(nullptr, std::memory_order_relaxed);
  lane.write = 0;
  lane.chunk = nullptr;
  lane.lane_bits = 0;
  lane.depth = 0;
  lane.state = nullptr;
}

// Joins the run of `genscope run` as soon as the library is loaded; the trace itself opens with
// the first span.
__attribute__((constructor)) void on_load() { Control::instance(); }
// dlclose or exit: no thread may run our code afterwards.
__attribute__((destructor)) void on_unload() {
  Control::instance().shut_down();
  pthread_key_delete(g_thread_exit);
}

}  // namespace

Control& Control::instance() {
  // Never destroyed, and made without memory of the heap's.
  alignas(Control) static std::byte place[sizeof(Control)];
  static Control* const control = new (place) Control;
  return *control;
}

Control::Control() : states_(g_states), stderr_(base::file_id(STDERR_FILENO)) {
  for (std::uint32_t i = 0; i < trace::kLaneSlots; ++i) states_[i].index = i;
  disabled_ = set("GENSCOPE_DISABLE");
  ambient_ = pending_ = !disabled_ && set("GENSCOPE_RUN_DIR");
  read_environment();
  bool fine = pthread_key_create(&g_thread_exit, [](void* lane) {
                instance().detach(*static_cast<Lane*>(lane));
              }) == 0;
  fine &= pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0;
  fine &= std::atexit([] { instance().shut_down(); }) == 0;
  std::at_quick_exit([] { instance().shut_down(); });
  // Without these a thread's or a process's end would find us unprepared.
  if (!fine) disabled_ = true;
  wiped_on_fork();
  update_mode();
}

void Control::read_environment() noexcept {
  try {
    set_skipped(split_words(text_of("GENSCOPE_SKIP")));
  } catch (...) {
    disabled_ = true;  // rather than record what was to be left out
  }
}

bool Control::stranger() noexcept {
  if (wiped_on_fork()) return internal::g_mode.made.load(std::memory_order_relaxed) == 0;
  return g_owner.load(std::memory_order_relaxed) != ::getpid();
}

// A trace that cannot go on stays open: what is made from then on is counted, in its live file.
void Control::update_mode() noexcept {
  Mode mode = kOff;
  if (enabled_ && !disabled_) {
    mode = current() != nullptr ? kOn : pending_ && !failed_ ? kPending : kOff;
  }
  internal::g_mode.made.store(1, std::memory_order_relaxed);
  g_owner.store(::getpid(), std::memory_order_relaxed);
  internal::g_mode.value.store(mode, std::memory_order_relaxed);
}

void Control::set_enabled(bool enabled) noexcept {
  if (stranger()) return;
  const BusyLane busy;
  const std::lock_guard lock(mutex_);
  enabled_ = enabled;
  update_mode();
}

void Control::begin_small() noexcept {
  const std::lock_guard lock(mutex_);
  small_ = true;
}

void Control::end_trace() noexcept {
  const BusyLane busy;
  std::unique_lock lock(mutex_);
  if (current() == nullptr || !ambient_ || sessions_ > 0) return;
  pending_ = true;
  close_locked(lock);
}

Result<Recorder*> Control::make_recorder(std::string_view name, const SessionOptions& options) {
  const base::NoWriteSignals no_signals;
  std::string run_dir = options.run_dir;
  if (run_dir.empty()) run_dir = text_of("GENSCOPE_RUN_DIR");
  if (run_dir.empty()) run_dir = pending_dir_;
  if (run_dir.empty()) {
    std::string out = options.out;
    if (out.empty()) out = text_of("GENSCOPE_OUT");
    if (out.empty()) out = "genscope-runs";
    Result<std::string> made = trace::make_run_folder(out, name);
    if (!made.ok()) return made.error();
    run_dir = *made;
  }
  if (Status made = base::make_directories(run_dir); !made.ok()) return made.error();
  if (Status written = write_manifest(run_dir, name, options.keep_args); !written.ok())
    return written.error();
  std::string whole_dir = base::absolute_path(run_dir);
  SessionOptions kept = options;
  Result<Recorder*> opened = Recorder::open(run_dir, options, next_lane_, small_);
  if (!opened.ok()) return opened;
  Recorder* const recorder = *opened;
  recorder->before_ = newest_;
  newest_ = recorder;
  try {
    if (Status started = recorder->start(); !started.ok()) {
      recorder->abandon();
      return started.error();
    }
  } catch (...) {
    recorder->abandon();
    throw;
  }
  pending_dir_ = std::move(whole_dir);
  pending_options_ = std::move(kept);
  return recorder;
}

bool Control::open_locked(std::string_view name, const SessionOptions& options,
                          Reason& why) noexcept {
  try {
    quiet_ = options.quiet;
    Result<Recorder*> made = make_recorder(name, options);
    if (!made.ok()) {
      why << made.error().message;
      return false;
    }
    // A name that was added between start(), which wrote all names, and here is not in the trace
    // yet. Names are only added by a thread that found current() set, so there is none.
    current_.store(*made);
    return true;
  } catch (const std::exception& failure) {
    why << "there is no memory to begin with (" << failure.what() << ")";
    return false;
  }
}

Control::Opened Control::open_session(std::string_view name,
                                      const SessionOptions& options) noexcept {
  if (stranger()) return {};
  const BusyLane busy;
  std::unique_lock lock(mutex_);
  if (disabled_) return {};
  sessions_++;
  Reason why;
  if (!base::may_throw()) {
    why << "there is no memory to begin with";
    lock.unlock();
    fail(why);
    return {};
  }
  try {
    if (current() == nullptr) {
      failed_ = false;
      error_ = {};
      to_say_.store(false, std::memory_order_relaxed);
      if (sessions_ == 1 && !ambient_) pending_dir_.clear();
      std::vector<std::string> skip = split_words(text_of("GENSCOPE_SKIP"));
      skip.insert(skip.end(), options.skip.begin(), options.skip.end());
      set_skipped(skip);
      if (!open_locked(name, options, why)) {
        lock.unlock();
        fail(why);
        return {};
      }
      pending_ = false;
      update_mode();
    }
    return {!failed_, current()->run_dir()};
  } catch (...) {
    why << "there is no memory to begin with";
  }
  lock.unlock();
  fail(why);
  return {};
}

void Control::close_session() noexcept {
  if (stranger()) return;
  const BusyLane busy;
  std::unique_lock lock(mutex_);
  if (sessions_ == 0 || --sessions_ > 0 || ambient_) return;
  pending_ = false;
  close_locked(lock);
}

void Control::close_locked(std::unique_lock<std::mutex>& lock) noexcept {
  Recorder* const recorder = current();
  if (recorder != nullptr) {
    current_.store(nullptr);
    update_mode();
    for (std::uint32_t i = 0; i < trace::kLaneSlots; ++i) {
      LaneState& state = states_[i];
      if (!state.used || state.recorder != recorder) continue;
      state.limit.store(nullptr);
      state.lane->limit.store(nullptr);
      release_state(state, recorder);
    }
    recorder->put_losses();
    // The drain thread may need our lock to report a failure.
    lock.unlock();
    recorder->close();
    speak();
    lock.lock();
    retire(recorder->live_);
  }
  update_mode();
}

// Tells the process lane what a lane's own words do not: drops since its last chunk. Where that is
// not possible the live file keeps the count.
void Control::release_state(LaneState& state, Recorder* recorder) noexcept {
  trace::LaneSlot& slot = *state.slot;
  const std::uint64_t spans = slot.dropped_spans.exchange(0, std::memory_order_relaxed);
  const std::uint64_t records = slot.dropped_records.exchange(0, std::memory_order_relaxed);
  if (spans + records > 0) {
    const trace::LossMeta loss{slot.number.load(std::memory_order_relaxed), spans, records,
                               slot.lost_first_tick.load(std::memory_order_relaxed),
                               slot.lost_last_tick.load(std::memory_order_relaxed)};
    if (!recorder->put(loss)) recorder->add_losses(spans, records);
  }
  slot.number.store(0, std::memory_order_relaxed);
}

bool Control::attach(Lane& lane) noexcept {
  if (stranger()) return false;
  if (!base::may_throw()) {
    count_lost(1, 0);
    return false;
  }
  std::unique_lock lock(mutex_);
  if (current() == nullptr && pending_ && enabled_ && !disabled_ && !failed_) {
    Reason why;
    if (!open_locked("run", pending_options_, why)) {
      lock.unlock();
      fail(why);
      return false;
    }
    pending_ = false;
    update_mode();
  }
  Recorder* const recorder = current();
  if (recorder == nullptr) return false;
  if (next_lane_ > internal::kMaxLane) {
    count_lost(1, 0);
    return false;
  }
  if (lane.state == nullptr) {
    LaneState* found = nullptr;
    for (std::uint32_t i = 0; i < trace::kLaneSlots && found == nullptr; ++i) {
      LaneState& state = states_[(state_hint_ + i) % trace::kLaneSlots];
      if (!state.used) found = &state;
    }
    if (found == nullptr) {
      count_lost(1, 0);
      return false;
    }
    state_hint_ = found->index + 1;
    if (recorder->slot(found->index) == nullptr) {
      count_lost(1, 0);
      return false;
    }
    found->used = true;
    lane.state = found;
  }
  LaneState& state = *lane.state;
  trace::LaneSlot* const slot = recorder->slot(state.index);
  if (slot == nullptr) {  // it had its place in a trace that was larger
    count_lost(1, 0);
    return false;
  }
  state.lane = &lane;
  state.recorder = recorder;
  state.seq = 0;
  state.os_clock = !recorder->use_cpu_ticks();
  state.slot = slot;
  state.write = nullptr;
  lane.chunk = nullptr;
  lane.depth = 0;
  const std::uint32_t number = next_lane_++;
  lane.lane_bits = internal::make_id(number, 0, 0);
  state.slot->number.store(number, std::memory_order_relaxed);
  threads_++;
  std::array<char, 32> name{};
  pthread_getname_np(pthread_self(), name.data(), name.size());
  recorder->put(
      trace::ThreadMeta{number, static_cast<std::uint32_t>(::syscall(SYS_gettid)), name.data()});
  pthread_setspecific(g_thread_exit, &lane);
  return true;
}

void Control::detach(Lane& lane) noexcept {
  if (stranger()) return;
  const BusyLane busy;
  const std::lock_guard lock(mutex_);
  LaneState* const state = lane.state;
  if (state == nullptr) return;
  lane.limit.store(nullptr);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  Recorder* const recorder = current();
  if (recorder != nullptr && state->recorder == recorder) {
    if (lane.chunk != nullptr) {
      lane.chunk->last = 1;
      recorder->hand_over(lane.chunk);
    }
    release_state(*state, recorder);
  }
  state->limit.store(nullptr);
  state->lane = nullptr;
  state->recorder = nullptr;
  state->used = false;
  state_hint_ = state->index;  // the next thread finds this one's name cache
  clear(lane);
}

void Control::shut_down() noexcept {
  if (stranger()) return;
  const BusyLane busy;
  std::unique_lock lock(mutex_);
  disabled_ = true;
  close_locked(lock);
}

void Control::fail(const Reason& reason) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (failed_) return;
    failed_ = true;
    error_ = reason;
    if (Recorder* const recorder = current()) {
      recorder->stop(reason.text());
      // Every thread goes through the slow path from now on, which drops and counts.
      for (std::uint32_t i = 0; i < trace::kLaneSlots; ++i) {
        LaneState& state = states_[i];
        if (!state.used || state.recorder != recorder) continue;
        state.limit.store(nullptr);
        state.lane->limit.store(nullptr);
      }
    }
    update_mode();
    to_say_.store(!quiet_, std::memory_order_relaxed);
  }
  speak();
}

void Control::speaks_here(bool yes) noexcept { t_speaks = yes; }

// The line goes to the stderr that the program was given. If that was closed, number 2 may be a
// file of the program's by now.
void Control::speak() noexcept {
  if (!t_speaks || !to_say_.exchange(false)) return;
  const std::uint64_t lost = dropped_spans_.load(std::memory_order_relaxed);
  Reason line("genscope: recording is off: ");
  line << error_.text() << " (" << lost << " spans lost until now)";
  if (!stderr_.known || !(base::file_id(STDERR_FILENO) == stderr_)) return;
  const base::NoWriteSignals no_signals;
  std::array<char, 800> text;
  const std::size_t n = line.text().copy(text.data(), text.size() - 1);
  text[n] = '\n';
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, text.data(), n + 1);
}

std::string Control::error() noexcept {
  if (stranger()) return {};
  const BusyLane busy;
  const std::lock_guard lock(mutex_);
  try {
    return std::string(error_.text());
  } catch (...) {
    return {};
  }
}

RecorderStats Control::stats() noexcept {
  if (stranger()) return {};
  const BusyLane busy;
  const std::lock_guard lock(mutex_);
  RecorderStats stats;
  Recorder* const recorder = current();
  stats.active = recorder != nullptr && !failed_;
  stats.dropped_spans = dropped_spans_.load(std::memory_order_relaxed);
  stats.dropped_records = dropped_records_.load(std::memory_order_relaxed);
  stats.bytes_written = recorder != nullptr ? recorder->bytes_written() : 0;
  stats.threads = threads_;
  return stats;
}

// No thread of ours or of the user's may hold one of our locks while the process is copied.
void Control::before_fork() {
  t_lane.busy++;
  Control& c = instance();
  c.mutex_.lock();
  NameTable::instance().mutex().lock();
  if (Recorder* r = c.current()) r->process_mutex_.lock();
}

void Control::after_fork_in_parent() {
  Control& c = instance();
  if (Recorder* r = c.current()) {
    r->drain_->count_fork();
    r->process_mutex_.unlock();
  }
  NameTable::instance().mutex().unlock();
  c.mutex_.unlock();
  t_lane.busy--;
}

// The child has one thread and no drain thread. It forgets the parent's trace and opens its own, in
// the same run, with its first span.
void Control::after_fork_in_child() {
  Control& c = instance();
  if (Recorder* r = c.current()) {
    if (!r->drain_->has_own_descriptors()) {
      r->file_->close();
      r->live_.file.close();
    }
    r->file_->forget_descriptor();
    r->live_.file.forget();
    leave_to_parent(r->live_);
    c.pending_ = true;
    r->process_mutex_.unlock();
  }
  c.small_ = true;
  c.to_say_.store(false);
  c.current_.store(nullptr);
  for (std::uint32_t i = 0; i < trace::kLaneSlots; ++i) {
    LaneState& state = c.states_[i];
    if (!state.used) continue;
    state.used = false;
    state.recorder = nullptr;
    state.limit.store(nullptr);
  }
  clear(t_lane);
  t_lane.busy--;
  c.threads_ = 0;
  c.dropped_spans_.store(0);
  c.dropped_records_.store(0);
  c.update_mode();
  NameTable::instance().mutex().unlock();
  c.mutex_.unlock();
}

}  // namespace genscope::record
