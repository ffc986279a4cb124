// bench_probe: CPU of the sampler's thread at 10 Hz fast + 1 Hz normal, as a share of one core, and
// of psutil doing the same in the same seconds. Paced runs only: a tight loop has warm caches and
// flatters both by a factor of four.
#include <dirent.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <genscope/probe.h>

#include "harness/measure.h"
#include "harness/table.h"
#include "psutil.h"
#include "tree.h"

namespace {

using namespace bench;

struct Case {
  const char* name;
  int processes;
  std::vector<const char*> probes;
  double bar_percent;  // 0: no promise
};

void sleep_seconds(double seconds) { ::usleep(static_cast<useconds_t>(seconds * 1e6)); }

// Share of a core, over `seconds` after a second of warming up.
double sampler_share(const Case& c, pid_t root, double seconds, genscope::SamplerStats& stats) {
  genscope::SamplerOptions options;
  options.budget_ratio = 1;  // the governor would hide what we measure
  genscope::Sampler sampler(options);
  genscope::ProbeOptions watch;
  watch.pid = root;
  for (const char* const name : c.probes) sampler.add(genscope::make_probe(name, watch).value());
  if (!sampler.start().ok()) return -1;
  sleep_seconds(1.05);
  const std::uint64_t from_ns = clock_ns(CLOCK_MONOTONIC);
  const std::int64_t from_cpu = sampler.stats().cpu_ns;
  sleep_seconds(seconds);
  stats = sampler.stats();
  const double wall = static_cast<double>(clock_ns(CLOCK_MONOTONIC) - from_ns);
  return static_cast<double>(stats.cpu_ns - from_cpu) / wall;
}

void paced_rows(const Case& c, const std::string& python, double seconds, Table& table) {
  const SleepingTree tree(c.processes);
  std::unique_ptr<Psutil> rival;
  if (!python.empty()) rival = std::make_unique<Psutil>(python, tree.pid(), seconds);
  genscope::SamplerStats stats;
  const double ours = 100 * sampler_share(c, tree.pid(), seconds, stats);
  char bar[32] = "";
  if (c.bar_percent > 0) std::snprintf(bar, sizeof bar, "< %.1f %%", c.bar_percent);
  table.add({c.name, ours, "% of a core", "", 0, bar, ours >= 0 && ours < c.bar_percent,
             std::to_string(stats.missed_ticks) + " ticks missed"});
  if (rival == nullptr) return;
  const double theirs = 100 * rival->finish();
  if (theirs < 0) {
    std::printf("%s: psutil failed\n", c.name);
    return;
  }
  const bool same_work = c.probes.size() == 1;
  table.add({std::string(c.name) + ", psutil", theirs, "% of a core", same_work ? c.name : "",
             theirs / ours, same_work ? ">= 5 x" : "", theirs >= 5 * ours, ""});
}

// A Board that forgets.
class Nowhere final : public genscope::Board {
 public:
  std::uint32_t add_entity(const genscope::Entity&) override { return 0; }
  std::uint32_t add_series(std::uint32_t, const genscope::Metric&, genscope::Tier,
                           std::string_view) override {
    return 0;
  }
  void set(std::uint32_t, double) noexcept override {}
  void set(std::uint32_t, genscope::SampleStatus, const char*) noexcept override {}
  void set_all(std::uint32_t, genscope::SampleStatus, const char*) noexcept override {}
  void event(std::uint32_t, std::string_view, std::string_view) noexcept override {}
  void set_processes(std::uint32_t, std::span<const genscope::ProcessRow>) noexcept override {}
};

int open_files() {
  int count = 0;
  DIR* const folder = ::opendir("/proc/self/fd");
  while (folder != nullptr && ::readdir(folder) != nullptr) ++count;
  if (folder != nullptr) ::closedir(folder);
  return count;
}

double rss_kib() {
  std::ifstream in("/proc/self/statm");
  double size = 0, resident = 0;
  in >> size >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1024;
}

// An hour of ticks as fast as they go: what piles up would show.
void hour_rows(Table& table, bool quick) {
  const SleepingTree tree(5);
  genscope::ProbeOptions watch;
  watch.pid = tree.pid();
  Nowhere board;
  std::vector<std::unique_ptr<genscope::Probe>> probes;
  for (const char* const name : {"process", "system", "cgroup", "rapl"}) {
    probes.push_back(genscope::make_probe(name, watch).value());
    probes.back()->open(board);
  }
  std::int64_t now_ns = 0;
  const auto run = [&](int seconds) {
    for (int tick = 0; tick < seconds * 10; ++tick, now_ns += 100'000'000) {
      for (const auto& probe : probes) {
        probe->sample(genscope::Tier::fast, now_ns, board);
        if (tick % 10 == 0) probe->sample(genscope::Tier::normal, now_ns, board);
        if (tick % 50 == 0) probe->sample(genscope::Tier::slow, now_ns, board);
      }
    }
  };
  run(20);
  const double rss = rss_kib();
  const int files = open_files();
  run(quick ? 360 : 3600);
  const double grown = rss_kib() - rss;
  table.add({"an hour of virtual time, four probes: memory", grown, "KiB more", "", 0, "< 64",
             grown < 64, ""});
  const int opened = open_files() - files;
  table.add({"an hour of virtual time, four probes: descriptors", static_cast<double>(opened),
             "more", "", 0, "0", opened == 0, ""});
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  Table table;
  std::string python;
  if (!Psutil::find(python)) {
    std::printf("no Python with psutil here: its rows are left out\n");
    python.clear();
  }
  const std::vector<Case> cases{
      {"one process", 1, {"process"}, 0.1},
      {"tree of 50", 50, {"process"}, 0.5},
      {"tree of 500", 500, {"process"}, 0},
      {"one process, machine, cgroup, rapl", 1, {"process", "system", "cgroup", "rapl"}, 0},
  };
  for (const Case& c : cases) {
    if (std::string(c.name).find(options.only) == std::string::npos) continue;
    paced_rows(c, python, options.quick ? 3 : 20, table);
  }
  if (std::string("an hour").find(options.only) != std::string::npos) {
    hour_rows(table, options.quick);
  }
  table.finish(options.json);
  return 0;
}
