// bench_aggregate: 10, 100 and 1,000 ranks of 10,000 spans each, as `genscope aggregate` reads
// them.
//
// Each measurement is a child of its own, so that its peak memory is its alone; time is CPU time,
// on one core, because the machine is shared. The folder of n ranks is one run of n trace files.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <string>

#include <genscope/analyze.h>
#include <genscope/report.h>
#include <genscope/store.h>

#include "harness/child.h"
#include "harness/measure.h"
#include "harness/table.h"

namespace {

using namespace bench;
namespace fs = std::filesystem;

class RankWriter {
 public:
  RankWriter(int rank, std::size_t spans) : random_(static_cast<unsigned>(rank)) {
    trace_.process.pid = static_cast<std::uint32_t>(1000 + rank);
    trace_.process.boot_id = "bench-" + std::to_string(rank / 8);
    trace_.process.rank = rank;
    trace_.names = {{"train", genscope::SpanKind::session},
                    {"step", genscope::SpanKind::step},
                    {"forward", genscope::SpanKind::forward},
                    {"attention", genscope::SpanKind::task},
                    {"all_reduce", genscope::SpanKind::task}};
    trace_.tracks.push_back({"main", 1, 0, 0});
    const std::uint32_t session = add(0, genscope::kNone, 0, 0);
    while (trace_.spans.size() + 7 <= spans) step(session);
    trace_.spans.duration_ns[0] = now_;
    trace_.end_ns = now_;
  }
  const genscope::Trace& trace() const { return trace_; }

 private:
  std::uint32_t add(std::uint32_t name, std::uint32_t parent, std::int64_t begin,
                    std::int64_t length) {
    genscope::SpanColumns& s = trace_.spans;
    s.begin_ns.push_back(begin);
    s.duration_ns.push_back(length);
    s.name.push_back(name);
    s.track.push_back(0);
    s.parent.push_back(parent);
    s.flags.push_back(0);
    return static_cast<std::uint32_t>(s.size() - 1);
  }
  void step(std::uint32_t session) {
    const auto work = static_cast<std::int64_t>(60'000'000 + random_() % 20'000'000);
    constexpr std::int64_t kStep = 100'000'000;
    const std::uint32_t step = add(1, session, now_, kStep);
    const std::uint32_t forward = add(2, step, now_, work);
    for (std::int64_t i = 0; i < 4; ++i) add(3, forward, now_ + i * work / 4, work / 5);
    add(4, step, now_ + work, kStep - work);
    now_ += kStep;
  }

  genscope::Trace trace_;
  std::mt19937_64 random_;
  std::int64_t now_ = 0;
};

std::string make_ranks(const std::string& dir, int ranks) {
  const std::string folder = dir + "/run-" + std::to_string(ranks);
  fs::create_directories(folder);
  for (int i = 0; i < ranks; ++i) {
    fs::create_hard_link(dir + "/rank-" + std::to_string(i) + ".gst",
                         folder + "/trace-" + std::to_string(i) + ".gst");
  }
  return folder;
}

bool aggregate(const std::string& folder, std::uint64_t ranks) {
  const auto found = genscope::find_recordings(folder);
  if (!found.ok()) return false;
  genscope::Aggregator all;
  for (const genscope::Recording& one : found->found) {
    const auto run = genscope::read_recording(one);
    if (!run.ok()) return false;
    genscope::RankFigures figures = genscope::rank_figures(*run, genscope::analyze(*run));
    figures.run_processes = one.traces;
    all.add(std::move(figures));
  }
  const genscope::Aggregate sum = all.finish();
  std::size_t bytes = 0;
  genscope::aggregate_json(sum, [&](std::string_view piece) { bytes += piece.size(); });
  return sum.ranks == ranks && bytes > 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const std::string dir =
      fs::temp_directory_path() / ("genscope-bench-" + std::to_string(::getpid()));
  fs::create_directories(dir);
  constexpr std::size_t kSpans = 10'000;
  const int most = options.quick ? 100 : 1000;
  for (int i = 0; i < most; ++i) {
    const RankWriter rank(i, kSpans);
    const std::string path = dir + "/rank-" + std::to_string(i) + ".gst";
    if (!genscope::write_trace(rank.trace(), path).ok()) std::abort();
  }
  Table table;
  double first_each = 0;
  const int repetitions = options.quick ? 1 : 5;
  for (const int ranks : {10, 100, 1000}) {
    if (ranks > most) break;
    const std::string folder = make_ranks(dir, ranks);
    std::vector<double> times, peaks;
    for (int i = 0; i < repetitions; ++i) {
      const Spent spent =
          in_child([&] { return aggregate(folder, static_cast<std::uint64_t>(ranks)); });
      if (!spent.worked) return 1;
      times.push_back(spent.cpu_seconds);
      peaks.push_back(spent.peak_bytes / 1e6);
    }
    const double each = median(times) / ranks * 1e3;
    if (first_each == 0) first_each = each;
    const std::string name = std::to_string(ranks) + " ranks x 10,000 spans";
    // Linear: a rank of 1,000 costs no more than 1.5 times a rank of 10.
    table.add({name, each, "ms of CPU a rank", "a rank of 10", each / first_each, "ratio < 1.5",
               each < 1.5 * first_each, ""});
    table.add({name, median(times), "s of CPU", "", 0, "", true, ""});
    table.add({name, median(peaks), "MB at the peak", "", 0, "< 300", median(peaks) < 300, ""});
  }
  fs::remove_all(dir);
  return table.finish(options.json) == 0 ? 0 : 1;
}
