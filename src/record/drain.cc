// One thread moves filled chunks from the live file to the trace file, and must never be what the
// program waits for.
//
// Order: producers push filled chunks to a lock-free list; the drain takes the whole list at once,
// in the order in which they filled. A chunk for which there is no memory waits, and all later ones
// with it, because a reader takes a lane's chunks by number and the packing of one needs the open
// spans of the one before. try_handle() changes nothing if it fails: the stack of open spans is put
// back.
//
// Crash safety: a chunk is recycled only after the write that holds it has returned, so at any
// instant each span is in the file, in the live file, or in both; readers drop duplicates by lane
// and number. A short write or a full disk stops the drain, not the program: chunks stay where they
// are.
//
// Pace: the pause halves while chunks come and doubles while none does, from 1 to 50 ms. After the
// longest pause without one it rests, until the second is over or a producer wakes it. A wake-up
// costs the producer a system call, so only growing and the first chunk after a rest ask for it.
// sleep() says that it sleeps before it looks whether anything is due, and wake() counts before it
// looks whether anybody sleeps: one of the two sees the other, so no call is slept through. In the
// same way a producer first hands the chunk over and then looks whether the drain rests.
#include "record/drain.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "base/may_throw.h"
#include "base/own_threads.h"
#include "record/control.h"
#include "record/recorder.h"

namespace genscope::record {
namespace {

constexpr std::size_t kWriteBytes = 1 << 20;
constexpr std::int64_t kShortestNs = 1'000'000;
constexpr std::int64_t kLongestNs = 50'000'000;
constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kFoldPatienceNs = 100'000'000, kLastFoldPatienceNs = 1'000'000'000;
constexpr std::int64_t kFoldAfterForkNs = 600'000'000'000;
constexpr std::uint32_t kPrefaultFirst = 16;  // before the next round; the others after it
// Enough for zstd, which keeps its tables elsewhere; the usual 8 MiB are a burden where address
// space is limited.
constexpr std::size_t kStackBytes = 1 << 20;

std::span<const std::uint64_t> published(ChunkHeader* chunk) noexcept {
  const std::uint64_t tail = chunk->tail.load(std::memory_order_acquire);
  const std::uint64_t data = chunk->data.load(std::memory_order_relaxed);
  return {words_of(chunk), static_cast<std::size_t>((tail - data) / 8)};
}

template <class T>
void append_bytes(std::vector<std::byte>& out, const T* items, std::size_t count) {
  const auto* p = reinterpret_cast<const std::byte*>(items);
  out.insert(out.end(), p, p + count * sizeof(T));
}

// 0 or an errno.
int make_thread(pthread_t& thread, void* (*body)(void*), void* of) noexcept {
  pthread_attr_t small;
  if (const int error = pthread_attr_init(&small); error != 0) return error;
  pthread_attr_setstacksize(&small, kStackBytes);
  int error = pthread_create(&thread, &small, body, of);
  pthread_attr_destroy(&small);
  // A program with much thread-local data needs more.
  if (error == EINVAL) error = pthread_create(&thread, nullptr, body, of);
  return error;
}

}  // namespace

int Drain::start() noexcept {
  base::GuestFd trace = recorder_.file().take_descriptor();
  base::GuestFd live = recorder_.live().file.take();
  // The user's signals are not ours to handle.
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  const int error = make_thread(
      thread_,
      [](void* drain) -> void* {
        static_cast<Drain*>(drain)->main();
        return nullptr;
      },
      this);
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  if (error != 0) return error;
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return phase_ != Phase::starting; });
  trace.close();
  live.close();  // the thread may wait for its lock
  if (phase_ == Phase::failed) {
    lock.unlock();
    pthread_join(thread_, nullptr);
    return start_error_;
  }
  started_ = true;
  return 0;
}

void Drain::main() noexcept {
  pthread_setname_np(pthread_self(), "genscope-drain");
  const base::OwnThread counted;
  own_descriptors_ = base::leave_descriptor_table();
  Control::speaks_here(!own_descriptors_);
  int error = base::may_throw() ? recorder_.file().open_here() : ENOMEM;
  if (const int fd = recorder_.live().file.use(); error == 0 && fd < 0) error = -fd;
  {
    const std::lock_guard lock(mutex_);
    start_error_ = error;
    phase_ = error != 0 ? Phase::failed : Phase::ready;
    done_.notify_all();
  }
  if (error == 0) {
    recorder_.live().hold_lock();
    loop();
  }
  recorder_.file().close();
  recorder_.live().file.close();
}

