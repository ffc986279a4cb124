// Benchmarks: measure a thing under test again and again, in an order that is fair, and say with an
// interval whether it changed.
//
//   subject      what is measured: a command, an HTTP endpoint, a server that the suite starts, a
//                function of yours
//   sample       one iteration: what it took, by metric
//   unit         one independent measurement: a process, or a server's phase. The median of its
//                samples is one value; verdicts count units, never samples
//   cell         one point of the matrix (its parameters) with its units; both sides of an A/B are
//                in one cell, measured in turns
//   result       all of a benchmark, as the file genscope.bench/1 (docs/bench.md)
//
// Place in the flow: above everything but the command line. Judging is analyze.h's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <genscope/analyze.h>
#include <genscope/error.h>
#include <genscope/report.h>

namespace genscope::bench {

// ---- what was measured

// In the order of the axes; values as they were written.
using Params = std::vector<std::pair<std::string, std::string>>;

enum class FailureClass : std::uint8_t {
  timeout,
  crash,         // ended by a signal
  exit_nonzero,  // another exit code than 0
  oom_gpu,
  oom_host,
  nan_output,
  blank_output,
  bad_output,  // what it made cannot be read, or is not what was asked for
  http_error,
  startup_failed,  // it could not be started
  throttled,
  foreign_load,
  skipped,  // not run; `detail` says why
  cancelled,
};
std::string_view name(FailureClass kind) noexcept;  // "timeout", "exit_nonzero", ...
std::optional<FailureClass> failure_class(std::string_view name) noexcept;

struct Failure {
  FailureClass kind = FailureClass::exit_nonzero;
  std::string detail;  // for a person: the signal, the last lines of stderr, the status
};

// A stage that the subject recorded, over one iteration.
struct StagePart {
  double seconds = 0;       // its own time, less stages within it
  std::uint64_t steps = 0;  // 0: it has none
};

struct Sample {
  std::uint64_t iteration = 0;  // from 0, within its unit
  std::string prompt;           // as the suite names it; empty: none
  std::optional<std::int64_t> seed;
  std::int64_t started_ns = 0;  // CLOCK_MONOTONIC
  // By metric (see kMetrics): what was not measured is not there. "latency_s" is always there
  // unless it failed.
  std::map<std::string, double> metrics;
  std::map<std::string, StagePart> stages;
  std::vector<double> steps_s;       // of the longest loop, in order
  std::vector<std::string> flags;    // what was odd while it ran: "throttled", "foreign_load"
  std::vector<std::string> outputs;  // files it made, for quality
  std::optional<Failure> failure;
};

struct Unit {
  std::uint32_t process = 0;      // number of the unit within its slot, from 0
  std::uint32_t order_index = 0;  // place in the order in which units of the cell ran
  char slot = 'A';                // the side: 'A' is before, 'B' after
  std::int64_t started_unix_ns = 0;
  std::vector<double> warmup_s;  // latencies of the iterations that do not count
  std::vector<Sample> samples;
  std::optional<Failure> failure;  // the unit as a whole: it could not be started
};

struct MetricStats {
  std::uint64_t n_units = 0, n_samples = 0;
  double median = 0, mean = 0, min = 0, max = 0;  // of the units' medians
  std::optional<stats::Interval> ci;              // of the median
  std::optional<double> sd, cv, mad;
  std::map<std::string, double> p;   // percentiles over all samples, those that n can carry: "p50"
  std::map<std::string, double> hd;  // Harrell and Davis, of the units: "p50", "p90"
  std::optional<double> acf1, icc, n_eff, mde;
  std::uint64_t outliers_mild = 0, outliers_severe = 0;
};

struct Cell {
  std::string id;  // stable: of the parameters
  Params params;
  std::string status = "ok";       // ok, failed, skipped, cancelled
  std::optional<Failure> failure;  // the first that decided the status
  std::vector<Unit> units;
  // By slot, then by metric. One side: slot 'A' alone.
  std::map<char, std::map<std::string, MetricStats>> stats;
  std::map<std::string, std::string> absent;  // by metric: why it was not measured
};

// ---- metrics

struct Metric {
  std::string_view name;  // "latency_s"
  std::string_view unit;  // "s", "bytes", "J", ""
  Direction direction = Direction::lower_is_better;
  std::string_view words;  // "time", "peak memory": for sentences
};
// latency_s, cpu_s, user_s, system_s, rss_peak_bytes, io_read_bytes, io_write_bytes, energy_j,
// vram_peak_bytes, gpu_util_ratio, ...; others are known by their last word:
// "stage.denoise.total_s", "stage.denoise.step_s", "ttft_s", "energy_j_per_image".
Metric metric(std::string_view name);
// The value under another name of the same quantity: `name` may end in another unit of the same
// kind (_ms for _s, _mb for _bytes, _pct for _ratio). Nothing if the sample does not have it.
std::optional<double> value_of(const Sample& sample, std::string_view name);
// One value for each unit of a slot that has one: the median of its good samples.
std::vector<double> unit_values(const Cell& cell, char slot, std::string_view metric);
// Every metric that any good sample of the slot has, "latency_s" first.
std::vector<std::string> metrics_of(const Cell& cell, char slot);
// For judge(): the units' values, and of latency_s what tells the work apart from the machine
// (own_s, cpu_s), where every unit that counts has it.
Measured measured(const Cell& cell, char slot, std::string_view metric);
// Of latency_s over the stages that units of both slots recorded; nothing where none did.
std::optional<Attribution> attribute_stages(const Cell& before, char before_slot, const Cell& after,
                                            char after_slot, bool paired, double confidence = 0.95);

// ---- what is measured

struct Request {
  std::uint64_t iteration = 0;
  std::uint32_t unit = 0;  // Unit::process
  bool warmup = false;
  Params params;
  std::string prompt;
  std::optional<std::int64_t> seed;
  std::optional<double> timeout_s;
};

class Subject {
 public:
  virtual ~Subject() = default;
  // A unit begins and ends: a server is started and stopped here. For commands nothing happens.
  virtual std::optional<Failure> begin(const Params& /*params*/) { return std::nullopt; }
  virtual void end() {}
  // Runs it once. Never throws; what goes wrong is the sample's failure.
  virtual Sample measure(const Request& request) = 0;
  // Whether begin() starts afresh, so that each unit warms up; else only the first one does.
  virtual bool starts_afresh() const { return false; }
  // By metric: why it is not measured. Known after the first iteration.
  virtual std::map<std::string, std::string> absent() const { return {}; }
};

struct CommandOptions {
  std::string command;            // for `sh -c`, with {name} replaced by the parameter's value
  std::vector<std::string> argv;  // or: no shell; words with {name}
  bool shell = true;
  std::string shell_program = "/bin/sh";
  bool ignore_failure = false;   // another exit code than 0 is fine
  std::string prepare, cleanup;  // shell commands before and after each run, not timed
  std::string cwd;
  std::vector<std::pair<std::string, std::string>> env;
  std::optional<double> timeout_s;
  // Where a program that records puts its run (GENSCOPE_RUN_DIR), so that stages are known. Absent:
  // find out in the warm-up whether it records.
  std::optional<bool> record;
  std::string keep_runs;             // folder for those runs; empty: they are removed
  std::string show_output = "none";  // none, stderr, all
  std::vector<std::string> outputs;  // files that a run makes, with {name}: copied for quality
  std::string keep_outputs;          // folder for those copies; empty: removed with the subject
};
std::unique_ptr<Subject> command_subject(CommandOptions options);
// A function of yours; what it throws is a failure. "latency_s" is taken around the call if it does
// not say it itself.
std::unique_ptr<Subject> callable_subject(std::function<Sample(const Request&)> function);

// An endpoint that is asked over HTTP/1.1. In `url`, `body` and header values, {prompt}, {seed},
// {iteration} and {name} of a parameter are replaced, in `body` as JSON needs it.
struct HttpOptions {
  std::string url;       // "http://127.0.0.1:8000/v1/images/generations", or https
  std::string endpoint;  // a name of http_endpoints(); empty: known by the path, else "json"
  std::string method;    // empty: POST with a body, else GET
  // JSON. Empty: the endpoint's own; then each parameter is a field of it. For comfyui: a workflow
  // in API format.
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  std::optional<int> ok_status;  // absent: any of 200 to 299
  std::string ok_pointer;        // JSON pointer to what a good answer holds: "/data/0/b64_json"
  std::optional<std::string> ok_value;  // and what it is, as text; absent: anything not empty
  double timeout_s = 600;               // of a request without a limit of its own
  std::uint64_t body_limit_bytes = 64u << 20;  // of an answer
  std::size_t connections = 1024;              // at most, open at once
  std::string ca_file;    // https: certificates to trust, PEM; empty: those of the system
  bool insecure = false;  // https: any certificate will do
  std::string outputs;    // folder for images that answers hold, for quality; empty: not kept
};
std::vector<std::string_view> http_endpoints();  // openai-images, openai-chat, comfyui, json
// Metrics: latency_s, connect_s (of a new connection), ttfb_s (first byte), response_bytes;
// openai-chat adds ttft_s, tpot_s and tokens, comfyui poll_error_s. Options that cannot be used are
// a failure of begin().
std::unique_ptr<Subject> http_subject(HttpOptions options);

// A server that is started, asked over HTTP, and stopped with all it started.
struct ServerOptions {
  std::string command;  // for `sh -c`, with {name}; {port} is a free port, here and in the URLs
  std::vector<std::pair<std::string, std::string>> env;
  std::string cwd;
  std::string ready_url;  // answers 200 to 299 when ready; empty: http.url's port accepts
  double startup_timeout_s = 300;
  double stop_grace_s = 10;  // from TERM to KILL
  bool once = false;         // keep it between units of equal parameters, until destruction
  HttpOptions http;
};
// begin() starts it (the failure is startup_failed with its last lines) and adds nothing to the
// samples' time; Unit's first begin() may take startup_timeout_s.
std::unique_ptr<Subject> server_subject(ServerOptions options);

// ---- how it is measured

enum class Order : std::uint8_t { abba, latin, random, blocks };
std::string_view name(Order order) noexcept;

struct MeasureOptions {
  Order order = Order::abba;
  std::uint64_t seed = 1;                     // of every random choice
  std::size_t units_min = 4, units_max = 40;  // a side
  // In the first seconds runs are cheap: until then at least 10 units, and at most 400.
  double quick_s = 0;
  std::size_t iterations_min = 1, iterations_max = 1;  // in a unit
  std::size_t warmup_max = 3;        // iterations that do not count, at most; found by their times
  std::optional<double> budget_s;    // stop adding units after this
  std::optional<double> half_width;  // stop when the interval is this narrow, relative
  JudgeOptions judge;                // of latency_s
  std::vector<std::string> prompts;  // taken in turn; both sides of a pair have the same
  std::vector<std::int64_t> seeds;
  std::optional<double> timeout_s;  // of an iteration
};

struct Progress {
  const Cell* cell = nullptr;
  std::size_t sides = 1;
  std::size_t units_done = 0, units_expected = 0;  // of all sides
  std::optional<double> eta_s;
  std::optional<Judgement> judgement;     // of latency_s, with two sides
  std::optional<stats::Interval> median;  // of one side
};
// False stops after this unit: what was measured is kept.
using OnProgress = std::function<bool(const Progress&)>;

struct Side {
  char slot = 'A';
  Subject* subject = nullptr;
  Params params;  // of this side, on top of the cell's
};
// One side or two, in turns. Fills units and stats.
Cell measure(std::string id, const Params& params, std::span<const Side> sides,
             const MeasureOptions& options, const OnProgress& progress = {});

// Several things that are not compared, a cell each, all in slot 'A'. They run in turns (order
// abba: A B C C B A), so that a machine that drifts hits all alike. `options` are of each by
// itself: whose interval is narrow enough, whose budget is spent or who failed drops out, and the
// others go on.
struct Part {
  std::string id;
  Params params;
  Subject* subject = nullptr;
};
std::vector<Cell> measure_in_turns(std::span<const Part> parts, const MeasureOptions& options,
                                   const OnProgress& progress = {});

// Ends what measure() runs at this moment and then measure(), in all threads; what was measured is
// kept. From any thread, or a signal handler.
void cancel() noexcept;
bool cancelled() noexcept;
void forget_cancel() noexcept;

// Fills `cell.stats` from its units. measure() has done it already.
void summarize(Cell& cell, double confidence = 0.95);

// ---- the result

struct Comparison {
  std::string cell, metric;
  std::string base;  // id of the baseline's result, or "A"
  Judgement judgement;
  std::optional<Attribution> stage_attribution;  // of latency_s, where stages are known
  bool gate = false;
};

struct TargetResult {
  std::string cell, metric, stat;
  std::optional<double> limit_max, limit_min;
  std::optional<double> value;
  std::optional<stats::Interval> ci;
  std::optional<TargetScore> score;  // absent: `absent` says why
  double weight = 1;
  std::string absent;
};

struct QualityPair {
  std::string cell, prompt;
  std::optional<std::int64_t> seed;
  bool same_bytes = false;
  std::optional<double> psnr_db, ssim;  // psnr_db infinite: equal pixels
  // Of a user's own metrics: "clip" has both; "lpips", of the pair, is in `after` alone.
  std::map<std::string, double> before, after;
  std::string absent;  // why it could not be compared
};
struct QualityResult {
  std::vector<QualityPair> pairs;
  std::string verdict;  // same_bytes, same_quality, lower_quality, unclear, not_compared
  std::string reason;   // in a sentence
};

// What a metric must keep to, so that quality counts as kept. Of a pair ("ssim", "psnr_db", or a
// user's similarity or distance): min and max. Of each side ("clip"): margin.
struct QualityRule {
  std::optional<double> min, max;
  std::optional<double> margin;                       // after may be this much worse than before
  bool relative = false;                              // the margin is a share of the mean before
  Direction direction = Direction::higher_is_better;  // of `margin`
};
inline constexpr double kLeastSsim = 0.95;      // without a rule of the user's
inline constexpr double kQualityMargin = 0.01;  // relative, without a rule of the user's
struct QualityOptions {
  std::map<std::string, QualityRule> rules;
  // A user's own metric, for `sh -c`: {before} and {after} are the files, {prompt} the prompt. It
  // prints a number ("score", of the pair), or {"lpips": 0.1} (of the pair), or {"clip": {"before":
  // 0.31, "after": 0.30}}.
  std::string command;
  double command_timeout_s = 600;
  double confidence = 0.95;
};
// "ssim.min=0.95", "lpips.max=0.15", "clip.margin=0.2%", "fid.direction=lower".
Status add_quality_rule(QualityOptions& options, std::string_view text);

struct Output {
  std::string cell, prompt;
  std::optional<std::int64_t> seed;
  std::string path;
};
// Of the good samples of a slot, in the order in which they were made.
std::vector<Output> outputs_of(const Cell& cell, char slot);
// By cell, prompt and seed; of several with the same the n-th with the n-th. PNG, PGM, PPM, Y4M;
// others through ffmpeg, where that is installed. Runs `options.command` once a pair.
QualityResult compare_outputs(std::span<const Output> before, std::span<const Output> after,
                              const QualityOptions& options = {});
// Slot 'B' against slot 'A', of every cell that has both.
QualityResult compare_outputs(std::span<const Cell> cells, const QualityOptions& options = {});
// What is wrong with a file that a run made: bad_output (missing, empty, broken), blank_output,
// nan_output (a .npy of floats that are not numbers). Nothing for what is fine or of a kind that
// is not known.
std::optional<Failure> check_output(const std::string& path);
// Speed and quality in one: "faster_lower_quality", "faster_same_quality", "same_speed_...",
// "slower_..."; "..._unknown_quality" if it was not compared or is unclear. Empty if the speed is
// not known.
std::string speed_and_quality(Verdict speed, const QualityResult& quality);

struct LoadResultSummary {
  std::string cell, scenario;
  std::uint32_t unit = 0;               // of the cell: a suite may load it several times
  std::optional<double> offered_per_s;  // absent in a closed loop: it asks when it is answered
  double achieved_per_s = 0;            // answered well
  std::uint64_t requests = 0, failed = 0;
  std::map<std::string, std::uint64_t> failures;            // by class
  std::map<std::string, double> from_arrival_s, service_s;  // "p50", "p90", ...; what n can carry
  std::map<std::string, std::map<std::string, double>> metrics;  // others: "ttft_s", "tpot_s"
  std::optional<double> slo_s, slo_percentile, slo_attainment, goodput_per_s;
  std::optional<double> min_goodput_per_s;  // that is asked for
  std::optional<double> max_failed;         // share of the requests that may fail
  std::string slo_verdict;  // met, missed, not_shown (too few requests); empty: there is no SLO
  std::map<std::string, double> schedule_delay_s;  // of the generator itself: "p50", "p99", "max"
  std::string refused;  // percentiles that were asked for and cannot be had, in a sentence
  std::optional<double> peak_per_s;  // highest valid rate, of a search for it
  std::vector<std::string> notes;
};

struct EnvironmentCheck {
  std::string name, status;  // ok, warn, unfit, unknown
  std::string value, limit;
};
struct Environment {
  std::string klass;  // GPU model and count, driver branch, OS family, runtime: "class" in JSON
  std::map<std::string, std::string> fingerprint;
  std::vector<EnvironmentCheck> checks;
};

struct Exit {
  int code = 0;
  std::vector<std::string> reasons;
};

struct BenchResult {
  std::string id, suite, suite_hash, started, ended, tool_version;
  std::vector<std::string> argv;
  std::uint64_t seed = 1;
  std::string git_sha, git_branch;
  std::optional<bool> git_dirty;
  Environment environment;
  std::map<std::string, std::string> workload;  // model, steps, size, ...: what was done
  std::string workload_hash;
  std::vector<Cell> cells;
  std::vector<Comparison> comparisons;
  std::vector<TargetResult> targets;
  std::optional<QualityResult> quality;
  std::vector<LoadResultSummary> load;
  std::optional<double> score;
  std::map<std::string, double> score_parts;
  std::map<std::string, std::string> labels;  // of sides: "A" -> the command
  Exit exit;
};

// genscope.bench/1 (docs/bench-results.md). Reading is strict about types and names the field that
// is wrong. Secrets in commands, labels and messages are masked; folders of this machine are left
// out of them unless `identify`.
struct JsonOptions {
  bool identify = false;
};
std::string to_json(const BenchResult& result);
std::string to_json(const BenchResult& result, const JsonOptions& options);
Result<BenchResult> from_json(std::string_view text, std::string_view file);
Result<BenchResult> read_result(const std::string& path);
// Whole or not at all.
Status write_result(const BenchResult& result, const std::string& path);
Status write_result(const BenchResult& result, const std::string& path, const JsonOptions& options);

// ---- results as bytes: for people, for CI, for other tools. Output goes to a Sink piece by piece,
// as report.h says; names, prompts and messages are escaped as each format needs.

// For a terminal.
struct ResultTextOptions {
  int width = 100;
  bool color = false;
  bool all = false;  // every metric and every doubt, not only what matters
};
void result_text(const BenchResult& result, const ResultTextOptions& options, const Sink& sink);

// genscope.bench/1: what to_json() gives, without the whole text in memory.
void result_json(const BenchResult& result, const JsonOptions& options, const Sink& sink);
// For a pull request or the summary of a CI job: what regressed first, then what is open; what is
// unchanged is folded.
void result_markdown(const BenchResult& result, const Sink& sink);
// A row for each cell, slot and metric, units in the names of metrics; what is not known is empty.
void result_csv(const BenchResult& result, const Sink& sink);
// JUnit XML: a testcase for each gate; a regression is a failure, what is open is skipped. Targets,
// and cells that failed, are testcases too.
void result_junit(const BenchResult& result, const Sink& sink);
// One file to open in a browser, offline, without a script.
void result_html(const BenchResult& result, const Sink& sink);

// How one metric is judged, and whether it decides the exit code.
struct MetricRule {
  JudgeOptions judge;
  bool gate = false;
};
using MetricRules = std::map<std::string, MetricRule>;

// Slot 'B' against 'A' of each cell that has both, all metrics that both have; latency_s first.
// Gates are corrected for their number (Holm); every comparison with a p-value gets its q. Without
// rules latency_s is the gate; with some, those that say so. `options` are for latency_s; of
// others, without a rule, only the smallest effect and the confidence count, and their direction is
// their own.
std::vector<Comparison> compare_sides(const BenchResult& result, const JudgeOptions& options,
                                      const MetricRules& rules = {});
// Slot 'A' of `now` against slot 'A' of `base`, by cell. Reasons why they cannot be compared
// (environment class, workload) are in each judgement.
std::vector<Comparison> compare_results(const BenchResult& base, const BenchResult& now,
                                        const JudgeOptions& options, const MetricRules& rules = {});
// In sentences: environments or work that differ. Empty: the two can be compared.
std::vector<std::string> why_incomparable(const BenchResult& base, const BenchResult& now);

// What this machine is, and whether it is fit to measure: governor, load, other GPU processes.
Environment inspect_environment();

// ---- history: results are files, <runs>/bench/<id>.json; an index over them, <runs>/history.db,
// makes lists quick. It is derived: whatever happens to it, results stay (docs/bench-history.md).

// $GENSCOPE_OUT, else ./genscope-runs.
std::string runs_folder();
// Where the result of this id is kept.
std::string result_path(const std::string& id);
// A new id, which sorts by time: "20260101-120000-ab-4242".
std::string new_result_id(std::string_view verb);
// Keeps a finished result: the file first, then the index. An error that is about the index alone
// says so: the result is kept, and found again by the next who asks.
Status remember(const BenchResult& result);
// The noise of this machine, as `bench selfcheck` found it lately: of this cell (Cell::id, with the
// command or suite before it as noise_key() says), else of the machine. For JudgeOptions::noise.
std::optional<double> noise_floor_of(std::string_view environment_class, std::string_view key);
// The same thing, measured again: suite and cell, or without a suite what slot A measured.
std::string noise_key(const BenchResult& result, const Cell& cell);
// A result by its path, id, beginning of an id, the name of a baseline, "last" or "last~2".
Result<BenchResult> find_result(const std::string& name);
// JSON of hyperfine, Google Benchmark or pytest-benchmark as a result: one cell for each command
// or benchmark, samples kept. Strict; names the field that is wrong.
Result<BenchResult> import_result(std::string_view text, std::string_view file);

// ---- suites: a benchmark as a file that a team keeps (docs/bench-suite.md): what to measure over
// which matrix, how often, what must hold

struct SuiteOptions {
  std::optional<double> budget_s;      // instead of the suite's
  std::uint64_t seed = 1;              // of every random choice
  std::string out = "genscope-bench";  // a folder for the run is made in it
  std::string resume;                  // folder of a run to go on with
  std::string only;                    // a condition over the axes: the cells to keep
  std::vector<std::string> cells;      // not empty: only those with these ids
  bool strict = false;                 // open verdicts decide the exit code, too
  bool keep = true;                    // for `bench history`: remember()
  bool retry_oom = false;              // forget what ran out of memory in earlier runs
  // For a runner of kind callable.
  std::function<Sample(const Request&)> callable;
  // Absent: find_result(), inspect_environment(), CLOCK_MONOTONIC.
  std::function<Result<BenchResult>(const std::string&)> find_baseline;
  std::function<Environment()> environment;
  std::function<std::int64_t()> monotonic_ns;
};

struct SuiteProgress {
  std::string cell;
  std::size_t cells_done = 0, cells = 0;  // that run; done: no unit will follow
  std::size_t units_done = 0;
  std::size_t open = 0;  // cells whose interval is too wide, or too few units yet
  std::optional<double> eta_s;
};
// False stops after this unit, as an interrupt does.
using OnSuiteProgress = std::function<bool(const SuiteProgress&)>;

struct SuiteRun {
  BenchResult result;
  std::string folder;  // with journal.jsonl and, at the end, result.json
  // `resume` goes on; there is no result.json, and cells have units but no statistics.
  bool interrupted = false;
  std::size_t resumed_units = 0;   // that were measured before
  std::vector<std::string> notes;  // in sentences
};
// Reads the suite at `path` and measures its cells in turns, with a journal: a run can be killed at
// any moment, and SuiteOptions::resume goes on where its journal ends. An error for what keeps it
// from beginning: every mistake in the file at once ("file:line: field: what; remedy"), a folder
// that cannot be written, a journal of another suite. What fails while it runs is in the result.
// Ends early after cancel().
Result<SuiteRun> run_suite(const std::string& path, const SuiteOptions& options = {},
                           const OnSuiteProgress& progress = {});

// Codes and their precedence: 2 > 7 > 5 > 6 > 4 > 1 > 3 > 0.
enum ExitCode : int {
  kPass = 0,
  kVerdictFailed = 1,
  kBadSuite = 2,
  kInconclusive = 3,
  kProductFailed = 4,
  kUnfit = 5,
  kNoBaseline = 6,
  kNothingMeasured = 7,
  kInterrupted = 130,
};
int worse_exit(int a, int b) noexcept;
// From cells, comparisons, targets, quality and load.
Exit decide_exit(const BenchResult& result, bool strict);

}  // namespace genscope::bench
