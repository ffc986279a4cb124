// What an import collects while it reads: records in the order of the file, on rows of the file's
// own. arrange() then makes a Trace of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "genscope/trace.h"
#include "store/import/interner.h"

namespace genscope::store {

// Row classes, in the order in which tracks appear in the Trace.
enum class RowClass : std::uint8_t {
  thread,    // spans nest as on a stack
  async,     // spans overlap freely, parents are explicit; so in the ones below
  profiler,  // the profiler's own window
  counters,
  stream,             // of a device: kernels, copies
  stream_annotation,  // of a device: ranges around what an annotation launched
};

struct RawRow {
  RowClass row_class = RowClass::thread;
  std::string name;         // final, for all but threads
  std::uint32_t pid = 0;    // number of its text in RawTrace::ids
  std::uint32_t tid = 0;    // the same
  std::string thread_name;  // from metadata
  std::optional<std::int64_t> sort_index;
};

struct RawProcess {
  std::string name;
  std::optional<std::int64_t> sort_index;
};

struct RawSpan {
  std::int64_t begin_ns = 0;
  std::int64_t duration_ns = 0;
  std::uint32_t row = 0;
  std::uint32_t name = 0;
  std::uint32_t parent = kNone;  // a span in this list; of threads arrange() finds it
  std::uint8_t flags = 0;        // SpanFlag
};

struct RawEvent {
  std::int64_t at_ns = 0;
  std::uint32_t row = 0;
  std::uint32_t name = 0;
  std::uint32_t span = kNone;
};

struct RawCounter {
  std::int64_t at_ns = 0;
  std::uint32_t row = 0;
  std::uint32_t name = 0;
  double value = 0;
};

// A number that a launch and what it launched have in common.
struct RawLink {
  std::uint64_t key = 0;
  std::uint32_t span = 0;
};

struct RawTrace {
  Interner ids;    // of processes and threads
  Interner texts;  // of arguments
  std::vector<Name> names;
  std::vector<RawRow> rows;
  std::vector<std::pair<std::uint32_t, RawProcess>> processes;  // by their number in `ids`
  std::vector<RawSpan> spans;
  ArgColumns span_args;  // owner: span, in any order
  std::vector<RawEvent> events;
  ArgColumns event_args;
  std::vector<RawCounter> counters;
  // By correlation: calls that launch, and what ran on a device. By external id: operators.
  std::vector<RawLink> launches, device_work, device_work_by_op, operators;
  std::uint64_t device_spans = 0;  // those that a launch is wanted for
  bool whole_microseconds = true;  // no time has a fraction: ends may be off by one
};

// What arrange() did that a user may want to know.
struct Arranged {
  Trace trace;
  std::int64_t first_ns = 0;   // of the file's scale: what became trace.begin_ns
  std::uint64_t overlaps = 0;  // spans that went to a further track
  std::uint64_t trimmed = 0;   // spans cut by up to 1 us to fit their parent
  std::uint64_t linked = 0;    // device spans with the call that launched them
  std::uint64_t unlinked = 0;  // and without
  std::uint64_t far_away = 0;  // records more than a year from the others: dropped
};

// Where a Trace that was imported begins: its times are relative, so that they stay exact in
// floating point, and not 0, which stands for unknown.
inline constexpr std::int64_t kImportBegin = 1'000'000'000;

// Sorts rows and records, nests the spans of threads, joins launches with what they launched.
Arranged arrange(RawTrace raw);

}  // namespace genscope::store