void Drain::hurry() noexcept {
  short_.store(true, std::memory_order_relaxed);
  wake();
}

void Drain::wake() noexcept {
  calls_.fetch_add(1, std::memory_order_release);
  if (!asleep_.exchange(false, std::memory_order_seq_cst)) return;
  ::syscall(SYS_futex, &calls_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void Drain::sleep(std::int64_t pause_ns) noexcept {
  const std::uint32_t seen = calls_.load(std::memory_order_acquire);
  asleep_.store(true, std::memory_order_seq_cst);
  bool due = short_.load(std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);
    due |= stopping_ || flush_wanted_ > flush_done_;
  }
  if (resting_.load(std::memory_order_relaxed)) due |= recorder_.pool().any_filled();
  if (!due) {
    const timespec pause{pause_ns / kSecondNs, static_cast<long>(pause_ns % kSecondNs)};
    ::syscall(SYS_futex, &calls_, FUTEX_WAIT_PRIVATE, seen, &pause, nullptr, 0);
  }
  asleep_.store(false, std::memory_order_relaxed);
}

void Drain::rest() noexcept {
  resting_.store(true, std::memory_order_seq_cst);
  sleep(std::clamp(next_second_ns_ - base::monotonic_ns(), kShortestNs, kSecondNs));
  resting_.store(false, std::memory_order_relaxed);
}

void Drain::stop() noexcept {
  if (!started_) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake();
  pthread_join(thread_, nullptr);
  started_ = false;
}

void Drain::flush() noexcept {
  std::uint64_t mine = 0;
  {
    const std::lock_guard lock(mutex_);
    mine = ++flush_wanted_;
  }
  wake();
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return flush_done_ >= mine || stopping_; });
}

void Drain::loop() noexcept {
  std::int64_t pause_ns = kShortestNs;
  bool idle = false;
  for (;;) {
    if (idle) {
      rest();
    } else {
      sleep(pause_ns);
    }
    std::uint64_t wanted = 0;
    bool last = false;
    {
      const std::lock_guard lock(mutex_);
      wanted = flush_wanted_;
      last = stopping_;
    }
    grow();
    const std::uint32_t chunks = round();
    if (last) {
      finish();
      return;
    }
    every_second();
    recorder_.pool().prefault(recorder_.pool().count());
    if (wanted > 0) {
      const std::lock_guard lock(mutex_);
      flush_done_ = wanted;
      done_.notify_all();
    }
    // What waits for memory is tried again soon.
    idle = chunks == 0 && pause_ns == kLongestNs && waiting_ == nullptr && !early();
    pause_ns = chunks >= 16 ? kShortestNs
               : chunks > 0 ? std::max(pause_ns / 2, kShortestNs)
                            : std::min(pause_ns * 2, kLongestNs);
  }
}

// Doubles the live file as long as it is short of chunks.
void Drain::grow() noexcept {
  if (!short_.load(std::memory_order_relaxed)) return;
  short_.store(false, std::memory_order_relaxed);
  LiveBuffer& live = recorder_.live();
  if (recorder_.slots_short() && live.grow_slots() == 0) recorder_.slots_grown();
  ChunkPool& pool = recorder_.pool();
  while (!full_size_ && pool.low()) {
    if (live.grow_chunks(2 * live.chunk_count) != 0) {
      full_size_ = true;
      recorder_.grown(false);
      return;
    }
    pool.grow(live.chunk_count);
    recorder_.grown(live.chunk_count < live.max_chunks);
    pool.prefault(std::min(pool.free_count() + kPrefaultFirst, pool.count()));
  }
}

std::uint32_t Drain::round() noexcept {
  ChunkPool& pool = recorder_.pool();
  std::uint32_t count = 0;
  // Those that waited for memory are the oldest: a lane's chunks stay in their order.
  ChunkHeader* lists[] = {waiting_.exchange(nullptr), pool.take_filled()};
  ChunkHeader* last_waiting = nullptr;
  for (ChunkHeader* chunk : lists) {
    while (chunk != nullptr) {
      ChunkHeader* const next = pool.next(chunk);
      if (waiting_ == nullptr && try_handle(chunk)) {
        count++;
        if (recorder_.file().pending() > kWriteBytes) write_pending();
        grow();
      } else {
        pool.link(chunk, nullptr);
        if (last_waiting != nullptr) pool.link(last_waiting, chunk);
        if (waiting_ == nullptr) waiting_ = chunk;
        last_waiting = chunk;
      }
      chunk = next;
    }
  }
  write_pending();
  return count;
}

