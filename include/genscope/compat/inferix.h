// JSON reports of Inferix's profiler (profiling_report_*.json): read in our units, as a Trace, or
// as the figures of a rank.
//
// What its writer gets wrong is not taken over: energy and frames per second are left to be made
// from samples and blocks, percentages of the sum of nested stages are dropped, and samples that
// were taken outside of the session (of the one before it) are left out. docs/aggregate.md has the
// table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <genscope/analyze.h>
#include <genscope/error.h>
#include <genscope/store.h>

namespace genscope {

struct InferixReport {
  struct Stage {
    std::string name;
    double total_seconds = 0;
    std::uint64_t calls = 0;
    std::optional<double> min_seconds, max_seconds;
  };
  // All GPUs of the machine together: memory and power are sums, the others the greatest.
  struct GpuSample {
    double at_seconds = 0;  // Unix time
    std::optional<double> memory_used_bytes, busy_ratio, temperature_celsius, power_watts;
  };
  struct CpuSample {
    double at_seconds = 0;
    std::optional<double> busy_ratio, memory_used_bytes;
  };
  struct Event {
    std::string name;
    double at_seconds = 0;
    std::string data;  // JSON, as it stands
  };

  std::string path;
  std::string session;                  // its id
  std::optional<int> rank, world_size;  // from the tags; else the rank from a folder rank_N
  std::optional<double> begin_seconds, end_seconds;  // Unix time
  std::optional<double> duration_seconds;
  std::vector<std::pair<std::string, std::string>> tags;  // values as text
  std::vector<Stage> stages;
  std::vector<double> step_seconds;             // of each denoising step
  std::optional<std::uint64_t> blocks, frames;  // frames: each block's, once
  std::vector<GpuSample> gpu;                   // in the order of time
  std::vector<CpuSample> cpu;
  std::vector<Event> events;
  // Of the report's summary, for reports without samples. Names as in RankFigures::figures.
  std::vector<std::pair<std::string, double>> summary;
  std::vector<std::string> notes;  // what was left out, and why
};

// A profiling_report_*.json of Inferix. What is absent (or null, or NaN) in it is absent; what has
// another type than Inferix writes is an Error that names the field. docs/aggregate.md has the
// keys.
Result<InferixReport> read_inferix_report(const std::string& path);
// What an Aggregator (analyze.h) takes of a rank.
RankFigures rank_figures(const InferixReport& report);

// Whether the file begins as a report of Inferix's profiler does.
bool is_inferix_report(const std::string& path);
// Such a report as a Trace, only what can be converted honestly: the session is a span, samples are
// counters, events are events. Stages are totals without a time of their own: each becomes an event
// `inferix_stage` with its figures. See read_inferix_report() for what is left out.
Result<Imported> import_inferix_report(const std::string& path);

}  // namespace genscope
