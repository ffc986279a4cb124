// The total is the wall time, or where every run has at least two requests their mean, in which a
// slow one cannot hide. It is judged by the one engine of verdicts; where the time alone leaves it
// open, by the time less what others took. The difference is attributed to the stages' own times,
// which add up; what none covers is "outside".
#include "analyze/compare/headline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "analyze/verdict/verdict.h"
#include "base/figures.h"

namespace genscope::analysis {
namespace {

constexpr double kNanosecond = 1e-9;

bool by_requests(const Records& before, const Records& after) {
  const auto several = [](const RunRecord* run) {
    return run->samples.of(SpanKind::request).sample.count > 1;
  };
  return std::all_of(before.begin(), before.end(), several) &&
         std::all_of(after.begin(), after.end(), several);
}

// All or nothing: a list that some runs lack is not known.
std::vector<double> all_of_side(const Records& runs, std::optional<double> RunRecord::*figure) {
  std::vector<double> values;
  for (const RunRecord* run : runs) {
    if (!(run->*figure)) return {};
    values.push_back(*(run->*figure));
  }
  return values;
}

Measured measured(const Records& runs, bool requests) {
  if (requests) return {all_of_side(runs, &RunRecord::request_ns), {}, {}, {}};
  return {all_of_side(runs, &RunRecord::wall_ns),
          {},
          all_of_side(runs, &RunRecord::own_ns),
          all_of_side(runs, &RunRecord::cpu_ns)};
}

std::vector<double> in_seconds(std::vector<double> ns) {
  for (double& value : ns) value *= kNanosecond;
  return ns;
}

// A stage that a run does not have took no time there: it recorded its stages.
void add_part(const RunRecord& run, const std::string& stage, bool requests,
              std::vector<double>& seconds, std::vector<double>& steps) {
  const StageParts& parts = requests ? run.parts.in_requests : run.parts.whole;
  const auto it = parts.find(stage);
  const StagePart part = it == parts.end() ? StagePart{} : it->second;
  const double over =
      requests ? static_cast<double>(run.samples.of(SpanKind::request).sample.count) : 1;
  seconds.push_back(part.seconds / over);
  steps.push_back(part.steps / over);
}

std::optional<Attribution> attribution_of(const Records& before, const Records& after,
                                          bool requests, bool paired, const Measured& x,
                                          const Measured& y) {
  std::set<std::string> names;
  for (const Records* side : {&before, &after}) {
    for (const RunRecord* run : *side) {
      for (const auto& [name, part] : requests ? run->parts.in_requests : run->parts.whole) {
        names.insert(name);
      }
    }
  }
  constexpr std::size_t kMostParts = 64;  // beyond that they are no stages of a pipeline
  if (names.empty() || names.size() > kMostParts) return std::nullopt;
  std::vector<PartSamples> parts;
  for (const std::string& stage : names) {
    PartSamples part;
    part.name = stage;
    for (const RunRecord* run : before) {
      add_part(*run, stage, requests, part.before, part.before_steps);
    }
    for (const RunRecord* run : after) {
      add_part(*run, stage, requests, part.after, part.after_steps);
    }
    parts.push_back(std::move(part));
  }
  auto result = attribute(in_seconds(x.values), in_seconds(y.values), parts, paired, kConfidence);
  if (!result) return result;
  // The largest first; what no part covers stays last.
  std::stable_sort(result->parts.begin(), result->parts.end() - 1,
                   [](const PartChange& a, const PartChange& b) {
                     return std::fabs(a.difference) > std::fabs(b.difference);
                   });
  return result;
}

std::string cpu_text(const Judgement& j) {
  if (!j.cpu_explains) return "";
  if (*j.cpu_explains <= 0) return "; CPU time explains none of it";
  if (*j.cpu_explains >= 1) return "; CPU time explains all of it";
  return fmt::format("; CPU time explains {:.0f} % of it", *j.cpu_explains * 100);
}

std::string one_each_text(const Comparison& c) {
  constexpr std::string_view kRemedy = "Record three of each, or use `genscope bench ab`.";
  const Judgement& j = c.judgement;
  std::string differ = "They have no time that could be compared.";
  if (j.before && j.after && j.ratio) {
    const double percent = std::fabs(*j.ratio - 1) * 100;
    const std::string both =
        fmt::format("({}, {})", base::duration(*j.before), base::duration(*j.after));
    const std::string what = c.total == kRequest ? "These runs' requests" : "These runs";
    differ = percent < 0.05
                 ? fmt::format("{} took the same time {}.", what, both)
                 : fmt::format("{} differ by {:.2g} % {}{}.", what, percent, both, cpu_text(j));
    if (percent >= 99.5) {
      const double times = *j.ratio > 1 ? *j.ratio : 1 / *j.ratio;
      differ = fmt::format("{} differ {:.3g} times {}{}.", what, times, both, cpu_text(j));
    }
  }
  return fmt::format("No verdict: one run each. {} {}", differ, kRemedy);
}

std::string verdict_words(Verdict verdict) {
  switch (verdict) {
    case Verdict::insufficient:
      return "No verdict";
    case Verdict::slower_machine:
      return "Slower machine";
    case Verdict::clock_shift:
      return "Another clock";
    default:
      break;
  }
  std::string word(name(verdict));
  word[0] = static_cast<char>(word[0] - 'a' + 'A');
  return word;
}

std::string runs_text(const Comparison& c) {
  const std::size_t a = c.before.size(), b = c.after.size();
  std::string text =
      a == b ? fmt::format("{} runs of each", a) : fmt::format("{} runs against {}", a, b);
  const Judgement& j = c.judgement;
  if (j.before && j.after) {
    text += fmt::format(", medians {} and {}", base::duration(*j.before), base::duration(*j.after));
  }
  return text;
}

// What else moved: "denoise regressed by 21 %, CPU time improved by 4 %".
std::string moved_text(const Comparison& c) {
  constexpr std::size_t kMost = 4;
  std::string text;
  std::size_t count = 0;
  for (const ChangeRow& row : c.rows) {
    const Verdict verdict = row.judgement.verdict;
    if (!says_what_a_run_does(row) || row.presence != Presence::both || !row.percent) continue;
    if (verdict != Verdict::regressed && verdict != Verdict::improved) continue;
    if (++count > kMost) continue;
    text += fmt::format("{}{} {} by {:.2g} %", text.empty() ? "" : ", ", row.name, name(verdict),
                        std::fabs(*row.percent));
  }
  if (count > kMost) text += fmt::format(" and {} more", count - kMost);
  return text.empty() ? "" : fmt::format(" By row: {}.", text);
}

std::string several_text(const Comparison& c) {
  const Judgement& j = c.judgement;
  std::string reason = j.reason;
  if (constexpr std::string_view kPrefix = "no verdict: "; reason.starts_with(kPrefix)) {
    reason.erase(0, kPrefix.size());
  }
  if (j.verdict == Verdict::inconclusive && j.mde) {
    reason += fmt::format("; a change of {:.2g} % would have been seen", *j.mde * 100);
  }
  return fmt::format("{}. {}: {}; {}.{}", verdict_words(j.verdict),
                     c.total == kRequest ? "Requests" : "Wall time", reason, runs_text(c),
                     moved_text(c));
}

}  // namespace

void judge_total(const Records& before, const Records& after, const Judging& judging,
                 Comparison& result) {
  const bool requests = by_requests(before, after);
  result.total = requests ? kRequest : kWallTime;
  const Measured x = measured(before, requests), y = measured(after, requests);
  result.judgement = judge(x, y, judging.options(x.values.size(), y.values.size()));
  for (const std::string& note : result.judgement.notes) result.notes.push_back(note);
  if (x.values.size() == before.size() && y.values.size() == after.size()) {
    result.attribution = attribution_of(before, after, requests, judging.order.paired, x, y);
  }
  for (ChangeRow& row : result.rows) {
    if (row.kind == "run" && !requests) row.judgement = result.judgement;
  }
  excuse_rows(result.judgement, result.rows);
}

void write_headline(Comparison& result) {
  const bool one_each = result.before.size() == 1 && result.after.size() == 1;
  result.headline = one_each ? one_each_text(result) : several_text(result);
}

}  // namespace genscope::analysis