// False if memory ran out: nothing has changed then, and the chunk is to be tried again.
bool Drain::try_handle(ChunkHeader* chunk) noexcept {
  try {
    written_.reserve(written_.size() + 1);
    handle(chunk);
    return true;
  } catch (...) {
    return false;
  }
}

void Drain::handle(ChunkHeader* chunk) {
  const auto words = published(chunk);
  const std::uint32_t lane = chunk->lane.load(std::memory_order_relaxed);
  if (stopped_by_error_) return;  // stays in the live file, where the reader finds it
  if (!words.empty()) {
    if (stopped_by_limit_ != nullptr && lane != 0) {
      count_unwritten(chunk, words);
    } else {
      append_chunk(chunk, words);
    }
  }
  if (chunk->last != 0) open_.erase(lane);
  written_.push_back(chunk);
}

// The first frames of a segment.
void Drain::start_segment() {
  const std::string json = recorder_.process_json(recorder_.file().segment());
  trace::FrameHeader process;
  process.type = trace::FrameType::process;
  recorder_.file().append(process, std::as_bytes(std::span(json)));
  segment_open_ = true;
  recorder_.append_definitions();
}

void Drain::append_chunk(ChunkHeader* chunk, std::span<const std::uint64_t> words) {
  TraceFile& file = recorder_.file();
  if (file.segment_done()) {
    write_pending();
    if (file.next_segment().ok()) segment_open_ = false;
  }
  if (!segment_open_) start_segment();
  trace::FrameHeader header;
  header.type = trace::FrameType::chunk;
  header.lane = chunk->lane.load(std::memory_order_relaxed);
  header.seq = chunk->seq.load(std::memory_order_relaxed);
  header.base_tick = chunk->base.load(std::memory_order_relaxed);
  header.words = static_cast<std::uint32_t>(words.size());
  header.codec = recorder_.options().pack ? trace::Codec::packed : trace::Codec::raw;
  trace::OpenSpans& open = open_[header.lane];
  open_before_.assign(open.spans().begin(), open.spans().end());
  header.open_spans = static_cast<std::uint32_t>(open_before_.size());
  try {
    payload_.clear();
    append_bytes(payload_, open_before_.data(), open_before_.size());
    const trace::ChunkBase base{internal::make_id(header.lane, header.seq, 0), header.base_tick};
    std::span<const std::byte> raw;
    if (header.codec == trace::Codec::packed) {
      packer_.pack(words, base, open, payload_);
    } else {
      raw = std::as_bytes(words);
      trace::advance(words, base, open);
    }
    const std::size_t size = payload_.size() + raw.size() + sizeof header;
    if (header.lane != 0 && file.full(size)) {
      Control::instance().fail(Reason("the trace ")
                               << file.path() << " reached max_trace_bytes ("
                               << recorder_.options().max_trace_bytes
                               << "); raise it, or choose WhenFull::keep_newest");
      stopped_by_limit_ = "max_trace_bytes";
    } else if (header.lane != 0 && file.crowded(size)) {
      Control::instance().fail(Reason("little space left on device: the trace ")
                               << file.path()
                               << " has taken its share, a quarter of what was free");
      stopped_by_limit_ = "disk_share";
    } else {
      file.append(header, payload_, raw);
      return;
    }
  } catch (...) {
    open.swap(open_before_);
    throw;
  }
  count_unwritten(chunk, words);
}

