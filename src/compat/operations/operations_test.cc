// The operation tracker: the output of older monitors letter by letter, their known faults,
// threads, limits.
#include <genscope/compat/performance_monitor.h>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "compat/memory/scripted.h"
#include "monitor/memory/process_memory.h"
#include "test_paths.h"
#include "testing/sanitizer.h"
#include "testing/temp_dir.h"

namespace genscope {
namespace {

using compat::training::mebibytes;
using compat::training::Script;
using compat::training::ScriptedMemory;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class Tracker : public ::testing::Test {
 protected:
  PerformanceMonitorOptions options() {
    PerformanceMonitorOptions o;
    o.memory = memory;
    o.clock = Script::clock;
    o.out = [this](std::string_view text) { printed += text; };
    return o;
  }
  // An operation that takes so long and leaves memory changed by so much.
  void run(PerformanceMonitor& monitor, const char* name, double seconds, double cpu_mb = 0,
           double gpu_mb = 0, double gpu_peak_mb = 0) {
    const Operation op = monitor.track(name);
    Script::pass(seconds);
    memory->cpu = *memory->cpu + mebibytes(cpu_mb);
    if (gpu_peak_mb > 0) memory->use(gpu_peak_mb);
    memory->use(static_cast<double>(used_mb += gpu_mb));
  }
  void repeat(PerformanceMonitor& monitor, const char* name, double seconds) {
    const Operation op = monitor.track(name, true);
    Script::pass(seconds);
  }

  std::shared_ptr<ScriptedMemory> memory = std::make_shared<ScriptedMemory>();
  std::string printed;
  double used_mb = 0;
};
using Originals004 = Tracker;

TEST_F(Originals004, SummaryIsTheDocuments) {
  PerformanceMonitor monitor(options());
  run(monitor, "data loading", 0.450, 523.1);
  run(monitor, "preprocessing", 0.120, 128.5);
  run(monitor, "model forward", 0.850, 45.2, 1250.3, 2880.5);
  monitor.print_summary();
  EXPECT_EQ(
      printed,
      "==========================================================================================\n"
      "PERFORMANCE SUMMARY\n"
      "==========================================================================================\n"
      "Operation                      Time (s)     CPU (MB)        GPU (MB)        GPU Peak\n"
      "------------------------------------------------------------------------------------------\n"
      "data loading                        0.450         +523.1           +0.0         0.0\n"
      "preprocessing                       0.120         +128.5           +0.0         0.0\n"
      "model forward                       0.850          +45.2        +1250.3      2880.5\n"
      "------------------------------------------------------------------------------------------\n"
      "TOTAL                               1.420s\n"
      "=========================================================================================="
      "\n");
}

TEST_F(Originals004, AggregateTableIsTheDocuments) {
  PerformanceMonitor monitor(options());
  for (int i = 0; i < 150; ++i) {
    repeat(monitor, "batch_forward", i == 0 ? 0.425 : i == 1 ? 0.085 : 14.724 / 148);
    repeat(monitor, "batch_backward", i == 0 ? 0.112 : i == 1 ? 0.048 : 8.291 / 148);
  }
  monitor.print_summary(true);
  EXPECT_EQ(
      printed,
      "==========================================================================================\n"
      "AGGREGATE STATISTICS (for repeated operations)\n"
      "==========================================================================================\n"
      "Operation                      Count    Total (s)    Mean (s)     Min (s)      Max (s)\n"
      "------------------------------------------------------------------------------------------\n"
      "batch_forward                  150      15.234       0.102        0.085        0.425\n"
      "batch_backward                 150       8.451       0.056        0.048        0.112\n"
      "=========================================================================================="
      "\n");
  EXPECT_THAT(monitor.summary(false), HasSubstr("batch_forward                      15.234"));
  run(monitor, "save", 1);
  EXPECT_THAT(monitor.summary(true), HasSubstr("TOTAL                              24.685s"));
}

TEST_F(Originals004, OneShotPrintsItsLines) {
  TrackOptions once;
  once.memory = memory;
  once.clock = Script::clock;
  once.out = options().out;
  {
    auto tracked = track_performance("critical_operation", once);
    Script::pass(1.234);
    memory->cpu = mebibytes(250.5);
    memory->use(1024.3);
    memory->use(512.0);
  }
  EXPECT_EQ(printed,
            "[Performance] critical_operation: 1.234s, CPU +250.5MB, GPU +512.0MB\n"
            "              GPU peak: 1024.3MB\n");
  printed.clear();
  once.print_result = false;
  auto silent = track_performance("silent", once);
  Script::pass(2);
  ASSERT_TRUE(silent.end().has_value());
  EXPECT_DOUBLE_EQ(silent.end()->duration_seconds, 2);
  EXPECT_EQ(printed, "");
}

TEST_F(Originals004, WrappedFunctionTellsItsFailureToo) {
  TrackOptions once;
  once.memory = memory;
  once.clock = Script::clock;
  once.out = options().out;
  memory->gpu_present = false;
  const auto process = [](int n) {
    Script::pass(0.5);
    if (n < 0) throw std::runtime_error("negative");
    return 2 * n;
  };
  auto wrapped = monitor_performance("data processing", process, once);
  EXPECT_EQ(wrapped(21), 42);
  EXPECT_THROW(wrapped(-1), std::runtime_error);
  EXPECT_EQ(printed,
            "[Performance] data processing: 0.500s, CPU +0.0MB\n"
            "[Performance] data processing: 0.500s, CPU +0.0MB, failed\n");

  PerformanceMonitor monitor(options());
  auto tracked = monitor.wrap("process", process, true);
  EXPECT_EQ(tracked(1), 2);
  EXPECT_THROW(tracked(-1), std::runtime_error);
  const auto all = monitor.get_statistics();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].count, 2u);
  EXPECT_EQ(all[0].failed, 1u);
}

