// The drain thread: packs filled chunks into frames, appends them to the file, frees the chunks.
//
// It polls. A producer therefore never makes a system call to wake it; the pause adapts to how
// fast chunks fill, from 1 ms under load to 50 ms when nothing does, which costs next to nothing.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "record/pool.h"
#include "trace/meta.h"
#include "trace/open_spans.h"
#include "trace/pack.h"

namespace genscope::record {

class Recorder;

class Drain {
 public:
  explicit Drain(Recorder& recorder) : recorder_(recorder) {}
  void start();
  // Writes what is left, also of chunks that are still open, and ends the thread.
  void stop() noexcept;
  // Waits until what was full at the call is written.
  void flush() noexcept;
  // The trace did not take everything: the live file must stay.
  bool incomplete() const noexcept { return stopped_by_error_; }

 private:
  void loop() noexcept;
  std::uint32_t round();
  void handle(ChunkHeader* chunk);
  void append_chunk(ChunkHeader* chunk, std::span<const std::uint64_t> words);
  void count_unwritten(ChunkHeader* chunk, std::span<const std::uint64_t> words);
  void write_pending() noexcept;
  void finish() noexcept;
  void every_second() noexcept;

  Recorder& recorder_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  bool stopping_ = false;
  std::uint64_t flush_wanted_ = 0;
  std::uint64_t flush_done_ = 0;

  trace::Packer packer_;
  std::vector<std::byte> payload_;
  std::unordered_map<std::uint32_t, trace::OpenSpans> open_;
  std::unordered_map<std::uint32_t, trace::LossMeta> unwritten_;  // past the size limit, by lane
  std::vector<ChunkHeader*> written_;  // to be freed once their frames are in the file
  bool stopped_by_error_ = false;
  bool stopped_by_limit_ = false;
  std::uint32_t prefault_target_ = 32;
  std::int64_t next_second_ns_ = 0;
  int early_snapshots_ = 0;
};

}  // namespace genscope::record
