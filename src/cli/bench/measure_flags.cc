#include "cli/bench/measure_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/suggest.h"
#include "bench/http/template.h"
#include "bench/run/expand.h"
#include "bench/run/quantities.h"
#include "cli/bench/shell_words.h"

namespace genscope::cli::bench {
namespace {

// Cheap runs are repeated more often: up to this long.
constexpr double kQuickSeconds = 10;

Error wrong(const std::string& message) { return {ErrorCode::invalid_argument, message}; }

Status read_duration(const char* option, const std::string& text, std::optional<double>& out) {
  if (text.empty()) return Done{};
  out = core::duration_in(text);
  if (out && *out > 0) return Done{};
  return wrong(fmt::format("{} {}: not a time; write 90s, 2m or 1.5h", option, text));
}

std::vector<std::string> values_of(const std::string& list) {
  std::vector<std::string> values;
  std::size_t from = 0;
  while (from <= list.size()) {
    const std::size_t end = std::min(list.find(',', from), list.size());
    values.push_back(list.substr(from, end - from));
    from = end + 1;
  }
  return values;
}

}  // namespace

void MeasureFlags::add_options(Options& options) {
  options.add("--units", units_, "N", "Run exactly this many times on each side").range(1, 1e6);
  options
      .add("--min-units", min_units_, "N",
           "Run at least this often; default 4, or 10 if runs are short")
      .range(1, 1e6);
  options
      .add("--max-units", max_units_, "N",
           "Run at most this often; default 40, or 400 if runs are short")
      .range(1, 1e6);
  options.add("--warmup", warmup_, "N", "Warm-up runs at most; how many is found by their times")
      .range(0, 1e6)
      .show_default();
  options.add("--budget", budget_, "TIME", "Add no runs after this long: 90s, 2m, 1h")
      .show_default();
  options.add("--effect", effect_percent_, "PERCENT", "Smallest change that matters")
      .range(0, 100)
      .show_default();
  options
      .add("-L,--parameter", parameters_, "NAME V1,V2,...",
           "Measure each value: {NAME} in commands, $GENSCOPE_PARAM_NAME. Repeatable: the product")
      .one_each();
  options.add("--prepare", prepare_, "CMD", "Run this before each run, not timed");
  options.add("--cleanup", cleanup_, "CMD", "Run this after each run, not timed");
  options.add("--setup-once", setup_.command, "CMD",
              "Start this before everything and stop it in the end: a server");
  options.add("--ready-url", setup_.ready_url, "URL", "It is ready when this answers 200");
  options.add("--ready-port", setup_.ready_port, "PORT", "It is ready when this port accepts")
      .range(1, 65535);
  options.add("--ready-file", setup_.ready_file, "PATH", "It is ready when this file exists");
  options.add("--ready-timeout", setup_timeout_, "TIME", "Wait this long for it").show_default();
  options.add("--timeout", timeout_, "TIME", "End a run that takes longer; it failed");
  options.flag("-i,--ignore-failure", ignore_failure_, "Count runs with any exit code");
  options
      .add("--output-file", outputs_, "PATH",
           "File that a run makes, {NAME} allowed: compared between the sides. Repeatable")
      .one_each();
  options.add("--quality-command", quality_options_.command, "CMD",
              "Your own metric of two such files: {before}, {after}; prints a number or JSON");
  options
      .add("--quality", quality_rules_, "RULE",
           "Limit of a metric: ssim.min=0.95, lpips.max=0.1, clip.margin=1%. Repeatable")
      .one_each();
  options.add("--keep-outputs", keep_outputs_, "DIR", "Keep a copy of those files");
  options.flag("-N,--no-shell", no_shell_, "Run commands directly, without a shell");
  options.add("--shell", shell_, "PROGRAM",
              "Use this shell, by -c; default: /bin/sh, and none if no command needs one");
  options.add("--order", order_, "ORDER", "abba, latin, random or blocks")
      .one_of({"abba", "latin", "random", "blocks"})
      .show_default();
  options
      .add("--show-output", show_, "WHAT",
           "Show the commands' output on stderr: none, stderr or all")
      .one_of({"none", "stderr", "all"})
      .show_default();
  options.flag("--record", record_, "Let commands record stages; default: if they can");
  options.flag("--no-record", no_record_, "Do not let commands record stages");
  options.add("--keep-runs", keep_runs_, "DIR", "Keep what they recorded, a run each");
  options.add("--seed", seed_, "N", "Seed of the order").show_default();
  options.flag("--strict", strict_, "Exit with 3 if it is not decided");
  options.flag("--verbose", verbose_, "Say how far it is, also where no terminal is");
}

Status MeasureFlags::check_parameters() const {
  std::set<std::string> names;
  for (const auto& [key, list] : parameters_) {
    if (key.empty() || key.find_first_of("{}=,") != std::string::npos) {
      return wrong(fmt::format("--parameter {} {}: '{}' is no name", key, list, key));
    }
    if (!names.insert(key).second) {
      return wrong(
          fmt::format("--parameter {}: it comes twice; write all values in one list", key));
    }
    std::set<std::string> seen;
    for (const std::string& value : values_of(list)) {
      if (value.empty())
        return wrong(fmt::format("--parameter {} {}: a value is empty", key, list));
      if (!seen.insert(value).second) {
        return wrong(fmt::format("--parameter {} {}: '{}' comes twice", key, list, value));
      }
    }
  }
  return Done{};
}

Status MeasureFlags::check() {
  if (const Status s = read_duration("--budget", budget_, budget_s_); !s) return s;
  if (const Status s = read_duration("--timeout", timeout_, timeout_s_); !s) return s;
  std::optional<double> ready;
  if (const Status s = read_duration("--ready-timeout", setup_timeout_, ready); !s) return s;
  setup_.timeout_s = ready.value_or(300);
  for (const std::string& rule : quality_rules_) {
    if (const Status s = core::add_quality_rule(quality_options_, rule); !s) return s;
  }
  const bool ready_said =
      !setup_.ready_url.empty() || !setup_.ready_file.empty() || setup_.ready_port;
  if (setup_.command.empty() && ready_said) return wrong("--ready-... is about --setup-once CMD");
  if (!setup_.command.empty() && !ready_said) {
    return wrong("--setup-once: say when it is ready: --ready-port, --ready-url or --ready-file");
  }
  if (record_ && no_record_) return wrong("--record and --no-record: one of them");
  if (units_ && (min_units_ || max_units_)) {
    return wrong("--units says how many: leave out --min-units and --max-units");
  }
  if (min_units_ && max_units_ && *min_units_ > *max_units_) {
    return wrong(fmt::format("--min-units {} is above --max-units {}", *min_units_, *max_units_));
  }
  return check_parameters();
}

std::vector<std::string> MeasureFlags::texts(const std::vector<std::string>& commands) const {
  std::vector<std::string> all = commands;
  for (const std::string& text : {prepare_, cleanup_}) all.push_back(text);
  all.insert(all.end(), outputs_.begin(), outputs_.end());
  return all;
}

// A mistyped {NAME} is never replaced, and every cell measures the same. Braces around what is near
// to no parameter are the shell's or another language's.
Status MeasureFlags::check_names(const std::vector<std::string>& commands) const {
  if (parameters_.empty()) return Done{};
  constexpr std::size_t kShortest = 3;  // `{p}` is a program of sed
  core::Request any;
  any.params = points().front();
  std::vector<std::string> known;
  for (const auto& [key, value] : core::values_of(any)) known.push_back(key);
  for (const std::string& text : texts(commands)) {
    for (const std::string& used : core::names_in(text)) {
      if (used.size() < kShortest || text.find("${" + used) != std::string::npos ||
          std::find(known.begin(), known.end(), used) != known.end()) {
        continue;
      }
      const std::string meant = base::nearest(used, known);
      if (!meant.empty()) {
        return wrong(
            fmt::format("there is no value for {{{}}}; did you mean {{{}}}?", used, meant));
      }
    }
  }
  return Done{};
}

std::vector<std::string> MeasureFlags::unused_parameters(
    const std::vector<std::string>& commands) const {
  std::vector<std::string> unused;
  for (const auto& [key, list] : parameters_) {
    bool used = false;
    for (const std::string& text : texts(commands)) {
      used = used || text.find("GENSCOPE_PARAM_") != std::string::npos;
      for (const std::string& found : core::names_in(text)) {
        used = used || found == key || found.starts_with(key + ".");
      }
    }
    if (!used) unused.push_back(key);
  }
  return unused;
}

Status MeasureFlags::check_commands(const std::vector<std::string>& commands) {
  if (const Status named = check_names(commands); !named) return named;
  if (no_shell_ && !shell_.empty()) return wrong("--shell and --no-shell: one of them");
  // One shell for all or for none: its start must not be the difference.
  direct_ = no_shell_ || (shell_.empty() && !any_needs_shell(commands));
  for (const std::string& command : commands) {
    if (command.find_first_not_of(" \t\n") == std::string::npos) {
      return wrong("a command is empty");
    }
    if (!direct_) continue;
    if (const auto words = split_words(command); !words) return words.error();
  }
  return Done{};
}

bool MeasureFlags::any_needs_shell(const std::vector<std::string>& commands) const {
  for (const core::Params& point : points()) {
    for (const auto& [key, value] : point) {  // in a word that a shell would take apart
      if (value.find_first_of(" \t'\"") != std::string::npos) return true;
    }
    for (const std::string& command : commands) {
      if (needs_shell(core::expand(command, point))) return true;
    }
  }
  return false;
}

core::MeasureOptions MeasureFlags::measure_options() const {
  core::MeasureOptions options;
  options.order = order_ == "latin"    ? core::Order::latin
                  : order_ == "random" ? core::Order::random
                  : order_ == "blocks" ? core::Order::blocks
                                       : core::Order::abba;
  options.seed = seed_;
  const bool said = units_ || min_units_ || max_units_;
  options.quick_s = said ? 0 : kQuickSeconds;
  if (units_) {
    options.units_min = options.units_max = *units_;
  } else {
    if (min_units_) options.units_min = *min_units_;
    if (max_units_) options.units_max = *max_units_;
    options.units_max = std::max(options.units_max, options.units_min);
    options.units_min = std::min(options.units_min, options.units_max);
  }
  options.warmup_max = warmup_;
  options.budget_s = budget_s_;
  options.judge.min_effect = effect();
  options.timeout_s = timeout_s_;
  return options;
}

core::CommandOptions MeasureFlags::command_options(const std::string& command) const {
  core::CommandOptions options;
  options.command = command;
  options.shell = !direct_;
  if (!shell_.empty()) options.shell_program = shell_;
  if (direct_) {
    if (const auto words = split_words(command)) options.argv = *words;
  }
  options.ignore_failure = ignore_failure_;
  options.prepare = prepare_;
  options.cleanup = cleanup_;
  options.timeout_s = timeout_s_;
  if (record_ || no_record_) options.record = record_;
  options.keep_runs = keep_runs_;
  options.show_output = show_;
  options.outputs = outputs_;
  options.keep_outputs = keep_outputs_;
  return options;
}

std::vector<core::Params> MeasureFlags::points() const {
  std::vector<core::Params> all = {{}};
  for (const auto& [key, list] : parameters_) {
    std::vector<core::Params> more;
    for (const core::Params& point : all) {
      for (const std::string& value : values_of(list)) {
        more.push_back(point);
        more.back().emplace_back(key, value);
      }
    }
    all = std::move(more);
  }
  return all;
}

}  // namespace genscope::cli::bench
