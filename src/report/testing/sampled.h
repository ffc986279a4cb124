// A run with samples, kernels and a model, for tests of what the reports show of resources. For
// *_test.cc only.
#pragma once

#include <bit>

#include "analyze/testing/samples.h"

namespace genscope::testing {

// FLUX at 1 s a step on an RTX 4090 that is throttled for half of the time and leaks; two kernels
// on a stream, the second launched late. 20 s.
inline Trace sampled_trace() {
  TraceBuilder t(4242);
  const auto session = t.span("flux", SpanKind::session, 0, 20 * kSecond, {.flags = kSpanDetached});
  t.arg(session, "model", ArgType::text, 0, "flux-dev").arg(session, "images", ArgType::uint64, 2);
  const auto denoise = t.span("denoise\x1b", SpanKind::stage, 0, 18 * kSecond);
  for (int i = 0; i < 18; ++i) {
    t.span("step", SpanKind::step, i * kSecond, kSecond, {.parent = denoise});
  }
  t.span("vae_decode", SpanKind::stage, 18 * kSecond, kSecond / 20);
  const auto first = t.span("cudaLaunchKernel", SpanKind::function, 19 * kSecond, 1000);
  const auto late = t.span("cudaLaunchKernel", SpanKind::function, 19 * kSecond + 500'000, 1000);
  const auto stream = t.track("gpu:0/stream:7", 0);
  for (const auto& [launch, at] : {std::pair(first, 100'000), std::pair(late, 600'000)}) {
    const auto kernel = t.span("gemm<float, \"x\">", SpanKind::task, 19 * kSecond + at, 200'000,
                               {.parent = launch, .track = stream, .flags = kSpanDetached});
    t.arg(kernel, "cat", ArgType::text, 0, "kernel");
  }
  add_entity(t, EntityKind::process_tree, "tree", "python", "pid=4242\n");
  add_entity(t, EntityKind::gpu, "GPU-1", "NVIDIA GeForce RTX 4090");
  constexpr std::int64_t kPeriod = kSecond / 4;
  const auto put = [&](const char* counter, auto&& value) {
    add_readings(t, counter, 0, 20 * kSecond + 1, kPeriod, value);
  };
  put("tree/cpu_ns", [](double s) { return s * 1.5e9; });
  put("tree/rss_bytes", [](double s) { return 1e9 + s * 1e7; });
  put("GPU-1/busy_ratio", [](double) { return 0.9; });
  put("GPU-1/memory_used_bytes", [](double) { return 2e10; });
  put("GPU-1/power_watts", [](double) { return 300; });
  put("GPU-1/throttle_reasons", [](double s) { return s < 9 ? 4 : 0; });
  return t.trace();
}

}  // namespace genscope::testing
