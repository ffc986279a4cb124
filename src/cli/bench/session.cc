#include "cli/bench/session.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/suggest.h"
#include "base/terminal.h"
#include "bench/output/output.h"
#include "bench/result/provenance.h"
#include "bench/result/timestamp.h"
#include "bench/text/text.h"
#include "cli/bench/formats.h"
#include "cli/exit_code.h"
#include "cli/output.h"

namespace genscope::cli::bench {
namespace {

void on_interrupt(int) { core::cancel(); }

constexpr std::array<int, 2> kInterrupts = {SIGINT, SIGTERM};
std::array<struct sigaction, kInterrupts.size()> g_before;

}  // namespace

core::BenchResult begin_result(std::string_view verb, std::uint64_t seed) {
  core::BenchResult result = core::new_result(verb, seed);
  result.environment = core::inspect_environment();
  return result;
}

Interruptible::Interruptible() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  for (std::size_t i = 0; i < kInterrupts.size(); ++i) {
    sigaction(kInterrupts[i], nullptr, &g_before[i]);
    if (g_before[i].sa_handler != SIG_IGN) sigaction(kInterrupts[i], &action, nullptr);
  }
}

Interruptible::~Interruptible() {
  for (std::size_t i = 0; i < kInterrupts.size(); ++i) {
    sigaction(kInterrupts[i], &g_before[i], nullptr);
  }
}

void ResultOutputs::add_options(Options& options, const std::string& place) {
  options
      .add("--export", exports_, "FORMAT=PATH",
           "Write the result: json, md, csv, junit, gha, gha-bigger, bmf or html. Repeatable; - is "
           "stdout")
      .one_each();
  ci_.add_options(options, place);
  options.flag("--json", json_, "Print the result as JSON instead of text");
  options.flag("--keep,!--no-keep", keep_,
               "Keep the result for `bench compare` and `bench history` (the default)");
}

Result<std::vector<ResultOutputs::Export>> ResultOutputs::exports() const {
  const std::vector<std::string>& formats = result_formats();
  std::vector<Export> all;
  for (const std::string& text : exports_) {
    const std::size_t equals = text.find('=');
    Export one{text.substr(0, equals), equals == std::string::npos ? "" : text.substr(equals + 1)};
    if (std::find(formats.begin(), formats.end(), one.format) == formats.end()) {
      const std::string near = base::nearest(one.format, formats);
      return Error{ErrorCode::invalid_argument,
                   fmt::format("--export {}: unknown format '{}'{}; there are {}", text, one.format,
                               near.empty() ? "" : fmt::format(", did you mean '{}'?", near),
                               fmt::join(formats, ", "))};
    }
    if (one.path.empty()) {
      return Error{ErrorCode::invalid_argument,
                   fmt::format("--export {}: no path; write --export {}=PATH", text, one.format)};
    }
    all.push_back(std::move(one));
  }
  return all;
}

Status ResultOutputs::check() const {
  if (const auto all = exports(); !all) return all.error();
  return Done{};
}

Status ResultOutputs::write_exports(const core::BenchResult& result) const {
  const auto all = exports();
  if (!all) return all.error();
  for (const Export& one : *all) {
    Result<Output> output = Output::open(one.path);
    if (!output) return output.error();
    write_result_as(one.format, result, output->sink());
    if (const Status done = output->commit(); !done) return done.error();
  }
  return Done{};
}

Result<int> ResultOutputs::finish(core::BenchResult& result, bool strict,
                                  const Globals& globals) const {
  const core::TextOptions options{.width = static_cast<std::size_t>(base::output_width()),
                                  .color = base::use_color(globals.color)};
  return finish(result, strict,
                [&](const core::BenchResult& done) { return core::commands_text(done, options); });
}

Result<int> ResultOutputs::finish(core::BenchResult& result, bool strict, const Text& text) const {
  result.ended = core::timestamp_now();
  result.exit = core::decide_exit(result, strict);
  if (core::cancelled()) {
    result.exit.code = kInterrupted;
    result.exit.reasons.insert(result.exit.reasons.begin(), "Interrupted.");
  }
  if (keep_ && !core::cancelled() && result.exit.code != kNothingMeasured) {
    const Status kept = core::remember(result);
    if (!kept) std::fprintf(stderr, "genscope: %s\n", kept.error().message.c_str());
  }
  if (const Status done = write_exports(result); !done) return done.error();
  Result<Output> output = Output::open("-");
  if (!output) return output.error();
  if (json_) {
    core::result_json(result, {}, output->sink());
  } else {
    output->sink()(text(result));
  }
  if (const Status done = output->commit(); !done) return done.error();
  if (const Status done = ci_.write(result, json_); !done) return done.error();
  return result.exit.code;
}

}  // namespace genscope::cli::bench
