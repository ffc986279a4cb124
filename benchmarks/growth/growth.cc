// bench_growth: a user's run grows tenfold in one thing; what becomes of the time and the memory to
// read it and to write its reports?
//
// For each dimension two runs are written to disk, the second ten times the first. A child reads
// one, analyses it, asks the rules, and writes the first screen, the whole text, JSON, the page and
// CSV; CPU time is that of the child less what the same takes for an empty run, the least of some
// repetitions, taken in turns. The exponent is log10 of the ratio: 1 is linear. What is above 1.15
// fails, and so does the program. The note says which part grows fastest of those that take a tenth
// of the whole.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <genscope/advise.h>
#include <genscope/analyze.h>
#include <genscope/report.h>
#include <genscope/store.h>

#include "growth/runs.h"
#include "harness/child.h"
#include "harness/measure.h"
#include "harness/table.h"

namespace {

using namespace bench;
using namespace genscope;

namespace fs = std::filesystem;

constexpr double kMostExponent = 1.15;
constexpr double kLeastSeconds = 0.01;  // below, clocks and luck decide
constexpr std::array kParts = {"read", "analyze", "advise", "screen", "text",
                               "json", "html",    "csv",    "exit"};
using Parts = std::array<double, kParts.size()>;  // seconds of CPU time

struct Taken {
  Parts parts{};
  double peak_bytes = 0;
  double seconds() const {
    double sum = 0;
    for (const double part : parts) sum += part;
    return sum;
  }
};

void write_run(const Run& run, const fs::path& folder) {
  fs::create_directories(folder);
  for (std::size_t i = 0; i < run.traces.size(); ++i) {
    const fs::path file = folder / ("trace-" + std::to_string(i) + ".gst");
    if (!write_trace(run.traces[i], file.string()).ok()) std::abort();
  }
}

// What `genscope report` does, all formats one after another.
bool report(const std::string& folder, Parts& parts) {
  std::uint64_t from = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  std::size_t part = 0, bytes = 0;
  const auto done = [&] {
    const std::uint64_t now = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    parts[part++] = static_cast<double>(now - from) * 1e-9;
    from = now;
  };
  const Sink count = [&bytes](std::string_view text) { bytes += text.size(); };
  {
    const Result<Run> run = read_run(folder);
    if (!run) return false;
    done();
    const Analysis analysis = analyze(*run);
    done();
    const Advice advice = genscope::advise(facts_of(analysis));
    done();
    report_screen(*run, analysis, advice, {}, count);
    done();
    report_text(*run, analysis, advice, {}, count);
    done();
    report_json(*run, analysis, advice, count);
    done();
    report_html(*run, analysis, advice, count);
    done();
    report_csv(*run, analysis, count);
    done();
  }
  done();
  return bytes > 0;
}

Taken once(const std::string& folder, Parts* shared) {
  const Spent spent = in_child([&] { return report(folder, *shared); });
  if (!spent.worked) {
    std::fprintf(stderr, "bench_growth: the run in %s could not be reported\n", folder.c_str());
    std::exit(2);
  }
  return {*shared, spent.peak_bytes};
}

void keep_least(Taken& least, const Taken& now) {
  if (least.peak_bytes == 0) {
    least = now;
    return;
  }
  for (std::size_t i = 0; i < kParts.size(); ++i) {
    least.parts[i] = std::min(least.parts[i], now.parts[i]);
  }
  least.peak_bytes = std::min(least.peak_bytes, now.peak_bytes);
}

double exponent(double small, double large) {
  constexpr double kLeast = 1e-6;
  return std::log10(std::max(large, kLeast) / std::max(small, kLeast));
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const fs::path folder =
      fs::temp_directory_path() / ("genscope-bench-growth-" + std::to_string(::getpid()));
  void* const memory =
      ::mmap(nullptr, sizeof(Parts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  Parts* const shared = static_cast<Parts*>(memory);
  write_run(dimensions().front().make(1), folder / "empty");

  Table table;
  const int repetitions = options.quick ? 1 : 5;
  for (const Grown& one : dimensions()) {
    if (!options.only.empty() && std::string(one.what).find(options.only) == std::string::npos) {
      continue;
    }
    const std::size_t few = options.quick ? one.least / 10 : one.least, many = few * 10;
    // Made in a child: what this process takes would count for the next.
    in_child([&] { return write_run(one.make(few), folder / "few"), true; });
    in_child([&] { return write_run(one.make(many), folder / "many"), true; });
    Taken empty{}, small{}, large{};
    for (int i = 0; i < repetitions; ++i) {
      keep_least(empty, once(folder / "empty", shared));
      keep_least(small, once(folder / "few", shared));
      keep_least(large, once(folder / "many", shared));
    }
    const double base = empty.seconds();
    const double power = exponent(small.seconds() - base, large.seconds() - base);
    std::size_t worst = 0;
    double worst_power = -1;
    for (std::size_t i = 0; i < kParts.size(); ++i) {
      if (large.parts[i] < 0.1 * large.seconds()) continue;
      const double p = exponent(small.parts[i] - empty.parts[i], large.parts[i] - empty.parts[i]);
      if (p > worst_power) worst = i, worst_power = p;
    }
    char name[64], note[160];
    std::snprintf(name, sizeof name, "%s, %zu to %zu", one.what, few, many);
    std::snprintf(note, sizeof note, "%.0f ms to %.0f ms of CPU time; most in %s: %.2f",
                  (small.seconds() - base) * 1e3, (large.seconds() - base) * 1e3, kParts[worst],
                  worst_power);
    const bool told = large.seconds() - base >= kLeastSeconds;
    table.add({name, power, "exponent", "", 0, told ? "<= 1.15" : "",
               !told || power <= kMostExponent, note});
    const double of_memory =
        exponent(small.peak_bytes - empty.peak_bytes, large.peak_bytes - empty.peak_bytes);
    std::snprintf(note, sizeof note, "%.0f MB to %.0f MB at the peak", small.peak_bytes / 1e6,
                  large.peak_bytes / 1e6);
    table.add({"  memory of that", of_memory, "exponent", "", 0, "<= 1.15",
               of_memory <= kMostExponent, note});
    fs::remove_all(folder / "few");
    fs::remove_all(folder / "many");
  }
  fs::remove_all(folder);
  return table.finish(options.json) == 0 ? 0 : 1;
}
