// The drain thread: packs filled chunks into frames, appends them to the file, frees the chunks,
// and makes the live file longer as chunks are used.
//
// While chunks fill it polls; the pause adapts, from 1 ms under load to 50 ms. When nothing has
// come for a while it rests: it notes the clock once a second, and the next chunk that is full
// wakes it. Else a producer wakes it only when the buffers must grow: each time they double.
//
// It has a descriptor table of its own where the kernel allows it, so nothing that the program does
// to its descriptors touches ours. When memory runs out, chunks stay in the live file and are tried
// again; what is there at the end stays there, where a reader finds it.
#pragma once

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/guest.h"
#include "record/pool.h"
#include "trace/meta.h"
#include "trace/open_spans.h"
#include "trace/pack.h"

namespace genscope::record {

class Recorder;

class Drain {
 public:
  explicit Drain(Recorder& recorder) : recorder_(recorder) {}
  // 0, or an errno: then there is no thread. Takes the descriptors of the recorder's files over.
  int start() noexcept;
  // Writes what is left, also of chunks that are still open, and ends the thread.
  void stop() noexcept;
  // Waits until what was full at the call is written.
  void flush() noexcept;
  // The process has forked: its children may leave live files behind.
  void count_fork() noexcept { forks_.fetch_add(1, std::memory_order_relaxed); }
  // From any thread, also in a signal handler: buffers are short, let them grow.
  void hurry() noexcept;
  // From any thread, also in a signal handler: a chunk was handed over.
  void filled() noexcept {
    if (resting_.load(std::memory_order_seq_cst)) wake();
  }
  // The trace did not take everything: the live file must stay. Asked from other threads too, while
  // the drain works: then it is what held a moment ago.
  bool incomplete() const noexcept { return stopped_by_error_ || waiting_ != nullptr || torn_; }
  bool has_own_descriptors() const noexcept { return own_descriptors_; }

 private:
  enum class Phase : std::uint8_t { starting, ready, running, failed };

  void main() noexcept;
  void loop() noexcept;
  void sleep(std::int64_t pause_ns) noexcept;
  // The same until the next second, or until something is handed over.
  void rest() noexcept;
  void wake() noexcept;
  std::uint32_t round() noexcept;
  bool try_handle(ChunkHeader* chunk) noexcept;
  void handle(ChunkHeader* chunk);
  void start_segment();
  void append_chunk(ChunkHeader* chunk, std::span<const std::uint64_t> words);
  void count_unwritten(ChunkHeader* chunk, std::span<const std::uint64_t> words);
  void write_pending() noexcept;
  void finish() noexcept;
  void write_open_chunks(bool process_lane) noexcept;
  void append_close() noexcept;
  void grow() noexcept;
  void every_second() noexcept;
  // Still taking the first clock snapshots, at every round.
  bool early() const noexcept { return early_snapshots_ < 8; }
  void fold_children(std::int64_t patience_ns) noexcept;

  Recorder& recorder_;
  pthread_t thread_{};
  bool started_ = false;
  std::mutex mutex_;
  std::condition_variable done_;
  Phase phase_ = Phase::starting;
  int start_error_ = 0;
  bool own_descriptors_ = false;
  bool stopping_ = false;
  std::uint64_t flush_wanted_ = 0;
  std::uint64_t flush_done_ = 0;
  std::atomic<std::uint32_t> calls_{0};  // a futex: changes when there is something to do
  std::atomic<bool> asleep_{false};
  std::atomic<bool> resting_{false};  // a producer is to wake us
  std::atomic<std::uint32_t> forks_{0};
  std::atomic<bool> short_{false};  // hurry() was called

  trace::Packer packer_;
  std::vector<std::byte> payload_;
  std::unordered_map<std::uint32_t, trace::OpenSpans> open_;
  std::vector<trace::OpenSpan> open_before_;  // of the lane whose chunk is being packed
  std::unordered_map<std::uint32_t, trace::LossMeta> unwritten_;  // past the size limit, by lane
  std::vector<ChunkHeader*> written_;            // to be freed once their frames are in the file
  std::atomic<ChunkHeader*> waiting_ = nullptr;  // that memory was lacking for, oldest first
  std::atomic<bool> torn_ = false;               // the end could not be written for want of memory
  bool segment_open_ = true;  // false: its process frame and definitions are still to come
  std::atomic<bool> stopped_by_error_ = false;
  const char* stopped_by_limit_ = nullptr;  // which, as the close frame says
  bool full_size_ = false;                  // the live file cannot grow any more
  std::int64_t next_second_ns_ = 0;
  int early_snapshots_ = 0;
  std::uint32_t forks_seen_ = 0;
  std::int64_t next_fold_ns_ = 0, fold_until_ns_ = 0;
};

}  // namespace genscope::record
