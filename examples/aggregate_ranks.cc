// Many ranks as one: which of them holds the others up? Given folders, it reads the runs in them.
//   example_aggregate_ranks node0/run node1/run
// Without, it writes a job of four ranks in which the third computes longest.
#include <genscope/analyze.h>
#include <genscope/compat/inferix.h>
#include <genscope/report.h>
#include <genscope/store.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace {

constexpr std::int64_t kMs = 1'000'000;

void add_span(genscope::Trace& trace, std::uint32_t name, std::int64_t begin, std::int64_t length) {
  trace.spans.begin_ns.push_back(begin);
  trace.spans.duration_ns.push_back(length);
  trace.spans.name.push_back(name);
  trace.spans.track.push_back(0);
  trace.spans.parent.push_back(genscope::kNone);
  trace.spans.flags.push_back(0);
}

// Ten steps of 100 ms: so long a forward pass, and the rest in the all-reduce.
genscope::Trace sample_rank(int rank, std::int64_t forward_ms) {
  genscope::Trace trace;
  trace.process.pid = static_cast<std::uint32_t>(1000 + rank);
  trace.process.boot_id = "sample";
  trace.process.rank = rank;
  trace.process.world_size = 4;
  trace.names = {{"forward", genscope::SpanKind::forward},
                 {"all_reduce", genscope::SpanKind::task}};
  trace.tracks.push_back({"main", 1, 0, 0});
  for (std::int64_t i = 0; i < 10; ++i) {
    add_span(trace, 0, i * 100 * kMs, forward_ms * kMs);
    add_span(trace, 1, (i * 100 + forward_ms) * kMs, (100 - forward_ms) * kMs);
  }
  trace.end_ns = 1000 * kMs;
  return trace;
}

std::string write_sample() {
  const std::string folder =
      (std::filesystem::temp_directory_path() / "genscope-aggregate-ranks").string();
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::int64_t forward_ms[] = {60, 62, 97, 61};
  for (int rank = 0; rank < 4; ++rank) {
    const std::string path = folder + "/trace-" + std::to_string(rank) + ".gst";
    if (!genscope::write_trace(sample_rank(rank, forward_ms[rank]), path)) std::abort();
  }
  return folder;
}

// [snippet aggregate]
// One trace is in memory at a time.
genscope::Aggregate aggregate(const std::vector<std::string>& paths) {
  genscope::Aggregator all;
  for (const std::string& path : paths) {
    const auto found = genscope::find_recordings(path);
    if (!found) continue;
    for (const genscope::Recording& one : found->found) {
      if (one.kind == genscope::Recording::Kind::inferix_report) {
        const auto report = genscope::read_inferix_report(one.path);
        all.add(report ? genscope::rank_figures(*report)
                       : genscope::unread_figures(one.path, one.rank, report.error().message));
        continue;
      }
      const auto run = genscope::read_recording(one);
      all.add(run ? genscope::rank_figures(*run, genscope::analyze(*run))
                  : genscope::unread_figures(one.path, one.rank, run.error().message));
    }
  }
  return all.finish();
}
// [/snippet]

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> paths(argv + 1, argv + argc);
  const bool sample = paths.empty();
  if (sample) paths.push_back(write_sample());
  const genscope::Aggregate sum = aggregate(paths);
  genscope::aggregate_text(
      sum, {}, [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); });
  if (!sample) return sum.ranks > 0 ? 0 : 1;
  std::filesystem::remove_all(paths[0]);
  const bool found = !sum.stragglers.empty() && sum.stragglers[0].rank == "rank 2";
  return found ? 0 : 1;
}
