// bench_import: how fast a PyTorch trace becomes a run, and in how much memory.
//
// Each measurement is a child of its own, so that its peak memory is its alone; rates are of CPU
// time, on one core, because the machine is shared.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>

#include <genscope/store.h>

#include "harness/child.h"
#include "harness/measure.h"
#include "harness/table.h"
#include "kineto_file.h"

namespace {

using namespace bench;

bool import(const std::string& path, const std::string& written) {
  const auto imported = genscope::import_chrome_trace(path);
  if (!imported.ok() || imported->summary.malformed > 0) return false;
  return written.empty() || genscope::write_trace(imported->trace, written).ok();
}

bool python(const std::string& path) {
  const std::string code = "import json,sys; json.load(open(sys.argv[1]))";
  ::execlp("python3", "python3", "-c", code.c_str(), path.c_str(), nullptr);
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const std::string dir =
      std::filesystem::temp_directory_path() / ("genscope-bench-" + std::to_string(::getpid()));
  std::filesystem::create_directories(dir);
  const std::string path = dir + "/trace.json";
  const std::string gzip = path + ".gz";
  const KinetoFile file = write_kineto(path, gzip, (options.quick ? 20 : 200) * 1'000'000ull);
  const double mb = static_cast<double>(file.bytes) / 1e6;
  std::printf("a file of %.0f MB, %llu events, made to the schema of PyTorch's profiler\n", mb,
              static_cast<unsigned long long>(file.events));

  const int repetitions = options.quick ? 1 : 5;
  const auto measure = [&](const std::function<bool()>& body, double& peak) {
    std::vector<double> rates, peaks;
    for (int i = 0; i < repetitions; ++i) {
      const Spent cost = in_child(body);
      if (!cost.worked) return 0.0;
      rates.push_back(mb / cost.cpu_seconds);
      peaks.push_back(cost.peak_bytes);
    }
    peak = median(peaks);
    return median(rates);
  };
  Table table;
  double peak = 0, ignored = 0;
  const double theirs = measure([&] { return python(path); }, ignored);
  const double python_peak = ignored;
  const double read = measure([&] { return import(path, ""); }, peak);
  const double whole = measure([&] { return import(path, dir + "/trace-1-1.gst"); }, ignored);
  const double zipped = measure([&] { return import(gzip, dir + "/trace-1-2.gst"); }, ignored);
  const auto row = [&](const char* name, double rate, const char* bar, double least) {
    table.add(
        {name, rate, "MB/s of JSON", "Python's json.load", rate / theirs, bar, rate >= least, ""});
  };
  row("Python's json.load of it", theirs, "", 0);
  row("import into memory", read, ">= 300", 300);
  row("import and write the run", whole, ">= 300", 300);
  row("the same from gzip", zipped, "", 0);
  const double each = peak / static_cast<double>(file.events);
  table.add({"peak memory of the import", each, "bytes/event", "Python's", peak / python_peak,
             "< 300", each < 300, ""});
  table.add({"peak memory of the import", peak / 1e6, "MB", "", 0, "", true, ""});
  std::filesystem::remove_all(dir);
  table.finish(options.json);
  return 0;
}
