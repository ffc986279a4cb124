// genscope rm, genscope prune
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "base/clock.h"
#include "base/figures.h"
#include "base/printable.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/run_word.h"
#include "serve/run_names.h"
#include "serve/run_removal.h"

namespace genscope::cli {
namespace {

void tell(bool dry, const serve::RunEntry& run, std::uint64_t bytes) {
  std::printf("%s %s (%s)\n", dry ? "Would remove" : "Removed", base::printable(run.path).c_str(),
              base::bytes(bytes).c_str());
}

class Rm final : public Command {
 public:
  const char* name() const override { return "rm"; }
  const char* summary() const override { return "Remove runs"; }

  void add_options(Options& options) override {
    options
        .add("RUN", words_, "",
             "last, last~2, a name or the start of one, or a run's directory; one or several")
        .required();
    options.flag("--dry-run", dry_, "Only say what would be removed");
    options.footer(
        std::string("Removes the directories of these runs with all that is in them. A run in\n"
                    "progress is never removed.\n\n"
                    "Examples:\n"
                    "  genscope rm last\n"
                    "  genscope rm 20260101-120000-demo-4242 --dry-run\n\n") +
        kExitCodesHelp);
  }

  Result<int> run(const Globals&) override {
    std::vector<serve::RunEntry> runs;  // all are known before the first goes: last~1 stays last~1
    for (const std::string& word : words_) {
      if (word.empty()) return Error{ErrorCode::invalid_argument, "RUN is empty"};
      const Result<std::string> path = run_path(word);
      if (!path) return path.error();
      Result<std::optional<serve::RunEntry>> entry = serve::run_at(*path);
      if (!entry) return entry.error();
      if (!*entry) return Error{ErrorCode::not_found, *path + " is no run: it has no run.json"};
      const std::string why = serve::why_it_stays(**entry);
      if (!why.empty()) return Error{ErrorCode::invalid_argument, *path + " stays: " + why};
      runs.push_back(**std::move(entry));
    }
    for (const serve::RunEntry& run : runs) {
      const std::uint64_t bytes = serve::folder_bytes(run.path);
      if (!dry_) {
        if (const Status removed = serve::remove_run(run); !removed) return removed.error();
      }
      tell(dry_, run, bytes);
    }
    return kFine;
  }

 private:
  std::vector<std::string> words_;
  bool dry_ = false;
};

class Prune final : public Command {
 public:
  const char* name() const override { return "prune"; }
  const char* summary() const override { return "Remove old runs, by number, age or size"; }

  void add_options(Options& options) override {
    const Option keep = options.add("--keep", rule_.keep, "N", "Keep the newest N");
    Option older =
        options.add("--older", older_, "AGE", "Remove those begun so long ago: 30d, 12h, 2w");
    older.excludes(keep);
    options
        .add("--over", over_, "SIZE", "Remove the oldest until all take at most this: 5GB, 500MiB")
        .excludes(keep)
        .excludes(older);
    options.flag("--dry-run", dry_, "Only say what would be removed");
    options.footer(
        std::string(
            "Of the runs in $GENSCOPE_OUT, else ./genscope-runs. Runs with a tag stay, and\n"
            "runs in progress.\n\n"
            "Examples:\n"
            "  genscope prune --keep 20\n"
            "  genscope prune --older 30d --dry-run\n"
            "  genscope prune --over 5GB\n\n") +
        kExitCodesHelp);
  }

  Result<int> run(const Globals& globals) override {
    if (const Status fine = read_rule(); !fine) return fine.error();
    const std::string folder = serve::default_folder();
    std::error_code ignored;
    std::vector<serve::RunEntry> runs;
    if (std::filesystem::exists(folder, ignored)) {
      Result<std::vector<serve::RunEntry>> found = serve::list_runs(folder);
      if (!found) return found.error();
      runs = std::move(*found);
    }
    if (runs.size() == 1 && runs.front().path == folder) {
      return Error{ErrorCode::invalid_argument, folder + " is a run, not a folder of runs"};
    }
    int code = kFine;
    std::size_t count = 0;
    std::uint64_t sum = 0;
    for (const serve::RunEntry& run : serve::to_prune(runs, rule_, base::realtime_ns())) {
      if (!serve::why_it_stays(run).empty()) continue;
      const std::uint64_t bytes = serve::folder_bytes(run.path);
      if (!dry_) {
        if (const Status removed = serve::remove_run(run); !removed) {
          code = fail(removed.error());
          continue;
        }
      }
      tell(dry_, run, bytes);
      ++count;
      sum += bytes;
    }
    if (globals.quiet) return code;
    if (count == 0 && code == kFine) {
      std::printf("Nothing to remove: %s\n", base::counted(runs.size(), "run", "runs").c_str());
    } else {
      std::printf("%s, %s; %s left\n", base::counted(count, "run", "runs").c_str(),
                  base::bytes(sum).c_str(), base::count(runs.size() - count).c_str());
    }
    return code;
  }

 private:
  Status read_rule() {
    if (!older_.empty()) {
      rule_.older_ns = serve::parse_age(older_);
      if (!rule_.older_ns) {
        return Error{ErrorCode::invalid_argument,
                     "--older: '" + older_ + "' is no age; give 45min, 12h, 30d, 2w or 1y"};
      }
    }
    if (!over_.empty()) {
      rule_.over_bytes = serve::parse_size(over_);
      if (!rule_.over_bytes) {
        return Error{ErrorCode::invalid_argument,
                     "--over: '" + over_ + "' is no size; give 500MB, 5GB or 5GiB"};
      }
    }
    if (rule_.keep || rule_.older_ns || rule_.over_bytes) return Done{};
    return Error{ErrorCode::invalid_argument,
                 "which runs? give --keep N, --older AGE or --over SIZE"};
  }

  serve::PruneRule rule_;
  std::string older_, over_;
  bool dry_ = false;
};

}  // namespace

std::unique_ptr<Command> make_rm() { return std::make_unique<Rm>(); }
std::unique_ptr<Command> make_prune() { return std::make_unique<Prune>(); }

}  // namespace genscope::cli
