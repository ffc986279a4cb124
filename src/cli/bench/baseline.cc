// genscope bench baseline set|list|show|rm
#include <fmt/format.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/terminal.h"
#include "bench/history/folder.h"
#include "bench/history/history_text.h"
#include "bench/output/output.h"
#include "cli/bench/printing.h"
#include "cli/bench/session.h"
#include "cli/bench/verbs.h"
#include "cli/exit_code.h"

namespace genscope::cli::bench {
namespace {

constexpr const char* kBaselineCodes =
    "Exit codes:\n"
    "  0    fine\n"
    "  2    usage, or a name that cannot be used\n"
    "  5    the environment: no space, an I/O error\n"
    "  6    there is no such result or baseline\n";

// What find_result() says, and the exit code for it.
Result<int> no_result(const Error& error) {
  fail(error);
  const bool missing = error.code == ErrorCode::not_found;
  return missing ? int{core::kNoBaseline} : int{exit_code(error.code)};
}

class BaselineSet final : public Command {
 public:
  const char* name() const override { return "set"; }
  const char* summary() const override { return "Give a result a name to compare with"; }
  void add_options(Options& options) override {
    options.add("NAME", name_, "", "Letters, digits, '.', '_' and '-', e.g. main").required();
    options.add("RESULT", result_, "", "Id, beginning of one, path, last or last~2").show_default();
    options.add("--note", note_, "TEXT", "Why, for who reads the list");
    options.footer(
        std::string("A name that exists moves to the new result. A result from elsewhere "
                    "is copied\ninto the folder of runs.\n\n"
                    "Examples:\n"
                    "  genscope bench baseline set main\n"
                    "  genscope bench baseline set v1.2 last~3 --note 'before caching'\n\n") +
        kBaselineCodes);
  }
  Result<int> run(const Globals& globals) override {
    if (const Status fine = core::check_baseline_name(name_); !fine) return fine.error();
    Result<core::BenchResult> result = core::find_result(result_);
    if (!result) return no_result(result.error());
    if (const Result<std::string> kept = base::read_file(core::result_path(result->id)); !kept) {
      if (const Status copied = core::remember(*result); !copied) return copied.error();
    }
    const std::string runs = core::runs_folder();
    const Status set =
        core::write_baseline(runs, {name_, result->id, base::realtime_ns() / 1000, note_});
    if (!set) return set.error();
    const auto folder = core::open_folder(runs);  // brings the index up to date
    if (folder) print_notes(folder->notes, globals);
    if (!globals.quiet) std::printf("%s is %s\n", name_.c_str(), result->id.c_str());
    return kFine;
  }

 private:
  std::string name_, result_ = "last", note_;
};

class BaselineList final : public Command {
 public:
  const char* name() const override { return "list"; }
  const char* summary() const override { return "List the baselines"; }
  void add_options(Options& options) override {
    options.flag("--json", json_, "Print JSON");
    options.footer(kBaselineCodes);
  }
  Result<int> run(const Globals& globals) override {
    const core::Decisions decisions = core::read_decisions(core::runs_folder());
    print_notes(decisions.problems, globals);
    const Status done = print_text(
        json_ ? core::baselines_json(decisions)
              : core::baselines_text(decisions, static_cast<std::size_t>(base::output_width()),
                                     base::use_color(globals.color)));
    if (!done) return done.error();
    return kFine;
  }

 private:
  bool json_ = false;
};

class BaselineShow final : public Command {
 public:
  const char* name() const override { return "show"; }
  const char* summary() const override { return "Show the result of a baseline"; }
  void add_options(Options& options) override {
    options.add("NAME", name_, "", "A baseline, or any other name of a result").required();
    options.flag("--json", json_, "Print JSON");
    options.footer(kBaselineCodes);
  }
  Result<int> run(const Globals& globals) override {
    const Result<core::BenchResult> result = core::find_result(name_);
    if (!result) return no_result(result.error());
    std::string text;
    if (json_) {
      text = core::to_json(*result);
    } else {
      text =
          fmt::format("{} of {}{}\n", result->id, result->started.substr(0, 16),
                      result->git_sha.empty() ? "" : ", commit " + result->git_sha.substr(0, 10));
      core::result_text(*result,
                        {.width = base::output_width(), .color = base::use_color(globals.color)},
                        [&](std::string_view piece) { text += piece; });
    }
    const Status done = print_text(text);
    if (!done) return done.error();
    return kFine;
  }

 private:
  std::string name_;
  bool json_ = false;
};

class BaselineRemove final : public Command {
 public:
  const char* name() const override { return "rm"; }
  const char* summary() const override { return "Remove the name; the result stays"; }
  void add_options(Options& options) override {
    options.add("NAME", name_, "", "A baseline").required();
    options.footer(kBaselineCodes);
  }
  Result<int> run(const Globals&) override {
    const Result<bool> was = core::remove_baseline(core::runs_folder(), name_);
    if (!was) return was.error();
    if (!*was) {
      fail({ErrorCode::not_found, fmt::format("there is no baseline '{}'; `genscope bench baseline "
                                              "list` lists them",
                                              name_)});
      return int{core::kNoBaseline};
    }
    (void)core::open_folder();  // brings the index up to date
    return kFine;
  }

 private:
  std::string name_;
};

class Baseline final : public Command {
 public:
  const char* name() const override { return "baseline"; }
  const char* summary() const override { return "Results with a name: set, list, show, rm"; }
  void add_options(Options& options) override {
    options.footer(
        "A baseline is a result that later ones are compared with:\n"
        "  genscope bench baseline set main\n"
        "  genscope bench compare main last\n");
  }
  std::vector<Command*> verbs() override { return {&set_, &list_, &show_, &remove_}; }
  Result<int> run(const Globals&) override { return kBadInput; }

 private:
  BaselineSet set_;
  BaselineList list_;
  BaselineShow show_;
  BaselineRemove remove_;
};

}  // namespace

std::unique_ptr<Command> make_baseline() { return std::make_unique<Baseline>(); }

}  // namespace genscope::cli::bench
