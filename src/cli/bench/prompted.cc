#include "cli/bench/prompted.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/file_reader.h"
#include "bench/output/words.h"
#include "bench/result/timestamp.h"
#include "bench/run/quantities.h"
#include "bench/suite/subject_of.h"
#include "bench/validate/column.h"
#include "cli/exit_code.h"
#include "cli/output.h"

namespace genscope::cli::bench {
namespace {

Error wrong_word(const std::string& message) { return {ErrorCode::invalid_argument, message}; }

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

core::TargetResult target_of(const std::string& metric, const char* stat, double limit,
                             Direction direction, const std::optional<double>& value,
                             const std::optional<stats::Interval>& interval,
                             const std::string& why) {
  core::TargetResult target;
  target.metric = metric;
  target.stat = stat;
  (direction == Direction::lower_is_better ? target.limit_max : target.limit_min) = limit;
  target.value = value;
  target.ci = interval;
  if (value) {
    target.score = core::score_target(limit, *value, direction, interval);
    // These verbs ask for the bad end of the interval.
    if (target.score && target.score->confident == false) target.score->met = false;
  } else {
    target.absent = why;
  }
  return target;
}

}  // namespace

ProgressLine::ProgressLine(const Globals& globals) : on_(!globals.quiet && ::isatty(2) == 1) {}
ProgressLine::~ProgressLine() {
  if (on_) std::fputs("\r\x1b[K", stderr);
}
void ProgressLine::tell(const std::string& text) {
  if (on_) std::fprintf(stderr, "\r\x1b[K%s", text.c_str());
}

bool is_suite(const std::string& what) { return what.ends_with(".yaml") || what.ends_with(".yml"); }

bool is_url(const std::string& what) {
  return what.starts_with("http://") || what.starts_with("https://");
}

std::string with_safe_words(std::string command) {
  for (const char* const name : {"prompt", "image"}) {
    const std::string place = fmt::format("{{{}}}", name);
    const std::string safe = fmt::format("\"$GENSCOPE_PARAM_{}\"", name);
    const std::string mark = "\x01";  // so that nothing is replaced twice
    replace_all(command, "'" + place + "'", mark);
    replace_all(command, "\"" + place + "\"", mark);
    replace_all(command, place, mark);
    replace_all(command, mark, safe);
  }
  return command;
}

void PromptFlags::add_options(Options& options) {
  options.add("--prompts", file_, "FILE", "Prompts, one a line; # begins a comment");
  options.add("--prompt", prompts_, "TEXT", "One more prompt. Repeatable").one_each();
  options.add("--seeds", seeds_text_, "LIST",
              "Seeds for each prompt: 1,2,3; {seed} in the command");
  options.add("--repeat", repeat_, "N", "Run each prompt and seed this often")
      .range(1, 1e6)
      .show_default();
  options.add("--warmup", warmup_, "N", "Runs first that do not count")
      .range(0, 1e6)
      .show_default();
  options.add("--timeout", timeout_, "TIME", "End a run that takes longer: 90s, 2m; it failed");
  options
      .add("--output-file", outputs_, "PATH",
           "File that a run makes: a missing, broken or blank one is a failure. Repeatable")
      .one_each();
  options.add("--endpoint", endpoint_, "KIND",
              "Kind of a URL: openai-images, openai-chat, comfyui or json");
  options.add("--model", model_, "NAME", "With a URL: the model to ask for");
  tls_.add_options(options);
}

Status PromptFlags::check() {
  if (!file_.empty()) {
    Result<std::vector<std::string>> read = core::read_prompts(file_);
    if (!read) return read.error();
    prompts_.insert(prompts_.begin(), read->begin(), read->end());
  }
  std::string_view rest = seeds_text_;
  while (!rest.empty()) {
    std::int64_t seed = 0;
    if (!base::parse_number(base::next_part(rest, ','), seed)) {
      return wrong_word(fmt::format("--seeds {}: not a list of whole numbers", seeds_text_));
    }
    seeds_.push_back(seed);
  }
  if (!timeout_.empty()) {
    timeout_s_ = core::duration_in(timeout_);
    if (!timeout_s_ || *timeout_s_ <= 0) {
      return wrong_word(fmt::format("--timeout {}: not a time; write 90s, 2m or 1.5h", timeout_));
    }
  }
  return Done{};
}

core::PromptOptions PromptFlags::prompt_options() const {
  core::PromptOptions options;
  options.prompts = prompts_;
  options.seeds = seeds_;
  options.repeat = repeat_;
  options.warmup = warmup_;
  options.timeout_s = timeout_s_;
  return options;
}

std::unique_ptr<core::Subject> PromptFlags::subject(const std::string& what) const {
  if (is_url(what)) {
    core::HttpOptions options;
    options.url = what;
    options.endpoint = endpoint_;
    tls_.apply(options);
    if (timeout_s_) options.timeout_s = *timeout_s_;
    return core::http_subject(std::move(options));
  }
  core::CommandOptions options;
  options.command = with_safe_words(what);
  options.timeout_s = timeout_s_;
  options.outputs = outputs_;
  return core::command_subject(std::move(options));
}

Result<std::unique_ptr<core::Subject>> PromptFlags::subject(const core::Suite& suite) {
  const core::SuiteRunner& runner = suite.runner;
  if (prompts_.empty()) prompts_ = suite.prompts.texts;
  if (seeds_.empty()) seeds_ = suite.prompts.seeds;
  if (!timeout_s_) timeout_s_ = suite.timeout.iteration_s;
  if (runner.kind == "http" && runner.command.empty()) {
    return core::http_subject(core::suite_http(suite));
  }
  if (runner.kind == "callable" || runner.kind == "http") {
    return wrong_word(fmt::format(
        "{}: prompts go through a command or a URL; use `genscope bench run` for this runner",
        suite.file));
  }
  core::CommandOptions options;
  options.command = with_safe_words(runner.command);
  options.argv = runner.argv;
  options.shell = runner.argv.empty();
  options.prepare = runner.prepare;
  options.cleanup = runner.cleanup;
  options.cwd = runner.cwd;
  options.env = runner.env;
  options.outputs = outputs_.empty() ? runner.outputs : outputs_;
  options.timeout_s = timeout_s_;
  return core::command_subject(std::move(options));
}

void FindingOutputs::add_options(Options& options) {
  options.add("--export", export_, "json=PATH",
              "Write the whole result, every run of it; - is stdout");
  ci_.add_options(options);
  options.flag("--json", json_, "Print the findings as JSON instead of text");
}

Result<int> FindingOutputs::finish(core::BenchResult& result, const char* schema,
                                   const std::string& text, Json finding) const {
  result.ended = core::timestamp_now();
  if (core::cancelled()) {
    result.exit.code = kInterrupted;
    result.exit.reasons.insert(result.exit.reasons.begin(), "Interrupted.");
  }
  const std::string whole = core::to_json(result);
  if (!export_.empty()) {
    if (!export_.starts_with("json=") || export_.size() == 5) {
      return wrong_word(fmt::format("--export {}: write --export json=PATH", export_));
    }
    Result<Output> output = Output::open(export_.substr(5));
    if (!output) return output.error();
    output->sink()(whole);
    if (const Status done = output->commit(); !done) return done.error();
  }
  Result<Output> output = Output::open("-");
  if (!output) return output.error();
  if (json_) {
    Json all{{"schema", schema}};
    all.update(finding);
    all["exit"] = {{"code", result.exit.code}, {"reasons", result.exit.reasons}};
    all["result"] = Json::parse(whole);
    output->sink()(all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  } else {
    std::string shown = text;
    for (const std::string& reason : result.exit.reasons) shown += reason + "\n";
    output->sink()(shown);
  }
  if (const Status done = output->commit(); !done) return done.error();
  if (const Status done = ci_.write(result, json_); !done) return done.error();
  return result.exit.code;
}

core::TargetResult least_target(const std::string& metric, const char* stat, double least,
                                const std::optional<double>& value,
                                const std::optional<stats::Interval>& interval,
                                const std::string& why) {
  return target_of(metric, stat, least, Direction::higher_is_better, value, interval, why);
}

core::TargetResult most_target(const std::string& metric, const char* stat, double most,
                               const std::optional<double>& value,
                               const std::optional<stats::Interval>& interval) {
  return target_of(metric, stat, most, Direction::lower_is_better, value, interval,
                   "nothing was measured");
}

Json figures(const std::vector<double>& values) {
  if (values.empty()) return {};
  const auto ends = std::minmax_element(values.begin(), values.end());
  double sum = 0;
  for (const double value : values) sum += value;
  Json out{{"n", values.size()},
           {"median", *core::median_of(values)},
           {"mean", sum / static_cast<double>(values.size())},
           {"min", *ends.first},
           {"max", *ends.second}};
  if (const auto interval = core::median_interval_of(values)) {
    out["ci"] = {interval->low, interval->high};
    out["level"] = interval->confidence;
  }
  return out;
}

std::string time_words(const std::vector<double>& values) {
  if (values.empty()) return "not measured";
  const core::Metric metric = core::metric("latency_s");
  std::string words = core::figure(metric.name, *core::median_of(values));
  if (const auto interval = core::median_interval_of(values)) {
    words += fmt::format(" ({:.0f} %: {} to {})", interval->confidence * 100,
                         core::figure(metric.name, interval->low),
                         core::figure(metric.name, interval->high));
  }
  return words;
}

std::vector<double> good_values(const core::Cell& cell, char slot, const std::string& metric) {
  std::vector<double> values;
  for (const core::Unit& unit : cell.units) {
    if (unit.slot != slot) continue;
    for (const core::Sample& sample : unit.samples) {
      if (sample.failure) continue;
      if (const auto found = sample.metrics.find(metric); found != sample.metrics.end()) {
        values.push_back(found->second);
      }
    }
  }
  return values;
}

}  // namespace genscope::cli::bench
