// genscope bench bisect
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/checksum.h"
#include "base/file.h"
#include "base/printable.h"
#include "bench/history/bisect.h"
#include "bench/history/git.h"
#include "bench/output/words.h"
#include "bench/quality/piped.h"
#include "cli/bench/printing.h"
#include "cli/bench/session.h"
#include "cli/bench/verbs.h"
#include "cli/exit_code.h"

namespace genscope::cli::bench {
namespace {

constexpr const char* kBisectFooter =
    "Finds the commit, or the setting, that made CMD slower. Each candidate runs in turns with "
    "the\n"
    "good one until it is clear on which side it is: half the way from good to bad decides. Your\n"
    "checkout is not touched: commits are built in work trees of their own. What does not build "
    "is\n"
    "stepped around. Stopped, it goes on where it was when called again.\n\n"
    "--settings FILE has one setting in a line, applied one after the other: NAME=VALUE is set in\n"
    "the environment, --option is appended to CMD.\n\n"
    "Examples:\n"
    "  genscope bench bisect --good v1.0 --bad HEAD --build 'make -j4' './gen --steps 4'\n"
    "  genscope bench bisect --settings new-settings.txt 'python gen.py'\n\n"
    "Exit codes:\n"
    "  0    found\n"
    "  2    usage, or a commit that git does not know\n"
    "  3    not found: bad is not slower, or several are left\n"
    "  4    the good or the bad one does not build or run\n"
    "  5    the environment: no space, an I/O error\n"
    "  130  interrupted; call it again to go on\n";

// What differs from step to step.
class Candidates {
 public:
  virtual ~Candidates() = default;
  // Makes `step` ready in a place of its own: the options to run it with, or why it cannot be.
  virtual Result<core::CommandOptions> prepare(const core::BisectStep& step, bool is_good) = 0;
  virtual void clean_up() {}
};

class Commits final : public Candidates {
 public:
  Commits(core::GitRange range, std::string folder, std::string command, std::string build,
          double build_timeout_s)
      : range_(std::move(range)),
        folder_(std::move(folder)),
        command_(std::move(command)),
        build_(std::move(build)),
        build_timeout_s_(build_timeout_s) {}

  Result<core::CommandOptions> prepare(const core::BisectStep& step, bool is_good) override {
    Result<core::WorkTree> tree =
        core::WorkTree::open(range_.top, folder_ + (is_good ? "/good" : "/candidate"));
    if (!tree) return tree.error();
    if (const Status done = tree->check_out(step.id); !done) return done.error();
    core::CommandOptions options;
    options.command = command_;
    options.cwd = tree->path() + "/" + range_.prefix;
    if (build_.empty()) return options;
    const Result<std::string> built =
        core::output_of({"sh", "-c", "cd \"$0\" && { " + build_ + "\n} >/dev/null", options.cwd},
                        build_timeout_s_, 1 << 20);
    if (!built) return Error{ErrorCode::bad_data, "it does not build: " + built.error().message};
    return options;
  }

  void clean_up() override {
    for (const char* const name : {"/good", "/candidate"}) {
      if (auto tree = core::WorkTree::open(range_.top, folder_ + name)) tree->remove();
    }
  }

 private:
  core::GitRange range_;
  std::string folder_, command_, build_;
  double build_timeout_s_;
};

class SettingsLines final : public Candidates {
 public:
  SettingsLines(std::vector<std::string> lines, std::string command)
      : lines_(std::move(lines)), command_(std::move(command)) {}

  Result<core::CommandOptions> prepare(const core::BisectStep& step, bool) override {
    core::CommandOptions options;
    options.command = command_;
    const std::size_t applied = std::stoul(step.id);
    for (std::size_t i = 0; i < applied; ++i) {
      const std::string& line = lines_[i];
      const std::size_t equals = line.find('=');
      if (line.starts_with('-')) {
        options.command += " " + line;
      } else {
        options.env.emplace_back(line.substr(0, equals), line.substr(equals + 1));
      }
    }
    return options;
  }

 private:
  std::vector<std::string> lines_;
  std::string command_;
};

Result<std::vector<std::string>> read_settings(const std::string& path) {
  const Result<std::string> text = base::read_file(path, 1 << 20);
  if (!text) return text.error();
  std::vector<std::string> lines;
  std::string_view rest = *text;
  for (int number = 1; !rest.empty(); ++number) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    if (line.empty() || line.starts_with('#')) continue;
    if (!line.starts_with('-') &&
        (line.find('=') == std::string_view::npos || line.starts_with('='))) {
      return Error{ErrorCode::bad_data,
                   fmt::format("{}:{}: '{}' is neither NAME=VALUE nor --option", path, number,
                               base::printable(line))};
    }
    lines.emplace_back(line);
  }
  if (lines.empty()) {
    return Error{ErrorCode::bad_data, fmt::format("{}: it holds no setting", path)};
  }
  return lines;
}

// A folder of this user's alone, the same for the same bisection.
Result<std::string> own_folder(std::uint64_t key) {
  const char* const tmp = std::getenv("TMPDIR");
  const std::string path =
      fmt::format("{}/genscope-bisect-{}-{:016x}", tmp != nullptr && *tmp != '\0' ? tmp : "/tmp",
                  ::getuid(), key);
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return base::errno_error("cannot make", path, errno);
  }
  struct stat about {};
  if (::lstat(path.c_str(), &about) != 0 || !S_ISDIR(about.st_mode) || about.st_uid != ::getuid()) {
    return Error{ErrorCode::permission,
                 fmt::format("{} is not a folder of yours; remove it, or set TMPDIR", path)};
  }
  return path;
}

