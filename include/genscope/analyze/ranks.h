// Ranks: many ranks, or many runs, as one. They are folded in one at a time, so that memory does
// not grow with their spans: some hundred bytes are kept of each.
//
//   Aggregator all;
//   for (...) all.add(rank_figures(run, analyze(run)));  // a Run of one trace at a time
//   const Aggregate sum = all.finish();
//
// A part of analyze.h, which says what holds for all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace genscope {

struct Run;
struct Analysis;

// Something all ranks leave together: an all-reduce, a barrier, ... For the clocks of ranks.
struct Meeting {
  std::int64_t end_unix_ns = 0;
  std::uint8_t operation = 0;  // which; ranks meet where they have the same in the same order
};
inline constexpr std::size_t kMaxMeetings = 256;  // kept of a rank: its first ones

// What is kept of one rank, or of one run.
struct RankFigures {
  std::string label;   // "rank 3", or the source of what has no rank: made by Aggregator
  std::string source;  // file or folder that it was read from
  std::string run;     // id of the run it is part of
  std::string name;    // session
  std::string host;
  std::string boot_id;
  std::uint32_t pid = 0, ppid = 0;
  std::optional<int> rank, world_size;
  std::optional<int> exit_code;     // of the run's command
  std::uint64_t run_processes = 1;  // that its run has traces of: they share the exit code
  std::uint64_t failed_spans = 0;   // of kinds session, request, batch and step
  bool closed = true;               // false: it was killed, or still runs
  bool running = false;             // it still runs
  bool samples_only = false;        // no spans: beside others of its run the probes, not a rank
  std::string problem;              // why it could not be read; then nothing below counts
  std::vector<std::string> notes;   // what a reader must know of it
  std::int64_t wall_ns = 0;
  std::optional<std::int64_t> begin_unix_ns;
  std::vector<std::pair<std::string, double>> stage_seconds;  // "stage/vae_decode" -> total
  std::optional<double> step_p50_seconds;                     // of the steady steps if known
  std::optional<std::uint64_t> steps;
  std::uint64_t collectives = 0;                        // places where ranks meet
  std::optional<double> collective_seconds;             // waited there; absent: none were marked
  std::optional<double> input_seconds;                  // waited for input; absent: none was marked
  std::vector<std::pair<std::string, double>> figures;  // "gpu_memory_peak_bytes" -> value
  std::vector<Meeting> meetings;
};
// Of a Run of one trace; of more, who it is and its waits are the first one's. Linear in the spans.
RankFigures rank_figures(const Run& run, const Analysis& analysis);
// Of what could not be read.
RankFigures unread_figures(std::string source, std::optional<int> rank, std::string problem);

// One figure over the ranks that have it. There is no sum: shares do not add up, and what ranks of
// one machine say of its GPUs, or of frames that they make together, is said by each of them.
struct AcrossRanks {
  std::string name;
  std::uint64_t ranks = 0;  // that have it
  double min = 0, median = 0, max = 0, mean = 0;
  double skew = 0;    // max / median; 0 if that is 0
  bool exact = true;  // false: more than kExactRanks, the median is a histogram's, within 0.8 %
  std::string min_rank, max_rank;
};
inline constexpr std::size_t kExactRanks = 4096;

struct Straggler {
  // A rank that waits less than this times the median wait is a culprit, if it is also shorter by
  // more than kRealShare of the wall time.
  static constexpr double kCulpritRatio = 0.5;
  // Longer than this times the median: a slow rank, or one that waits for input.
  static constexpr double kSlowRatio = 1.25;
  static constexpr double kRealShare = 0.02;

  std::string rank;
  std::string role;  // "culprit": it waits least where ranks meet; "victim": it waits most;
                     // "slow": its steps are longest (no collectives were marked);
                     // "input": it waits for input more than 1.25 x the median rank
  double value = 0, median = 0;  // seconds
  std::string why;               // a sentence
};

// How far a rank's Unix clock is ahead of that of `Aggregate::clock_reference`.
struct ClockOffset {
  std::string rank;
  double offset_seconds = 0;
  std::optional<double> error_seconds;  // +- 95 %; absent: not known
  std::uint64_t meetings = 0;           // that it was told from
  std::string method;                   // "same boot", "collectives", "unix clocks" (taken as 0)
};

struct Aggregate {
  std::uint64_t ranks = 0, runs = 0;  // read; ranks or processes
  std::optional<int> world_size;      // the greatest that a rank says
  std::vector<int> missing;           // ranks below it of which nothing was found, the first 1,000
  std::uint64_t missing_count = 0;
  std::vector<std::string> failed;     // "rank 3: exit code 1"
  std::vector<std::string> unread;     // "rank_7/report.json: ..."
  std::vector<std::string> duplicate;  // two with the same rank at the same time
  std::vector<std::string> notes;      // what else a reader must know
  std::vector<AcrossRanks> stages;     // by median, longest first; at most 1,000
  std::vector<AcrossRanks> figures;    // wall, steps, memory, power, energy ...
  std::vector<Straggler> stragglers;   // at most 32 of a role
  // Ranks that ran at the same time as another one of their job: only these are compared.
  std::uint64_t compared = 0;
  std::string clock_reference;
  std::vector<ClockOffset> clocks;  // of the others, in the order of `rows`; as many
  std::vector<RankFigures> rows;    // one per rank without its stages, by rank; the first 4,096
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
