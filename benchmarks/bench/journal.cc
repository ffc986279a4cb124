// bench_journal: what it takes to go on with a large suite that was killed. A suite of 10,000 cells
// is measured with a function that takes no time, and stopped; then a process of its own resumes
// it, up to the first unit that it measures. The bar: under a second and under 100 MB. A third one
// goes on to the end.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include "bench/suite/suite.h"
#include "harness/child.h"
#include "harness/measure.h"
#include "harness/table.h"

namespace {

namespace gs = genscope::bench;
using genscope::Result;

gs::Suite suite_of(std::size_t cells, std::size_t units) {
  const std::string text =
      "suite: large\ndefaults:\n  runner: {kind: callable}\n  warmup: {mode: none}\n  processes: " +
      std::to_string(units) + "\nmatrix: {axes: {size: [512x512, 1024x1024], n: {from: 1, to: " +
      std::to_string(cells / 2) + "}}}\n";
  const Result<gs::Suite> suite = gs::parse_suite(text, "large.yaml");
  if (!suite) std::abort();
  return *suite;
}

gs::Sample measured(const gs::Request& request) {
  gs::Sample sample;
  const double wobble = 1 + 1e-3 * static_cast<double>(request.iteration % 7);
  sample.metrics = {{"latency_s", 1.23456789 * wobble},
                    {"cpu_s", 1.1},
                    {"user_s", 1.05},
                    {"system_s", 0.05},
                    {"rss_peak_bytes", 123456789},
                    {"own_s", 1.2345},
                    {"io_read_bytes", 4096},
                    {"io_write_bytes", 65536}};
  return sample;
}

gs::SuiteOptions options_in(const std::string& folder) {
  gs::SuiteOptions options;
  options.out = folder;
  options.callable = measured;
  options.environment = [] { return gs::Environment{"bench", {}, {}}; };
  return options;
}

void measure_resume(::bench::Table& table, const std::string& folder, std::size_t cells,
                    std::size_t units) {
  const gs::Suite suite = suite_of(cells, units);
  const std::size_t most = cells * units;
  // In a process of its own, too: what it takes must not count for the second one.
  const ::bench::Spent first = ::bench::in_child([&] {
    const auto stop = [&](const gs::SuiteProgress& told) { return told.units_done + 1 < most; };
    const Result<gs::SuiteRun> run = gs::run_suite(suite, options_in(folder), stop);
    return run && run->interrupted;
  });
  gs::SuiteOptions options = options_in(folder);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const bool kept = entry.path().filename() == "runs";  // of the one before
    if (entry.is_directory() && !kept) options.resume = entry.path().string();
  }
  if (!first.worked) std::abort();
  double seconds = 0;
  const std::string times = folder + "/seconds";
  const ::bench::Spent spent = ::bench::in_child([&] {
    const std::uint64_t began = ::bench::clock_ns(CLOCK_MONOTONIC);
    double took = 0;
    const auto stop = [&](const gs::SuiteProgress&) {
      took = static_cast<double>(::bench::clock_ns(CLOCK_MONOTONIC) - began) * 1e-9;
      return false;
    };
    const Result<gs::SuiteRun> again = gs::run_suite(suite, options, stop);
    std::FILE* const file = std::fopen(times.c_str(), "w");
    if (file != nullptr) std::fprintf(file, "%.9f", took);
    if (file != nullptr) std::fclose(file);
    return again.ok() && again->resumed_units + 1 == most;
  });
  if (std::FILE* const file = std::fopen(times.c_str(), "r")) {
    if (std::fscanf(file, "%lf", &seconds) != 1) seconds = 0;
    std::fclose(file);
  }
  const std::string name = std::to_string(cells) + " cells, " + std::to_string(units) + " units";
  const double bytes =
      static_cast<double>(std::filesystem::file_size(options.resume + "/journal.jsonl"));
  const auto add = [&](const char* what, double value, const char* unit, const char* bar,
                       bool kept) {
    ::bench::Row row;
    row.name = name + ": " + what;
    row.value = value;
    row.unit = unit;
    row.bar = bar;
    row.kept = spent.worked && kept;
    table.add(row);
  };
  // To the end: statistics, result.json, the history's file and index.
  const ::bench::Spent end = ::bench::in_child([&] {
    const Result<gs::SuiteRun> whole = gs::run_suite(suite, options);
    return whole.ok() && !whole->interrupted && whole->notes.empty();
  });
  const double result_bytes =
      end.worked ? static_cast<double>(std::filesystem::file_size(options.resume + "/result.json"))
                 : 0;
  std::filesystem::remove_all(options.resume);
  add("journal", bytes / 1e6, "MB", "", true);
  add("resume", seconds, "s", "< 1 s", seconds > 0 && seconds < 1);
  add("peak memory", spent.peak_bytes / 1e6, "MB", "< 100 MB", spent.peak_bytes < 100e6);
  add("result.json", result_bytes / 1e6, "MB", "", end.worked);
  add("peak memory to the end", end.peak_bytes / 1e6, "MB", "", end.worked);
}

}  // namespace

int main(int argc, char** argv) {
  const ::bench::Options options = ::bench::parse(argc, argv);
  std::string folder = (std::filesystem::temp_directory_path() / "bench-journal-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 1;
  ::setenv("GENSCOPE_OUT", (folder + "/runs").c_str(), 1);
  ::bench::Table table;
  const std::size_t cells = options.quick ? 1'000 : 10'000;
  measure_resume(table, folder, cells, 1);
  measure_resume(table, folder, cells, 4);
  std::filesystem::remove_all(folder);
  return table.finish(options.json) == 0 ? 0 : 1;
}
