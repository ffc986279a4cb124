#include "record/control.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "base/file.h"
#include "record/names.h"
#include "record/process_info.h"
#include "record/skip.h"

namespace genscope::internal {

std::atomic<std::uint32_t> g_mode{record::kOff};

}  // namespace genscope::internal

namespace genscope::record {
namespace {

using internal::t_lane;

pthread_key_t g_thread_exit;

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
  static Control* const leaked = new Control;
  return *leaked;
}

Control::Control() : states_(new LaneState[trace::kLaneSlots]) {
  for (std::uint32_t i = 0; i < trace::kLaneSlots; ++i) states_[i].index = i;
  disabled_ = set("GENSCOPE_DISABLE");
  ambient_ = pending_ = !disabled_ && set("GENSCOPE_RUN_DIR");
  set_skipped(split_words(text_of("GENSCOPE_SKIP")));
  pthread_key_create(&g_thread_exit,
                     [](void* lane) { instance().detach(*static_cast<Lane*>(lane)); });
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  std::atexit([] { instance().shut_down(); });
  std::at_quick_exit([] { instance().shut_down(); });
  update_mode();
}

void Control::update_mode() noexcept {
  Mode mode = kOff;
  if (enabled_ && !disabled_ && !failed_) {
    mode = current() != nullptr ? kOn : pending_ ? kPending : kOff;
  }
  internal::g_mode.store(mode, std::memory_order_relaxed);
}

void Control::set_enabled(bool enabled) noexcept {
  const BusyLane busy;
  const std::lock_guard lock(mutex_);
  enabled_ = enabled;
  update_mode();
}

Result<Recorder*> Control::open_locked(std::string_view name, const SessionOptions& options) {
  std::string run_dir = options.run_dir;
  if (run_dir.empty()) run_dir = text_of("GENSCOPE_RUN_DIR");
  if (run_dir.empty()) run_dir = pending_dir_;
  if (run_dir.empty()) {
    std::string out = options.out;
    if (out.empty()) out = text_of("GENSCOPE_OUT");
    if (out.empty()) out = "genscope-runs";
    Result<std::string> made = make_run_dir(out, name);
    if (!made.ok()) return made.error();
    run_dir = *made;
  }
  if (Status made = base::make_directories(run_dir); !made.ok()) return made.error();
  if (Status written = write_manifest(run_dir, name); !written.ok()) return written.error();
  Result<Recorder*> opened = Recorder::open(run_dir, options, next_lane_);
  if (!opened.ok()) return opened;
  Recorder* const recorder = *opened;
  retired_.push_back(recorder);
  if (Status started = recorder->start(); !started.ok()) {
    recorder->abandon();
    retire(recorder->live_);
    return started.error();
  }
  // A name that was added between start(), which wrote all names, and here is not in the trace
  // yet. Names are only added by a thread that found current() set, so there is none.
  current_.store(recorder);
  pending_dir_ = run_dir;
  pending_options_ = options;
  quiet_ = options.quiet;
  return recorder;
}

Control::Opened Control::open_session(std::string_view name, const SessionOptions& options) {
  const BusyLane busy;
  std::unique_lock lock(mutex_);
  if (disabled_) return {};
  sessions_++;
  if (current() == nullptr) {
    failed_ = false;
    error_.clear();
    quiet_ = options.quiet;
    if (sessions_ == 1 && !ambient_) pending_dir_.clear();
    std::vector<std::string> skip = split_words(text_of("GENSCOPE_SKIP"));
    skip.insert(skip.end(), options.skip.begin(), options.skip.end());
    set_skipped(skip);
    Result<Recorder*> opened = open_locked(name, options);
    if (!opened.ok()) {
      lock.unlock();
      fail(opened.error().message);
      return {};
    }
    pending_ = false;
    update_mode();
  }
  return {!failed_, current()->run_dir()};
}

void Control::close_session() {
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
    const std::uint64_t spans = untold_spans_.exchange(0), records = untold_records_.exchange(0);
    if (spans + records > 0) recorder->put(trace::LossMeta{0, spans, records, 0, 0});
    // The drain thread may need our lock to report a failure.
    lock.unlock();
    recorder->close();
    lock.lock();
    retire(recorder->live_);
  }
  update_mode();
}

