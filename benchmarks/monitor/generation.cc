// bench_monitor: what the generation monitor and the request monitor cost the thread that they
// watch, as a multiple of the same span recorded without them; and their memory over a million
// generations. Method: docs/overhead.md.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <genscope/monitor.h>
#include <genscope/record.h>

#include "analyze/counted_new.h"
#include "harness/measure.h"
#include "harness/table.h"

namespace {

using namespace bench;
using namespace genscope;

constexpr double kStepBar = 2.0;              // x of a recorded step
constexpr double kGrowthBar = 256;            // KiB over 500,000 generations: half a byte each
constexpr std::uint64_t kSteps = 10'000'000;  // asked for: each step projects the rest

std::unique_ptr<GenerationMonitor> g_generations;
std::unique_ptr<RequestMonitor> g_requests;

// --- what is measured

void recorded_step(std::uint64_t n) {
  while (n-- > 0) {
    const Step step(static_cast<std::int64_t>(n));
    clobber();
  }
}

// One generation: what its start and end cost has a row of its own.
void monitored_step(std::uint64_t n) {
  ScopedGeneration generation = g_generations->monitor_generation();
  while (n-- > 0) {
    const auto step = generation.step();
    clobber();
  }
  generation.end();
}

void recorded_detached_step(std::uint64_t n) {
  while (n-- > 0) {
    const Handle step = begin(step_site, {}, {{"index", n}});
    clobber();
    end(step);
  }
}

void monitored_detached_step(std::uint64_t n) {
  Generation generation = g_generations->start();
  while (n-- > 0) {
    generation.begin_step();
    clobber();
    generation.end_step();
  }
  generation.end();
}

void whole_generation(std::uint64_t n) {
  while (n-- > 0) g_generations->monitor_generation().end();
}

void whole_request(std::uint64_t n) {
  while (n-- > 0) {
    ServedRequest request = g_requests->enqueue("/generate");
    request.started();
    request.first_byte();
    request.finish();
  }
}

// --- how

GenerationMonitorOptions options_of(std::uint64_t steps) {
  GenerationMonitorOptions options;
  options.target.high_seconds = 1e9;
  options.generation = {.model_name = "Qwen-Image", .num_steps = steps};
  options.gpu_memory = false;
  return options;
}

Row ratio_row(const char* name, const Cost& cost, const Cost& base, const char* of, double bar) {
  const double ratio = cost.thread_ratio / base.thread_ratio;
  char limit[32];
  std::snprintf(limit, sizeof limit, "<= %.1f x", bar);
  return {name, cost.thread_ns, "ns cpu", of, ratio, bar > 0 ? limit : "", ratio <= bar, ""};
}

void step_rows(const std::string& dir, const Options& options, Table& table) {
  bench::Load load;
  load.count = options.quick ? 100'000 : 1'000'000;
  load.repetitions = options.quick ? 3 : 9;
  load.drain = [] { flush(); };
  SessionOptions session_options;
  session_options.out = dir;
  session_options.quiet = true;
  g_generations = std::make_unique<GenerationMonitor>(options_of(kSteps));
  {
    const Session session("bench", session_options);
    const Cost step = measure(load, recorded_step),
               detached = measure(load, recorded_detached_step);
    table.add(ratio_row("recorded step", step, step, "recorded", 0));
    table.add(ratio_row("monitored step, recorded", measure(load, monitored_step), step,
                        "recorded step", kStepBar));
    table.add(ratio_row("detached step, recorded", detached, step, "recorded step", 0));
    table.add(ratio_row("monitored detached step, recorded", measure(load, monitored_detached_step),
                        detached, "detached step", kStepBar));
    if (recorder_stats().dropped_spans > 0) std::printf("  spans were lost: figures not valid\n");
  }
  const Cost off = measure(load, monitored_step);
  table.add({"monitored step, no session", off.thread_ns, "ns cpu", "", 0, "", true, ""});
  load.count = options.quick ? 2'000 : 20'000;
  g_requests = std::make_unique<RequestMonitor>();
  const Cost generation = measure(load, whole_generation), request = measure(load, whole_request);
  table.add({"start and end of a generation", generation.thread_ns / 1000, "us cpu", "", 0, "",
             true, "memory read twice"});
  table.add({"a whole request", request.thread_ns / 1000, "us cpu", "", 0, "", true, ""});
}

void allocation_row(Table& table) {
  constexpr int kCount = 1'000'000;
  GenerationMonitor monitor(options_of(kCount));
  Generation generation = monitor.start();
  for (int i = 0; i < 2000; ++i) const auto step = generation.step();  // its history is full
  const std::size_t before = peak_bytes = held_bytes;
  for (int i = 0; i < kCount; ++i) const auto step = generation.step();
  const auto more = static_cast<double>(peak_bytes - before);
  generation.end();
  table.add({"bytes allocated by a million steps", more, "B", "", 0, "= 0", more == 0, ""});
}

double resident_kib() {
  std::ifstream statm("/proc/self/statm");
  double size = 0, resident = 0;
  statm >> size >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1024;
}

// Virtual time, so that a million generations of 20 steps take seconds.
std::int64_t g_now = 0;
std::int64_t virtual_clock() noexcept { return g_now += 1'000'000; }

void memory_rows(const Options& options, Table& table) {
  const std::uint64_t count = options.quick ? 20'000 : 1'000'000;
  GenerationMonitorOptions with = options_of(20);
  with.clock = virtual_clock;
  GenerationMonitor monitor(with);
  RequestMonitor requests({.clock = virtual_clock});
  double half = 0;
  std::size_t held = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i == count / 2) {
      half = resident_kib();
      held = held_bytes;
    }
    ServedRequest request = requests.enqueue("/generate");
    request.started();
    Generation generation = monitor.start(request.generation());
    for (int step = 0; step < 20; ++step) {
      generation.begin_step();
      generation.end_step();
    }
    request.join(i % 10 == 0 ? generation.fail("now and then") : generation.end());
    request.finish();
  }
  const double grown = resident_kib() - half;
  const double kept = static_cast<double>(held_bytes) - static_cast<double>(held);
  const std::string what = ", later half of " + std::to_string(count) + " generations";
  table.add({"resident growth" + what, grown, "KiB", "", 0, "<= 256 KiB", grown <= kGrowthBar, ""});
  table.add({"allocated growth" + what, kept / 1024, "KiB", "", 0, "<= 1 KiB", kept <= 1024, ""});
  const GenerationSummary summary = monitor.get_performance_summary();
  table.add({"generations that its history holds", static_cast<double>(summary.total_generations),
             "", "", 0, "= 100", summary.total_generations == 100, ""});
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const std::string dir = std::filesystem::temp_directory_path() /
                          ("genscope-bench-monitor-" + std::to_string(::getpid()));
  Table table;
  const auto wanted = [&](const char* part) {
    return options.only.empty() || std::string(part).find(options.only) != std::string::npos;
  };
  if (wanted("memory")) {  // first: what counts memory knows one thread only
    allocation_row(table);
    memory_rows(options, table);
  }
  if (wanted("steps")) step_rows(dir, options, table);
  std::filesystem::remove_all(dir);
  table.finish(options.json);
  return 0;
}
