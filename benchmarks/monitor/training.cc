// bench_monitor_training: what the operation tracker and the epoch monitor cost the thread that
// they watch: CPU of one track() with its memory readings, of one quiet pair of batch calls.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <genscope/compat/epoch_monitor.h>
#include <genscope/compat/performance_monitor.h>
#include <genscope/record.h>

#include "harness/measure.h"
#include "harness/table.h"

namespace {

using namespace bench;

std::unique_ptr<genscope::PerformanceMonitor> g_operations;
std::unique_ptr<genscope::EpochPerformanceMonitor> g_epochs;

void tracked(std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto op = g_operations->track("batch_forward", true);
    clobber();
  }
}
void tracked_singly(std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto op = g_operations->track("batch_forward");
    clobber();
  }
}
void memory_reading(std::uint64_t count) {
  genscope::MemoryReader& memory = *genscope::default_memory_reader();
  for (std::uint64_t i = 0; i < count; ++i) {
    memory.cpu_bytes();
    clobber();
  }
}
void quiet_pair(std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    g_epochs->on_batch_start(100 + i);
    clobber();
    g_epochs->on_batch_end(100 + i);
  }
}
void quiet_pair_with_loss(std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    g_epochs->on_batch_start(100 + i);
    clobber();
    g_epochs->on_batch_end(100 + i, 0.5);
  }
}

struct Case {
  const char* name;
  Body body;
  std::uint64_t count;
  bool record;
  double bar_ns;  // 0: no promise
  bool enabled = true;
  bool memory = true;
};

void add_row(const Case& c, const std::string& dir, const Options& options, Table& table) {
  g_operations = std::make_unique<genscope::PerformanceMonitor>(
      genscope::PerformanceMonitorOptions{.enabled = c.enabled, .read_memory = c.memory});
  g_epochs = std::make_unique<genscope::EpochPerformanceMonitor>(
      genscope::EpochMonitorOptions{.enabled = c.enabled, .print = false});
  std::unique_ptr<genscope::Session> session;
  Load load;
  load.count = options.quick ? c.count / 10 : c.count;
  load.repetitions = options.quick ? 3 : 15;
  if (c.record) {
    genscope::SessionOptions where;
    where.out = dir;
    session = std::make_unique<genscope::Session>("bench", where);
    load.drain = [] { genscope::flush(); };
  }
  g_epochs->on_epoch_start();
  const Cost cost = measure(load, c.body);
  g_epochs->on_epoch_end();
  char bar[32] = "", note[64];
  if (c.bar_ns > 0) std::snprintf(bar, sizeof bar, "<= %.0f ns", c.bar_ns);
  std::snprintf(note, sizeof note, "[%.2f .. %.2f]", cost.ratio_low, cost.ratio_high);
  table.add({c.name, cost.thread_ns, "ns cpu", "tsc pair", cost.thread_ratio, bar,
             c.bar_ns == 0 || cost.thread_ns <= c.bar_ns, note});
}

// With work between two operations, so that each takes two readings of its own and finds the caches
// cold. The median of single calls by the wall clock, which a preempted call does not move; two
// reads of the clock are in it.
void apart_row(const Options& options, Table& table) {
  genscope::PerformanceMonitor monitor;
  std::vector<double> costs;
  for (int i = 0; i < (options.quick ? 2'000 : 20'000); ++i) {
    for (int n = 0; n < 30; ++n) irregular_work();
    const std::uint64_t begin = clock_ns(CLOCK_MONOTONIC);
    {
      const auto op = monitor.track("batch_forward", true);
      clobber();
    }
    costs.push_back(static_cast<double>(clock_ns(CLOCK_MONOTONIC) - begin));
  }
  const double cost = median(costs);
  table.add({"track() with memory, apart: two readings", cost, "ns wall", "", 0, "<= 3000 ns",
             cost <= 3000, "median of single calls"});
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  Table table;
  const std::string dir = "/tmp/genscope-bench-monitor-" + std::to_string(::getpid());
  const Case cases[] = {
      {"track() with memory, one after the other", tracked, 200'000, false, 3000},
      {"track() with memory, recorded", tracked, 200'000, true, 3000},
      {"track() with memory, single calls", tracked_singly, 50'000, false, 3000},
      {"track() with memory, single calls, recorded", tracked_singly, 50'000, true, 0},
      {"one reading of the process's memory", memory_reading, 200'000, false, 0},
      {"track(), times only", tracked, 500'000, false, 0, true, false},
      {"track() of a monitor that is off", tracked, 1'000'000, false, 0, false},
      {"quiet batch pair", quiet_pair, 1'000'000, false, 150},
      {"quiet batch pair with loss", quiet_pair_with_loss, 1'000'000, false, 150},
      {"quiet batch pair with loss, recorded", quiet_pair_with_loss, 1'000'000, true, 0},
      {"batch pair of a monitor that is off", quiet_pair, 1'000'000, false, 0, false},
  };
  for (const Case& c : cases) {
    if (std::string(c.name).find(options.only) != std::string::npos) {
      add_row(c, dir, options, table);
    }
  }
  if (std::string("apart: two readings").find(options.only) != std::string::npos) {
    apart_row(options, table);
  }
  std::error_code ignored;
  std::filesystem::remove_all(dir, ignored);
  table.finish(options.json);
  return 0;
}