// Tells the process lane what a lane's own words do not: drops since its last chunk.
void Control::release_state(LaneState& state, Recorder* recorder) noexcept {
  trace::LaneSlot& slot = *state.slot;
  const std::uint64_t spans = slot.lost_spans.exchange(0, std::memory_order_relaxed);
  const std::uint64_t records = slot.lost_records.exchange(0, std::memory_order_relaxed);
  if (spans + records > 0) {
    recorder->put(trace::LossMeta{slot.number.load(std::memory_order_relaxed), spans, records,
                                  slot.lost_first_tick.load(std::memory_order_relaxed),
                                  slot.lost_last_tick.load(std::memory_order_relaxed)});
  }
  slot.number.store(0, std::memory_order_relaxed);
}

bool Control::attach(Lane& lane) noexcept {
  std::unique_lock lock(mutex_);
  if (current() == nullptr && pending_ && enabled_ && !disabled_ && !failed_) {
    Result<Recorder*> opened = open_locked("run", pending_options_);
    if (!opened.ok()) {
      lock.unlock();
      fail(opened.error().message);
      return false;
    }
    pending_ = false;
    update_mode();
  }
  Recorder* const recorder = current();
  if (recorder == nullptr || next_lane_ > internal::kMaxLane) return false;
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
    found->used = true;
    lane.state = found;
  }
  LaneState& state = *lane.state;
  state.lane = &lane;
  state.recorder = recorder;
  state.seq = 0;
  state.os_clock = !recorder->use_cpu_ticks();
  state.slot = &recorder->slot(state.index);
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
      recorder->pool().fill(lane.chunk);
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
  const BusyLane busy;
  std::unique_lock lock(mutex_);
  disabled_ = true;
  close_locked(lock);
}

void Control::fail(const std::string& reason) noexcept {
  std::string line;
  {
    const std::lock_guard lock(mutex_);
    if (failed_) return;
    failed_ = true;
    error_ = reason;
    update_mode();
    if (quiet_) return;
  }
  const std::uint64_t lost = lost_spans_.load(std::memory_order_relaxed);
  line = "genscope: recording is off: " + reason + " (" + std::to_string(lost) +
         " spans lost until now)\n";
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, line.data(), line.size());
}

std::string Control::error() {
  const BusyLane busy;
  const std::lock_guard lock(mutex_);
  return error_;
}

RecorderStats Control::stats() noexcept {
  const BusyLane busy;
  const std::lock_guard lock(mutex_);
  RecorderStats stats;
  Recorder* const recorder = current();
  stats.active = recorder != nullptr && !failed_;
  stats.lost_spans = lost_spans_.load(std::memory_order_relaxed);
  stats.lost_records = lost_records_.load(std::memory_order_relaxed);
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
  if (Recorder* r = c.current()) r->process_mutex_.unlock();
  NameTable::instance().mutex().unlock();
  c.mutex_.unlock();
  t_lane.busy--;
}

// The child has one thread, no drain thread and (MADV_DONTFORK) no live buffer. It forgets the
// parent's trace and opens its own, in the same run, with its first span.
void Control::after_fork_in_child() {
  Control& c = instance();
  if (Recorder* r = c.current()) {
    r->file_->close();
    ::close(r->live_.fd);
    c.pending_ = true;
    r->process_mutex_.unlock();
  }
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
  c.lost_spans_.store(0);
  c.lost_records_.store(0);
  c.untold_spans_.store(0);
  c.untold_records_.store(0);
  c.update_mode();
  NameTable::instance().mutex().unlock();
  c.mutex_.unlock();
}

}  // namespace genscope::record
