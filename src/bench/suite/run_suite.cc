// From a suite to a result: the folder and its journal, the machine, the cells, the judgement.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/checksum.h"
#include "base/file.h"
#include "bench/result/provenance.h"
#include "bench/result/timestamp.h"
#include "bench/suite/check_environment.h"
#include "bench/suite/derived.h"
#include "bench/suite/session.h"
#include "bench/suite/subject_of.h"
#include "bench/suite/suite.h"
#include "bench/suite/suite_folder.h"

namespace genscope::bench {
namespace {

std::map<std::string, std::string> workload_of(const Suite& suite) {
  std::map<std::string, std::string> work{{"suite", suite.name}};
  std::string prompts;
  for (const std::string& prompt : suite.prompts.texts) prompts += prompt + '\n';
  if (!prompts.empty()) {
    work["prompts"] = fmt::format("{} ({:016x})", suite.prompts.texts.size(),
                                  base::checksum(prompts.data(), prompts.size()));
  }
  std::string seeds;
  for (const std::int64_t seed : suite.prompts.seeds) {
    seeds += fmt::format("{}{}", seeds.empty() ? "" : ",", seed);
  }
  if (!seeds.empty()) work["seeds"] = seeds;
  if (suite.load) {
    if (const auto load = suite_load(suite, {})) {
      work["load"] = load_words(*load, suite.load->find_peak);
    }
  }
  return work;
}

Status can_resume(const Suite& suite, const JournalHeader& header, const std::string& folder,
                  const std::string& machine) {
  if (header.suite_hash != suite.hash) {
    return Error{
        ErrorCode::invalid_argument,
        fmt::format("{}: the suite has changed since this run began; run it anew, or bring "
                    "{} back to what it was",
                    folder, suite.file)};
  }
  if (header.environment != machine) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("{}: begun on another machine ({}, this is {}); run the suite anew",
                             folder, header.environment, machine)};
  }
  return Done{};
}

class SuiteMaker {
 public:
  SuiteMaker(const Suite& suite, const SuiteOptions& options, const OnSuiteProgress& progress)
      : suite_(suite), options_(options), progress_(progress) {}

  Result<SuiteRun> run() {
    if (Status done = open_folder(); !done) return done.error();
    Result<std::vector<PlannedCell>> plan = plan_suite(suite_, options_.seed, options_.only);
    if (plan && !options_.cells.empty()) {
      std::erase_if(*plan, [&](const PlannedCell& cell) {
        return std::find(options_.cells.begin(), options_.cells.end(), cell.id) ==
               options_.cells.end();
      });
    }
    if (!plan) return plan.error();
    if (Status done = open_journal(); !done) return done.error();
    check_environment(suite_.environment, run_.result.environment);
    if (!is_unfit(run_.result.environment)) {
      if (Status done = measure(std::move(*plan)); !done) return done.error();
    }
    return finish();
  }

 private:
  Status open_folder() {
    run_.result = new_result("run", options_.seed);
    run_.result.environment = options_.environment ? options_.environment() : inspect_environment();
    if (options_.resume.empty()) {
      Result<std::string> folder = new_suite_folder(suite_, options_.out);
      if (!folder) return folder.error();
      run_.folder = std::move(*folder);
      return Done{};
    }
    run_.folder = options_.resume;
    Result<JournalHeader> header = read_journal_header(journal_path());
    if (!header) return header.error();
    const Status fits = can_resume(suite_, *header, run_.folder, run_.result.environment.klass);
    if (!fits) return fits.error();
    options_.seed = header->seed;
    options_.only = header->only;
    run_.result.id = header->id;
    run_.result.started = header->started;
    return Done{};
  }

  std::string journal_path() const { return run_.folder + "/journal.jsonl"; }

  // What an earlier session measured.
  Status replay(SuiteSession& session) {
    const auto unit = [&](JournalUnit&& one) {
      ++run_.resumed_units;
      session.replay_unit(std::move(one));
    };
    const auto outcome = [&](Cell&& cell) { session.replay_cell(std::move(cell)); };
    const auto load = [&](LoadResultSummary&& summary) { session.replay_load(std::move(summary)); };
    const JournalVisitor visitor{.unit = unit, .cell = outcome, .load = load};
    const Result<JournalRead> read = read_journal_file(journal_path(), visitor);
    if (!read) return read.error();
    if (read->damaged > 0) {
      run_.notes.push_back(
          fmt::format("{} damaged line{} of the journal left out: what they told "
                      "is measured again.",
                      read->damaged, read->damaged == 1 ? "" : "s"));
    }
    return Done{};
  }

  Status open_journal() {
    JournalHeader header;
    header.id = run_.result.id;
    header.suite = suite_.name;
    header.suite_hash = suite_.hash;
    header.started = run_.result.started;
    header.environment = run_.result.environment.klass;
    header.seed = options_.seed;
    header.only = options_.only;
    Result<Journal> journal = options_.resume.empty() ? Journal::create(journal_path(), header)
                                                      : Journal::reopen(journal_path());
    if (!journal) return journal.error();
    journal_.emplace(std::move(*journal));
    return Done{};
  }