// The original: 0.1 s of wall inside epoch and batch gave a total of 0.201 s.
TEST_F(Originals004, NestedOperationsCountOnce) {
  PerformanceMonitor monitor(options());
  {
    const Operation epoch = monitor.track("epoch");
    Script::pass(0.02);
    {
      const Operation batch = monitor.track("batch");
      Script::pass(0.05);
      const Operation again = monitor.track("batch");  // of the same name, inside
      Script::pass(0.03);
    }
  }
  EXPECT_NEAR(monitor.get_total_time(), 0.1, 1e-9);
  EXPECT_NEAR(*monitor.get_operation_time("epoch"), 0.1, 1e-9);
  EXPECT_NEAR(*monitor.get_operation_time("batch"), 0.08, 1e-9);
  EXPECT_EQ(monitor.get_operation_time("never ran"), std::nullopt);
  const auto metrics = monitor.get_metrics();
  ASSERT_EQ(metrics.size(), 3u);
  EXPECT_NEAR(metrics[1].self_seconds, 0.05, 1e-9);
  EXPECT_NEAR(metrics[2].self_seconds, 0.02, 1e-9);
  double share = 0;
  for (const auto& s : monitor.get_statistics()) share += s.share;
  EXPECT_NEAR(share, 1, 1e-9);
}

// The original started its clock before its memory reading, and charged inner ones to the outer.
TEST_F(Originals004, OwnCostIsInNoMeasuredTime) {
  memory->cost_ns = 20'000;
  PerformanceMonitor monitor(options());
  {
    const Operation outer = monitor.track("outer");
    Script::pass(0.001);
    for (int i = 0; i < 10; ++i) {
      const Operation inner = monitor.track("inner", true);
      Script::pass(0.001);
      const Operation innermost = monitor.track("empty", true);
    }
  }
  EXPECT_DOUBLE_EQ(*monitor.get_operation_time("outer"), 0.011);
  EXPECT_DOUBLE_EQ(*monitor.get_operation_time("inner"), 0.010);
  EXPECT_DOUBLE_EQ(*monitor.get_operation_time("empty"), 0);
  EXPECT_DOUBLE_EQ(monitor.get_total_time(), 0.011);
}

