// One open trace: its live buffer, its file, its drain thread, and the process lane.
//
// Made by control.h under its lock. After close() the object stays allocated for ever (a few
// hundred bytes): a thread may be about to use it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "genscope/error.h"
#include "genscope/record.h"
#include "record/live_buffer.h"
#include "record/pool.h"
#include "record/trace_file.h"
#include "trace/meta.h"

namespace genscope::record {

class Drain;

class Recorder {
 public:
  // Makes the files of a trace in `run_dir`, which exists. Call start() before any span, with
  // no name being added meanwhile.
  // `small`: for who may record little, or leave by _exit: it starts as small as can be.
  static Result<Recorder*> open(const std::string& run_dir, const SessionOptions& options,
                                std::uint32_t first_lane, bool small);
  ~Recorder();
  Status start();
  // Instead of close(), when start() failed.
  void abandon() noexcept;

  std::uint64_t now() const noexcept {
    return use_cpu_ticks_ ? base::cpu_ticks() : static_cast<std::uint64_t>(base::monotonic_ns());
  }
  bool use_cpu_ticks() const noexcept { return use_cpu_ticks_; }

  // Spans of lanes below this number belong to an earlier trace or to the parent process.
  std::uint32_t first_lane() const noexcept { return first_lane_; }
  ChunkPool& pool() noexcept { return pool_; }
  // Call it under the lock of Control: that a slot is in use is written down. Null while the live
  // file has no room for it; that is coming.
  trace::LaneSlot* slot(std::uint32_t index) noexcept {
    if (index >= slot_count_.load(std::memory_order_acquire)) {
      slots_short_.store(true, std::memory_order_relaxed);
      hurry();
      return nullptr;
    }
    const std::atomic_ref touched(live_.header()->slots_touched);
    if (touched.load(std::memory_order_relaxed) <= index) {
      touched.store(index + 1, std::memory_order_relaxed);
    }
    return &live_.slots()[index];
  }

  // A free chunk for a thread, or null. Wakes the drain thread if the live file should grow.
  ChunkHeader* take_chunk() noexcept {
    if (stopped()) return nullptr;
    ChunkHeader* const chunk = pool_.pop();
    if (!may_grow_.load(std::memory_order_relaxed)) return chunk;
    if (pool_.low()) hurry();
    return chunk != nullptr ? chunk : wait_for_growth();
  }

  // Recording cannot go on; threads drop and count from now on. The reason is kept in the live
  // file.
  void stop(std::string_view reason) noexcept;
  bool stopped() const noexcept { return stopped_.load(); }
  // What was dropped that no lane slot tells of: kept in the live file until the trace has it.
  void add_losses(std::uint64_t spans, std::uint64_t records) noexcept;
  void put_losses() noexcept;

  // Appends a record to the process lane. False if there is no room.
  bool put(const trace::Meta& meta) noexcept;
  void put_clock() noexcept { put(base::take_snapshot(use_cpu_ticks_)); }

  void flush() noexcept;
  // Writes everything, closes the file, removes the live one. Call once, no lock held that a
  // recording thread needs.
  void close() noexcept;

  const std::string& run_dir() const noexcept { return run_dir_; }
  const SessionOptions& options() const noexcept { return options_; }
  std::uint64_t bytes_written() const noexcept { return bytes_.load(std::memory_order_relaxed); }

  // Hands a chunk to the drain thread.
  void hand_over(ChunkHeader* chunk) noexcept;

  // --- for the drain thread
  TraceFile& file() noexcept { return *file_; }
  LiveBuffer& live() noexcept { return live_; }
  bool slots_short() const noexcept { return slots_short_.load(std::memory_order_relaxed); }
  void slots_grown() noexcept {
    slots_short_.store(false, std::memory_order_relaxed);
    slot_count_.store(live_.slot_count, std::memory_order_release);
  }
  // What gone processes of this run left behind goes into their traces. Throws std::bad_alloc.
  void fold_children(std::int64_t until_ns);
  void grown(bool more_to_come) noexcept;
  std::string process_json(std::uint32_t segment) const;
  // Names, threads and a clock snapshot, as frames of the process lane. Throws std::bad_alloc.
  void append_definitions();
  void note_bytes(std::uint64_t bytes) noexcept { bytes_.store(bytes, std::memory_order_relaxed); }
  // A chunk kept for the process lane is refilled before any other gets one.
  void recycle(ChunkHeader* chunk) noexcept;

 private:
  Recorder() = default;
  ChunkHeader* take_for_process_lane() noexcept;
  void hurry() noexcept;
  ChunkHeader* wait_for_growth() noexcept;
  void write_first_frames();

  struct ThreadName {
    std::uint32_t lane;
    std::uint32_t tid;
    std::string name;
  };

  std::string run_dir_;
  std::string folder_;  // the same, absolute: the program may change its directory
  SessionOptions options_;
  bool use_cpu_ticks_ = false;
  double ticks_per_second_ = 1e9;
  std::uint32_t first_lane_ = 1;
  std::array<std::uint8_t, 16> trace_id_{};
  base::ClockSnapshot started_;
  LiveBuffer live_;
  ChunkPool pool_;
  std::unique_ptr<TraceFile> file_;
  std::unique_ptr<Drain> drain_;
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<std::uint32_t> slot_count_{0};
  std::atomic<bool> slots_short_{false}, may_grow_{true}, stopped_{false};
  std::atomic<std::uint32_t> growths_{0};  // a futex
  std::atomic<std::int64_t> patience_ns_;

  // The process lane, written under its lock by any thread.
  std::mutex process_mutex_;
  ChunkHeader* process_chunk_ = nullptr;
  std::uint32_t process_seq_ = 0;
  std::uint64_t* process_write_ = nullptr;
  std::vector<ThreadName> threads_;  // only kept when segments must repeat them
  std::atomic<ChunkHeader*> spare_{nullptr};
  Recorder* before_ = nullptr;  // those of a process hang together, so that none counts as leaked

  friend class Control;
};

// Prepares `chunk` to be written by `lane`; invariant 2 of hot.h starts here.
void open_chunk(ChunkHeader* chunk, std::uint32_t lane, std::uint32_t seq,
                std::uint64_t base_tick) noexcept;
inline std::uint64_t* words_of(ChunkHeader* chunk) noexcept {
  return reinterpret_cast<std::uint64_t*>(chunk + 1);
}

}  // namespace genscope::record
