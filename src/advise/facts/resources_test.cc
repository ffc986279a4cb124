// Facts from Analysis::resources.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "advise/testing/facts.h"
#include "analyze/testing/samples.h"

namespace genscope {
namespace {

using testing::add_entity;
using testing::add_readings;
using testing::fired;
using testing::kSecond;
using testing::number;
using testing::TraceBuilder;

Facts facts_for(TraceBuilder& t) {
  const genscope::Run run = testing::make_run(t.trace());
  return facts_of(analyze(run));
}

TraceBuilder eight_steps() {
  TraceBuilder t;
  t.span("denoise", SpanKind::stage, 0, 80 * kSecond);
  for (int i = 0; i < 8; ++i) t.span("step", SpanKind::step, i * 10 * kSecond, 10 * kSecond);
  return t;
}

// A step of 20 s that warms up, then six of 10 s.
void add_warm_up_and_steps(TraceBuilder& t) {
  t.span("step", SpanKind::step, 0, 20 * kSecond);
  for (int i = 2; i < 8; ++i) t.span("step", SpanKind::step, i * 10 * kSecond, 10 * kSecond);
}

// One reported "Average GPU utilization is only 0.0 %" of a machine without a GPU.
TEST(Originals, NoAdviceFromAnAbsentSensor) {
  TraceBuilder t = eight_steps();
  add_entity(t, EntityKind::machine, "machine");
  add_entity(t, EntityKind::process_tree, "tree");
  add_readings(t, "tree/rss_bytes", 0, 80 * kSecond, kSecond, [](double) { return 1e9; });
  const Facts facts = facts_for(t);
  for (const char* name : {"gpu.busy_ratio", "gpu.first_step_busy_ratio", "utilisation.mfu",
                           "throttling.thermal_share", "gpus_used", "device_overlap_ratio",
                           "gpu.memory_total_bytes"}) {
    EXPECT_EQ(facts.find(name), nullptr) << name;
  }
  EXPECT_EQ(facts.why_missing("gpu.busy_ratio"), "no GPU was seen");
  for (const Finding& finding : advise(facts).findings) {
    EXPECT_EQ(finding.rule.condition.find("gpu.busy_ratio"), std::string::npos) << finding.rule.id;
  }
}

TEST(ResourceFacts, OfASensorThatIsThereAdviceComes) {
  TraceBuilder t = eight_steps();
  add_entity(t, EntityKind::gpu, "GPU-1", "NVIDIA GeForce RTX 4090");
  add_readings(t, "GPU-1/busy_ratio", 0, 80 * kSecond, kSecond, [](double) { return 0.2; });
  add_readings(t, "GPU-1/throttle_reasons", 0, 80 * kSecond, kSecond, [](double s) {
    return s < 20 ? 0x20 : s < 60 ? 0x4 : 0;
  });
  add_readings(t, "GPU-1/clock_core_mhz", 0, 80 * kSecond, kSecond,
               [](double s) { return s < 40 ? 2000 : 1500; });
  const Facts facts = facts_for(t);
  EXPECT_NEAR(number(facts, "gpu.busy_ratio"), 0.2, 1e-9);
  EXPECT_NEAR(number(facts, "gpu.first_step_busy_ratio"), 0.2, 1e-9);
  EXPECT_NEAR(number(facts, "throttling.thermal_share"), 0.25, 1e-9);
  EXPECT_NEAR(number(facts, "throttling.power_cap_share"), 0.5, 1e-9);
  EXPECT_NEAR(number(facts, "gpu.clock_drift_ratio"), -0.25, 1e-9);
  EXPECT_EQ(number(facts, "gpus_used"), 1);
  EXPECT_GT(number(facts, "utilisation.peak_tflops"), 100);
  EXPECT_EQ(*facts.find("gpu.fp8"), FactValue(true));
  EXPECT_NE(facts.why_missing("utilisation.mfu"), "");
  EXPECT_NE(facts.why_missing("span_clock.gpu"), "");
  std::set<std::string> fired;
  for (const Finding& finding : advise(facts).findings) {
    if (finding.rule.condition.find("gpu.busy_ratio") != std::string::npos)
      fired.insert(finding.rule.id);
  }
  EXPECT_FALSE(fired.empty());
}

TEST(ResourceFacts, GrowthIsOfTheSteadySteps) {
  TraceBuilder t;
  add_warm_up_and_steps(t);
  add_entity(t, EntityKind::process_tree, "tree");
  add_readings(t, "tree/rss_bytes", 0, 80 * kSecond, kSecond,
               [](double s) { return 1e9 + s * 2e7; });
  const Facts facts = facts_for(t);
  EXPECT_NEAR(number(facts, "host.rss_low_bytes_per_second"), 2e7, 1);
  EXPECT_NEAR(number(facts, "host.rss_growth_ratio"), 59 * 2e7 / 1.4e9, 1e-6);

  TraceBuilder no_steps;
  no_steps.span("serve", SpanKind::stage, 0, 80 * kSecond);
  add_entity(no_steps, EntityKind::process_tree, "tree");
  add_readings(no_steps, "tree/rss_bytes", 0, 80 * kSecond, kSecond,
               [](double s) { return 1e9 + s * 2e7; });
  EXPECT_EQ(facts_for(no_steps).find("host.rss_growth_ratio"), nullptr)
      << "a run without steps may well be loading";
}

TEST(ResourceFacts, OfAKnownModelAndGpu) {
  TraceBuilder t;
  const auto session = t.span("gen", SpanKind::session, 0, 1, {.flags = kSpanDetached});
  t.arg(session, "model", ArgType::text, 0, "flux-dev");
  for (int i = 0; i < 6; ++i) t.span("step", SpanKind::step, i * kSecond, kSecond);
  add_entity(t, EntityKind::gpu, "GPU-1", "NVIDIA H100 80GB HBM3");
  const Facts facts = facts_for(t);
  EXPECT_GT(number(facts, "utilisation.mfu"), 0.01);
  EXPECT_GT(number(facts, "utilisation.predicted_step_ns"), 10e6);
  EXPECT_GT(number(facts, "utilisation.attention_bytes"), 1e8);
  EXPECT_GT(number(facts, "utilisation.vae_bytes"), 1e9);
  EXPECT_GT(number(facts, "utilisation.offload_ns"), 100e6);
  EXPECT_EQ(*facts.find("utilisation.bound"), FactValue(std::string("compute")));
}

TEST(ResourceFacts, PeaksOfTheAllocatorByRequestAndStep) {
  TraceBuilder t;
  for (int i = 0; i < 5; ++i) {
    const auto request = t.span("r", SpanKind::request, i * 10 * kSecond, 10 * kSecond);
    t.span("step", SpanKind::step, (i * 10 + 2) * kSecond, 4 * kSecond, {.parent = request});
  }
  add_readings(t, "allocator:cuda:0/allocator_allocated_bytes", 0, 50 * kSecond, kSecond,
               [](double s) {
                 const double request = std::floor(s / 10), in = s - 10 * request;
                 return in == 3 ? 100 * std::pow(1.1, request) : 50;
               });
  const Facts facts = facts_for(t);
  EXPECT_NEAR(number(facts, "allocator.request_growth_ratio"), 0.1, 1e-9);
  EXPECT_NEAR(number(facts, "allocator.step_rise_bytes"), 100 * std::pow(1.1, 4) - 50, 1e-6);
}

TEST(ResourceFacts, OfImportedKernels) {
  TraceBuilder t;
  const auto stream = t.track("gpu:0/stream:7", 0);
  const auto stage = t.span("denoise", SpanKind::stage, 0, 100'000);
  const auto step = t.span("ProfilerStep", SpanKind::step, 0, 100'000, {.parent = stage});
  const auto call = t.span("cudaLaunchKernel", SpanKind::function, 10'000, 1000, {.parent = step});
  t.span("cudaStreamSynchronize", SpanKind::function, 20'000, 1000, {.parent = step});
  t.device(stage, 60'000);
  for (const std::int64_t at : {20'000, 70'000}) {
    const auto kernel = t.span("gemm", SpanKind::task, at, 30'000,
                               {.parent = call, .track = stream, .flags = kSpanDetached});
    t.arg(kernel, "cat", ArgType::text, 0, "kernel");
  }
  const Facts facts = facts_for(t);
  EXPECT_EQ(*facts.find("gpu.present"), FactValue(true));
  EXPECT_EQ(*facts.find("span_clock.gpu"), FactValue(true));
  EXPECT_NEAR(number(facts, "gpu.busy_ratio"), 0.75, 1e-9);
  EXPECT_EQ(number(facts, "step_traffic.syncs_per_step"), 1);
  EXPECT_EQ(number(facts, "step_traffic.h2d_copies_per_step"), 0);
  EXPECT_EQ(facts.find("step_traffic.h2d_bytes_per_second"), nullptr);
  EXPECT_NEAR(number(facts, "span_clock.stages_per_busy_ratio"), 100.0 / 60, 1e-9);
}

// Steps of torch's profiler, of which every `every`-th reads the loss back to log it.
Advice advice_on_logging(int every, bool trains = true) {
  TraceBuilder t;
  const auto stream = t.track("gpu:0/stream:7", 0);
  for (int s = 0; s < 8; ++s) {
    const std::int64_t at = s * 100'000;
    const auto step = t.span("ProfilerStep", SpanKind::step, at, 100'000);
    const auto call =
        t.span("cudaLaunchKernel", SpanKind::function, at + 1000, 1000, {.parent = step});
    const auto kernel = t.span("gemm", SpanKind::task, at + 5000, 50'000,
                               {.parent = call, .track = stream, .flags = kSpanDetached});
    t.arg(kernel, "cat", ArgType::text, 0, "kernel");
    if (trains) {
      t.span("Optimizer.step#AdamW.step", SpanKind::stage, at + 9000, 1000, {.parent = step});
    }
    if (s % every != 0) continue;
    const auto log = t.span("logging", SpanKind::stage, at + 60'000, 20'000, {.parent = step});
    t.span("cudaStreamSynchronize", SpanKind::function, at + 61'000, 9000, {.parent = log});
  }
  return advise(facts_for(t));
}

TEST(ResourceFacts, LoggingThatWaitsAtEveryStepOfATrainingIsFound) {
  EXPECT_TRUE(fired(advice_on_logging(1), "TR-METRIC"));
  EXPECT_FALSE(fired(advice_on_logging(4), "TR-METRIC")) << "every fourth step is seldom enough";
  EXPECT_FALSE(fired(advice_on_logging(1, false), "TR-METRIC")) << "no training";
}

// A model on a GPU that is busy for `gpu` of the time, a main thread that is for `main`.
Advice advice_on_host(double gpu, double main) {
  TraceBuilder t;
  const auto session = t.span("gen", SpanKind::session, 0, 1, {.flags = kSpanDetached});
  t.arg(session, "model", ArgType::text, 0, "flux-dev");
  add_warm_up_and_steps(t);  // it is idle while the first step warms up
  add_entity(t, EntityKind::gpu, "GPU-1", "NVIDIA H100 80GB HBM3");
  add_entity(t, EntityKind::process_tree, "tree");
  add_readings(t, "GPU-1/busy_ratio", 0, 80 * kSecond, kSecond, [=](double) { return gpu; });
  add_readings(t, "tree/main_thread_cpu_ns", 0, 80 * kSecond, kSecond,
               [=](double s) { return s < 20 ? 0 : (s - 20) * main * 1e9; });
  const Facts facts = facts_for(t);
  EXPECT_NEAR(number(facts, "host.main_thread_busy_ratio"), main, 1e-9);
  return advise(facts);
}

TEST(ResourceFacts, AMainThreadThatIsBusyWhileTheGpuWaitsIsFound) {
  EXPECT_TRUE(fired(advice_on_host(0.5, 0.99), "CPU-BOUND"));
  EXPECT_FALSE(fired(advice_on_host(0.5, 0.6), "CPU-BOUND")) << "it waits, too";
  EXPECT_FALSE(fired(advice_on_host(0.95, 0.99), "CPU-BOUND")) << "the GPU is busy";
}

TEST(ResourceFacts, OfTheMainThreadNeedThreeReadingsThatGrow) {
  TraceBuilder few = eight_steps();
  add_entity(few, EntityKind::process_tree, "tree");
  add_readings(few, "tree/main_thread_cpu_ns", 30 * kSecond, 32 * kSecond, kSecond,
               [](double) { return 1e9; });
  EXPECT_EQ(facts_for(few).find("host.main_thread_busy_ratio"), nullptr);
  EXPECT_NE(facts_for(few).why_missing("host.main_thread_busy_ratio"), "");
  TraceBuilder mixed = eight_steps();
  add_entity(mixed, EntityKind::process_tree, "tree");
  add_readings(mixed, "tree/main_thread_cpu_ns", 30 * kSecond, 40 * kSecond, kSecond,
               [](double s) { return 1e9 - s; });
  EXPECT_EQ(facts_for(mixed).find("host.main_thread_busy_ratio"), nullptr);
  TraceBuilder none = eight_steps();
  EXPECT_NE(facts_for(none).why_missing("host.main_thread_busy_ratio"), "");
}

// --- programs that mark nothing: facts from readings of the kernel's counts

// What a program and its machine show a second; each test changes some.
struct Kernel {
  double cores = 1, waiting = 0, machine_busy = 0.5, cpus = 2, steal = 0, threads = 1;
  double in_storage = 0, read = 0, written = 0, faults = 0, swap = 0;
  double rss_growth = 0;  // a second, of 1 GB
  double throttled = -1;  // seconds a second; below 0: there is no control group
};

std::set<std::string> found_in(const Kernel& k) {
  constexpr std::int64_t kLong = 30 * kSecond;
  TraceBuilder t;
  const auto put = [&](std::string_view counter, auto&& value) {
    add_readings(t, counter, 0, kLong, kSecond, value);
  };
  add_entity(t, EntityKind::machine, "machine");
  put("machine/cpu_count", [&](double) { return k.cpus; });
  put("machine/cpu_busy_ratio", [&](double) { return k.machine_busy; });
  put("machine/cpu_steal_ratio", [&](double) { return k.steal; });
  add_entity(t, EntityKind::process_tree, "tree");
  put("tree/cpu_ns", [&](double s) { return s * k.cores * 1e9; });
  put("tree/cpu_wait_ns", [&](double s) { return s * k.waiting * 1e9; });
  put("tree/storage_wait", [&](double s) { return std::fmod(s, 10) < k.in_storage * 10 ? 1 : 0; });
  put("tree/threads", [&](double) { return k.threads; });
  put("tree/rss_bytes", [&](double s) { return 1e9 * (1 + k.rss_growth * s); });
  put("tree/swap_bytes", [&](double) { return k.swap; });
  put("tree/major_faults", [&](double s) { return k.faults * s; });
  put("tree/io_read_bytes", [&](double s) { return k.read * s; });
  put("tree/io_write_bytes", [&](double s) { return k.written * s; });
  if (k.throttled >= 0) {
    add_entity(t, EntityKind::cgroup, "cgroup");
    put("cgroup/cpu_throttled_ns", [&](double s) { return k.throttled * s * 1e9; });
  }
  std::set<std::string> ids;
  for (const Finding& finding : advise(facts_for(t)).findings) ids.insert(finding.rule.id);
  return ids;
}

using Ids = std::set<std::string>;

TEST(UnmarkedPrograms, OfABusyLoopThatIsAloneNothingIsSaid) { EXPECT_EQ(found_in({}), Ids()); }

TEST(UnmarkedPrograms, OfOneThatSleepsNothingIsSaid) {
  EXPECT_EQ(found_in({.cores = 0.0001, .machine_busy = 0.01}), Ids());
  EXPECT_EQ(found_in({.cores = 0.001, .machine_busy = 0.01}), Ids({"MOSTLY-WAITS"}))
      << "it did a little work, an interpreter's start for example";
}

TEST(UnmarkedPrograms, OthersOnTheMachineAreNamed) {
  EXPECT_EQ(found_in({.cores = 0.6, .waiting = 0.4, .machine_busy = 1}), Ids({"CPU-OTHERS"}));
  EXPECT_EQ(found_in({.cores = 1, .waiting = 0.02, .machine_busy = 1}), Ids())
      << "they leave it what it needs";
}

TEST(UnmarkedPrograms, MoreThreadsThanCpusAreNamedWhereNobodyElseIs) {
  EXPECT_EQ(found_in({.cores = 1.95, .waiting = 6, .machine_busy = 1, .threads = 8}),
            Ids({"CPU-OVERSUB"}));
  EXPECT_EQ(found_in({.cores = 1.95, .waiting = 0.1, .machine_busy = 1, .threads = 64}), Ids())
      << "most of them sleep";
}

TEST(UnmarkedPrograms, AQuotaAndTheHypervisorAreNamed) {
  EXPECT_EQ(found_in({.cores = 0.5, .waiting = 0.4, .throttled = 0.5}), Ids({"CPU-QUOTA"}));
  EXPECT_EQ(found_in({.throttled = 0}), Ids());
  EXPECT_EQ(found_in({.steal = 0.2}), Ids({"CPU-STEAL"}));
}

TEST(UnmarkedPrograms, WaitingIsToldByWhatIsWaitedFor) {
  EXPECT_EQ(found_in({.cores = 0.2, .in_storage = 0.5}), Ids({"STORAGE-WAIT"}));
  EXPECT_EQ(found_in({.cores = 0.2, .in_storage = 0.5, .read = 1e8}),
            Ids({"STORAGE-WAIT", "READ-COLD"}));
  EXPECT_EQ(found_in({.cores = 0.1}), Ids({"MOSTLY-WAITS"}));
  EXPECT_EQ(found_in({.cores = 0.2, .in_storage = 0.5, .read = 1e6, .faults = 500, .swap = 2e8}),
            Ids({"STORAGE-WAIT", "SWAP-OWN"}));
}

TEST(UnmarkedPrograms, OneCoreOfManyIsWorthAWord) {
  EXPECT_EQ(found_in({.machine_busy = 0.1, .cpus = 16}), Ids({"ONE-CORE"}));
  EXPECT_EQ(found_in({.cores = 12, .machine_busy = 0.8, .cpus = 16}), Ids());
}

TEST(UnmarkedPrograms, MemoryThatGrowsAllAlongAndMuchOutputAreWorthAWord) {
  EXPECT_EQ(found_in({.rss_growth = 0.2}), Ids({"MEM-GROWS"}));
  EXPECT_EQ(found_in({.rss_growth = 0.001}), Ids());
  EXPECT_EQ(found_in({.written = 1e8}), Ids({"OUTPUT-HUGE"}));
}

}  // namespace
}  // namespace genscope
