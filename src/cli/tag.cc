// genscope tag
#include <algorithm>
#include <cstdio>

#include "base/printable.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/run_word.h"
#include "serve/runs.h"

namespace genscope::cli {
namespace {

class Tag final : public Command {
 public:
  const char* name() const override { return "tag"; }
  const char* summary() const override { return "Give a run tags: words to find it by"; }

  void add_options(Options& options) override {
    options.add("RUN", run_, "", kRunHelp).required();
    options.add("TAG", tags_, "", "Words to add; none: show those it has");
    options.flag("--remove", remove_, "Take these tags away; all of them if none is named");
    options.footer(
        std::string(
            "Tags are kept in the run's run.json. Runs with a tag survive `genscope prune`.\n\n"
            "Examples:\n"
            "  genscope tag last baseline\n"
            "  genscope list --tag baseline\n"
            "  genscope tag last --remove baseline\n\n") +
        kExitCodesHelp);
  }

  Result<int> run(const Globals& globals) override {
    const Result<std::string> path = run_path(run_);
    if (!path) return path.error();
    Result<std::optional<serve::RunEntry>> entry = serve::run_at(*path);
    if (!entry) return entry.error();
    if (!*entry) return Error{ErrorCode::not_found, *path + " is no run: it has no run.json"};
    std::vector<std::string> tags = (*entry)->tags;
    for (const std::string& tag : tags_) {
      if (const Status fine = check(tag); !fine) return fine.error();
      std::erase(tags, tag);
      if (!remove_) tags.push_back(tag);
    }
    if (remove_ && tags_.empty()) tags.clear();
    if (tags != (*entry)->tags) {
      if (const Status done = serve::tag_run(**entry, tags); !done) return done.error();
    }
    if (globals.quiet) return kFine;
    std::string text;
    for (const std::string& tag : tags) text += " " + base::printable(tag);
    std::printf("%s:%s\n", base::printable((*entry)->id).c_str(),
                text.empty() ? " no tags" : text.c_str());
    return kFine;
  }

 private:
  static Status check(const std::string& tag) {
    constexpr std::size_t kMost = 64;
    const bool fine = !tag.empty() && tag.size() <= kMost && base::printable(tag) == tag &&
                      tag.find_first_of(", \t") == std::string::npos;
    if (fine) return Done{};
    return Error{ErrorCode::invalid_argument,
                 "'" + tag + "' cannot be a tag: one word without commas, of at most 64 bytes"};
  }

  std::string run_;
  std::vector<std::string> tags_;
  bool remove_ = false;
};

}  // namespace

std::unique_ptr<Command> make_tag() { return std::make_unique<Tag>(); }

}  // namespace genscope::cli