// The original reset the device's peak at each begin, and so erased that of the operation around.
TEST_F(Originals004, PeakOfAnOperationSurvivesTheOnesInside) {
  PerformanceMonitor monitor(options());
  PerformanceMonitor other(options());
  {
    const Operation outer = monitor.track("outer");
    memory->use(3000);
    memory->use(100);
    {
      const Operation inner = monitor.track("inner");
      memory->use(700);
      memory->use(200);
      const Operation elsewhere = other.track("another monitor");
      memory->use(900);
      memory->use(50);
    }
    const Operation last = monitor.track("last");
  }
  const auto metrics = monitor.get_metrics();
  ASSERT_EQ(metrics.size(), 3u);
  EXPECT_EQ(metrics[0].operation, "inner");
  EXPECT_DOUBLE_EQ(*metrics[0].gpu_peak_mb, 900);
  EXPECT_DOUBLE_EQ(*metrics[0].gpu_delta_mb, -50);
  EXPECT_DOUBLE_EQ(*metrics[1].gpu_peak_mb, 50);
  EXPECT_DOUBLE_EQ(*metrics[2].gpu_peak_mb, 3000);
  EXPECT_DOUBLE_EQ(*other.get_metrics()[0].gpu_peak_mb, 900);
}

TEST_F(Originals004, WithoutAGpuItsFiguresAreAbsentWithAReason) {
  memory->gpu_present = false;
  PerformanceMonitor monitor(options());
  run(monitor, "work", 1, 2);
  EXPECT_FALSE(monitor.get_metrics()[0].gpu_delta_mb);
  EXPECT_FALSE(monitor.get_metrics()[0].gpu_peak_mb);
  EXPECT_EQ(monitor.gpu_reason(), "scripted: no GPU");
  EXPECT_THAT(monitor.summary(), HasSubstr("work                                1.000           "
                                           "+2.0            n/a         n/a\n"));
  EXPECT_THAT(monitor.to_json(), HasSubstr("\"gpu_peak_mb\":null"));
  EXPECT_THAT(monitor.to_json(), HasSubstr("\"absent\":{\"gpu\":\"scripted: no GPU\"}"));
  EXPECT_EQ(monitor.to_csv(),
            "operation,time,cpu_mb,gpu_mb,gpu_peak_mb,self_time,call_count,failed\n"
            "work,1,2,,,1,1,0\n");
}

