// genscope bench load
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <optional>

#include "base/clock.h"
#include "base/file.h"
#include "base/terminal.h"
#include "bench/http/load_text.h"
#include "bench/result/provenance.h"
#include "bench/suite/fields.h"
#include "bench/suite/load_subject.h"
#include "bench/suite/subject_of.h"
#include "cli/bench/load_options.h"
#include "cli/bench/session.h"
#include "cli/bench/verbs.h"
#include "cli/exit_code.h"
#include "cli/output.h"

namespace genscope::cli::bench {
namespace {

namespace gb = genscope::bench;

constexpr const char* kLoadFooter =
    "Latency counts from the moment a request was due, so a server that stalls shows its\n"
    "queue. Percentiles are given only where there are enough requests: p99 needs 662.\n"
    "Only ask servers that you may load. docs/bench-load.md tells how it is measured.\n\n"
    "Examples:\n"
    "  genscope bench load http://127.0.0.1:8000/v1/images/generations --rate 0.5 --duration 30m "
    "--slo 20s@p99\n"
    "  genscope bench load http://127.0.0.1:8000/v1/chat/completions --concurrency 8 --set "
    "model=m\n"
    "  genscope bench load http://127.0.0.1:8188/prompt --template workflow.json --requests 100\n"
    "  genscope bench load http://127.0.0.1:8000/x --slo 500ms@p95 --find-peak\n"
    "  genscope bench load URL --rate 5 --units 5 --export junit=junit.xml\n"
    "  genscope bench load suite.yaml --json\n"
    "  genscope bench load --pool one.jsonl two.jsonl --slo 20s@p99\n\n"
    "Exit codes, the first that applies:\n"
    "  2    usage, or a suite that cannot be used\n"
    "  7    nothing was measured\n"
    "  4    more requests failed than --max-failed, or a server did not start\n"
    "  1    the SLO was missed, or goodput is below --min-goodput\n"
    "  3    too few requests to show that it was met, with --strict\n"
    "  0    fine\n"
    "  130  interrupted; what was measured is printed\n";

// One line on the terminal, rewritten.
class LiveLine {
 public:
  explicit LiveLine(bool show) : show_(show) {}
  ~LiveLine() { clear(); }
  void show(const gb::LoadProgress& now) {
    if (!show_) return;
    const std::string of = now.total_s ? fmt::format(" of {:.0f}", *now.total_s) : "";
    print(fmt::format("{}: {:.1f}{} s, {} sent, {} answered, {} under way{}", now.phase,
                      now.elapsed_s, of, now.sent, now.answered, now.sent - now.answered,
                      now.failed > 0 ? fmt::format(", {} failed", now.failed) : ""));
  }
  void say(const std::string& text) {
    if (!show_) return;
    clear();
    std::fprintf(stderr, "%s\n", text.c_str());
  }

 private:
  void print(const std::string& text) {
    const auto width = static_cast<std::size_t>(base::output_width(STDERR_FILENO));
    std::fprintf(stderr, "\r\033[K%s", text.substr(0, width - 1).c_str());
    std::fflush(stderr);
    shown_ = true;
  }
  void clear() {
    if (!shown_) return;
    std::fprintf(stderr, "\r\033[K");
    std::fflush(stderr);
    shown_ = false;
  }
  bool show_, shown_ = false;
};

// A load of one cell, for the text.
struct Loaded {
  gb::LoadOutcome outcome;
  std::string title;
};

class Load final : public Command {
 public:
  const char* name() const override { return "load"; }
  const char* summary() const override { return "Send requests to a server, judge its latency"; }

  void add_options(Options& options) override {
    add_load_options(options, words_);
    options
        .add("--units", units_, "N", "Repeat the load this often, with new arrivals: for verdicts")
        .positive()
        .show_default();
    options.add("--pool", pool_, "FILE...", "Raw requests of several generators, taken as one run");
    options.add("--raw", raw_, "FILE", "Write each request as a line of JSON");
    options.flag("--strict", strict_, "Exit with 3 if the SLO could not be shown");
    outputs_.add_options(options);
    options.footer(kLoadFooter);
  }

