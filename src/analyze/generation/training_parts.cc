#include <array>

#include "analyze/generation/generation.h"
#include "analyze/generation/roles.h"
#include "analyze/time.h"

namespace genscope::analysis {
namespace {

struct Sums {
  std::int64_t batches_ns = 0;
  std::int64_t wait_inside_ns = 0, wait_between_ns = 0, encode_ns = 0;
  bool any_wait = false, any_encode = false;
};

// A track on which batches run. What other threads load meanwhile is no wait.
struct Track {
  bool has_batches = false;
  Coverage wait, encode;  // so that a span inside another of its role counts once
};

bool is_finished_batch(const Trace& trace, std::uint32_t span) {
  return trace.kind(span) == SpanKind::batch && (trace.spans.flags[span] & kSpanUnfinished) == 0;
}

void add_trace(const Trace& trace, Sums& sums) {
  const SpanColumns& spans = trace.spans;
  std::vector<Track> tracks(trace.tracks.size());
  bool any = false;
  for (std::uint32_t i = 0; i < spans.size(); ++i) {
    if (!is_finished_batch(trace, i)) continue;
    any = true;
    tracks[spans.track[i]].has_batches = true;
    sums.batches_ns =
        add(sums.batches_ns, interval(spans.begin_ns[i], spans.duration_ns[i]).length());
  }
  if (!any) return;
  const std::vector<SpanRole> roles = span_roles(trace);
  for (std::uint32_t i = 0; i < spans.size(); ++i) {
    const SpanRole role = roles[spans.name[i]];
    if (role == SpanRole::none) continue;
    Track& track = tracks[spans.track[i]];
    if (!track.has_batches) continue;
    const std::uint32_t batch =
        nearest_around(trace, i, [&](std::uint32_t s) { return is_finished_batch(trace, s); });
    const bool inside = batch != kNone && spans.track[batch] == spans.track[i];
    const Interval time = interval(spans.begin_ns[i], spans.duration_ns[i]);
    if (role == SpanRole::input_wait) {
      std::int64_t& sum = inside ? sums.wait_inside_ns : sums.wait_between_ns;
      sum = add(sum, track.wait.add(time));
      sums.any_wait = true;
    } else if (inside) {
      sums.encode_ns = add(sums.encode_ns, track.encode.add(time));
      sums.any_encode = true;
    }
  }
}

double share(std::int64_t part, std::int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

BatchParts parts_of_batches(const Run& run) {
  Sums sums;
  for (const Trace& trace : run.traces) add_trace(trace, sums);
  BatchParts parts;
  if (sums.batches_ns <= 0) return parts;
  if (sums.any_wait) {
    parts.input_wait_share = share(add(sums.wait_inside_ns, sums.wait_between_ns),
                                   add(sums.batches_ns, sums.wait_between_ns));
  }
  if (sums.any_encode) parts.encode_share = share(sums.encode_ns, sums.batches_ns);
  return parts;
}

}  // namespace genscope::analysis