// The original kept 289 bytes a call, aggregated or not.
TEST_F(Originals004, AggregateModeKeepsNoRecordOfCalls) {
  PerformanceMonitor monitor(options());
  repeat(monitor, "batch", 0.25);
  const auto before = ::mallinfo2().uordblks;
  for (std::size_t i = 0; i < testing::scaled(100'000); ++i) repeat(monitor, "batch", 0.25);
  EXPECT_EQ(::mallinfo2().uordblks, before);
  const auto metrics = monitor.get_metrics();
  ASSERT_EQ(metrics.size(), 1u);
  EXPECT_EQ(metrics[0].call_count, testing::scaled(100'000) + 1);
  EXPECT_DOUBLE_EQ(metrics[0].duration_seconds,
                   0.25 * static_cast<double>(testing::scaled(100'000) + 1));
}

TEST_F(Tracker, NeighboursShareAReadingOfTheProcessThatIsFresh) {
  PerformanceMonitor monitor(options());
  const auto readings = [&] { return std::exchange(memory->cpu_readings, 0); };
  {
    const Operation outer = monitor.track("outer");
    const Operation inner = monitor.track("inner");  // begins with outer's reading
    memory->cpu = mebibytes(5);
  }  // inner reads: what was read before its begin says nothing of it; outer takes that
  EXPECT_EQ(readings(), 2);
  EXPECT_DOUBLE_EQ(*monitor.get_metrics()[0].cpu_delta_mb, 5);
  EXPECT_DOUBLE_EQ(*monitor.get_metrics()[1].cpu_delta_mb, 5);
  { const Operation next = monitor.track("next"); }
  EXPECT_EQ(readings(), 1);
  Script::pass(0.001);
  { const Operation later = monitor.track("later"); }
  EXPECT_EQ(readings(), 2);
}

TEST_F(Tracker, SingleCallsAreBoundedTooAndNoneIsLost) {
  PerformanceMonitorOptions o = options();
  o.max_records = 3;
  PerformanceMonitor monitor(o);
  for (int i = 0; i < 10; ++i) run(monitor, "op", 1);
  const auto metrics = monitor.get_metrics();
  ASSERT_EQ(metrics.size(), 4u);
  EXPECT_TRUE(metrics[3].aggregate);
  EXPECT_EQ(metrics[3].call_count, 7u);
  EXPECT_DOUBLE_EQ(*monitor.get_operation_time("op"), 10);
  monitor.clear();
  EXPECT_TRUE(monitor.get_metrics().empty());
  EXPECT_EQ(monitor.get_total_time(), 0);
  run(monitor, "op", 1);
  EXPECT_FALSE(monitor.get_metrics()[0].aggregate);
}

TEST_F(Tracker, StatisticsHavePercentilesAndTheFullTableAVerdict) {
  PerformanceMonitor monitor(options());
  for (int i = 1; i <= 100; ++i) repeat(monitor, "forward\x1b[31m", i * 0.01);
  repeat(monitor, "load", 15);
  const auto all = monitor.get_statistics();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_NEAR(all[0].p50_seconds, 0.50, 0.005);
  EXPECT_NEAR(all[0].p95_seconds, 0.95, 0.01);
  EXPECT_NEAR(all[0].p99_seconds, 0.99, 0.01);
  EXPECT_DOUBLE_EQ(all[0].min_seconds, 0.01);
  EXPECT_DOUBLE_EQ(all[0].max_seconds, 1.0);
  monitor.print_summary(true, SummaryStyle::full);
  EXPECT_THAT(printed,
              ContainsRegex("forward.x1b\\[31m +100 +50.500 +50.500 +77.1% .* bottleneck"));
  EXPECT_THAT(printed, ContainsRegex("load +1 +15.000 +15.000 +22.9% .* consider"));
  EXPECT_THAT(printed, HasSubstr("total 65.500 s, nested operations counted once\n"));
  EXPECT_THAT(printed, Not(HasSubstr("\x1b")));
}

TEST_F(Tracker, ExportsItsColumnsAndKeys) {
  PerformanceMonitor monitor(options());
  run(monitor, "a,\"b\"", 1.5, 2, 3, 4);
  EXPECT_THAT(monitor.to_csv(), HasSubstr("\"a,\"\"b\"\"\",1.5,2,3,4,1.5,1,0\n"));
  EXPECT_THAT(monitor.to_json(),
              HasSubstr("{\"operation\":\"a,\\\"b\\\"\",\"duration_seconds\":1.5,\"self_seconds\":"
                        "1.5,\"cpu_start_mb\":0,\"cpu_end_mb\":2,\"cpu_delta_mb\":2,"
                        "\"gpu_start_mb\":0,\"gpu_end_mb\":3,\"gpu_delta_mb\":3,\"gpu_peak_mb\":4,"
                        "\"call_count\":1,\"failed\":0,\"aggregate\":false}"));
  const testing::TempDir dir;
  EXPECT_TRUE(monitor.export_csv(dir / "m.csv").ok());
  EXPECT_TRUE(monitor.export_json(dir / "m.json").ok());
  const Status refused = monitor.export_csv(dir / "none/m.csv");
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("none/m.csv"));
}

TEST_F(Tracker, DisabledItDoesNothing) {
  PerformanceMonitor monitor(false);
  { const Operation op = monitor.track("op"); }
  monitor.print_summary();
  EXPECT_TRUE(monitor.get_metrics().empty());
  EXPECT_EQ(monitor.get_total_time(), 0);
}

TEST_F(Tracker, EndsInAnyOrderAndFailsWhenTold) {
  PerformanceMonitor monitor(options());
  Operation a = monitor.track("a");
  Operation b = monitor.track("b");
  Script::pass(1);
  a.end();
  a.end();
  Script::pass(1);
  const Operation moved = std::move(b);
  Operation failed = monitor.track("failed");
  failed.fail();
  EXPECT_DOUBLE_EQ(*monitor.get_operation_time("a"), 1);
  EXPECT_EQ(monitor.get_metrics().back().failed, 1u);
}

TEST_F(Tracker, ThreadsComeAndGoAndAllIsCounted) {
  PerformanceMonitorOptions o = options();
  o.memory = make_memory_reader({.gpu = false});
  PerformanceMonitor monitor(o);
  constexpr int kRounds = 20, kThreads = 8;
  const std::size_t calls = testing::scaled(500);
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (std::size_t i = 0; i < calls; ++i) {
          const Operation outer = monitor.track("outer", true);
          const Operation inner = monitor.track("inner", true);
        }
      });
    }
    (void)monitor.get_statistics();  // while they run
    for (std::thread& thread : threads) thread.join();
  }
  const auto all = monitor.get_statistics();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].count, kRounds * kThreads * calls);
  EXPECT_EQ(all[1].count, kRounds * kThreads * calls);
}

