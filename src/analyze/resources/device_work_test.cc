#include "analyze/resources/device_work.h"

#include <gtest/gtest.h>

#include "analyze/resources/device_timeline.h"
#include "analyze/testing/trace_builder.h"

namespace genscope {
namespace {

constexpr std::int64_t kUs = 1000;

// A process with a thread that launches and two streams of one GPU; times in microseconds.
struct Imported {
  testing::TraceBuilder t;
  std::uint32_t main = 0, compute = t.track("gpu:0/stream:7", 0),
                side = t.track("gpu:0/stream:20", 0);
  std::vector<std::uint32_t> launches;

  std::uint32_t host(const char* name, SpanKind kind, std::int64_t begin, std::int64_t length,
                     std::uint32_t parent = kNone) {
    return t.span(name, kind, begin * kUs, length * kUs, {.parent = parent});
  }
  std::uint32_t work(std::uint32_t stream, const char* name, const char* category,
                     std::int64_t begin, std::int64_t length, std::uint32_t launch = kNone) {
    const auto span = t.span(name, SpanKind::task, begin * kUs, length * kUs,
                             {.parent = launch, .track = stream, .flags = kSpanDetached});
    t.arg(span, "cat", ArgType::text, 0, category);
    return span;
  }
  Resources resources() { return analyze(testing::make_run(t.trace())).resources; }
};

TEST(DeviceTimeline, SplitsIdleIntoHostKernelAndOther) {
  Imported i;
  const auto a = i.host("cudaLaunchKernel", SpanKind::function, 0, 1);
  const auto b = i.host("cudaLaunchKernel", SpanKind::function, 2, 1);
  const auto c = i.host("cudaLaunchKernel", SpanKind::function, 4, 1);
  const auto d = i.host("cudaLaunchKernel", SpanKind::function, 60, 1);
  i.work(i.compute, "gemm", "kernel", 10, 10, a);
  i.work(i.compute, "gemm", "kernel", 21, 9, b);   // 1 us later: kernel wait
  i.work(i.compute, "gemm", "kernel", 40, 10, c);  // 10 us, launched long before: other
  i.work(i.compute, "gemm", "kernel", 70, 10, d);  // launched at 60, after the end at 50: host
  const Resources resources = i.resources();
  ASSERT_EQ(resources.devices.size(), 1u);
  const DeviceTimeline& device = resources.devices[0];
  EXPECT_EQ(device.device, "gpu:0");
  EXPECT_EQ(device.begin_ns, 10 * kUs);
  EXPECT_EQ(device.end_ns, 80 * kUs);
  EXPECT_EQ(device.busy_ns, 39 * kUs);
  EXPECT_EQ(device.idle_kernel_wait_ns, 1 * kUs);
  EXPECT_EQ(device.idle_other_ns, 10 * kUs);
  EXPECT_EQ(device.idle_host_wait_ns, 20 * kUs);
  EXPECT_EQ(
      device.busy_ns + device.idle_kernel_wait_ns + device.idle_other_ns + device.idle_host_wait_ns,
      device.end_ns - device.begin_ns);
  EXPECT_EQ(device.kernels, 4u);
  EXPECT_EQ(device.without_launch, 0u);
}

TEST(DeviceTimeline, StreamsThatOverlapCountOnceAndTellWhatIsHidden) {
  Imported i;
  i.work(i.compute, "gemm", "kernel", 0, 100);
  i.work(i.compute, "gemm", "kernel", 50, 100);  // on one stream as well
  i.work(i.side, "ncclDevKernel_AllReduce", "kernel", 100, 100);
  i.work(i.side, "Memcpy HtoD (Pageable -> Device)", "gpu_memcpy", 180, 40);
  i.work(i.side, "Stream Synchronize", "cuda_sync", 0, 1000);  // no work
  const DeviceTimeline device = i.resources().devices.at(0);
  EXPECT_EQ(device.busy_ns, 220 * kUs);
  EXPECT_EQ(device.compute_ns, 150 * kUs);
  EXPECT_EQ(device.communication_ns, 100 * kUs);
  EXPECT_EQ(device.copy_ns, 40 * kUs);
  EXPECT_EQ(device.overlap_ns, 50 * kUs);
  EXPECT_EQ(device.exposed_ns, 70 * kUs);
  EXPECT_EQ(device.kernels, 3u);
  EXPECT_EQ(device.without_launch, 4u);
  EXPECT_EQ(device.end_ns - device.begin_ns, 220 * kUs);
}

TEST(DeviceTimeline, WithoutLaunchesNoGapIsTheHosts) {
  Imported i;
  i.work(i.compute, "gemm", "kernel", 0, 10);
  i.work(i.compute, "gemm", "kernel", 1000, 10);
  const DeviceTimeline device = i.resources().devices.at(0);
  EXPECT_EQ(device.idle_host_wait_ns, 0);
  EXPECT_EQ(device.idle_other_ns, 990 * kUs);
}

TEST(DeviceTimeline, NoTrackOfAGpuNoTimeline) {
  testing::TraceBuilder t;
  t.span("gemm", SpanKind::task, 0, 10, {.track = t.track("gpu:0/stream:7/annotations", 0)});
  const Resources resources = analyze(testing::make_run(t.trace())).resources;
  EXPECT_TRUE(resources.devices.empty());
  EXPECT_TRUE(resources.kernels.empty());
  EXPECT_FALSE(resources.step_traffic.syncs_per_step);
  EXPECT_NE(resources.step_traffic.reason, "");
}

TEST(DeviceTimeline, SeveralDevicesOverlap) {
  Imported i;
  const auto other = i.t.track("gpu:1/stream:7", 0);
  i.work(i.compute, "gemm", "kernel", 0, 100);
  i.work(other, "gemm", "kernel", 75, 125);
  const Resources resources = i.resources();
  ASSERT_EQ(resources.devices.size(), 2u);
  EXPECT_EQ(resources.gpus_used, 2u);
  EXPECT_NEAR(*resources.device_overlap, 25.0 / 200, 1e-9);
}

TEST(Kernels, BelongToTheStageThatLaunchedThemNotToTheOneTheyRanIn) {
  Imported i;
  const auto denoise = i.host("denoise", SpanKind::stage, 0, 100);
  const auto op = i.host("aten::mm", SpanKind::function, 10, 50, denoise);
  const auto call = i.host("cudaLaunchKernel", SpanKind::function, 20, 5, op);
  i.host("vae_decode", SpanKind::stage, 100, 100);
  i.work(i.compute, "gemm", "kernel", 150, 30, call);
  i.work(i.compute, "conv", "kernel", 190, 20);  // no launch: by time
  i.work(i.compute, "tail", "kernel", 300, 10);
  const Resources resources = i.resources();
  ASSERT_EQ(resources.kernels.size(), 3u);
  EXPECT_EQ(resources.kernels[0].name, "gemm");
  EXPECT_EQ(resources.kernels[0].stage, "denoise");
  EXPECT_EQ(resources.kernels[0].total_ns, 30 * kUs);
  EXPECT_EQ(resources.kernels[1].stage, "vae_decode");
  EXPECT_EQ(resources.kernels[2].stage, "");
}

TEST(StepTraffic, CountsWaitsAndCopiesWithinSteps) {
  Imported i;
  std::vector<std::uint32_t> calls;
  for (int s = 0; s < 4; ++s) {
    const auto step = i.host("ProfilerStep", SpanKind::step, s * 100, 100);
    calls.push_back(i.host("cudaMemcpyAsync", SpanKind::function, s * 100 + 1, 2, step));
    i.host("cudaStreamSynchronize", SpanKind::function, s * 100 + 5, 2, step);
  }
  i.host("cudaDeviceSynchronize", SpanKind::function, 500, 2);  // the profiler's own, at the end
  for (int s = 0; s < 4; ++s) {
    const auto copy = i.work(i.side, "Memcpy HtoD (Pinned -> Device)", "gpu_memcpy", s * 100 + 10,
                             10, calls[static_cast<std::size_t>(s)]);
    i.t.arg(copy, "bytes", ArgType::int64, 5000);
  }
  const auto back = i.work(i.side, "Memcpy DtoH (Device -> Pinned)", "gpu_memcpy", 450, 10);
  i.t.arg(back, "bytes", ArgType::int64, 1 << 20);
  const StepTraffic traffic = i.resources().step_traffic;
  EXPECT_EQ(traffic.steps, 4u);
  EXPECT_EQ(traffic.syncs_per_step, 1.0);
  EXPECT_EQ(traffic.h2d_copies_per_step, 1.0);
  EXPECT_EQ(traffic.h2d_bytes_per_step, 5000.0);
  EXPECT_NEAR(*traffic.h2d_bytes_per_second, 5000 / 10e-6, 1);
}

// Training as a profiler with stacks sees it: the steps are on a track beside the thread's, because
// each begins within the frame of Profiler.step and outlives it.
struct Training : Imported {
  std::uint32_t beside = t.track("main (overlap 1)", 0), frames = t.track("wandb thread", 77);

