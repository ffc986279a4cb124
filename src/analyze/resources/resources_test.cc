#include "analyze/resources/resources.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "analyze/resources/readings.h"
#include "analyze/resources/stretches.h"
#include "analyze/testing/samples.h"

namespace genscope {
namespace {

using testing::add_entity;
using testing::add_readings;
using testing::kSecond;
using testing::TraceBuilder;

Resources resources_of(TraceBuilder& t) { return analyze(testing::make_run(t.trace())).resources; }

const StageUse& use_of(const Resources& resources, std::string_view name) {
  for (const StageUse& use : resources.stages) {
    if (use.name == name) return use;
  }
  ADD_FAILURE() << "no stage " << name;
  static const StageUse kNoStage;
  return kNoStage;
}

std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }

// --- sweeps

TEST(Gallop, FindsTheFirstPlaceThatHolds) {
  for (std::size_t size = 0; size < 70; ++size) {
    for (std::size_t first = 0; first <= size; ++first) {
      for (std::size_t from = 0; from <= size; ++from) {
        const auto is = [&](std::size_t i) { return i >= first; };
        EXPECT_EQ(analysis::gallop(size, from, is), std::max(first, from));
      }
    }
  }
}

TEST(Stretches, AreUnitedAndTakenAway) {
  analysis::Stretches s = {{10, 20}, {0, 5}, {15, 30}, {30, 40}, {50, 50}};
  analysis::unite(s);
  ASSERT_EQ(s.size(), 2u);
  EXPECT_EQ(s[1].begin, 10);
  EXPECT_EQ(s[1].end, 40);
  const analysis::Stretches rest = analysis::without({3, 60}, s);
  ASSERT_EQ(rest.size(), 2u);
  EXPECT_EQ(rest[0].begin, 5);
  EXPECT_EQ(rest[0].end, 10);
  EXPECT_EQ(rest[1].begin, 40);
  EXPECT_EQ(rest[1].end, 60);
  EXPECT_TRUE(analysis::without({12, 30}, s).empty());
}

TEST(Stretches, HoldTheirBeginAndNotTheirEnd) {
  std::vector<std::size_t> seen;
  analysis::visit_within({{1, 3}, {4, 6}}, {0, 1, 2, 3, 4, 4, 6, 7},
                         [&](std::size_t i) { seen.push_back(i); });
  EXPECT_EQ(seen, (std::vector<std::size_t>{1, 2, 4, 5}));
}

TEST(Readings, OfSeveralDevicesAreOneSeriesWhereverTheTickFell) {
  const analysis::Points a{{0, 100, 200, 300, 400, 500, 600, 700}, {1, 1, 1, 1, 1, 1, 1, 1}};
  const analysis::Points b{{5, 105, 205}, {10, 10, 10}};  // lost after the third
  const analysis::Points* both[] = {&a, &b};
  const analysis::Points sum = analysis::combine(both, analysis::Combine::sum);
  ASSERT_EQ(sum.value.size(), 8u);
  EXPECT_EQ(sum.value[0], 11);
  EXPECT_EQ(sum.value[2], 11);
  EXPECT_EQ(sum.value[3], 11) << "its last value stands for a while";
  EXPECT_EQ(sum.value[7], 1) << "a lost device uses nothing that we know";
  EXPECT_EQ(analysis::combine(both, analysis::Combine::mean).value[7], 1);
}

// --- stages

TEST(StageUse, NeedsThreeReadings) {
  for (int readings = 0; readings <= 4; ++readings) {
    TraceBuilder t;
    t.span("vae_decode", SpanKind::stage, 100 * kSecond, 10 * kSecond);
    add_entity(t, EntityKind::process_tree, "tree");
    add_readings(t, "tree/rss_bytes", 0, 50 * kSecond, kSecond, [](double) { return 7; });
    add_readings(t, "tree/rss_bytes", 100 * kSecond, (100 + readings) * kSecond, kSecond,
                 [](double s) { return 10 + s; });
    const Resources resources = resources_of(t);
    const StageUse& use = use_of(resources, "vae_decode");
    EXPECT_EQ(use.rss_bytes.samples, static_cast<std::uint64_t>(readings));
    EXPECT_EQ(use.rss_bytes.mean.has_value(), readings >= 3);
    EXPECT_EQ(use.rss_bytes.max.has_value(), readings >= 3);
    if (readings >= 3) {
      EXPECT_EQ(*use.rss_bytes.max, 9 + readings);
      EXPECT_EQ(use.reason.find("of memory"), std::string::npos) << use.reason;
    } else {
      EXPECT_NE(use.reason.find("insufficient samples: 0 of CPU, " + std::to_string(readings) +
                                " of memory"),
                std::string::npos)
          << use.reason;
    }
    EXPECT_NE(use.reason.find("no GPU was seen"), std::string::npos) << use.reason;
    EXPECT_FALSE(use.energy_joules);
  }
}

TEST(StageUse, CoresAreTheGrowthOfTheCounterAndAResetGivesNone) {
  TraceBuilder t;
  t.span("denoise", SpanKind::stage, 0, 10 * kSecond);
  add_entity(t, EntityKind::process_tree, "tree");
  add_readings(t, "tree/cpu_ns", 0, 10 * kSecond, kSecond,
               [](double s) { return (s < 5 ? 1000 + s * 2 : (s - 5) * 2) * 1e9; });
  const Resources resources = resources_of(t);
  const StageUse& use = use_of(resources, "denoise");
  EXPECT_EQ(use.cpu_cores.samples, 8u);  // of 9 differences one is a reset
  EXPECT_NEAR(*use.cpu_cores.mean, 2, 1e-9);
  EXPECT_NEAR(*use.cpu_cores.max, 2, 1e-9);
}

TEST(StageUse, CoresAreWeightedByTimeAndNeverMoreThanTheMachineHas) {
  // A step runs one child after another; their time is added once a second, 0.1 ms after a reading.
  TraceBuilder t;
  t.span("denoise", SpanKind::stage, 0, 10 * kSecond);
  add_entity(t, EntityKind::machine, "machine");
  add_readings(t, "machine/cpu_count", 0, kSecond, kSecond, [](double) { return 2; });
  add_entity(t, EntityKind::process_tree, "tree");
  for (int i = 0; i <= 100; ++i) {
    const double told = i / 10 * 1e9 - (i % 10 == 0 && i > 0 ? 1e9 : 0);
    t.counter("tree/cpu_ns", i * kSecond / 10, told);
    if (i % 10 == 0) t.counter("tree/cpu_ns", i * kSecond / 10 + 100'000, i / 10 * 1e9);
  }
  const StageUse use = use_of(resources_of(t), "denoise");
  EXPECT_NEAR(*use.cpu_cores.mean, 1, 0.11);
  EXPECT_LE(*use.cpu_cores.max, 2);
}

TEST(StageUse, SpansThatRunAtOnceCountOnce) {
  TraceBuilder t;
  const auto other = t.track("worker", 1001);
  t.span("decode", SpanKind::stage, 0, 20 * kSecond);
  t.span("decode", SpanKind::stage, 5 * kSecond, 20 * kSecond, {.track = other});
  add_entity(t, EntityKind::gpu, "GPU-1");
  add_readings(t, "GPU-1/power_watts", 0, 40 * kSecond, kSecond, [](double) { return 100; });
  const Resources resources = resources_of(t);
  const StageUse& use = use_of(resources, "decode");
  EXPECT_EQ(use.gpu_power_watts.samples, 25u);
  EXPECT_NEAR(*use.energy_joules, 2500, 1e-6);
}

TEST(StageUse, OfSeveralGpusThoseThatTheRunUsed) {
  TraceBuilder t;
  t.span("denoise", SpanKind::stage, 0, 10 * kSecond);
  for (const char* id : {"GPU-1", "GPU-2", "GPU-3"}) {
    add_entity(t, EntityKind::gpu, id);
    const std::string name(id);
    const double busy = id[4] == '1' ? 0.9 : id[4] == '2' ? 0.5 : 0.99;
    add_readings(t, name + "/busy_ratio", 0, 10 * kSecond, kSecond, [&](double) { return busy; });
    add_readings(t, name + "/memory_used_bytes", 0, 10 * kSecond, kSecond,
                 [](double) { return 1000; });
    if (id[4] == '3') continue;  // another user's
    add_readings(t, name + "/tree_memory_bytes", 0, 10 * kSecond, kSecond,
                 [](double s) { return 100 + s; });
  }
  const Resources resources = resources_of(t);
  EXPECT_EQ(resources.gpus_used, 2u);
  const StageUse& use = use_of(resources, "denoise");
  EXPECT_EQ(use.gpu_busy_ratio.samples, 10u);
  EXPECT_NEAR(*use.gpu_busy_ratio.mean, 0.7, 1e-9);
  EXPECT_NEAR(*use.gpu_memory_bytes.max, 218, 1e-9) << "the tree's share, at one moment";
}

TEST(StageUse, AGpuLostMidwayLeavesTheLaterStagesWithoutFigures) {
  TraceBuilder t;
  t.span("denoise", SpanKind::stage, 0, 10 * kSecond);
  t.span("vae_decode", SpanKind::stage, 10 * kSecond, 10 * kSecond);
  add_entity(t, EntityKind::gpu, "GPU-1");
  add_readings(t, "GPU-1/busy_ratio", 0, 11 * kSecond, kSecond, [](double) { return 0.5; });
  const double nan = std::numeric_limits<double>::quiet_NaN();
  add_readings(t, "GPU-1/busy_ratio", 12 * kSecond, 20 * kSecond, kSecond,
               [&](double) { return nan; });
  const Resources resources = resources_of(t);
  EXPECT_NEAR(*use_of(resources, "denoise").gpu_busy_ratio.mean, 0.5, 1e-9);
  const StageUse& after = use_of(resources, "vae_decode");
  EXPECT_EQ(after.gpu_busy_ratio.samples, 1u);
  EXPECT_FALSE(after.gpu_busy_ratio.mean);
  EXPECT_NE(after.reason.find("1 of GPU busy"), std::string::npos) << after.reason;
}

TEST(StageUse, AllStepsAreOneRow) {
  TraceBuilder t;
  for (int i = 0; i < 5; ++i) {
    t.span(i % 2 == 0 ? "high" : "low", SpanKind::step, i * kSecond, kSecond);
  }
  add_entity(t, EntityKind::process_tree, "tree");
  add_readings(t, "tree/rss_bytes", 0, 5 * kSecond, kSecond / 2, [](double) { return 5; });
  const Resources resources = resources_of(t);
  ASSERT_EQ(resources.stages.size(), 1u);
  EXPECT_EQ(resources.stages[0].name, "steps");
  EXPECT_EQ(resources.stages[0].kind, SpanKind::step);
  EXPECT_EQ(resources.stages[0].rss_bytes.samples, 10u);
}

TEST(StageUse, WithoutProbesThereIsNoRow) {
  TraceBuilder t;
  t.span("denoise", SpanKind::stage, 0, 10 * kSecond);
  EXPECT_TRUE(resources_of(t).stages.empty());
  EXPECT_TRUE(resources_of(t).growth.empty());
  EXPECT_FALSE(resources_of(t).gpus_used);
}

TEST(StageUse, OneGpuThatTwoProcessesWatchIsOne) {
  const auto watched = [](std::uint32_t pid) {
    TraceBuilder t(pid);
    t.span("denoise", SpanKind::stage, 0, 10 * kSecond);
    add_entity(t, EntityKind::gpu, "GPU-1");
    add_readings(t, "GPU-1/power_watts", 0, 10 * kSecond + 1, kSecond, [](double) { return 50; });
    return t.trace();
  };
  const Analysis analysis = analyze(testing::make_run(watched(1), watched(2)));
  ASSERT_EQ(analysis.resources.stages.size(), 1u);
  EXPECT_NEAR(*analysis.resources.stages[0].gpu_power_watts.mean, 50, 1e-9);
  EXPECT_NEAR(*analysis.resources.stages[0].energy_joules, 500, 1e-6);
}

TEST(StageUse, ATreeWithinAWatchedTreeCountsOnce) {
  TraceBuilder outer(1), inner(2);
  inner.span("denoise", SpanKind::stage, 0, 10 * kSecond);
  add_entity(outer, EntityKind::process_tree, "tree", "run", "pid=2\n");
  add_entity(inner, EntityKind::process_tree, "tree", "python", "pid=2\n");
  for (TraceBuilder* t : {&outer, &inner}) {
    add_readings(*t, "tree/rss_bytes", 0, 10 * kSecond, kSecond, [](double) { return 100; });
  }
  const Analysis analysis = analyze(testing::make_run(outer.trace(), inner.trace()));
  ASSERT_EQ(analysis.resources.stages.size(), 1u);
  EXPECT_EQ(*analysis.resources.stages[0].rss_bytes.max, 100);
}

TEST(HostUse, OfAProcessThatSamplesItselfOnlyTheRunCounts) {
  for (const auto& [pid, used_ns] : {std::pair("pid=2\n", 5e9), std::pair("pid=7\n", 65e9)}) {
    TraceBuilder t(2);
    t.span("denoise", SpanKind::stage, 0, 10 * kSecond);
    add_entity(t, EntityKind::process_tree, "tree", "python", pid);
    add_readings(t, "tree/cpu_ns", 0, 10 * kSecond, kSecond,
                 [](double s) { return 60e9 + s * 5e8; });
    const Analysis analysis = analyze(testing::make_run(t.trace()));
    EXPECT_NEAR(*analysis.telemetry.entities[0].value("cpu_ns", &SeriesRow::max), used_ns, 6e8);
    EXPECT_NEAR(*analysis.resources.host.own_cores, used_ns / 1e10, 0.06);
  }
}

TEST(HostUse, RatesHoldWhereReadingsBecameSeldom) {
  TraceBuilder t;
  t.span("denoise", SpanKind::stage, 0, 20 * kSecond);
  add_entity(t, EntityKind::process_tree, "tree");
  add_readings(t, "tree/major_faults", 0, 2 * kSecond, kSecond / 10,
               [](double s) { return s * 10; });
  add_readings(t, "tree/major_faults", 2 * kSecond, 20 * kSecond, 2 * kSecond,
               [](double s) { return 20 + s * 10; });
  const Analysis analysis = analyze(testing::make_run(t.trace()));
  EXPECT_NEAR(*analysis.resources.host.major_faults_per_second, 10, 0.1);
}

// --- growth

TraceBuilder steps_with_memory(double bytes_per_second, double wobble) {
  TraceBuilder t;
  const auto denoise = t.span("denoise", SpanKind::stage, 0, 60 * kSecond);
  for (int i = 0; i < 30; ++i) {
    const auto step =
        t.span("step", SpanKind::step, i * 2 * kSecond, 2 * kSecond, {.parent = denoise});
    t.span("preview", SpanKind::stage, i * 2 * kSecond + kSecond, kSecond / 2, {.parent = step});
  }
  add_entity(t, EntityKind::process_tree, "tree");
  add_readings(t, "tree/rss_bytes", 0, 60 * kSecond, kSecond / 4, [&](double s) {
    // Half a second of each two grows.
    const double in_step = s - 2 * std::floor(s / 2);
    const double grown = std::floor(s / 2) + std::clamp((in_step - 1) * 2, 0.0, 1.0);
    return 1e9 + grown * 2 * bytes_per_second + wobble * std::sin(s * 7);
  });
  return t;
}

TEST(MemoryGrowth, ALeakHasASlopeAnIntervalAndAPlace) {
  TraceBuilder t = steps_with_memory(5e6, 1e5);
  const Resources resources = resources_of(t);
  ASSERT_EQ(resources.growth.size(), 1u);
  const MemoryGrowth& growth = resources.growth[0];
  EXPECT_EQ(growth.what, "host");
  EXPECT_EQ(growth.stretch, "steady steps");
  ASSERT_TRUE(growth.bytes_per_second) << growth.reason;
  EXPECT_NEAR(growth.bytes_per_second->value, 5e6, 1e5);
  EXPECT_GT(growth.bytes_per_second->low, 4.8e6);
  EXPECT_LT(growth.bytes_per_second->high, 5.2e6);
  EXPECT_NEAR(*growth.growth_ratio, 5e6 * 60 / 1e9, 0.02);
  EXPECT_TRUE(growth.leak);
  EXPECT_EQ(growth.stage, "preview");
}

TEST(MemoryGrowth, MemoryThatOnlyWobblesIsNoLeak) {
  TraceBuilder t = steps_with_memory(0, 5e7);
  const Resources resources = resources_of(t);
  ASSERT_EQ(resources.growth.size(), 1u);
  EXPECT_TRUE(resources.growth[0].bytes_per_second->flat());
  EXPECT_FALSE(resources.growth[0].leak);
  EXPECT_EQ(resources.growth[0].stage, "");
}

TEST(MemoryGrowth, WithoutStepsTheFirstQuarterIsLeftOut) {
  TraceBuilder t;
  t.span("load", SpanKind::load, 0, 20 * kSecond);
  t.span("serve", SpanKind::stage, 20 * kSecond, 80 * kSecond);
  add_entity(t, EntityKind::process_tree, "tree");
  add_readings(t, "tree/rss_bytes", 0, 100 * kSecond, kSecond,
               [](double s) { return s < 20 ? 1e9 * s : 2e10; });
  const Resources resources = resources_of(t);
  ASSERT_EQ(resources.growth.size(), 1u);
  EXPECT_EQ(resources.growth[0].stretch, "after the first quarter");
  EXPECT_NEAR(resources.growth[0].bytes_per_second->value, 0, 1e-9);
  EXPECT_FALSE(resources.growth[0].leak);
}

TEST(MemoryGrowth, TwoReadingsTellNothing) {
  TraceBuilder t;
  t.span("serve", SpanKind::stage, 0, 10 * kSecond);
  add_entity(t, EntityKind::gpu, "GPU-1");
  t.counter("GPU-1/memory_used_bytes", 5 * kSecond, 1)
      .counter("GPU-1/memory_used_bytes", 6 * kSecond, 9);
  const Resources resources = resources_of(t);
  ASSERT_EQ(resources.growth.size(), 1u);
  EXPECT_EQ(resources.growth[0].what, "GPU-1");
  EXPECT_EQ(resources.growth[0].samples, 2u);
  EXPECT_FALSE(resources.growth[0].bytes_per_second);
  EXPECT_EQ(resources.growth[0].reason, "insufficient samples");
}

// --- energy

double joules_each(const Resources& resources, std::string_view unit) {
  for (const EnergyPerUnit& row : resources.energy) {
    if (row.unit == unit) return row.joules_each;
  }
  return -1;
}

TEST(EnergyPerUnit, OfImagesLeavesLoadingOut) {
  TraceBuilder t;
  t.span("load", SpanKind::load, 0, 10 * kSecond);
  for (int i = 0; i < 4; ++i) {
    const std::int64_t at = (10 + i * 10) * kSecond;
    t.span("step", SpanKind::step, at, 4 * kSecond);
    t.span("step", SpanKind::step, at + 4 * kSecond, 4 * kSecond);
    t.span("vae_decode", SpanKind::stage, at + 8 * kSecond, 2 * kSecond,
           {.flags = static_cast<std::uint8_t>(i == 3 ? kSpanFailed : 0)});
  }
  add_entity(t, EntityKind::gpu, "GPU-1");
  add_readings(t, "GPU-1/power_watts", 0, 50 * kSecond + 1, kSecond, [](double) { return 100; });
  const Resources resources = resources_of(t);
  EXPECT_NEAR(joules_each(resources, "image"), 4000.0 / 3, 1e-6) << "a failed one made no image";
  EXPECT_NEAR(joules_each(resources, "step"), 400, 1e-6);
  EXPECT_EQ(joules_each(resources, "request"), -1);
  for (const EnergyPerUnit& row : resources.energy) EXPECT_NEAR(row.covered, 1, 1e-6) << row.unit;
}

TEST(EnergyPerUnit, FollowsWhatTheProgramSays) {
  TraceBuilder t;
  const auto session = t.span("gen", SpanKind::session, 0, 100 * kSecond, {.flags = kSpanDetached});
  t.arg(session, "frames", ArgType::uint64, 16).arg(session, "images", ArgType::uint64, 2);
  t.span("r", SpanKind::request, 10 * kSecond, 40 * kSecond);
  t.span("r", SpanKind::request, 50 * kSecond, 40 * kSecond);
  add_entity(t, EntityKind::gpu, "GPU-1");
  add_readings(t, "GPU-1/power_watts", 0, 50 * kSecond + 1, kSecond, [](double) { return 100; });
  const Resources resources = resources_of(t);
  EXPECT_EQ(joules_each(resources, "image"), -1) << "clips are no images";
  EXPECT_NEAR(joules_each(resources, "frame"), 4000.0 / 32, 1e-6);
  EXPECT_NEAR(joules_each(resources, "request"), 2000, 1e-6);
  EXPECT_NEAR(resources.energy[0].covered, 0.5, 1e-6) << "readings ended halfway";
}

// --- throttling

double share_of(const Resources& resources, std::string_view cause) {
  for (const ThrottleShare& row : resources.throttling) {
    if (row.cause == cause) return row.share;
  }
  return -1;
}

TEST(Throttling, SharesAreByCauseAndOfTheSteps) {
  TraceBuilder t;
  t.span("step", SpanKind::step, 10 * kSecond, 10 * kSecond);
  add_entity(t, EntityKind::gpu, "GPU-1");
  add_readings(t, "GPU-1/throttle_reasons", 0, 10 * kSecond, kSecond, [](double) { return 0x80; });
  add_readings(t, "GPU-1/throttle_reasons", 10 * kSecond, 20 * kSecond, kSecond, [](double s) {
    return s < 3 ? 0x20 : s < 5 ? 0x40 | 0x4 : s < 6 ? 0x1 | 0x8 : 0;
  });
  t.counter("GPU-1/throttle_reasons", 19 * kSecond + 1, std::numeric_limits<double>::quiet_NaN());
  const Resources resources = resources_of(t);
  EXPECT_NEAR(share_of(resources, "thermal"), 0.5, 1e-9);
  EXPECT_NEAR(share_of(resources, "power cap"), 0.2, 1e-9);
  EXPECT_NEAR(share_of(resources, "hardware slowdown"), 0.1, 1e-9);
  EXPECT_EQ(share_of(resources, "power brake"), 0);
  EXPECT_EQ(resources.throttling[0].samples, 10u);
}

TEST(Throttling, CountersOfTimeStandInForBits) {
  TraceBuilder t;
  t.span("denoise", SpanKind::stage, 0, 10 * kSecond);
  add_entity(t, EntityKind::gpu, "GPU-1");
  add_readings(t, "GPU-1/throttle_power_ns", 0, 10 * kSecond, kSecond,
               [](double s) { return s < 5 ? s * 5e8 : (s - 5) * 5e8; });
  const Resources resources = resources_of(t);
  EXPECT_NEAR(share_of(resources, "power cap"), 0.5, 1e-9) << "the reset left out";
  EXPECT_EQ(share_of(resources, "thermal"), -1) << "not measured";
}

// --- utilisation

TraceBuilder flux_steps(std::int64_t step_ms, int forwards, const char* gpu) {
  TraceBuilder t;
  const auto session = t.span("gen", SpanKind::session, 0, 1, {.flags = kSpanDetached});
  t.arg(session, "model", ArgType::text, 0, "black-forest-labs/FLUX.1-dev");
  t.arg(session, "width", ArgType::uint64, 1024).arg(session, "height", ArgType::uint64, 1024);
  t.arg(session, "guidance", ArgType::float64, bits(3.5));
  t.arg(session, "dtype", ArgType::text, 0, "torch.bfloat16");
  for (int i = 0; i < 8; ++i) {
    const std::int64_t at = i * step_ms * 1'000'000;
    const auto step = t.span("step", SpanKind::step, at, step_ms * 1'000'000);
    for (int k = 0; k < forwards; ++k) {
      const auto outer = t.span("transformer", SpanKind::forward, at, 1000, {.parent = step});
      t.span("block", SpanKind::forward, at, 100, {.parent = outer});
    }
  }
  if (*gpu != '\0') add_entity(t, EntityKind::gpu, "GPU-1", gpu);
  return t;
}

TEST(Utilisation, OfAKnownModelOnAKnownGpu) {
  TraceBuilder t = flux_steps(900, 1, "NVIDIA GeForce RTX 4090");
  const Utilisation u = resources_of(t).utilisation;
  ASSERT_TRUE(u.mfu) << u.reason;
  EXPECT_GT(*u.mfu, 0.3);
  EXPECT_LT(*u.mfu, 0.7);
  EXPECT_NEAR(*u.mfu, *u.tflops / *u.peak_tflops, 1e-9);
  EXPECT_EQ(u.bound, "compute");
  EXPECT_EQ(u.hardware, "RTX 4090");
  EXPECT_EQ(u.forwards_per_step, 1.0) << "a forward within a forward is part of it";
  ASSERT_EQ(u.per_step.size(), 8u);
  EXPECT_NEAR(u.per_step[3], *u.mfu, 1e-3);
  // FLUX bf16 over 25 GB/s: some 0.95 s.
  EXPECT_NEAR(*u.offload_ns * 1e-9, 0.95, 0.1);
}

TEST(Utilisation, CountsTheForwardsOfAStep) {
  TraceBuilder one = flux_steps(900, 1, "RTX 4090"), two = flux_steps(900, 2, "RTX 4090");
  const Utilisation single = resources_of(one).utilisation, twice = resources_of(two).utilisation;
  ASSERT_TRUE(single.mfu && twice.mfu);
  EXPECT_NEAR(*twice.mfu, 2 * *single.mfu, 1e-9);
}

TEST(Utilisation, SaysWhatIsMissing) {
  TraceBuilder no_gpu = flux_steps(900, 1, "");
  const Utilisation u = resources_of(no_gpu).utilisation;
  EXPECT_FALSE(u.mfu);
  EXPECT_FALSE(u.predicted_step_ns);
  EXPECT_TRUE(u.per_step.empty());
  EXPECT_EQ(u.reason, "not known: which GPU ran: no probe saw one");
  TraceBuilder odd_gpu = flux_steps(900, 1, "Voodoo 2");
  EXPECT_EQ(resources_of(odd_gpu).utilisation.reason,
            "not known: the peak of Voodoo 2: not in the table");
  TraceBuilder empty;
  EXPECT_EQ(
      resources_of(empty).utilisation.reason,
      "not known: which model ran: give the event \"config\" an argument \"model\"; which GPU "
      "ran: no probe saw one; a finished step");
}

}  // namespace
}  // namespace genscope