TEST_F(Tracker, GpuPeaksOfThreadsStayApart) {
  PerformanceMonitor monitor(options());
  Operation mine = monitor.track("mine");
  memory->use(500);
  memory->use(10);
  std::thread([&] {
    const Operation theirs = monitor.track("theirs");
    memory->use(60);
  }).join();
  Script::pass(1);
  mine.end();
  const auto metrics = monitor.get_metrics();
  EXPECT_DOUBLE_EQ(*metrics[0].gpu_peak_mb, 60);
  EXPECT_DOUBLE_EQ(*metrics[1].gpu_peak_mb, 500);
}

TEST(MemoryReader, ReadsThisProcessAlsoAfterAFork) {
  monitor::ProcessMemory memory;
  const auto before = memory.resident_bytes();
  ASSERT_TRUE(before.has_value());
  EXPECT_GT(*before, 1u << 20);
  constexpr std::size_t kBlock = 64u << 20;
  const std::vector<char> block(kBlock, 1);
  const auto after = memory.resident_bytes();
  EXPECT_GT(*after, *before + kBlock / 2);
  EXPECT_EQ(block.back(), 1);
  if (testing::kSanitized) return;  // a child of a sanitized process has other books
  const pid_t child = ::fork();
  if (child == 0) {
    const std::vector<char> more(2 * kBlock, 1);  // the parent does not have it
    const bool own = *memory.resident_bytes() > *after + kBlock && more.back() == 1;
    ::_exit(own ? 0 : 1);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(MemoryReader, ReadsTheChosenGpuThroughItsDriver) {
  const testing::TempDir dir;
  std::ofstream(dir / "scenario") << "devices 2\n"
                                     "0 uuid = GPU-A\n1 uuid = GPU-B\n"
                                     "0 pci = 0000:01:00.0\n1 pci = 0000:02:00.0\n"
                                     "0 index 0\n1 index 1\n"
                                     "* name = NVIDIA Double\n* memory.total 8589934592\n"
                                     "* memory.free 1073741824\n* memory.reserved 0\n"
                                     "0 memory.used 1048576000\n1 memory.used 2097152000\n";
  const std::string library = std::string(GENSCOPE_NVML_DOUBLE_DIR) + "/580/libnvidia-ml.so.1";
  ::setenv("GENSCOPE_NVML_SCENARIO", (dir / "scenario").c_str(), 1);
  ::setenv("GENSCOPE_NVML_LIBRARY", library.c_str(), 1);
  ::setenv("GENSCOPE_SYS_ROOT", dir.path().c_str(), 1);
  {
    const auto second = make_memory_reader({.device = 1});
    ASSERT_TRUE(second->has_gpu()) << second->gpu_reason();
    EXPECT_EQ(second->gpu().used_bytes, 2'097'152'000u);
    EXPECT_FALSE(second->gpu().peak_bytes);
    PerformanceMonitor monitor({.memory = second});
    { const Operation op = monitor.track("op"); }
    EXPECT_DOUBLE_EQ(*monitor.get_metrics()[0].gpu_peak_mb, 2000);
    const auto none = make_memory_reader({.device = 7});
    EXPECT_FALSE(none->has_gpu());
    EXPECT_EQ(none->gpu_reason(), "there is no GPU 7: 2 found, counted from 0");
  }
  ::setenv("GENSCOPE_NVML_LIBRARY", (dir / "no such library").c_str(), 1);
  EXPECT_THAT(make_memory_reader()->gpu_reason(), HasSubstr("no GPU was found"));
  EXPECT_FALSE(make_memory_reader({.gpu = false})->has_gpu());
  for (const char* name :
       {"GENSCOPE_NVML_SCENARIO", "GENSCOPE_NVML_LIBRARY", "GENSCOPE_SYS_ROOT"}) {
    ::unsetenv(name);
  }
}

}  // namespace
}  // namespace genscope
