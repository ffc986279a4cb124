#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bench/suite/load_subject.h"
#include "bench/suite/suite.h"
#include "bench/suite/suite_folder.h"

namespace genscope::bench {
namespace {

// Seconds of a unit, by cell, as a result has them.
std::map<std::string, double> unit_seconds(const BenchResult& result) {
  std::map<std::string, double> seconds;
  for (const Cell& cell : result.cells) {
    double sum = 0;
    std::size_t units = 0;
    for (const Unit& unit : cell.units) {
      double one = 0;
      for (const Sample& sample : unit.samples) {
        const auto latency = sample.metrics.find("latency_s");
        if (latency != sample.metrics.end()) one += latency->second;
      }
      if (one <= 0) continue;
      for (const double warmup : unit.warmup_s) one += warmup;
      sum += one;
      ++units;
    }
    if (units > 0) seconds[cell.id] = sum / static_cast<double>(units);
  }
  return seconds;
}

struct UnitTime {
  double least = 0, most = 0;
};

SuiteEstimate add_up(const Suite& suite, std::size_t cells, UnitTime all,
                     std::optional<double> budget_s, std::string source) {
  SuiteEstimate out;
  out.source = std::move(source);
  out.least_s = all.least * static_cast<double>(suite.processes.min);
  out.most_s = all.most * static_cast<double>(suite.processes.max);
  if (suite.timeout.cell_s) {
    out.most_s = std::min(*out.most_s, *suite.timeout.cell_s * static_cast<double>(cells));
  }
  if (budget_s) out.most_s = std::min(*out.most_s, *budget_s);
  out.least_s = std::min(*out.least_s, *out.most_s);
  return out;
}

SuiteEstimate estimate_load(const Suite& suite, std::size_t cells, std::optional<double> budget_s) {
  const Result<LoadOptions> load = suite_load(suite, {});
  const auto seconds = load ? load_seconds(*load, suite.load->find_peak) : std::nullopt;
  if (seconds) {
    const double all = *seconds * static_cast<double>(cells);
    return add_up(
        suite, cells, {all, all}, budget_s,
        "as the section load says; the start of servers and the last answers come on top");
  }
  SuiteEstimate unknown;
  unknown.source = suite.load->find_peak ? "a search for the peak ends when it has found it"
                                         : "the load ends with its last answer";
  if (budget_s) unknown.most_s = budget_s;
  return unknown;
}

}  // namespace

SuiteEstimate estimate_suite(const Suite& suite, const std::vector<PlannedCell>& cells,
                             const std::string& out, std::optional<double> budget_s) {
  std::vector<const PlannedCell*> running;
  for (const PlannedCell& cell : cells) {
    if (cell.skipped.empty()) running.push_back(&cell);
  }
  if (!budget_s) budget_s = suite.stop.budget_s;
  if (suite.load) return estimate_load(suite, running.size(), budget_s);
  const std::string folder = newest_suite_folder(suite, out);
  if (!folder.empty()) {
    const Result<BenchResult> result = read_result(folder + "/result.json");
    const auto known = result ? unit_seconds(*result) : std::map<std::string, double>();
    double mean = 0;
    for (const auto& [id, seconds] : known) mean += seconds / static_cast<double>(known.size());
    UnitTime all;
    for (const PlannedCell* cell : running) {
      const auto found = known.find(cell->id);
      all.least += found != known.end() ? found->second : mean;
    }
    all.most = all.least;
    if (!known.empty()) {
      return add_up(suite, running.size(), all, budget_s,
                    fmt::format("from the units of {}", folder));
    }
  }
  if (suite.timeout.iteration_s) {
    const double warmups = static_cast<double>(suite.warmup.max_iters);
    UnitTime all;
    all.most = *suite.timeout.iteration_s * static_cast<double>(running.size()) *
               (static_cast<double>(suite.iterations.max) + warmups);
    SuiteEstimate made =
        add_up(suite, running.size(), all, budget_s, "from the time-outs: it was never run before");
    made.least_s.reset();
    return made;
  }
  SuiteEstimate unknown;
  unknown.source = "it was never run before and has no timeout.iteration";
  if (budget_s) unknown.most_s = budget_s;
  return unknown;
}

}  // namespace genscope::bench
