// The arguments of spans and events by key. A key's text is looked up once per name of a trace, so
// that a pass over millions of arguments compares numbers only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <genscope/trace.h>

namespace genscope::analysis {

// What docs/analysis.md says programs give; two spellings of one thing are one key.
enum class Key : std::uint8_t {
  none,
  index,       // "index", "epoch"
  timestep,    // "timestep"
  guidance,    // "guidance", "guidance_scale"
  block_size,  // "block_size"
  frames,
  memory_bytes,
  memory_mb,
  ms,
  loss,
  images,
  batch_size,
  encoding_time_ms,
  network_latency_ms,
  buffer_occupancy,
  count,
  name,
  parameters,
  type,
  bytes,
  size,
  evicted,
};

// Walks the arguments of a trace along with its spans or events.
class ArgCursor {
 public:
  // `args` is trace.span_args or trace.event_args.
  ArgCursor(const Trace& trace, const ArgColumns& args);

  // From here on the arguments of this span or event. Owners ascend from call to call; all calls
  // together cost one pass over the arguments.
  void seek(std::size_t owner) noexcept;

  // A finite number; nothing if the argument is not there, or is something else.
  std::optional<double> number(Key key) const noexcept;
  // The number where it may be a size, a count or a duration: from 0 to kLargestAmount.
  std::optional<double> amount(Key key) const noexcept;
  // "" if it is not there, or is no text.
  std::string_view text(Key key) const noexcept;

  // Fits into 64 bits, and so do some nine of them.
  static constexpr double kLargestAmount = 1e18;

 private:
  std::size_t find(Key key) const noexcept;

  const Trace& trace_;
  const ArgColumns& args_;
  std::vector<Key> key_of_name_;
  std::size_t first_ = 0, last_ = 0;
};

// Calls visit(index, arguments) for the spans of one kind, in the order of the columns.
template <class Visit>
void visit_spans(const Trace& trace, SpanKind kind, Visit&& visit) {
  std::vector<bool> wanted;
  bool any = false;
  for (const Name& name : trace.names) {
    wanted.push_back(name.kind == kind);
    any |= wanted.back();
  }
  if (!any) return;
  ArgCursor args(trace, trace.span_args);
  for (std::size_t i = 0; i < trace.spans.size(); ++i) {
    if (!wanted[trace.spans.name[i]]) continue;
    args.seek(i);
    visit(i, static_cast<const ArgCursor&>(args));
  }
}

// Milliseconds, of at least 0, as nanoseconds; the longest time there is if they do not fit.
std::int64_t from_ms(double ms) noexcept;

}  // namespace genscope::analysis
