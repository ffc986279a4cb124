// A thread's writer: what begin and end do when the inline path cannot.
//
// LaneWriter brackets every slow operation: it takes the write position (so that a signal handler
// that records in the middle of one drops instead of corrupting), attaches the thread to the open
// trace if needed, finds room, and counts what it cannot record.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "genscope/internal/hot.h"
#include "record/names.h"
#include "trace/live.h"

namespace genscope::internal {

// The cold part of a lane. Lives in a fixed table of the process, never freed.
struct LaneState {
  bool used = false;
  Lane* lane = nullptr;  // the thread's own block
  std::uint32_t index = 0;
  std::uint64_t* write = nullptr;  // the next word, while a LaneWriter has taken the lane's own
  std::uint32_t seq = 0;           // of the next chunk
  const void* recorder = nullptr;  // the trace that this lane belongs to
  // The end of the chunk. Equals lane->limit, except on the OS clock, where that stays null so
  // that every span takes the slow path, the only one that can read another clock.
  std::atomic<std::uint64_t*> limit{nullptr};
  bool os_clock = false;
  trace::LaneSlot* slot = nullptr;
};

}  // namespace genscope::internal

namespace genscope::record {

class Recorder;
using internal::Lane;
using internal::LaneState;

// Gives `lane` a new chunk and hands the old one over. False if there is none.
bool next_chunk(Recorder& recorder, Lane& lane, std::uint64_t tick) noexcept;

class LaneWriter {
 public:
  enum What : bool { record, span };  // what is lost if it cannot be written
  explicit LaneWriter(What what) noexcept;
  ~LaneWriter();
  LaneWriter(const LaneWriter&) = delete;
  LaneWriter& operator=(const LaneWriter&) = delete;

  // Whether there is a trace to write to. If not, nothing else may be called.
  bool ready() const noexcept { return recorder_ != nullptr; }
  Lane& lane() const noexcept { return lane_; }
  Recorder& recorder() const noexcept { return *recorder_; }

  // Room for `words` words plus `ends` ends to come, with a tick for them; null if there is none.
  // Fill the words, then publish().
  std::uint64_t* reserve(std::size_t words, std::size_t ends, std::uint64_t& tick) noexcept;
  // Room for the end of an open sync span of this lane: always there.
  std::uint64_t* reserve_end(std::uint64_t& tick) noexcept;

  void publish() noexcept { internal::publish(lane_.chunk, internal::address(lane_.state->write)); }

  // The number of a name; 0 if it cannot be recorded now, or is to be skipped.
  std::uint32_t intern(SpanKind kind, std::string_view name) noexcept;
  std::uint32_t intern(Site& site) noexcept;

  // Counts one lost span or record, as given at construction, in the lane's slot; but not what was
  // to be skipped.
  void drop() noexcept;

 private:
  bool room(std::size_t words) const noexcept;

  Lane& lane_;
  Recorder* recorder_ = nullptr;
  What what_;
  bool skipped_ = false;
  std::uint64_t taken_;  // kTaken or more: somebody else has it
};

}  // namespace genscope::record
