// The exit code of a result, and why, in sentences: the worst first.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bench/http/load.h"
#include "report/format.h"

namespace genscope::bench {
namespace {

constexpr std::array<int, 9> kWorstFirst = {kInterrupted,   kBadSuite,     kNothingMeasured,
                                            kUnfit,         kNoBaseline,   kProductFailed,
                                            kVerdictFailed, kInconclusive, kPass};

std::size_t rank(int code) noexcept {
  const auto found = std::find(kWorstFirst.begin(), kWorstFirst.end(), code);
  // A code that nobody knows is worse than all but an interrupt.
  return found != kWorstFirst.end() ? static_cast<std::size_t>(found - kWorstFirst.begin()) : 1;
}

struct ExitReason {
  int code;
  std::string sentence;
};
using ExitReasons = std::vector<ExitReason>;

std::string sentence(std::string_view what, const std::string& why) {
  std::string out(what);
  if (!why.empty()) out += ": " + why;
  if (!out.ends_with('.') && !out.ends_with('?')) out += '.';
  return out;
}

void nothing_measured(const BenchResult& r, ExitReasons& out) {
  std::size_t tried = 0, skipped = 0;
  for (const Cell& cell : r.cells) {
    if (cell.status == "skipped") ++skipped;
    if (cell.status == "failed") ++tried;
    for (const Unit& unit : cell.units) {
      tried += unit.samples.size() + (unit.failure ? 1 : 0);
    }
  }
  if (tried > 0 || !r.load.empty()) return;  // of loads: loads()
  out.push_back({kNothingMeasured,
                 skipped > 0 && skipped == r.cells.size()
                     ? fmt::format("Nothing was measured: all {} cells were skipped.", skipped)
                     : "Nothing was measured."});
}

void unfit(const BenchResult& r, ExitReasons& out) {
  for (const EnvironmentCheck& check : r.environment.checks) {
    if (check.status != "unfit") continue;
    const std::string limit = check.limit.empty() ? "" : fmt::format(", should be {}", check.limit);
    out.push_back({kUnfit, fmt::format("The machine is not fit to measure: {} is {}{}.", check.name,
                                       check.value, limit)});
  }
}

void product_failed(const BenchResult& r, ExitReasons& out) {
  for (const Cell& cell : r.cells) {
    if (cell.status != "failed") continue;
    std::string why;
    if (cell.failure) {
      const std::string& detail = cell.failure->detail;
      why = std::string(name(cell.failure->kind));
      if (!detail.empty()) why += ", " + detail.substr(0, detail.find('\n'));
    }
    out.push_back({kProductFailed, sentence(fmt::format("{} failed", cell.id), why)});
  }
}

void verdicts(const BenchResult& r, ExitReasons& out) {
  for (const Comparison& c : r.comparisons) {
    if (!c.gate) continue;
    const std::string what = fmt::format("{} of {}", c.metric, c.cell);
    switch (c.judgement.verdict) {
      case Verdict::incomparable:
        out.push_back({kNoBaseline, sentence(what + " cannot be compared", c.judgement.reason)});
        break;
      case Verdict::regressed:
        out.push_back({kVerdictFailed, sentence(what + " regressed", c.judgement.reason)});
        break;
      case Verdict::inconclusive:
      case Verdict::insufficient:
        out.push_back({kInconclusive, sentence(what + " is open", c.judgement.reason)});
        break;
      default:
        break;
    }
  }
}

void targets(const BenchResult& r, ExitReasons& out) {
  for (const TargetResult& t : r.targets) {
    const std::string what = t.cell.empty() ? t.metric : fmt::format("{} of {}", t.metric, t.cell);
    if (!t.score) {
      out.push_back({kInconclusive, sentence("The target of " + what + " is open", t.absent)});
    } else if (!t.score->met) {
      const bool above = t.limit_max && t.value && *t.value > *t.limit_max;
      const auto limit = above ? t.limit_max : t.limit_min;
      out.push_back(
          {kVerdictFailed,
           fmt::format("{} misses its target: {:g}, should be at {} {:g}.", what,
                       t.value.value_or(0), above ? "most" : "least", limit.value_or(0))});
    } else if (t.score->confident == false) {
      out.push_back(
          {kInconclusive, fmt::format("{} meets its target, but its interval does not.", what)});
    }
  }
}

void quality(const BenchResult& r, ExitReasons& out) {
  if (r.quality && r.quality->verdict == "lower_quality") {
    out.push_back({kVerdictFailed, sentence("Quality is lower", r.quality->reason)});
  }
  if (r.quality && r.quality->verdict == "unclear") {
    out.push_back({kInconclusive, sentence("Quality is unclear", r.quality->reason)});
  }
}

// A load of a cell that has others says which it is.
std::string load_name(const BenchResult& r, const LoadResultSummary& load) {
  if (load.cell.empty() || r.load.size() < 2) return "";
  return load.unit == 0 ? load.cell + ": " : fmt::format("{}, unit {}: ", load.cell, load.unit);
}

bool cell_failed(const BenchResult& r, const std::string& id) {
  return std::any_of(r.cells.begin(), r.cells.end(),
                     [&](const Cell& cell) { return cell.id == id && cell.status == "failed"; });
}

void loads(const BenchResult& r, ExitReasons& out) {
  const bool nothing = std::all_of(r.load.begin(), r.load.end(),
                                   [](const auto& load) { return load.requests == 0; });
  for (const LoadResultSummary& load : r.load) {
    const std::string which = load_name(r, load);
    if (load.requests == 0) {
      const int code = nothing ? kNothingMeasured : kProductFailed;
      if (nothing || !cell_failed(r, load.cell)) {
        out.push_back({code, sentence(which + load_sentence(load), "")});
      }
      continue;
    }
    const double failed = static_cast<double>(load.failed) / static_cast<double>(load.requests);
    if (failed > load.max_failed.value_or(1) || load.failed == load.requests) {
      out.push_back({kProductFailed, fmt::format("{}{} of the requests failed; {} may.", which,
                                                 report::percent(failed),
                                                 report::percent(load.max_failed.value_or(1)))});
    }
    if (load.slo_verdict == "missed") out.push_back({kVerdictFailed, which + load_sentence(load)});
    if (load.slo_verdict == "not_shown")
      out.push_back({kInconclusive, which + load_sentence(load)});
    if (load.min_goodput_per_s && load.goodput_per_s.value_or(0) < *load.min_goodput_per_s) {
      out.push_back(
          {kVerdictFailed, fmt::format("{}goodput is {:.3g}/s, at least {:g}/s is wanted.", which,
                                       load.goodput_per_s.value_or(0), *load.min_goodput_per_s)});
    }
  }
}

}  // namespace

int worse_exit(int a, int b) noexcept { return rank(a) <= rank(b) ? a : b; }

Exit decide_exit(const BenchResult& result, bool strict) {
  ExitReasons found;
  nothing_measured(result, found);
  unfit(result, found);
  product_failed(result, found);
  verdicts(result, found);
  targets(result, found);
  quality(result, found);
  loads(result, found);
  std::stable_sort(found.begin(), found.end(), [](const ExitReason& a, const ExitReason& b) {
    return rank(a.code) < rank(b.code);
  });
  Exit out;
  for (ExitReason& reason : found) {
    if (reason.code != kInconclusive || strict) out.code = worse_exit(out.code, reason.code);
    out.reasons.push_back(std::move(reason.sentence));
  }
  return out;
}

}  // namespace genscope::bench
