// Load: many requests against an HTTP endpoint, at the times that a schedule says, and what became
// of them.
//
//   closed loop  `concurrency` users who ask again when they are answered
//   open loop    requests arrive by a schedule, whether or not earlier ones are answered. Latency
//                counts from the scheduled arrival: a server that stalls shows its queue
//
// Times within a run are nanoseconds since its start, on the monotonic clock. Failed requests count
// as never answered: a percentile that would fall among them is refused.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <genscope/bench.h>
#include <genscope/error.h>

namespace genscope::bench {

enum class Arrivals : std::uint8_t { closed, poisson, gamma, constant, trace, at_once };
std::string_view name(Arrivals arrivals) noexcept;

struct Slo {
  double latency_s = 0;
  double percentile = 0.99;  // this share of all requests is to be within
};
// "20s@p99", "500ms@p95", "1.5s" (p99).
Result<Slo> parse_slo(std::string_view text);
// "250ms", "20s", "10m", "2h"; a bare number is seconds. Above 0.
Result<double> parse_seconds(std::string_view text);
// Arrival times in seconds, one a line, ascending; blank lines and # comments are passed over.
Result<std::vector<double>> parse_trace(std::string_view text, std::string_view file);

// Loads of one server that follow one another have seeds so far apart that no request comes twice:
// a cache in the server would answer it.
inline constexpr std::uint64_t kLoadSeedsApart = 1'000'000;

struct LoadOptions {
  HttpOptions http;
  Params params;
  std::vector<std::string> prompts;  // taken in turn
  std::string scenario;              // as it is called in the result; empty: "closed" or "open"
  Arrivals arrivals = Arrivals::closed;
  double rate = 0;  // requests per second of all generators, open loop
  double cv = 1;    // gamma: spread of the times between arrivals over their mean; 1 is Poisson
  std::size_t concurrency = 1;            // closed loop
  std::size_t samples_per_query = 1;      // requests that are sent together and count as one
  std::vector<double> trace_s;            // of all generators
  std::optional<double> duration_s;       // of the schedule; what is under way then is waited for
  std::optional<std::uint64_t> requests;  // of all generators, at most
  std::uint64_t warmup = 1;               // requests that do not count, before
  std::uint64_t seed = 1;                 // of arrivals; request i has the seed `seed + i`
  std::optional<Slo> slo;
  std::optional<double> min_goodput;             // answers within the SLO per second, at least
  double max_failed = 0.01;                      // share of the requests that may fail
  std::uint32_t generator = 1, generators = 1;   // this is generator 1 of 1
  std::optional<std::int64_t> start_at_unix_ns;  // absent: at once
  std::optional<std::uint64_t> give_up_over;     // stop when more than this many are over the SLO
};

// MLPerf's scenarios: single-stream, multi-stream, server, offline. Sets what the rules say and the
// user has not set; an Error for another name. '_' does for '-'.
Status apply_scenario(std::string_view name, LoadOptions& options);

// What a load is to be, as a person says it: the options of `bench load`, and the section `load` of
// a suite.
struct LoadSpec {
  std::string scenario;  // of MLPerf, or "open", "closed"; empty: open with a rate, else closed
  std::string arrivals;  // poisson, gamma, constant, trace; empty: poisson
  std::optional<double> rate, cv;
  std::vector<double> trace_s;
  std::optional<std::uint64_t> concurrency, requests, warmup;
  std::optional<double> duration_s;  // without it and `requests`: the scenario's, else 10 s
  std::optional<Slo> slo;
  std::optional<double> min_goodput;
  double max_failed = 0.01;
  std::uint64_t seed = 1;
  bool find_peak = false;
};
// What in a LoadSpec cannot be: "rate", "arrivals", "cv", "scenario", "concurrency", "slo".
struct LoadMistake {
  std::string field, what;
};
// Into options whose prompts are set. Nothing: all is well.
std::optional<LoadMistake> apply_spec(const LoadSpec& spec, LoadOptions& options);
// In words: "Poisson arrivals, 5/s, for 3 min; 99% within 500 ms".
std::string load_words(const LoadOptions& options, bool find_peak);
// What keeps options from the rules of their scenario, in sentences.
struct LoadRun;
std::vector<std::string> departures_from_rules(const LoadOptions& options, const LoadRun& run);

// One request. Times in ns since the run's start; first_byte is -1 if none came.
struct LoadRequest {
  std::int64_t scheduled_ns = 0, began_ns = 0, sent_ns = 0, first_byte_ns = -1, done_ns = 0;
  std::uint64_t index = 0;  // over all generators
  std::uint64_t query = 0;
  std::uint64_t bytes = 0;
  int status = 0;
  std::optional<FailureClass> failure;
  // Of chat, in seconds and numbers; NaN: not measured.
  float ttft_s = std::numeric_limits<float>::quiet_NaN();
  float tpot_s = std::numeric_limits<float>::quiet_NaN();
  float tokens = std::numeric_limits<float>::quiet_NaN();
  float poll_error_s = std::numeric_limits<float>::quiet_NaN();
};

struct LoadRun {
  std::string scenario, target;  // target: host, port and path; https:// before it
  Arrivals arrivals = Arrivals::closed;
  std::size_t concurrency = 1, samples_per_query = 1;
  double rate = 0;  // of this generator
  double cv = 1;    // of gamma arrivals
  std::uint64_t seed = 1;
  std::uint32_t generator = 1, generators = 1;
  std::int64_t started_unix_ns = 0;
  double window_s = 0;                  // over which requests arrived
  std::optional<double> clock_error_s;  // of this host's clock, as its NTP client bounds it
  std::vector<LoadRequest> requests;    // answered or failed; not those that were cancelled
  std::vector<std::string> examples;    // one failure of each class, in words
  bool interrupted = false, gave_up = false;
  std::size_t most_connections = 0;
  std::uint64_t cancelled = 0;
};

struct LoadProgress {
  double elapsed_s = 0;
  std::optional<double> total_s;
  std::uint64_t sent = 0, answered = 0, failed = 0;
  std::string phase;  // "warming up", "waiting to start", "running", "last answers"
};
// False stops: what was measured is kept.
using OnLoadProgress = std::function<bool(const LoadProgress&)>;

// The arrival times of this generator, in ns since the start. Empty for a closed loop.
Result<std::vector<std::int64_t>> arrival_times(const LoadOptions& options);

// Runs on the calling thread, until done, `progress` or cancel(). An Error for options that cannot
// be used. If no warm-up request gets a good answer, no other is sent: `requests` is empty and
// `examples` says why.
Result<LoadRun> run_load(const LoadOptions& options, const OnLoadProgress& progress = {});

// Figures of the pooled requests of all generators; percentiles after pooling. Percentiles that the
// number of requests cannot carry with `confidence` are left out.
LoadResultSummary summarize_load(std::span<const LoadRun> runs, const std::optional<Slo>& slo,
                                 double confidence = 0.99);
// The SLO in a sentence, or what was measured.
std::string load_sentence(const LoadResultSummary& summary);
// The run as a sample of a unit: latency_s (the median) and percentiles from the scheduled arrival
// (latency_p50_s ... latency_p99.9_s, those that the requests carry), achieved_per_s, failed_ratio;
// with an SLO goodput_per_s and slo_attainment_ratio; ttft_p50_s ..., tpot_p50_s ..., tokens_per_s
// of chat; peak_per_s of a search. A failure if not even the median was answered.
Sample load_sample(std::span<const LoadRun> runs, const LoadResultSummary& summary);

struct PeakOptions {
  double first_rate = 1;    // where doubling begins
  double precision = 0.05;  // bisection ends when the bracket is this narrow, relative
  std::size_t trials_max = 20;
  std::optional<double> budget_s;
};
struct PeakTrial {
  double rate = 0;
  bool valid = false;
  bool gave_up = false;  // ended early: too many waited too long; the summary is of the others
  LoadResultSummary summary;
};
struct Peak {
  std::optional<double> rate;     // highest that was valid; absent: none was
  std::optional<double> invalid;  // lowest that was not; absent: none was found
  std::vector<PeakTrial> trials;
  bool interrupted = false;
  std::string ended;  // why it ended, in a sentence
};
// Doubling, then bisection, of the Poisson or constant rate for which the SLO is met with
// confidence. Each trial has at least the requests that the percentile needs.
Result<Peak> find_peak(LoadOptions options, const PeakOptions& peak,
                       const std::function<bool(const PeakTrial&)>& trial = {},
                       const OnLoadProgress& progress = {});

// A load, or a search for the peak, with its figures and limits.
struct LoadOutcome {
  LoadRun run;                // of a search: only `interrupted`
  LoadResultSummary summary;  // of a search: at the peak, or of the last trial
  std::optional<Peak> peak;
  Sample sample;  // load_sample()
};
Result<LoadOutcome> measure_load(const LoadOptions& options, bool find_peak,
                                 const OnLoadProgress& progress = {},
                                 const std::function<bool(const PeakTrial&)>& trial = {});

// Raw requests, genscope.load/1: a line of settings, then a line for each request.
std::string load_to_jsonl(const LoadRun& run);
Result<LoadRun> load_from_jsonl(std::string_view text, std::string_view file);

}  // namespace genscope::bench
