#include "cli/bench/dry_run.h"

#include <fmt/format.h>

#include <cmath>

#include "base/printable.h"
#include "base/text.h"
#include "bench/suite/load_subject.h"
#include "cli/bench/printing.h"
#include "cli/exit_code.h"
#include "cli/output.h"

namespace genscope::cli::bench {
namespace {

std::string about(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", std::ceil(seconds));
  if (seconds < 5400) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

std::string estimate_text(const core::SuiteEstimate& estimate) {
  if (!estimate.most_s) return fmt::format("How long it takes is not known: {}.", estimate.source);
  if (!estimate.least_s) {
    return fmt::format("At most {}, {}.", about(*estimate.most_s), estimate.source);
  }
  const std::string least = about(*estimate.least_s), most = about(*estimate.most_s);
  if (least == most) return fmt::format("About {}, {}.", most, estimate.source);
  return fmt::format("About {} to {}, {}.", least, most, estimate.source);
}

// What the section `load` asks for; empty: there is none.
std::string load_of(const core::Suite& suite) {
  if (!suite.load) return "";
  const Result<core::LoadOptions> load = core::suite_load(suite, {});
  return load ? core::load_words(*load, suite.load->find_peak) : "";
}

std::string plan_json(const core::Suite& suite, const std::vector<core::PlannedCell>& cells,
                      const core::SuiteEstimate& estimate) {
  std::string out = "{";
  if (suite.load) out += fmt::format("\"load\":{},", base::json_quote(load_of(suite)));
  out += "\"cells\":[";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    out += fmt::format("{}\n{{\"id\":{},\"params\":{{", i > 0 ? "," : "",
                       base::json_quote(cells[i].id));
    for (std::size_t p = 0; p < cells[i].params.size(); ++p) {
      out += fmt::format("{}{}:{}", p > 0 ? "," : "", base::json_quote(cells[i].params[p].first),
                         base::json_quote(cells[i].params[p].second));
    }
    out += '}';
    if (!cells[i].skipped.empty()) {
      out += fmt::format(",\"skipped\":{}", base::json_quote(cells[i].skipped));
    }
    out += '}';
  }
  const auto seconds = [](const std::optional<double>& value) {
    return value ? fmt::format("{}", *value) : std::string("null");
  };
  return out + fmt::format("],\n\"estimate\":{{\"least_s\":{},\"most_s\":{},\"source\":{}}}}}\n",
                           seconds(estimate.least_s), seconds(estimate.most_s),
                           base::json_quote(estimate.source));
}

std::string plan_text(const core::Suite& suite, const std::vector<core::PlannedCell>& cells,
                      const core::SuiteEstimate& estimate) {
  std::string out;
  std::size_t running = 0;
  for (const core::PlannedCell& cell : cells) {
    const bool runs = cell.skipped.empty();
    running += runs ? 1 : 0;
    out += runs ? fmt::format("  {}\n", cell.id)
                : fmt::format("- {}  ({})\n", cell.id, base::printable(cell.skipped));
  }
  const std::string left_out =
      running == cells.size() ? "" : fmt::format(", {} left out", cells.size() - running);
  const std::string load =
      suite.load ? fmt::format("A unit is a load: {}.\n", load_of(suite)) : std::string();
  return fmt::format("{}: {} cells{}, {} to {} units each.\n{}\n{}\n{}\n",
                     base::printable(suite.name), running, left_out, suite.processes.min,
                     suite.processes.max, load, out, estimate_text(estimate));
}

}  // namespace

Result<int> dry_run(const core::Suite& suite, const core::SuiteOptions& options, bool json,
                    const Globals& globals) {
  const Result<std::vector<core::PlannedCell>> cells =
      core::plan_suite(suite, options.seed, options.only);
  if (!cells) return cells.error();
  const core::SuiteEstimate estimate =
      core::estimate_suite(suite, *cells, options.out, options.budget_s);
  print_notes(core::suite_doubts(suite), globals);
  Result<Output> output = Output::open("-");
  if (!output) return output.error();
  output->sink()(json ? plan_json(suite, *cells, estimate) : plan_text(suite, *cells, estimate));
  if (const Status done = output->commit(); !done) return done.error();
  return kFine;
}

}  // namespace genscope::cli::bench
