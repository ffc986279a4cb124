// Suites: a benchmark as a file that a team keeps. What to measure over which matrix, how often,
// what must hold. docs/bench-suite.md describes the file.
//
//   read_suite()  file -> Suite, or every mistake in it at once
//   plan_suite()  Suite -> cells, those left out with the reason
//   run_suite()   measures them, writes a journal, judges
//
// A run can be killed at any moment: `SuiteOptions::resume` goes on where its journal ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <genscope/bench.h>
#include <genscope/error.h>

#include "bench/http/load.h"

namespace genscope::bench {

// ---- the file

struct SuiteCount {
  std::size_t min = 1, max = 1;
};

struct SuiteRunner {
  // command: a process for each iteration. recorder: the same, and it must record its stages. http:
  // an endpoint, and the server behind it if `command` is given. callable: a function of the
  // program that calls run_suite().
  std::string kind = "command";
  std::string command;            // for the shell
  std::vector<std::string> argv;  // or: words, no shell
  std::string prepare, cleanup;   // before and after each run, not timed
  std::string cwd;                // empty: where genscope was started
  std::vector<std::pair<std::string, std::string>> env;
  std::vector<std::string> outputs;  // files that a run makes
  // Of http; see HttpOptions.
  std::string url, endpoint, method, body, ok_pointer;
  std::string ready;  // URL that answers once the server is up
  std::vector<std::pair<std::string, std::string>> headers;
  std::string cacert;        // https: a file of certificates to trust, as the suite names it
  bool insecure = false;     // https: any certificate will do
  bool warm_server = false;  // the server stays up over the units of a cell
};

struct SuiteWarmup {
  std::size_t max_iters = 3;  // 0: none
  std::optional<double> max_seconds;
  bool same_shape = true;  // a cell warms up with its own parameters
};

struct SuiteStop {
  double confidence = 0.95;
  double rel_half_width = 0.02;
  std::optional<double> budget_s;
};

struct SuiteTimeout {
  std::optional<double> cell_s, iteration_s, startup_s;
};

// How often a unit is run again, by the kind of its failure.
struct SuiteRetry {
  std::size_t infra = 1;            // it could not be started, or not be reached
  std::size_t throttled = 5;        // the machine slowed down, or another program took it
  std::size_t product_failure = 0;  // what is measured failed
};

struct SuiteAxis {
  std::string name;
  std::vector<std::string> values;
};
struct SuiteExclude {
  std::string when, why;
  int line = 0;
};
struct SuiteMatrix {
  std::vector<SuiteAxis> axes;
  std::vector<SuiteExclude> exclude;
  std::vector<Params> include;
  bool has_oom = false;  // an OOM is a finding, not a failure
  std::vector<std::string> oom_dominance;
  bool oom_remember = false;
  std::string sample = "all";    // all, pairwise, random
  std::size_t sample_count = 0;  // of random
};

struct SuitePrompts {
  std::vector<std::string> texts;
  std::vector<std::int64_t> seeds;
  std::string pairing = "prompt_seed";
  std::optional<double> min_success;  // share of the samples; lower end of its interval
};

struct SuiteMetric {
  std::string name;
  Direction direction = Direction::lower_is_better;
  double min_effect = 0.01;
  std::optional<double> abs_floor;  // in the unit of the name
  bool gate = false;
};

struct SuiteTarget {
  std::string metric = "latency_s";
  std::string stat = "median";  // median, mean, min, max, p50 ... p99
  std::optional<double> max, min;
  double weight = 1;
  std::string speedup_vs;  // a baseline: `min` is then a factor
};

struct SuiteQualityLimit {
  std::optional<double> margin, min, max;
};
struct SuiteQuality {
  std::string reference;
  std::string mode = "non_inferiority";
  std::map<std::string, SuiteQualityLimit> metrics;
  std::string command;  // of a user's own metric; see QualityOptions
};

struct SuiteCost {
  std::optional<double> usd_per_hour, usd_per_kwh;
};

struct SuiteEnvironment {
  std::vector<std::pair<std::string, std::string>> require;  // name -> pattern
  std::vector<std::string> warn;                             // "governor", "load>0.3"
  bool fail_on_violation = false;                            // else: mark
};

struct SuiteCompare {
  std::string baseline;
  double alpha = 0.05;
  std::string correction = "holm";
  std::vector<std::string> verdict{"regressed"};  // that fail the run
};

struct Suite {
  std::string name, file;
  std::string hash;  // of what it says, not of comments and blanks; prompts included
  SuiteRunner runner;
  std::string isolation = "process";  // process, server, in_process
  Order order = Order::random;        // in which the cells take turns
  SuiteCount processes{4, 12}, iterations{1, 1};
  SuiteWarmup warmup;
  SuiteStop stop;
  SuiteTimeout timeout;
  SuiteRetry retry;
  SuiteMatrix matrix;
  SuitePrompts prompts;
  std::vector<SuiteMetric> metrics;
  std::vector<SuiteTarget> targets;
  std::optional<SuiteQuality> quality;
  std::optional<LoadSpec> load;  // a unit is then a load run
  SuiteCost cost;
  SuiteEnvironment environment;
  std::optional<SuiteCompare> compare;
};

// The error has a line for each mistake: "file:line: field: what; remedy".
Result<Suite> read_suite(const std::string& path);
Result<Suite> parse_suite(std::string_view text, std::string_view file);

// What is no mistake, and may be one, in sentences: an axis that is in nothing that runs.
std::vector<std::string> suite_doubts(const Suite& suite);

// ---- its cells

struct PlannedCell {
  std::string id;  // of the parameters, in the order of their names
  Params params;
  std::string skipped;  // why it does not run; empty: it does
};
// The matrix in the order of its axes. `only`: a condition over the axes, for the cells to keep.
Result<std::vector<PlannedCell>> plan_suite(const Suite& suite, std::uint64_t seed = 1,
                                            std::string_view only = {});

// How long a run takes: from the unit times of the newest result of the same suite in `out`, for
// cells that it lacks from its mean; without one from the time-outs, which is the most it can take.
struct SuiteEstimate {
  std::optional<double> least_s, most_s;  // the fewest and the most units; absent: nobody knows
  std::string source;                     // where that comes from, in a sentence
};
SuiteEstimate estimate_suite(const Suite& suite, const std::vector<PlannedCell>& cells,
                             const std::string& out, std::optional<double> budget_s = {});

// ---- running it: SuiteOptions and what comes back are in genscope/bench.h

// An error for what keeps it from beginning: a folder that cannot be written, a journal of another
// suite. What fails while it runs is in the result. Ends early after cancel().
Result<SuiteRun> run_suite(const Suite& suite, const SuiteOptions& options = {},
                           const OnSuiteProgress& progress = {});

// Targets, comparisons, score and exit of a result, anew, by what the suite says.
// `baseline`: of Suite::compare and of speed-ups; a name that cannot be found is a reason for exit
// code 6.
void judge_suite(const Suite& suite, const SuiteOptions& options, BenchResult& result);

}  // namespace genscope::bench