  Result<int> run(const Globals& globals) override {
    if (const Status checked = outputs_.check(); !checked) return checked.error();
    globals_ = &globals;
    result_ = begin_result("load", words_.spec.seed);
    const Interruptible interruptible;
    if (const Status done = pool_.empty() ? measure() : pool(); !done) return done.error();
    for (gb::Cell& cell : result_.cells) gb::summarize(cell);
    result_.workload_hash = gb::hash_of_work(result_.workload);
    if (const Status done = write_raw(); !done) return done.error();
    return outputs_.finish(result_, strict_, [&](const gb::BenchResult&) { return text(); });
  }

 private:
  Status measure() {
    if (words_.target.empty()) {
      return Error{ErrorCode::invalid_argument, "give a URL, a suite file or --pool FILE..."};
    }
    if (words_.target.find("://") == std::string::npos) return measure_suite();
    Result<gb::LoadOptions> options = load_options_of(words_);
    if (!options) return options.error();
    result_.labels["A"] = words_.target;
    result_.workload["load"] = gb::load_words(*options, words_.spec.find_peak);
    gb::Cell& cell = result_.cells.emplace_back();
    cell.params = options->params;
    cell.id = gb::cell_id(cell.params);
    const std::uint64_t first_seed = options->seed;
    for (std::uint64_t i = 0; i < units_ && !gb::cancelled(); ++i) {
      options->seed = first_seed + i * gb::kLoadSeedsApart;
      gb::Unit unit = begin_unit(cell);
      Result<gb::LoadOutcome> one = measure_one(*options);
      if (!one) return one.error();
      unit.samples.push_back(one->sample);
      keep(cell, std::move(unit), *std::move(one));
    }
    return Done{};
  }

  Result<gb::LoadOutcome> measure_one(const gb::LoadOptions& options) {
    LiveLine line(!globals_->quiet && isatty(STDERR_FILENO) == 1);
    return gb::measure_load(
        options, words_.spec.find_peak,
        [&](const gb::LoadProgress& now) {
          line.show(now);
          return true;
        },
        [&](const gb::PeakTrial& trial) {
          line.say(fmt::format("{}: {}", gb::rate_text(trial.rate),
                               trial.gave_up ? "SLO missed, ended early: too many wait too long."
                                             : gb::load_sentence(trial.summary)));
          return !gb::cancelled();
        });
  }

  // Each cell once; `bench run` does as the suite says, with a journal.
  Status measure_suite() {
    const bool names_suite = words_.target.ends_with(".yaml") || words_.target.ends_with(".yml");
    if (!names_suite && access(words_.target.c_str(), F_OK) != 0) {
      return Error{ErrorCode::invalid_argument,
                   fmt::format("{0}: neither a suite file nor a URL; did you mean http://{0}?",
                               words_.target)};
    }
    const Result<gb::Suite> suite = gb::read_suite(words_.target);
    if (!suite) return suite.error();
    const Result<std::vector<gb::PlannedCell>> cells = gb::plan_suite(*suite);
    if (!cells) return cells.error();
    const Result<gb::LoadOptions> load = gb::suite_load(*suite, {});
    if (!load) return load.error();
    result_.suite = suite->name;
    result_.suite_hash = suite->hash;
    result_.labels["A"] = gb::subject_label(*suite);
    result_.workload["load"] = gb::load_words(*load, suite->load->find_peak);
    gb::LoadSubject subject(*suite);
    for (const gb::PlannedCell& planned : *cells) {
      if (!planned.skipped.empty() || gb::cancelled()) continue;
      LiveLine line(!globals_->quiet && isatty(STDERR_FILENO) == 1);
      subject.on_progress([&](const gb::LoadProgress& now) {
        line.show(now);
        return true;
      });
      gb::Cell& cell = result_.cells.emplace_back();
      cell.id = planned.id;
      cell.params = planned.params;
      gb::Unit unit = begin_unit(cell);
      unit.failure = subject.begin(planned.params);
      if (!unit.failure) {
        gb::Request request;
        request.params = planned.params;
        unit.samples.push_back(subject.measure(request));
      }
      std::optional<gb::LoadOutcome> outcome = subject.take();
      subject.end();
      if (!outcome) {  // it did not start, or the load cannot be: say why where its figures would
                       // be
        outcome.emplace();
        const std::optional<gb::Failure>& why =
            unit.failure ? unit.failure : unit.samples.front().failure;
        if (why) outcome->summary.notes.push_back(why->detail);
      }
      keep(cell, std::move(unit), *std::move(outcome));
    }
    return Done{};
  }

