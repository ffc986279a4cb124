// bench_report [FILE]: the HTML report of 100 and of 1,000 ranks, from their trace files, in a
// process of its own: its size, and memory at the peak; and the first screen of the same. FILE
// keeps the page of the most ranks. The first screen of ten million spans of one process. Then the
// CPU time of one core to write that of a run that is in memory and summed up, and the size of the
// file.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <genscope/advise.h>
#include <genscope/analyze.h>
#include <genscope/report.h>
#include <genscope/store.h>

#include "harness/child.h"
#include "harness/measure.h"
#include "harness/pipeline_run.h"
#include "harness/table.h"

namespace {

using namespace bench;

namespace fs = std::filesystem;

constexpr double kSecondsBar = 2, kBytesBar = 8e6, kMemoryBar = 300e6;
constexpr double kScreenSecondsBar = 1, kLargeSecondsBar = 1.2, kLargeMemoryBar = 400e6;
constexpr std::size_t kSpansOfARank = 2000;  // more than a page shows one by one, of 1,000 ranks

void measure_report(std::size_t spans, Table& table) {
  const genscope::Run run = pipeline_run(spans);
  const genscope::Analysis analysis = genscope::analyze(run);
  const genscope::Advice advice = genscope::advise(genscope::facts_of(analysis));
  std::vector<double> seconds;
  double bytes = 0;
  for (int i = 0; i < 5; ++i) {
    const std::uint64_t from = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    bytes = 0;
    genscope::report_html(run, analysis, advice, [&](std::string_view part) {
      bytes += static_cast<double>(part.size());
    });
    seconds.push_back(static_cast<double>(clock_ns(CLOCK_THREAD_CPUTIME_ID) - from) * 1e-9);
  }
  const std::string what = std::to_string(spans) + " spans";
  table.add(
      {"write, " + what, median(seconds), "s", "", 0, "2 s", median(seconds) <= kSecondsBar, ""});
  table.add({"report.html, " + what, bytes / 1e6, "MB", "", 0, "8 MB", bytes <= kBytesBar, ""});
}

bool write_page(const std::string& run_dir, const std::string& html) {
  const genscope::Result<genscope::Run> run = genscope::read_run(run_dir);
  if (!run) return false;
  const genscope::Analysis analysis = genscope::analyze(*run);
  const genscope::Advice advice = genscope::advise(genscope::facts_of(analysis));
  std::ofstream out(html, std::ios::binary);
  genscope::report_html(*run, analysis, advice, [&](std::string_view part) {
    out.write(part.data(), static_cast<std::streamsize>(part.size()));
  });
  return out.good();
}

// What `genscope report` does.
bool write_screen(const std::string& run_dir) {
  const genscope::Result<genscope::Run> run = genscope::read_run(run_dir);
  if (!run) return false;
  const genscope::Analysis analysis = genscope::analyze(*run);
  const genscope::Advice advice = genscope::advise(genscope::facts_of(analysis));
  std::size_t bytes = 0;
  genscope::report_screen(*run, analysis, advice, {},
                          [&](std::string_view part) { bytes += part.size(); });
  return bytes > 0;
}

void measure_screen(const std::string& dir, const std::string& what, double seconds_bar,
                    const char* bar, double memory_bar, Table& table) {
  std::vector<double> seconds;
  double peak = 0;
  for (int i = 0; i < 3; ++i) {
    const Spent spent = in_child([&] { return write_screen(dir); });
    if (!spent.worked) std::abort();
    seconds.push_back(spent.cpu_seconds);
    peak = std::max(peak, spent.peak_bytes);
  }
  table.add({"first screen, " + what, median(seconds), "s", "", 0, bar,
             median(seconds) <= seconds_bar, ""});
  if (memory_bar > 0) {
    table.add({"memory, first screen, " + what, peak / 1e6, "MB at the peak", "", 0, "400 MB",
               peak <= memory_bar, ""});
  }
}

void measure_large(std::size_t spans, Table& table) {
  const std::string dir =
      fs::temp_directory_path() / ("genscope-bench-large-" + std::to_string(::getpid()));
  fs::create_directories(dir);
  const bool recorded =
      in_child([&] {
        return genscope::write_trace(pipeline_run(spans).traces[0], dir + "/trace-1-1.gst").ok();
      }).worked;
  if (!recorded) std::abort();
  measure_screen(dir, std::to_string(spans) + " spans", kLargeSecondsBar, "1.2 s", kLargeMemoryBar,
                 table);
  fs::remove_all(dir);
}

void measure_ranks(int ranks, const std::string& keep, Table& table) {
  const std::string dir =
      fs::temp_directory_path() / ("genscope-bench-report-" + std::to_string(::getpid()));
  fs::create_directories(dir);
  const bool recorded =  // in a child too: what this one takes would count for the next
      in_child([&] {
        const genscope::Run run = ranks_run(ranks, kSpansOfARank);
        for (std::size_t i = 0; i < run.traces.size(); ++i) {
          const std::string path = dir + "/trace-" + std::to_string(i) + ".gst";
          if (!genscope::write_trace(run.traces[i], path).ok()) return false;
        }
        return true;
      }).worked;
  if (!recorded) std::abort();
  const std::string html = dir + "/report.html";
  const Spent spent = in_child([&] { return write_page(dir, html); });
  if (!spent.worked) std::abort();
  const auto bytes = static_cast<double>(fs::file_size(html));
  const std::string what = std::to_string(ranks) + " ranks x 2,000 spans";
  table.add({"report.html, " + what, bytes / 1e6, "MB", "", 0, "8 MB", bytes <= kBytesBar, ""});
  table.add({"memory, " + what, spent.peak_bytes / 1e6, "MB at the peak", "", 0, "300 MB",
             spent.peak_bytes <= kMemoryBar, ""});
  table.add({"CPU time, " + what, spent.cpu_seconds, "s", "", 0, "", true, ""});
  measure_screen(dir, what, kScreenSecondsBar, "1 s", 0, table);
  if (!keep.empty()) fs::copy_file(html, keep, fs::copy_options::overwrite_existing);
  fs::remove_all(dir);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  Table table;
  const std::string keep = options.rest.empty() ? "" : options.rest.front();
  for (const int ranks : {100, 1000}) {  // first: a child begins with the memory of its parent
    measure_ranks(options.quick ? ranks / 10 : ranks, keep, table);
  }
  measure_large(options.quick ? 1'000'000 : 10'000'000, table);
  for (const std::size_t spans : {100'000, 1'000'000}) {
    measure_report(options.quick ? spans / 10 : spans, table);
  }
  table.finish(options.json);
  return 0;
}