class BisectVerb final : public Command {
 public:
  const char* name() const override { return "bisect"; }
  const char* summary() const override { return "Find the commit or setting that made it slower"; }

  void add_options(Options& options) override {
    options.add("CMD", command_, "", "Shell command that got slower").required();
    const Option good = options.add("--good", good_, "COMMIT", "It was fast there");
    options.add("--bad", bad_, "COMMIT", "It is slow there").show_default();
    options.add("--settings", settings_, "FILE", "Lines of settings instead of commits")
        .excludes(good);
    options.add("--build", build_, "CMD", "Builds a commit, in its folder");
    options.add("--build-timeout", build_timeout_s_, "SECONDS", "Limit of one build")
        .positive()
        .show_default();
    options.add("--effect", effect_percent_, "PERCENT",
                "What counts as slower; default: half of what bad is");
    options.add("--max-units", max_units_, "N", "Runs a side for one candidate")
        .range(4, 1000)
        .show_default();
    options.add("--timeout", timeout_s_, "SECONDS", "Limit of one run").positive();
    options.flag("--fresh", fresh_, "Forget what an interrupted call found");
    options.flag("--json", json_, "Print JSON");
    options.footer(kBisectFooter);
  }

  Result<int> run(const Globals& globals) override {
    if (settings_.empty() == good_.empty()) {
      return Error{ErrorCode::invalid_argument, "give --good COMMIT, or --settings FILE"};
    }
    quiet_ = globals.quiet;
    if (const Status ready = settings_.empty() ? prepare_commits() : prepare_settings(); !ready) {
      return ready.error();
    }
    resume();
    const Interruptible interruptible;
    const Result<int> code = search();
    if (!core::cancelled()) {
      candidates_->clean_up();
      std::error_code ignored;
      std::filesystem::remove_all(folder_, ignored);
    }
    return code;
  }

 private:
  Status prepare_commits() {
    Result<core::GitRange> range = core::read_git_range(".", good_, bad_);
    if (!range) return range.error();
    if (const Status made = make_folder(range->top + "\n" + range->good + "\n" + range->bad);
        !made) {
      return made;
    }
    bisection_.steps = range->steps;
    candidates_ =
        std::make_unique<Commits>(std::move(*range), folder_, command_, build_, build_timeout_s_);
    return Done{};
  }

  Status prepare_settings() {
    Result<std::vector<std::string>> lines = read_settings(settings_);
    if (!lines) return lines.error();
    bisection_.steps.push_back({"0", "no setting", core::StepVerdict::good, {}, {}, 0, ""});
    std::string all;
    for (const std::string& line : *lines) {
      bisection_.steps.push_back({std::to_string(bisection_.steps.size()),
                                  line,
                                  core::StepVerdict::untried,
                                  {},
                                  {},
                                  0,
                                  ""});
      all += line + "\n";
    }
    if (const Status made = make_folder(all); !made) return made;
    candidates_ = std::make_unique<SettingsLines>(std::move(*lines), command_);
    return Done{};
  }

  Status make_folder(const std::string& of) {
    const std::string all =
        fmt::format("{}\n{}\n{}\n{}", of, command_, build_, effect_percent_.value_or(0));
    Result<std::string> folder = own_folder(base::checksum(all.data(), all.size()));
    if (!folder) return folder.error();
    folder_ = std::move(*folder);
    return Done{};
  }

  std::string state_path() const { return folder_ + "/state.json"; }

  // Takes over what an interrupted call found.
  void resume() {
    if (fresh_) return;
    const auto before = core::read_bisection(state_path());
    if (!before || before->size() != bisection_.steps.size()) return;
    for (std::size_t i = 0; i < before->size(); ++i) {
      if (before->at(i).id != bisection_.steps[i].id) return;
    }
    bisection_.steps = *before;
    say("going on where an earlier call stopped; --fresh starts anew");
  }

  void say(const std::string& text) const {
    if (!quiet_) std::fprintf(stderr, "genscope: %s\n", text.c_str());
  }

