#include "analyze/generation/generation.h"
#include "analyze/generation/roles.h"
#include "analyze/time.h"

namespace genscope::analysis {
namespace {

struct Part {
  std::uint64_t calls = 0;
  std::int64_t total_ns = 0;

  std::optional<double> ms_mean() const {
    if (calls == 0) return std::nullopt;
    return static_cast<double>(total_ns) / 1e6 / static_cast<double>(calls);
  }
  std::optional<double> share(std::int64_t wall_ns) const {
    if (calls == 0 || wall_ns <= 0) return std::nullopt;
    return static_cast<double>(total_ns) / static_cast<double>(wall_ns);
  }
};

struct Parts {
  Part text, image;
  Part& of(SpanRole role) noexcept { return role == SpanRole::text ? text : image; }
};

// A span inside one of its own part is a piece of that call. One inside the other part is a call,
// and its time is taken from that part: the two never hold the same instant of a thread.
void add_trace(const Trace& trace, Parts& parts) {
  const std::vector<SpanRole> roles = span_roles(trace);
  const SpanColumns& spans = trace.spans;
  const auto role_of = [&](std::size_t span) { return roles[spans.name[span]]; };
  const auto has_part = [&](std::size_t span) {
    return role_of(span) == SpanRole::text || role_of(span) == SpanRole::image;
  };
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (!has_part(i) || (spans.flags[i] & kSpanUnfinished) != 0) continue;
    const std::uint32_t outer = nearest_around(trace, i, has_part);
    if (outer != kNone && role_of(outer) == role_of(i)) continue;
    const Interval time = interval(spans.begin_ns[i], spans.duration_ns[i]);
    Part& part = parts.of(role_of(i));
    ++part.calls;
    part.total_ns = add(part.total_ns, time.length());
    if (outer == kNone || spans.track[outer] != spans.track[i]) continue;
    if ((spans.flags[outer] & kSpanUnfinished) != 0) continue;
    Part& around = parts.of(role_of(outer));
    around.total_ns = subtract(
        around.total_ns, overlap(time, interval(spans.begin_ns[outer], spans.duration_ns[outer])));
  }
}

}  // namespace

MultimodalSummary summarize_multimodal(const Run& run, std::int64_t wall_ns) {
  Parts parts;
  for (const Trace& trace : run.traces) add_trace(trace, parts);
  MultimodalSummary out;
  out.text_calls = parts.text.calls;
  out.image_calls = parts.image.calls;
  out.text_ms_mean = parts.text.ms_mean();
  out.image_ms_mean = parts.image.ms_mean();
  out.text_share = parts.text.share(wall_ns);
  out.image_share = parts.image.share(wall_ns);
  return out;
}

}  // namespace genscope::analysis