void Drain::count_unwritten(ChunkHeader* chunk, std::span<const std::uint64_t> words) {
  trace::LossMeta& loss = unwritten_[chunk->lane.load(std::memory_order_relaxed)];
  if (loss.spans + loss.records == 0) {
    loss.first_tick = chunk->base.load(std::memory_order_relaxed);
  }
  loss.last_tick = recorder_.now();
  const std::uint64_t spans_before = loss.spans, records_before = loss.records;
  std::uint64_t dropped_spans = 0, dropped_records = 0;
  for (std::size_t i = 0; i < words.size(); i += 1 + internal::payload_words(words[i])) {
    switch (internal::op_of(words[i])) {
      case internal::Op::begin:
      case internal::Op::async_begin:
        loss.spans++;
        break;
      case internal::Op::event:
      case internal::Op::event_on:
      case internal::Op::counter:
      case internal::Op::attach:
        loss.records++;
        break;
      case internal::Op::lost:  // was lost and counted before, and would now be forgotten
        (internal::field_of(words[i]) == 0 ? dropped_spans : dropped_records) +=
            internal::low_of(words[i]);
        break;
      default:
        break;
    }
  }
  Control::instance().count_lost(loss.spans - spans_before, loss.records - records_before, true);
  loss.spans += dropped_spans;
  loss.records += dropped_records;
}

void Drain::write_pending() noexcept {
  if (stopped_by_error_) return;
  TraceFile& file = recorder_.file();
  if (const int error = file.write(); error != 0) {
    stopped_by_error_ = true;
    Control::instance().fail(Reason("cannot write ")
                             << file.path() << ": " << base::error_text(error)
                             << "; what was recorded so far stays readable");
    return;
  }
  recorder_.note_bytes(file.bytes());
  for (ChunkHeader* chunk : written_) recorder_.recycle(chunk);
  written_.clear();
}

void Drain::every_second() noexcept {
  const std::int64_t now = base::monotonic_ns();
  // A few snapshots right after the start: they give the tick rate if the process dies young.
  if (early()) {
    early_snapshots_++;
  } else if (now < next_second_ns_) {
    return;
  }
  next_second_ns_ = now + kSecondNs;
  recorder_.put_clock();
  fold_children(kFoldPatienceNs);
  if (!stopped_by_error_ && recorder_.file().removed()) {
    stopped_by_error_ = true;
    Control::instance().fail(Reason("somebody deleted ") << recorder_.file().path());
  }
}

// Children that ended by _exit or a signal, as those of Python's multiprocessing do: without this,
// a server that forks for years would fill its disk. Looks again for a while after the last fork.
void Drain::fold_children(std::int64_t patience_ns) noexcept {
  const std::uint32_t forks = forks_.load(std::memory_order_relaxed);
  const std::int64_t now = base::monotonic_ns();
  if (forks != forks_seen_) fold_until_ns_ = now + kFoldAfterForkNs;
  forks_seen_ = forks;
  if (now > fold_until_ns_ || now < next_fold_ns_) return;
  try {
    recorder_.fold_children(now + patience_ns);
  } catch (...) {
    // For want of memory: the next who reads the run does it.
  }
  // At most a twentieth of our time.
  next_fold_ns_ = now + 20 * (base::monotonic_ns() - now);
}

void Drain::write_open_chunks(bool process_lane) noexcept {
  ChunkPool& pool = recorder_.pool();
  for (std::uint32_t i = 0; i < pool.touched(); ++i) {
    ChunkHeader* const chunk = pool.at(i);
    const bool open = chunk->state.load(std::memory_order_acquire) ==
                      static_cast<std::uint32_t>(ChunkState::open);
    if (!open || (chunk->lane.load(std::memory_order_relaxed) == 0) != process_lane) continue;
    const std::size_t before = written_.size();
    if (!try_handle(chunk)) torn_ = true;
    written_.resize(std::min(before, written_.size()));  // its thread may still hold it
  }
  write_pending();
}

void Drain::append_close() noexcept {
  try {
    std::string json = "{\"stopped\":null}";
    if (stopped_by_limit_ != nullptr) {
      json = std::string("{\"stopped\":\"") + stopped_by_limit_ + "\"}";
    }
    trace::FrameHeader close;
    close.type = trace::FrameType::close;
    recorder_.file().append(close, std::as_bytes(std::span(json)));
  } catch (...) {
    torn_ = true;
  }
}

void Drain::finish() noexcept {
  next_fold_ns_ = 0;
  fold_children(kLastFoldPatienceNs);
  write_open_chunks(false);
  for (auto& [lane, loss] : unwritten_) {
    loss.lane = lane;
    if (recorder_.put(loss)) continue;
    recorder_.add_losses(loss.spans, loss.records);
    torn_ = true;
  }
  round();
  write_open_chunks(true);
  if (incomplete()) return;
  append_close();
  write_pending();
}

}  // namespace genscope::record
