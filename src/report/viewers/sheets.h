// Spans as trace viewers want them: on one row of theirs, spans nest or follow one another.
//
//   a thread           sheet 0   |request 1-----------|   |request 3|
//   with three                     |stage|
//   requests at once   sheet 1        |request 2--------------|
//
// A span that overlaps with others and nests in none goes to a further sheet, which becomes a row
// of its own. Viewers draw such spans wrongly on one row, and without a warning.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <genscope/trace.h>

namespace genscope::report {

// The spans of one track that share a row, parents before their children, by begin.
using Sheet = std::vector<std::uint32_t>;
// The sheets of one track; the first is the thread itself.
using Sheets = std::vector<Sheet>;

// The end of a span, never before its begin.
std::int64_t end_of(const SpanColumns& spans, std::uint32_t span) noexcept;

// The sheets of each track of a trace.
std::vector<Sheets> sheets_of(const Trace& trace);

// A process and its rows need numbers that no other has; two hosts may use the same pid.
class ViewerPids {
 public:
  std::uint32_t of(const Trace& trace);                      // once for each trace of a run
  std::uint32_t next_row() noexcept { return next_row_++; }  // for rows that are no threads

 private:
  static constexpr std::uint32_t kBeyondPids = 10'000'000;  // Linux gives 2^22 at most
  std::vector<std::uint32_t> taken_;
  std::uint32_t next_ = kBeyondPids;
  std::uint32_t next_row_ = kBeyondPids;
};

// "rank 3: python (pid 4242)".
std::string viewer_process_name(const Trace& trace);
// What a row is called: its name, or "thread 17"; the second sheet is "main (2)".
std::string viewer_row_name(const TrackInfo& track, std::size_t sheet);
// Of a counter: "GPU-1 memory_used_bytes", or the program's own name.
std::string viewer_counter_name(const Trace& trace, std::uint32_t name);

}  // namespace genscope::report
