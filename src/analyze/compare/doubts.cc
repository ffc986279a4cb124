// Obstacles first: work that both sides name and that differs, runs that did not finish, programs
// with no stage in common, a run given twice. Any of these ends the comparison, since a figure that
// compares other things is worse than none. Doubts are said beside the figures: an environment that
// differs, failures, losses, steps that vary. Of many runs of a side the first few are named.
#include "analyze/compare/doubts.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "analyze/compare/change_rows.h"

namespace genscope::analysis {
namespace {

constexpr SpanKind kJudged[] = {SpanKind::session, SpanKind::step, SpanKind::block,
                                SpanKind::request, SpanKind::batch};
constexpr std::size_t kMostNamed = 3;  // runs of a side, of one doubt

struct Which {
  const char* side;  // "first", "second"
  const Records& runs;

  // "first run", or "run 2 of the first side (runs/a2)".
  std::string name(std::size_t i) const {
    if (runs.size() == 1) return fmt::format("{} run", side);
    const std::string& path = runs[i]->path.empty() ? runs[i]->id : runs[i]->path;
    return fmt::format("run {} of the {} side{}", i + 1, side,
                       path.empty() ? "" : fmt::format(" ({})", path));
  }
};

// `say(i)`: a sentence about that run, or an empty one. Of many runs the first few are named.
template <class Say>
void tell(const Which& which, std::vector<std::string>& list, Say&& say) {
  std::size_t told = 0;
  for (std::size_t i = 0; i < which.runs.size(); ++i) {
    std::string sentence = say(i);
    if (!sentence.empty() && told++ < kMostNamed) list.push_back(std::move(sentence));
  }
  if (told > kMostNamed) {
    list.push_back(
        fmt::format("So it is with {} more runs of the {} side.", told - kMostNamed, which.side));
  }
}

void add_unfinished(const Which& which, Comparison& result) {
  tell(which, result.incomparable, [&](std::size_t i) -> std::string {
    const std::string& why = which.runs[i]->unfinished;
    if (why.empty()) return "";
    return fmt::format("The {} did not finish its work: {}. Record it again.", which.name(i), why);
  });
}

void add_failures(const Which& which, Comparison& result) {
  for (const SpanKind kind : kJudged) {
    tell(which, result.notes, [&](std::size_t i) -> std::string {
      const Sample& all = which.runs[i]->samples.of(kind).sample;
      if (all.failed == 0) return "";
      return fmt::format("In the {} {} of {} spans of kind {} failed; their times are left out.",
                         which.name(i), all.failed, all.failed + all.count, genscope::name(kind));
    });
  }
}

void add_losses(const Which& which, Comparison& result) {
  tell(which, result.notes, [&](std::size_t i) -> std::string {
    const RunRecord& run = *which.runs[i];
    if (run.unclosed == 0) return "";
    return fmt::format("{} of {} processes of the {} did not close their recording.", run.unclosed,
                       run.traces, which.name(i));
  });
  tell(which, result.notes, [&](std::size_t i) -> std::string {
    const std::uint64_t lost = which.runs[i]->dropped_spans;
    if (lost == 0) return "";
    return fmt::format(
        "The recorder dropped {} spans of the {}: its rows tell of those that were kept.", lost,
        which.name(i));
  });
}

// Steps that vary much show a machine with other work to do, on which runs differ by themselves.
void add_spread(const Which& which, Comparison& result) {
  constexpr double kMuch = 0.1;
  tell(which, result.notes, [&](std::size_t i) -> std::string {
    const std::optional<double> spread = which.runs[i]->steady_spread;
    if (!spread || *spread <= kMuch) return "";
    return fmt::format(
        "The steady steps of the {} vary much: of its middle half the longest takes {:.0f} % more "
        "than the shortest. Runs like this one differ with nothing changed.",
        which.name(i), *spread * 100);
  });
}

void add_coverage(const Which& which, Comparison& result) {
  tell(which, result.notes, [&](std::size_t i) -> std::string {
    std::string text;
    for (const auto& [device, share] : which.runs[i]->thin_energy) {
      text += fmt::format("{}Of {} the {} has energy readings for {:.0f} % of its time only.",
                          text.empty() ? "" : " ", device, which.name(i), share * 100);
    }
    return text;
  });
}

// Runs of one side that are not alike: other work forbids, another environment is a doubt.
void add_conflicts(const char* which, const Side& side, Place place, const char* what,
                   std::vector<std::string>& list) {
  std::string keys;
  for (const Conflict& conflict : side.conflicts) {
    if (conflict.place != place) continue;
    keys += fmt::format("{}{} {}", keys.empty() ? "" : ", ", conflict.key, conflict.values);
  }
  if (!keys.empty())
    list.push_back(fmt::format("The runs of the {} side {}: {}.", which, what, keys));
}

// "python" of "python3.11": versions of one program are compared.
std::string program_of(const Side& side) {
  std::string program = side.runs.empty() ? "" : side.runs.front()->program;
  while (!program.empty() &&
         (program.back() == '.' || (program.back() >= '0' && program.back() <= '9'))) {
    program.pop_back();
  }
  return program;
}

void add_unlike(const Side& before, const Side& after, Comparison& result) {
  const Common common = common_rows(before.runs, after.runs);
  if (common.before > 0 && common.after > 0 && common.both == 0) {
    result.incomparable.push_back(fmt::format(
        "They have nothing in common: none of {} names of spans is among the {} of the other. "
        "Compare runs of one program, or mark both alike.",
        common.before, common.after));
    return;
  }
  const std::string a = program_of(before), b = program_of(after);
  if (common.both > 0 || a.empty() || b.empty() || a == b) return;
  if (says_workload(before.facts) || says_workload(after.facts)) return;
  result.incomparable.push_back(fmt::format(
      "They ran different programs, {} and {}, with no stage in common. Compare runs of one "
      "program, or mark both alike.",
      a, b));
}

bool same_run(const RunRecord& a, const RunRecord& b) {
  return !a.id.empty() && a.id == b.id && a.started_unix_ns == b.started_unix_ns;
}

void add_same_runs(const Side& before, const Side& after, Comparison& result) {
  if (before.runs.size() == 1 && after.runs.size() == 1) {
    if (same_run(*before.runs[0], *after.runs[0])) {
      result.notes.emplace_back("Both are the same run.");
    }
    return;
  }
  Records all = before.runs;
  all.insert(all.end(), after.runs.begin(), after.runs.end());
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = i + 1; j < all.size(); ++j) {
      if (all[i]->started_unix_ns == 0 || !same_run(*all[i], *all[j])) continue;
      result.incomparable.push_back(fmt::format("Run {} is given twice: each run counts once.",
                                                all[i]->path.empty() ? all[i]->id : all[i]->path));
      return;
    }
  }
}

}  // namespace

