// genscope aggregate
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>

#include <genscope/analyze.h>
#include <genscope/compat/inferix.h>
#include <genscope/report.h>
#include <genscope/store.h>

#include "base/terminal.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/run_word.h"

namespace genscope::cli {
namespace {

// One line on stderr that is rewritten while many ranks are read; nothing without a terminal.
class CountLine {
 public:
  CountLine(std::size_t all, bool wanted) : all_(all), wanted_(wanted && ::isatty(STDERR_FILENO)) {}
  ~CountLine() {
    if (shown_) std::fputs("\r\x1b[K", stderr);
  }
  void show(std::size_t done) {
    using namespace std::chrono_literals;
    const auto now = std::chrono::steady_clock::now();
    if (!wanted_ || now - last_ < 200ms) return;
    last_ = now;
    shown_ = true;
    std::fputs(fmt::format("\r\x1b[K{} of {} read", done, all_).c_str(), stderr);
    std::fflush(stderr);
  }

 private:
  std::size_t all_;
  bool wanted_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

RankFigures read_one(const Recording& recording) {
  if (recording.kind == Recording::Kind::inferix_report) {
    const Result<InferixReport> report = read_inferix_report(recording.path);
    if (report) return rank_figures(*report);
    return unread_figures(recording.path, recording.rank, report.error().message);
  }
  const Result<genscope::Run> run = read_recording(recording);
  if (!run) return unread_figures(recording.path, recording.rank, run.error().message);
  RankFigures figures = rank_figures(*run, analyze(*run));
  figures.run_processes = recording.traces;
  return figures;
}

class AggregateCommand final : public Command {
 public:
  const char* name() const override { return "aggregate"; }
  const char* summary() const override { return "Many ranks or runs as one; find the straggler"; }

  void add_options(Options& options) override {
    options
        .add("PATH", paths_, "",
             "Runs, trace files, Inferix reports, or folders that hold these at any depth")
        .required();
    add_print_options(options, format_, json_, output_);
    options.footer(
        std::string("Each stage and figure over the ranks: min, median, max, mean, skew and on\n"
                    "which rank. Where ranks meet in collectives, the one that waits least is the\n"
                    "straggler. Missing, failed and unreadable ranks are named. One trace is in\n"
                    "memory at a time. docs/aggregate.md has the details.\n\n"
                    "Examples:\n"
                    "  genscope aggregate genscope-runs/20260101-120000-train-4242\n"
                    "  genscope aggregate node0/run node1/run -f md -o ranks.md\n"
                    "  genscope aggregate profiling_reports --json | jq .stragglers\n\n") +
        kExitCodesHelp);
  }

  Result<int> run(const Globals& globals) override {
    if (json_) format_ = "json";
    Result<std::string> format = format_for(format_, output_, {"json", "md"});
    if (!format) return format.error();
    format_ = std::move(*format);
    Result<Recordings> all = find_all();
    if (!all) return all.error();
    if (!globals.quiet) tell_skipped(all->skipped);
    Aggregator aggregator;
    {
      CountLine line(all->found.size(), !globals.quiet);
      for (std::size_t i = 0; i < all->found.size(); ++i) {
        line.show(i);
        aggregator.add(read_one(all->found[i]));
      }
    }
    const Aggregate aggregate = aggregator.finish();
    if (const Status written = write(aggregate, globals); !written) return written.error();
    if (aggregate.ranks > 0) return kFine;
    if (!globals.quiet) {
      std::fprintf(stderr, "genscope: %s\n",
                   all->found.empty() ? "no run, trace or Inferix report was found"
                                      : "none of what was found could be read");
    }
    return kNothingMeasured;
  }

 private:
  Result<Recordings> find_all() const {
    Recordings all;
    std::set<std::filesystem::path> known;  // a folder and a run in it may both be given
    for (const std::string& word : paths_) {
      const Result<std::string> path = run_path(word);
      if (!path) return path.error();
      Result<Recordings> found = find_recordings(*path);
      if (!found) return found.error();
      for (Recording& one : found->found) {
        std::error_code ignored;
        if (!known.insert(std::filesystem::weakly_canonical(one.path, ignored)).second) continue;
        all.found.push_back(std::move(one));
      }
      for (std::string& one : found->skipped) all.skipped.push_back(std::move(one));
    }
    return all;
  }

  static void tell_skipped(const std::vector<std::string>& skipped) {
    constexpr std::size_t kMost = 10;
    for (std::size_t i = 0; i < skipped.size() && i < kMost; ++i) {
      std::string line = skipped[i];
      for (char& c : line) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
      }
      std::fprintf(stderr, "genscope: skipped %s\n", line.c_str());
    }
    if (skipped.size() > kMost) {
      std::fprintf(stderr, "genscope: skipped %zu more\n", skipped.size() - kMost);
    }
  }

  Status write(const Aggregate& aggregate, const Globals& globals) const {
    Result<Output> output = Output::open(output_);
    if (!output) return output.error();
    if (format_ == "json") {
      aggregate_json(aggregate, output->sink());
    } else if (format_ == "md") {
      aggregate_markdown(aggregate, output->sink());
    } else {
      const bool color =
          globals.color == "auto" && !output->is_stdout() ? false : base::use_color(globals.color);
      aggregate_text(aggregate, {.width = base::output_width(), .color = color}, output->sink());
    }
    return output->commit();
  }

  std::vector<std::string> paths_;
  std::string format_;
  std::string output_ = "-";
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_aggregate() { return std::make_unique<AggregateCommand>(); }

}  // namespace genscope::cli