  explicit Training(const char* logs) {
    for (int s = 0; s < 4; ++s) {
      const std::int64_t at = s * 100;
      t.span("ProfilerStep", SpanKind::step, at * kUs, 90 * kUs, {.track = beside});
      const auto call = host("cudaLaunchKernel", SpanKind::function, at + 1, 2);
      work(compute, "gemm", "kernel", at + 10, 10, call);
      const auto frame = host(logs, SpanKind::function, at + 40, 20);
      host("cudaStreamSynchronize", SpanKind::function, at + 45, 10, frame);
      host("cudaStreamSynchronize", SpanKind::function, at + 70, 2);  // by something else
    }
  }
  std::optional<double> logged() { return resources().step_traffic.log_syncs_per_step; }
};

TEST(StepTraffic, WaitsOfFramesThatLogAreTold) {
  for (const char* const frame :
       {"transformers/trainer.py(3190): _maybe_log_save_evaluate", "train.py(12): log_metrics",
        "wandb/sdk/wandb_run.py(1733): _partial_history_callback",
        "lightning/pytorch/trainer/connectors/logger_connector/logger_connector.py(239): metrics",
        "torch/utils/tensorboard/writer.py(356): add_scalar"}) {
    Training training(frame);
    EXPECT_EQ(training.logged(), 1.0) << frame;
    EXPECT_EQ(training.resources().step_traffic.syncs_per_step, 2.0) << frame;
  }
}

TEST(StepTraffic, ATraceInWhichNothingLogsDoesNotTellWhoWaits) {
  for (const char* const frame :
       {"aten::log", "train.py(12): train", "<built-in method log of type object at 0x7f>",
        "torch/nn/functional.py(2100): log_softmax", "log_softmax"}) {
    EXPECT_EQ(Training(frame).logged(), std::nullopt) << frame;
  }
}

TEST(StepTraffic, WhatEvaluatesOnBehalfOfALogOrLogsElsewhereIsNotLogging) {
  Training evaluates("transformers/trainer.py(3190): _maybe_log_save_evaluate");
  for (int s = 0; s < 4; ++s) {
    evaluates.host("transformers/trainer.py(4400): evaluate", SpanKind::function, s * 100 + 44, 12);
  }
  EXPECT_EQ(evaluates.logged(), 0.0);
  Training elsewhere("train.py(12): train");
  elsewhere.t.span("wandb/sdk/lib/service.py(9): loop", SpanKind::function, 0, 400 * kUs,
                   {.track = elsewhere.frames});
  EXPECT_EQ(elsewhere.logged(), 0.0) << "another thread logs all the time";
}

}  // namespace
}  // namespace genscope
