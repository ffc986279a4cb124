// Where a rank waits: for the others in collectives, and for its input.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <genscope/analyze.h>
#include <genscope/trace.h>

namespace genscope::analysis {

// What a name says. Host and kernel: the same collective may be marked by the program, by the
// library and by the GPU's kernel.
enum class WaitKind : std::uint8_t { none, input, host_collective, kernel_collective };
struct WaitName {
  WaitKind kind = WaitKind::none;
  // Not 0: one that no rank leaves before all have come (all-reduce, barrier; not broadcast, whose
  // root need not wait, nor send), and which.
  std::uint8_t meeting = 0;
};
// Which names wait for input is said in roles.h, and PyTorch's own for its data loader.
WaitName wait_name(std::string_view name, SpanKind kind);

struct Waits {
  std::optional<double> collective_seconds, input_seconds;  // absent: none was marked
  std::uint64_t collectives = 0;  // finished or not, those within another not counted
  std::vector<Meeting> meetings;  // the first kMaxMeetings, by begin
};
// Time is the union of the spans, so that collectives on two streams count once. Where there are
// kernels of collectives, what the host marks beside them is not counted. Input counts on the
// tracks that have steps or batches, if there are any: what loads ahead on another thread stops
// nobody. Linear in the spans, but for sorting collectives that are on several tracks.
Waits waits_of(const Trace& trace);

}  // namespace genscope::analysis