  Result<int> search() {
    std::vector<core::BisectStep>& steps = bisection_.steps;
    Result<core::CommandOptions> good = candidates_->prepare(steps.front(), true);
    if (!good) return cannot(steps.front(), good.error());
    good->timeout_s = timeout_s_;
    good->record = false;
    good_subject_ = core::command_subject(std::move(*good));
    if (steps.back().verdict != core::StepVerdict::bad) {
      floor_ = effect_percent_.value_or(1) / 100;
      if (!attempt(steps.back())) return int{kInterrupted};
      if (steps.back().verdict != core::StepVerdict::bad) return bad_is_not_bad();
      save();
    }
    floor_ =
        effect_percent_ ? *effect_percent_ / 100 : core::halfway(steps.back().ratio.value_or(1));
    core::bisect(bisection_, [&](core::BisectStep& step) {
      if (!attempt(step)) return false;
      save();
      return true;
    });
    if (bisection_.cancelled || core::cancelled()) return int{kInterrupted};
    const Status done = print_text(json_ ? core::bisection_json(bisection_) : text());
    if (!done) return done.error();
    return bisection_.suspects.size() == 1 ? int{kFine} : int{core::kInconclusive};
  }

  // False: interrupted.
  bool attempt(core::BisectStep& step) {
    Result<core::CommandOptions> options = candidates_->prepare(step, false);
    if (core::cancelled()) return false;
    if (!options) {
      step.verdict = core::StepVerdict::skipped;
      step.why = options.error().message;
      say(line_of(step));
      return true;
    }
    options->timeout_s = timeout_s_;
    options->record = false;
    const std::unique_ptr<core::Subject> subject = core::command_subject(std::move(*options));
    const core::Side sides[] = {{'A', good_subject_.get(), {}}, {'B', subject.get(), {}}};
    core::MeasureOptions measure;
    measure.units_min = 6;  // pairs that the interval of the pairs needs
    measure.units_max = max_units_;
    measure.judge.min_effect = floor_;
    const core::Cell cell = core::measure("bisect", {}, sides, measure);
    if (core::cancelled()) return false;
    if (cell.status == "failed") {
      step.verdict = core::StepVerdict::skipped;
      step.why = cell.failure ? fmt::format("it fails: {} {}", core::name(cell.failure->kind),
                                            cell.failure->detail)
                              : "it fails";
    } else {
      core::judge_step(cell, floor_, step);
    }
    say(line_of(step));
    return true;
  }

  void save() const { (void)base::write_file(state_path(), core::bisection_json(bisection_)); }

  static std::string short_id(const core::BisectStep& step) {
    return step.id.size() == 40 ? step.id.substr(0, 10) : step.id;
  }

  static std::string line_of(const core::BisectStep& step) {
    std::string text =
        fmt::format("{} {}: {}", short_id(step), step.title, core::name(step.verdict));
    if (step.ratio && step.interval) {
      text += fmt::format(", {}, {} pairs", core::speed_text(*step.ratio, *step.interval, 0.95),
                          step.pairs);
    }
    if (!step.why.empty()) text += "; " + step.why.substr(0, step.why.find('\n'));
    return text;
  }

  Result<int> cannot(const core::BisectStep& step, const Error& error) const {
    if (error.code != ErrorCode::bad_data) return error;
    fail({error.code, fmt::format("{} {}: {}", short_id(step), step.title, error.message)});
    return int{core::kProductFailed};
  }

  Result<int> bad_is_not_bad() const {
    const core::BisectStep& bad = bisection_.steps.back();
    const bool skipped = bad.verdict == core::StepVerdict::skipped;
    const std::string text =
        skipped ? "the bad one does not build or run, so there is nothing to look for: "
                : "the bad one is not slower than the good one, so there is nothing to look for: ";
    fail({ErrorCode::invalid_argument, text + line_of(bad)});
    return skipped ? int{core::kProductFailed} : int{core::kInconclusive};
  }

  std::string text() const {
    std::string out;
    const bool commits = settings_.empty();
    const char* const kind = commits ? "commit" : "setting";
    const std::vector<std::size_t>& suspects = bisection_.suspects;
    const core::BisectStep& first = bisection_.steps[suspects.back()];
    if (suspects.size() == 1) {
      out += fmt::format("{} is the first bad {}: {}\n", commits ? first.id : first.title, kind,
                         first.ratio && first.interval
                             ? core::speed_text(*first.ratio, *first.interval, 0.95) +
                                   fmt::format(", {} pairs", first.pairs)
                             : "");
      if (commits) out += "  " + first.title + "\n";
    } else {
      out += fmt::format("One of these {}s made it slower; it could not be told which:\n", kind);
      for (const std::size_t i : suspects) out += "  " + line_of(bisection_.steps[i]) + "\n";
    }
    const core::BisectStep& before = bisection_.steps[suspects.front() - 1];
    out += fmt::format("Before it: {}\n", line_of(before));
    return out;
  }

  std::string command_, good_, bad_ = "HEAD", settings_, build_, folder_;
  double build_timeout_s_ = 1800, floor_ = 0.01;
  std::optional<double> effect_percent_, timeout_s_;
  std::uint64_t max_units_ = 40;
  bool fresh_ = false, json_ = false, quiet_ = false;
  core::Bisection bisection_;
  std::unique_ptr<Candidates> candidates_;
  std::unique_ptr<core::Subject> good_subject_;
};

}  // namespace

std::unique_ptr<Command> make_bisect() { return std::make_unique<BisectVerb>(); }

}  // namespace genscope::cli::bench