void add_obstacles(const Side& before, const Side& after, Comparison& result) {
  std::string work;
  for (const Difference& difference : result.workload) {
    if (!difference.decisive) continue;
    work += fmt::format("{}{} {} against {}", work.empty() ? "" : ", ", difference.key,
                        *difference.before, *difference.after);
  }
  if (!work.empty()) {
    result.incomparable.push_back(
        fmt::format("The two did different work: {}. Run both with the same.", work));
  }
  for (const bool first : {true, false}) {
    add_conflicts(first ? "first" : "second", first ? before : after, Place::workload,
                  "did different work", result.incomparable);
  }
  add_unfinished({"first", before.runs}, result);
  add_unfinished({"second", after.runs}, result);
  add_unlike(before, after, result);
  add_same_runs(before, after, result);
}

void add_notes(const Side& before, const Side& after, Comparison& result) {
  if (!says_workload(before.facts) && !says_workload(after.facts)) {
    result.notes.emplace_back(
        "Neither run says what work it did (model, size, steps), so that it is not known to be "
        "the same: give these to the session as arguments, or look at the commands.");
  }
  const Common common = common_rows(before.runs, after.runs);
  if ((common.before == 0) != (common.after == 0)) {
    result.notes.push_back(fmt::format(
        "The {} {} no spans: only figures of whole runs can be compared.",
        common.before == 0 ? "first" : "second",
        (common.before == 0 ? before : after).runs.size() > 1 ? "side has" : "run has"));
  }
  for (const bool first : {true, false}) {
    add_conflicts(first ? "first" : "second", first ? before : after, Place::environment,
                  "differ in what may explain a change", result.notes);
  }
  for (const auto& add : {add_failures, add_losses, add_spread, add_coverage}) {
    add({"first", before.runs}, result);
    add({"second", after.runs}, result);
  }
}

}  // namespace genscope::analysis
