// Aggregation: many ranks, or many runs, as one. Ranks are folded in one at a time, so that memory
// does not grow with their spans.
//
//   Aggregator all;
//   for (...) all.add(rank_figures(trace, analysis));
//   const Aggregate sum = all.finish();
//
// Place in the flow: after analyze.h, before report.h. No I/O, no clock.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <genscope/analyze.h>
#include <genscope/trace.h>

namespace genscope {

// What is kept of one rank, or of one run.
struct RankFigures {
  std::string source;  // file or folder that it was read from
  std::string name;    // session
  std::string host;
  std::optional<int> rank, world_size;
  std::optional<int> exit_code;
  std::uint64_t failed_spans = 0;  // of kinds session, request, batch and step
  bool closed = true;              // false: it was killed, or still runs
  std::string problem;             // why it could not be read; then nothing below counts
  std::int64_t wall_ns = 0;
  std::optional<std::int64_t> begin_unix_ns;
  std::vector<std::pair<std::string, double>> stage_seconds;  // "stage/vae_decode" -> total
  std::optional<double> step_p50_seconds;
  std::optional<std::uint64_t> steps;
  std::optional<double> collective_seconds;  // waited where ranks meet; absent: none were marked
  std::optional<double> input_seconds;       // waited for input
  std::vector<std::pair<std::string, double>> figures;  // "gpu_memory_peak_bytes" -> value
};
// Of the spans of a run with one process, or of one of its processes.
RankFigures rank_figures(const Run& run, const Analysis& analysis);

// One figure over the ranks that have it.
struct AcrossRanks {
  std::string name;
  std::uint64_t ranks = 0;  // that have it
  double min = 0, median = 0, max = 0, mean = 0;
  double skew = 0;  // max / median; 0 if that is 0
  std::string min_rank, max_rank;
};

struct Straggler {
  std::string rank;
  std::string role;  // "culprit": it waits least where ranks meet; "victim": it waits most;
                     // "slow": its steps are longest (no collectives were marked);
                     // "input": it waits for input more than 1.25 x the median rank
  double value = 0, median = 0;  // seconds
  std::string why;               // a sentence
};

// A rank's clock against the first one's, from the moments at which they meet.
struct ClockOffset {
  std::string rank;
  double offset_seconds = 0, error_seconds = 0;  // +- 95 %
  std::string method;                            // "same boot", "collectives", "unix clocks"
};

struct Aggregate {
  std::uint64_t ranks = 0, runs = 0;
  std::optional<int> world_size;
  std::vector<int> missing;            // ranks below world_size of which nothing was found
  std::vector<std::string> failed;     // "rank 3: exit code 1"
  std::vector<std::string> unread;     // "rank_7/report.json: ..."
  std::vector<std::string> duplicate;  // two with the same rank
  std::vector<AcrossRanks> stages;     // by median, longest first
  std::vector<AcrossRanks> figures;    // wall, steps, memory, power, energy ...
  std::vector<Straggler> stragglers;
  std::vector<ClockOffset> clocks;
  std::vector<RankFigures> rows;  // one per rank without its stages, in order; at most 4,096
};

class Aggregator {
 public:
  Aggregator();
  ~Aggregator();
  void add(RankFigures rank);
  Aggregate finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace genscope