  // Of the gates, to see which verdicts are open. That it is missing is judge_suite()'s to say.
  std::optional<BenchResult> baseline() const {
    if (!suite_.compare) return std::nullopt;
    Result<BenchResult> found = options_.find_baseline
                                    ? options_.find_baseline(suite_.compare->baseline)
                                    : find_result(suite_.compare->baseline);
    if (!found) return std::nullopt;
    return std::move(*found);
  }

  Status measure(std::vector<PlannedCell> plan) {
    std::optional<LoadSubject> load;
    Result<std::unique_ptr<Subject>> subject = std::unique_ptr<Subject>();
    if (suite_.load) {
      load.emplace(suite_);
    } else {
      subject = subject_of(suite_, options_, run_.folder);
    }
    if (!subject) return subject.error();
    std::string oom_path;
    if (suite_.matrix.oom_remember) {
      oom_path = fmt::format("{}/{}.oom.jsonl", options_.out, suite_stem(suite_));
      std::error_code ignored;
      if (options_.retry_oom) std::filesystem::remove(oom_path, ignored);
    }
    OomMemory memory(suite_, oom_path, run_.result.environment.klass);
    const std::optional<BenchResult> base = baseline();
    SuiteSession session(suite_, options_, progress_, base ? &*base : nullptr, memory);
    session.plan(kept(std::move(plan)));
    if (!options_.resume.empty()) {
      if (Status done = replay(session); !done) return done;
    }
    load ? session.measure(*load, *journal_) : session.measure(**subject, *journal_);
    run_.interrupted = session.interrupted();
    run_.result.load = session.take_loads();
    run_.result.cells = session.take_cells();
    run_.notes.insert(run_.notes.end(), session.notes().begin(), session.notes().end());
    if (!load) absent_ = (*subject)->absent();
    return Done{};
  }

  // Cells that --only left out are not part of this run.
  static std::vector<PlannedCell> kept(std::vector<PlannedCell> plan) {
    std::erase_if(plan, [](const auto& cell) { return cell.skipped.starts_with("--only"); });
    return plan;
  }

  void summarize_cells() {
    for (Cell& cell : run_.result.cells) {
      if (cell.units.empty()) continue;
      cell.absent = absent_;
      add_derived(suite_.cost, cell);
      summarize(cell, suite_.stop.confidence);
      for (const auto& [metric, stats] : cell.stats['A']) cell.absent.erase(metric);
    }
  }

  // Nothing was measured because it was not to be.
  static void refuse(BenchResult& result) {
    result.exit.code = kUnfit;
    for (const EnvironmentCheck& check : result.environment.checks) {
      if (check.status != "unfit") continue;
      result.exit.reasons.push_back(fmt::format("The machine is not fit: {} is {}, should be {}.",
                                                check.name, check.value, check.limit));
    }
  }

  SuiteRun finish() {
    BenchResult& result = run_.result;
    result.suite = suite_.name;
    result.suite_hash = suite_.hash;
    result.seed = options_.seed;
    result.workload = workload_of(suite_);
    result.workload_hash = hash_of_work(result.workload);
    result.labels["A"] = subject_label(suite_);
    for (std::string& doubt : suite_doubts(suite_)) run_.notes.push_back(std::move(doubt));
    if (suite_.runner.insecure && suite_.runner.url.starts_with("https://")) {
      run_.notes.push_back("insecure: the server's certificate was not checked.");
    }
    if (const std::optional<double> watts = idle_watts(result.cells)) {
      result.environment.checks.push_back(
          {"gpu_idle_power", "ok",
           fmt::format("{:.1f} W, subtracted from energy_j_per_image", *watts), ""});
    }
    result.ended = timestamp_now();
    if (run_.interrupted) {  // what is not judged needs no statistics: they take as much as the
                             // units
      result.exit.code = kInterrupted;
      return std::move(run_);
    }
    summarize_cells();
    if (is_unfit(result.environment)) {
      refuse(result);
    } else {
      judge_suite(suite_, options_, result);
    }
    if (Status done = write_result(result, run_.folder + "/result.json"); !done) {
      run_.notes.push_back(done.error().message + ".");
    }
    if (!options_.keep || result.exit.code == kNothingMeasured) return std::move(run_);
    if (Status done = remember(result); !done) run_.notes.push_back(done.error().message + ".");
    return std::move(run_);
  }

  const Suite& suite_;
  SuiteOptions options_;  // seed and cells of an earlier session replace what was asked for
  const OnSuiteProgress& progress_;
  SuiteRun run_;
  std::optional<Journal> journal_;
  std::map<std::string, std::string> absent_;
};

}  // namespace

Result<SuiteRun> run_suite(const Suite& suite, const SuiteOptions& options,
                           const OnSuiteProgress& progress) {
  return SuiteMaker(suite, options, progress).run();
}

Result<SuiteRun> run_suite(const std::string& path, const SuiteOptions& options,
                           const OnSuiteProgress& progress) {
  const Result<Suite> suite = read_suite(path);
  if (!suite) return suite.error();
  return run_suite(*suite, options, progress);
}

}  // namespace genscope::bench
