// The run that the report tests print. For *_test.cc only.
#pragma once

#include <string>

#include <genscope/report.h>

#include "analyze/testing/trace_builder.h"

namespace genscope::testing {

// A session of 1 s: a stage of 600 ms with two steps, a failed stage with device time and a name
// that needs care, an unfinished one, a counter.
inline Trace sample_trace() {
  TraceBuilder t(4242);
  constexpr std::int64_t kMs = 1'000'000;
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

// What a report function writes.
template <class Report>
std::string written(const Report& report) {
  std::string out;
  report([&](std::string_view piece) { out += piece; });
  return out;
}

}  // namespace genscope::testing
