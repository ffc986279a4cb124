// The run that the report tests print. For *_test.cc only.
#pragma once

#include <string>

#include <genscope/report.h>

#include "analyze/testing/trace_builder.h"
#include "testing/units.h"

namespace genscope::testing {

// A session of 1 s: a stage of 600 ms with two steps, a failed stage with device time and a name
// that needs care, an unfinished one, a counter.
inline Trace sample_trace() {
  TraceBuilder t(4242);
  const auto session = t.span("qwen-image", SpanKind::session, 100 * kMs, 1000 * kMs);
  const auto stage = t.span("denoise", SpanKind::stage, 200 * kMs, 600 * kMs, {.parent = session});
  const auto step = t.span("step", SpanKind::step, 200 * kMs, 400 * kMs, {.parent = stage});
  t.arg(step, "index", ArgType::uint64, 0).arg(step, "dtype", ArgType::text, 0, "bf16, \"x\"");
  t.span("step", SpanKind::step, 600 * kMs, 200 * kMs, {.parent = stage});
  const auto odd = t.span("vae\x1b[31m,\xFF", SpanKind::stage, 800 * kMs, 100 * kMs,
                          {.parent = session, .flags = kSpanFailed});
  t.device(odd, 50 * kMs);
  t.span("save", SpanKind::stage, 900 * kMs, 200 * kMs,
         {.parent = session, .flags = kSpanUnfinished});
  t.counter("loss", 300 * kMs, 0.5).counter("loss", 400 * kMs, 0.25);
  t.trace().file_bytes = 600;
  return t.trace();
}

// A run that has a bit of every subject of part 2 of genscope/analyze.h.
inline Trace generation_trace() {
  TraceBuilder t(4242);
  for (int b = 0; b < 3; ++b) {
    const std::int64_t begin = b * 1000 * kMs;
    const auto block = t.span("block", SpanKind::block, begin, 1000 * kMs);
    t.args(block, {{"frames", 8}, {"memory_bytes", 3.0 * 1024 * 1024}});
    for (int i = 0; i < 8; ++i) {
      const std::int64_t length = i == 0 ? 300 : 100;
      const auto step = t.span("step", SpanKind::step, begin + (i * 100 + (i > 0 ? 200 : 0)) * kMs,
                               length * kMs, {.parent = block});
      t.args(step, {{"timestep", 1000.0 - i * 125}, {"guidance", 4.5}});
    }
  }
  const auto epoch = t.span("epoch", SpanKind::epoch, 3000 * kMs, 1000 * kMs);
  for (int b = 0; b < 4; ++b) {
    const auto batch = t.span("batch", SpanKind::batch, (3000 + b * 250) * kMs,
                              (b == 3 ? 250 : 100) * kMs, {.parent = epoch});
    t.args(batch, {{"loss", 1.0 / (b + 1)}});
    t.span("load_batch", SpanKind::stage, (3000 + b * 250) * kMs, 50 * kMs, {.parent = batch});
  }
  t.span("encode_prompt", SpanKind::stage, 4000 * kMs, 20 * kMs);
  t.span("image_analysis", SpanKind::stage, 4020 * kMs, 80 * kMs);
  t.span("r", SpanKind::request, 0, 4000 * kMs, {.flags = kSpanDetached});
  t.span("r", SpanKind::request, 4000 * kMs, 100 * kMs, {.flags = kSpanDetached | kSpanFailed});
  for (int i = 0; i < 3; ++i) {
    t.event("streaming", i * 1000 * kMs, {{"batch_size", 8}, {"encoding_time_ms", 5}});
  }
  t.event("dropped_frames", 2500 * kMs, {{"count", 6}});
  t.event("layer", 1, {{"name", "attn\x1b[1m"}, {"ms", 8}, {"parameters", 12'500'000}});
  t.event("layer", 2, {{"name", "mlp"}, {"ms", 2}});
  t.event("cache", 3, {{"type", "hit"}});
  t.event("cache", 4, {{"type", "miss"}, {"size", 2048}});
  t.event("memory", 5, {{"type", "alloc"}, {"bytes", 4096}});
  t.event("memory", 6, {{"type", "free"}, {"bytes", 1024}});
  t.event("model_parameters", 7, {{"name", "dit"}, {"parameters", 20.4e9}, {"type", "mmdit"}});
  return t.trace();
}

// What a report function writes.
template <class Report>
std::string written(const Report& report) {
  std::string out;
  report([&](std::string_view piece) { out += piece; });
  return out;
}

}  // namespace genscope::testing
