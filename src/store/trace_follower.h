// One trace, followed while its process records: its segments, its live buffer, what they say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "genscope/store.h"
#include "store/activity.h"
#include "store/chunks.h"
#include "store/clock_map.h"
#include "store/frame_tail.h"
#include "store/sites.h"
#include "trace/meta.h"
#include "trace/pack.h"

namespace genscope::store {

class TraceFollower {
 public:
  explicit TraceFollower(std::string folder);
  TraceFollower(const TraceFollower&) = delete;
  TraceFollower& operator=(const TraceFollower&) = delete;

  // Takes what is new. `segments`: number -> path, those that exist.
  void poll(const std::map<unsigned, std::string>& segments, std::vector<std::byte>& scratch);

  // Whether the trace has said whose it is; before that, the rest says nothing.
  bool identified() const noexcept { return !header_.trace_id.empty(); }
  // The same for all traces of one process.
  const std::string& process_key() const noexcept { return header_.process_key; }
  std::int64_t started_ns() const noexcept { return header_.started.monotonic_ns; }
  Progress::Process progress() const;
  std::uint64_t bytes_read() const noexcept;

 private:
  struct Header {
    std::string trace_id;
    std::string process_key;
    std::string host;
    std::string live;
    bool elsewhere = false;  // there is no lock to ask about
    std::uint32_t pid = 0;
    std::optional<int> rank;
    base::ClockSnapshot started;
    double ticks_per_second = 1e9;
  };

  void find_header(const std::map<unsigned, std::string>& segments,
                   std::vector<std::byte>& scratch);
  void read_files(const std::map<unsigned, std::string>& segments, std::vector<std::byte>& scratch);
  enum class Lanes : std::uint8_t { all, process_only };
  std::optional<LiveContent> copy_live(Lanes lanes);
  void frame(const trace::FrameView& frame);
  void identify(std::span<const std::byte> json);
  void definitions(const Chunk& chunk, std::span<const std::uint64_t> words);
  void define(const trace::Meta& meta);
  void live_definitions(const LiveContent& live);
  void live_lanes(const LiveContent& live, bool in_order);
  void look_up(std::uint32_t site);
  void peek_definitions();

  std::string folder_;
  Header header_;
  std::optional<FrameTail> file_;
  unsigned segment_ = 0;
  bool closed_ = false;
  bool in_use_ = false;      // by its recorder, which is alive then
  bool unseen_ = false;      // the live buffer could not be opened: what was known stays so
  bool fresh_ = false;       // the definitions are newer than what is being taken
  std::uint64_t reads_ = 0;  // of the file, when they were read
  bool peeked_ = false;      // ahead for definitions, in this poll
  const std::map<unsigned, std::string>* segments_ = nullptr;  // during a poll
  std::uint64_t live_bytes_ = 0;
  std::uint64_t file_bytes_ = 0;     // of earlier segments
  std::uint64_t dropped_spans_ = 0;  // that the process lane told of
  std::uint64_t live_dropped_spans_ = 0;
  std::unordered_map<std::uint32_t, std::uint32_t> defined_;  // process lane: chunk -> words taken
  base::ClockSnapshot latest_;
  ClockMap clock_;
  Sites sites_;
  Activity activity_;
  trace::Unpacker unpacker_;
  std::vector<trace::OpenSpan> open_;
};

}  // namespace genscope::store
