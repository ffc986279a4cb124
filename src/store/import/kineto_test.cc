// What the PyTorch profiler writes. The files are made to its schema: there is no torch here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "genscope/store.h"
#include "testing/temp_dir.h"

#include "test_paths.h"

namespace genscope {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Pair;

Imported kineto_imported(const std::string& text) {
  const testing::TempDir dir;
  const std::string path = dir / "trace.json";
  std::ofstream(path, std::ios::binary) << text;
  Result<Imported> result = import_chrome_trace(path, {});
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  return result.ok() ? std::move(*result) : Imported{};
}

std::uint32_t span(const Trace& t, const std::string& name) {
  for (std::uint32_t i = 0; i < t.spans.size(); ++i) {
    if (t.span_name(i) == name) return i;
  }
  ADD_FAILURE() << "no span " << name;
  return 0;
}

std::int64_t device_ns(const Trace& t, const std::string& name) {
  const std::uint32_t wanted = span(t, name);
  for (std::size_t i = 0; i < t.device.size(); ++i) {
    if (t.device.span[i] == wanted) return t.device.duration_ns[i];
  }
  return -1;
}

std::string track(const Trace& t, const std::string& name) {
  return t.tracks[t.spans.track[span(t, name)]].name;
}

std::string event(const std::string& cat, const std::string& name, int pid, int tid, int ts,
                  int dur, const std::string& args = "") {
  return R"({"ph":"X","cat":")" + cat + R"(","name":")" + name + R"(","pid":)" +
         std::to_string(pid) + R"(,"tid":)" + std::to_string(tid) + R"(,"ts":)" +
         std::to_string(ts) + R"(,"dur":)" + std::to_string(dur) + R"(,"args":{)" + args + "}},";
}

TEST(Kineto, CategoriesBecomeKindsAndTracks) {
  const Trace t =
      kineto_imported("[" + event("user_annotation", "denoising", 9, 9, 0, 100) +
                      event("user_annotation", "nccl:all_reduce", 9, 10, 0, 100) +
                      event("python_function", "nn.Module: UNet_0", 9, 9, 1, 90) +
                      event("python_function", "main.py(3): f", 9, 9, 2, 80) +
                      event("cpu_op", "aten::mm", 9, 9, 3, 70) +
                      event("cuda_runtime", "cudaLaunchKernel", 9, 9, 4, 2) +
                      event("kernel", "gemm", 0, 7, 20, 10, R"("device":0,"stream":7)") +
                      event("gpu_memset", "Memset", 1, 8, 20, 10) +
                      event("gpu_user_annotation", "denoising gpu", 0, 7, 20, 10) +
                      event("overhead", "flush", -1, 0, 5, 1) +
                      event("Trace", "PyTorch Profiler (0)", 5, 5, 0, 200))
          .trace;
  EXPECT_EQ(t.kind(span(t, "denoising")), SpanKind::stage);
  EXPECT_EQ(t.kind(span(t, "nccl:all_reduce")), SpanKind::task);
  EXPECT_EQ(t.kind(span(t, "nn.Module: UNet_0")), SpanKind::forward);
  EXPECT_EQ(t.kind(span(t, "main.py(3): f")), SpanKind::function);
  EXPECT_EQ(t.kind(span(t, "aten::mm")), SpanKind::function);
  EXPECT_EQ(t.kind(span(t, "gemm")), SpanKind::task);
  EXPECT_EQ(t.kind(span(t, "PyTorch Profiler (0)")), SpanKind::session);
  EXPECT_EQ(track(t, "gemm"), "gpu:0/stream:7");
  EXPECT_EQ(track(t, "Memset"), "gpu:1/stream:8");
  EXPECT_EQ(track(t, "denoising gpu"), "gpu:0/stream:7/annotations");
  EXPECT_EQ(track(t, "flush"), "profiler overhead");
  EXPECT_EQ(t.process.pid, 9u);
}

TEST(Kineto, ProfilerStepsBecomeStepsWithAnIndex) {
  const Trace t = kineto_imported("[" + event("user_annotation", "ProfilerStep#7", 9, 9, 0, 10) +
                                  event("user_annotation", "ProfilerStep#8", 9, 9, 10, 10) +
                                  event("user_annotation", "ProfilerStep#x", 9, 9, 20, 10))
                      .trace;
  EXPECT_EQ(t.kind(0), SpanKind::step);
  EXPECT_EQ(t.span_name(1), "ProfilerStep");
  EXPECT_EQ(t.kind(2), SpanKind::stage);
  std::vector<std::pair<std::string, std::uint64_t>> indices;
  for (std::size_t i = 0; i < t.span_args.size(); ++i) {
    if (t.span_args.type[i] == ArgType::int64) {
      indices.emplace_back(t.names[t.span_args.key[i]].text, t.span_args.bits[i]);
    }
  }
  EXPECT_THAT(indices, ElementsAre(Pair("index", 7), Pair("index", 8)));
}

// Kernels come before and after their launch in the file; one by its external id alone.
TEST(Kineto, KernelsAreJoinedWithTheirLaunch) {
  const Imported i = kineto_imported(
      "[" + event("kernel", "k1", 0, 7, 30, 10, R"("correlation":1)") +
      event("user_annotation", "stage", 9, 9, 0, 100) + event("cpu_op", "outer", 9, 9, 1, 50) +
      event("cpu_op", "inner", 9, 9, 2, 40, R"("External id":77)") +
      event("cuda_runtime", "launch", 9, 9, 3, 2, R"("correlation":1)") +
      event("cuda_runtime", "graph launch", 9, 9, 60, 2, R"("correlation":2)") +
      event("gpu_memcpy", "k2", 0, 7, 70, 5, R"("correlation":2)") +
      event("kernel", "k3", 0, 7, 80, 7, R"("correlation":2)") +
      event("kernel", "k4", 0, 8, 90, 3, R"("correlation":55,"External id":77)") +
      event("kernel", "orphan", 0, 8, 95, 1, R"("correlation":56)"));
  const Trace& t = i.trace;
  EXPECT_EQ(t.spans.parent[span(t, "k1")], span(t, "launch"));
  EXPECT_EQ(t.spans.parent[span(t, "k2")], span(t, "graph launch"));
  EXPECT_EQ(t.spans.parent[span(t, "k3")], span(t, "graph launch"));
  EXPECT_EQ(t.spans.parent[span(t, "k4")], span(t, "inner"));
  EXPECT_EQ(t.spans.parent[span(t, "orphan")], kNone);
  EXPECT_EQ(i.summary.linked, 4u);
  EXPECT_EQ(i.summary.unlinked, 1u);
  EXPECT_EQ(device_ns(t, "inner"), 13'000);
  EXPECT_EQ(device_ns(t, "outer"), 13'000);
  EXPECT_EQ(device_ns(t, "stage"), 25'000);
  EXPECT_EQ(device_ns(t, "launch"), -1);
}

TEST(Kineto, DeviceTimeOfANameCountsNothingTwice) {
  const Trace t =
      kineto_imported("[" + event("cpu_op", "f", 9, 9, 0, 100) + event("cpu_op", "g", 9, 9, 1, 90) +
                      event("cpu_op", "f", 9, 9, 2, 80) +
                      event("cuda_runtime", "launch", 9, 9, 3, 2, R"("correlation":1)") +
                      event("kernel", "k", 0, 7, 30, 10, R"("correlation":1)"))
          .trace;
  EXPECT_THAT(t.device.span, ElementsAre(0u, 1u));
  EXPECT_THAT(t.device.duration_ns, ElementsAre(10'000, 10'000));
}

TEST(Kineto, AKernelThatSeemsToBeginBeforeItsLaunchHasNoParent) {
  const Trace t =
      kineto_imported("[" + event("cpu_op", "op", 9, 9, 50, 10) +
                      event("cuda_runtime", "launch", 9, 9, 51, 2, R"("correlation":1)") +
                      event("kernel", "k", 0, 7, 40, 10, R"("correlation":1)"))
          .trace;
  EXPECT_EQ(t.spans.parent[span(t, "k")], kNone);
  EXPECT_EQ(device_ns(t, "op"), 10'000);
}

TEST(Kineto, LaunchesWithoutAnOperatorKeepTheDeviceTime) {
  const Trace t =
      kineto_imported("[" +
                      event("cuda_driver", "cuLaunchKernel", 9, 9, 0, 2, R"("correlation":1)") +
                      event("kernel", "k", 0, 7, 40, 10, R"("correlation":1)"))
          .trace;
  EXPECT_EQ(device_ns(t, "cuLaunchKernel"), 10'000);
}

TEST(Kineto, MemoryEventsBecomeCounters) {
  const Trace t = kineto_imported(R"([
    {"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":9,"tid":9,"ts":0,"args":
      {"Bytes":512,"Total Allocated":1024,"Total Reserved":4096,"Device Type":1,"Device Id":0}},
    {"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":9,"tid":9,"ts":1,"args":
      {"Bytes":-64,"Total Allocated":128,"Total Reserved":0,"Device Type":0,"Device Id":-1}}])")
                      .trace;
  std::vector<std::pair<std::string, double>> got;
  for (std::size_t i = 0; i < t.counters.size(); ++i) {
    got.emplace_back(t.names[t.counters.name[i]].text, t.counters.value[i]);
  }
  EXPECT_THAT(got, ElementsAre(Pair("allocator:cuda:0/change_bytes", 512),
                               Pair("allocator:cuda:0/allocator_allocated_bytes", 1024),
                               Pair("allocator:cuda:0/allocator_reserved_bytes", 4096),
                               Pair("allocator:cpu/change_bytes", -64),
                               Pair("allocator:cpu/allocator_allocated_bytes", 128)));
  EXPECT_EQ(t.events.size(), 0u);
}

TEST(Kineto, TheFieldsAroundTheEventsAreFacts) {
  const Trace t =
      kineto_imported(
          R"({"deviceProperties": [{"id": 3, "name": "NVIDIA H100", "numSms": 132}],
    "distributedInfo": {"backend": "nccl", "rank": 5, "world_size": 8},
    "trace_id": "301995E163ED42048FBD783860E6E7DC",
    "traceEvents": [)" +
          event("cpu_op", "f", 9, 9, 1000, 1) +
          R"({"ph":"M","name":"x","pid":1}], "baseTimeNanoseconds": 1743521598000000000})")
          .trace;
  EXPECT_EQ(t.process.rank, 5);
  EXPECT_EQ(t.process.world_size, 8);
  EXPECT_EQ(t.process.trace_id, "301995e163ed42048fbd783860e6e7dc");
  EXPECT_EQ(t.spans.begin_ns[0] + t.process.unix_offset_ns, 1743521598001000000);
  ASSERT_EQ(t.events.size(), 1u);
  EXPECT_EQ(t.names[t.events.name[0]].text, "genscope.entity");
  EXPECT_THAT(t.texts, Contains("NVIDIA H100"));
  EXPECT_THAT(t.texts, Contains("gpu:3"));
}

TEST(Kineto, FlowsAreDroppedAndCounted) {
  const Imported i = kineto_imported(R"([
    {"ph":"s","id":1,"pid":9,"tid":9,"ts":0,"cat":"ac2g","name":"ac2g"},
    {"ph":"f","id":1,"pid":0,"tid":7,"ts":0,"cat":"ac2g","name":"ac2g","bp":"e"},
    {"ph":"O","id":1,"pid":0,"tid":7,"ts":0,"name":"snapshot"}])");
  EXPECT_EQ(i.summary.flows, 2u);
  EXPECT_EQ(i.summary.other, 1u);
  EXPECT_EQ(i.summary.events, 0u);
}

// What older versions wrote: whole microseconds, so that children seem to outlast parents.
TEST(Kineto, RoundedTimesStillNest) {
  const Imported i = kineto_imported("[" + event("cpu_op", "outer", 9, 9, 0, 10) +
                                     event("cpu_op", "inner", 9, 9, 2, 9));
  EXPECT_EQ(i.trace.spans.parent[1], 0u);
  EXPECT_EQ(i.summary.trimmed, 1u);
  EXPECT_EQ(i.summary.overlaps, 0u);
}

TEST(Kineto, AnImportedTraceComesBackFromItsFile) {
  const testing::TempDir dir;
  const auto first = import_chrome_trace(
      std::string(GENSCOPE_SOURCE_DIR) + "/tests/golden/import/kineto.json", {});
  ASSERT_TRUE(first.ok());
  const Trace& a = first->trace;
  ASSERT_TRUE(write_trace(a, dir / "trace-1-0.gst").ok());
  const auto b = read_trace(dir / "trace-1-0.gst");
  ASSERT_TRUE(b.ok());
  EXPECT_EQ(a.spans.begin_ns, b->spans.begin_ns);
  EXPECT_EQ(a.spans.duration_ns, b->spans.duration_ns);
  EXPECT_EQ(a.spans.parent, b->spans.parent);
  EXPECT_EQ(a.spans.name, b->spans.name);
  EXPECT_EQ(a.spans.track, b->spans.track);
  EXPECT_EQ(a.spans.flags, b->spans.flags);
  EXPECT_EQ(a.device.duration_ns, b->device.duration_ns);
  EXPECT_EQ(a.device.begin_ns, b->device.begin_ns);
  EXPECT_EQ(a.span_args.key, b->span_args.key);
  EXPECT_EQ(a.counters.value, b->counters.value);
  EXPECT_EQ(a.events.at_ns, b->events.at_ns);
  EXPECT_EQ(a.end_ns, b->end_ns);
  EXPECT_EQ(b->process.rank, 1);
  EXPECT_EQ(b->process.unix_offset_ns, a.process.unix_offset_ns);
}

}  // namespace
}  // namespace genscope