  Status pool() {
    std::vector<gb::LoadRun> runs;
    for (const std::string& path : pool_) {
      const Result<std::string> text = base::read_file(path);
      if (!text) return text.error();
      Result<gb::LoadRun> run = gb::load_from_jsonl(*text, path);
      if (!run) return run.error();
      if (!runs.empty() && (run->target != runs.front().target ||
                            run->arrivals != runs.front().arrivals || run->cv != runs.front().cv ||
                            run->samples_per_query != runs.front().samples_per_query)) {
        return Error{ErrorCode::invalid_argument,
                     path + ": it asked another server, or in another way, than " + pool_.front() +
                         "; pool generators of one run"};
      }
      runs.push_back(*std::move(run));
    }
    const Result<gb::LoadOptions> options = load_options_of(words_);
    if (!options) return options.error();
    gb::LoadOutcome one;
    one.summary = gb::summarize_load(runs, options->slo);
    one.summary.max_failed = options->max_failed;
    one.summary.min_goodput_per_s = options->min_goodput;
    one.sample = gb::load_sample(runs, one.summary);
    one.run = std::move(runs.front());
    result_.labels["A"] = one.run.target;
    gb::Cell& cell = result_.cells.emplace_back();
    cell.id = gb::cell_id({});
    gb::Unit unit = begin_unit(cell);
    unit.started_unix_ns = one.run.started_unix_ns;
    unit.samples.push_back(one.sample);
    keep(cell, std::move(unit), std::move(one));
    return Done{};
  }

  static gb::Unit begin_unit(const gb::Cell& cell) {
    gb::Unit unit;
    unit.process = unit.order_index = static_cast<std::uint32_t>(cell.units.size());
    unit.started_unix_ns = base::realtime_ns();
    return unit;
  }

  // A unit that was interrupted is shown, and does not count.
  void keep(gb::Cell& cell, gb::Unit unit, gb::LoadOutcome outcome) {
    outcome.summary.cell = cell.id;
    outcome.summary.unit = unit.process;
    result_.load.push_back(outcome.summary);
    const bool alone = units_ == 1 && words_.target.find("://") != std::string::npos;
    shown_.push_back({std::move(outcome), alone || !pool_.empty() ? "" : cell.id});
    const std::optional<gb::Failure> failure =
        unit.failure || unit.samples.empty() ? unit.failure : unit.samples.front().failure;
    if (gb::cancelled()) {
      cell.status = "cancelled";
      return;
    }
    if (failure) {
      cell.status = "failed";
      cell.failure = failure;
    }
    cell.units.push_back(std::move(unit));
  }

  std::string text() const {
    const gb::LoadTextOptions options{.width = base::output_width(),
                                      .color = base::use_color(globals_->color)};
    std::string out;
    for (const Loaded& one : shown_) {
      if (!out.empty()) out += "\n";
      if (!one.title.empty()) out += one.title + ": ";
      const gb::LoadResultSummary& summary = one.outcome.summary;
      out += one.outcome.peak && summary.slo_s
                 ? gb::peak_text(*one.outcome.peak,
                                 {*summary.slo_s, summary.slo_percentile.value_or(0.99)}, options)
                 : gb::load_text(one.outcome.run, summary, options);
      if (summary.min_goodput_per_s &&
          summary.goodput_per_s.value_or(0) < *summary.min_goodput_per_s) {
        out += fmt::format("Goodput is below the {:g}/s that are asked for.\n",
                           *summary.min_goodput_per_s);
      }
    }
    return out.empty() ? "Nothing was measured.\n" : out;
  }

  Status write_raw() const {
    if (raw_.empty() || shown_.empty()) return Done{};
    if (shown_.size() > 1 || shown_.front().outcome.peak) {
      return Error{ErrorCode::invalid_argument,
                   "--raw: is for one run, not for a search or a matrix"};
    }
    return base::write_file(raw_, gb::load_to_jsonl(shown_.front().outcome.run));
  }

  LoadWords words_;
  std::vector<std::string> pool_;
  std::string raw_;
  std::uint64_t units_ = 1;
  bool strict_ = false;
  ResultOutputs outputs_;
  const Globals* globals_ = nullptr;
  gb::BenchResult result_;
  std::vector<Loaded> shown_;
};

}  // namespace

std::unique_ptr<Command> make_load() { return std::make_unique<Load>(); }

}  // namespace genscope::cli::bench
