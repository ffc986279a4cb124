// bench_record: what a span costs the thread that records it, and the whole process.
// Method: docs/overhead.md.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <genscope/record.h>

#include "harness/measure.h"
#include "harness/table.h"
#include "record/bodies.h"
#include "record/callgrind.h"
#include "record/rivals.h"

namespace {

using namespace bench;

struct Case {
  const char* name;
  Body body;
  int threads;
  bool pack;
  double bar;  // producer ratio
};

genscope::SessionOptions options_for(const std::string& dir, bool pack) {
  genscope::SessionOptions o;
  o.out = dir;
  o.pack = pack;
  return o;
}

Row ratio_row(const std::string& name, const Cost& cost, double bar) {
  char limit[32], note[64];
  std::snprintf(limit, sizeof limit, "<= %.2f x", bar);
  std::snprintf(note, sizeof note, "[%.2f .. %.2f]", cost.ratio_low, cost.ratio_high);
  return {name,
          cost.thread_ns,
          "ns cpu",
          "tsc pair",
          cost.thread_ratio,
          bar > 0 ? limit : "",
          cost.thread_ratio <= bar,
          note};
}

void check_nothing_lost(const char* name) {
  if (const auto lost = genscope::recorder_stats().dropped_spans; lost != 0) {
    std::printf("  %s: %llu spans were lost, so the figure above is not valid\n", name,
                static_cast<unsigned long long>(lost));
  }
}

void producer_rows(const std::string& dir, const Options& options, Table& table) {
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  Load load;
  load.count = options.quick ? 100'000 : 1'000'000;
  load.repetitions = options.quick ? 3 : 15;
  table.add(ratio_row("two time-stamp reads (the yardstick)", measure(load, tsc_pair), 0));
  table.add(
      ratio_row("+ a 32-byte store, nothing else (the limit)", measure(load, tsc_and_store), 0));
  const Case cases[] = {
      {"span, static name, 1 thread", static_span, 1, true, 1.25},
      {"span, static name, every core busy", static_span, cores, true, 1.35},
      {"span + 2 integer arguments", span_with_arguments, 1, true, 1.45},
      {"span, dynamic name", dynamic_span, 1, true, 1.25},
      {"span, 65,536 dynamic names", span_of_many_names, 1, true, 4},
      {"the same in no order", span_of_random_names, 1, true, 0},
      {"those names in no order only read", read_random_names, 1, true, 0},
      {"step (static name and index)", numbered_step, 1, true, 0},
      {"detached begin and end", detached_span, 1, true, 1.6},
      {"detached, dynamic name", detached_dynamic_span, 1, true, 0},
      {"counter, static name", static_counter, 1, true, 1.5},
      {"counter, name given each time", counter_by_name, 1, true, 1.5},
      {"event, name given each time", event_by_name, 1, true, 1.5},
  };
  for (const Case& c : cases) {
    const genscope::Session session("bench", options_for(dir, c.pack));
    load.threads = c.threads;
    load.count = (options.quick ? 100'000u : 1'000'000u) / static_cast<unsigned>(c.threads);
    load.drain = [] { genscope::flush(); };
    table.add(ratio_row(c.name, measure(load, c.body), c.bar));
    check_nothing_lost(c.name);
  }
  load.threads = 1;
  load.count = options.quick ? 100'000 : 1'000'000;
  for (const bool pack : {false, true}) {
    const genscope::Session session("bench", options_for(dir, pack));
    const Cost cost = measure(load, static_span);
    const double bar = pack ? 2.0 : 1.8;
    Row row = ratio_row(pack ? "whole process, packed" : "whole process, raw", cost, bar);
    row.ratio = cost.process_ratio;
    row.value = cost.process_ratio * cost.thread_ns / cost.thread_ratio;
    row.kept = cost.process_ratio <= bar;
    row.note.clear();
    table.add(row);
  }
  load.drain = [] {};
  {
    genscope::SessionOptions o = options_for(dir, true);
    o.clock = genscope::ClockChoice::os;
    const genscope::Session session("bench", o);
    load.drain = [] { genscope::flush(); };
    table.add(ratio_row("span on the OS clock (fallback)", measure(load, static_span), 0));
    load.drain = [] {};
  }
  {
    genscope::set_enabled(false);
    const genscope::Session session("bench", options_for(dir, true));
    const Cost empty = measure(load, empty_loop);
    Cost off = measure(load, static_span);
    const double yard = off.thread_ns / off.thread_ratio;
    off.thread_ns = std::max(0.0, off.thread_ns - empty.thread_ns);
    off.thread_ratio = off.thread_ns / yard;
    Row row = ratio_row("disabled at run time (loop taken out)", off, 0.05);
    row.note.clear();
    table.add(row);
    genscope::set_enabled(true);
  }
}

// Latency of single spans at about 1 million a second, against a bare pair in the same run.
void latency_rows(const std::string& dir, const Options& options, Table& table) {
  const genscope::Session session("bench", options_for(dir, true));
  const std::size_t n = options.quick ? 50'000 : 1'000'000;
  pin_to_core(0);
  const double ns_per_tick = tick_ns();
  std::vector<double> p99, p999;
  for (int r = 0; r < (options.quick ? 1 : 5); ++r) {
    std::vector<double> bare = latencies(tsc_pair, n), span = latencies(static_span, n);
    p99.push_back((percentile(span, 0.99) - percentile(bare, 0.99)) * ns_per_tick);
    p999.push_back((percentile(span, 0.999) - percentile(bare, 0.999)) * ns_per_tick);
  }
  const double a = median(p99), b = median(p999);
  table.add({"p99 of a span above the bare pair", a, "ns", "", 0, "<= 15 ns", a <= 15, ""});
  table.add({"p99.9 of a span above the bare pair", b, "ns", "", 0, "<= 150 ns", b <= 150, ""});
}

void rival_rows(const Options& options, Table& table) {
  Load load;
  load.count = options.quick ? 50'000 : 500'000;
  load.repetitions = options.quick ? 3 : 7;
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  load.drain = [] { naive_clear(); };
  table.add(ratio_row("rival: chrono + mutex + vector, 1 thread", measure(load, naive_span), 0));
  load.threads = cores;
  table.add(ratio_row("rival: chrono + mutex + vector, every core", measure(load, naive_span), 0));
  load.threads = 1;
  if (lttng_available()) {
    load.drain = [] {};
    const LttngSession session;
    if (session.active()) {
      table.add(ratio_row("rival: LTTng-UST, 2 tracepoints", measure(load, lttng_span), 0));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  if (!options.rest.empty() && options.rest[0] == "--callgrind-body")
    return callgrind_body(options.rest);
  const std::string dir =
      std::filesystem::temp_directory_path() / ("genscope-bench-" + std::to_string(::getpid()));
  Table table;
  const auto wanted = [&](const char* part) {
    return options.only.empty() || std::string(part).find(options.only) != std::string::npos;
  };
  if (wanted("producer")) producer_rows(dir, options, table);
  if (wanted("latency")) latency_rows(dir, options, table);
  if (wanted("instructions")) instruction_rows(argv[0], table);
  if (wanted("rivals")) rival_rows(options, table);
  std::filesystem::remove_all(dir);
  table.finish(options.json);
  return 0;
}
