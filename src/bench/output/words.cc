#include "bench/output/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/printable.h"
#include "report/format.h"

namespace genscope::bench {
namespace {

constexpr std::size_t kMostReason = 120;

// A stage explains the whole; by itself it is no news.
bool explains(const Comparison& c) { return !c.gate && c.metric.starts_with("stage."); }

}  // namespace

std::string verdict_words(Verdict verdict) {
  std::string words(name(verdict));
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

std::string_view verdict_text(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::regressed:
      return "worse";
    case Verdict::improved:
      return "better";
    case Verdict::unchanged:
      return "same";
    case Verdict::inconclusive:
      return "not decided";
    case Verdict::insufficient:
      return "too few runs";
    case Verdict::incomparable:
      return "not comparable";
    case Verdict::clock_shift:
      return "same, other clock";
    case Verdict::slower_machine:
      return "same, busy machine";
  }
  return "";
}

std::string runs_text(const Judgement& judgement) {
  if (judgement.pairs > 0) return report::counted(judgement.pairs, "pair", "pairs");
  if (judgement.before_n == judgement.after_n) {
    return report::counted(judgement.after_n, "run", "runs") + " of each";
  }
  return fmt::format("{} and {} runs", judgement.before_n, judgement.after_n);
}

int urgency(const Comparison& c) {
  if (explains(c)) return kFolded;
  switch (c.judgement.verdict) {
    case Verdict::regressed:
      return c.gate ? 0 : 1;
    case Verdict::incomparable:
      return 2;
    case Verdict::inconclusive:
    case Verdict::insufficient:
      return c.gate ? 3 : kFolded;
    case Verdict::clock_shift:
    case Verdict::slower_machine:
      return 4;
    case Verdict::improved:
      return 5;
    case Verdict::unchanged:
      break;
  }
  return kFolded;
}

std::vector<const Comparison*> by_urgency(const BenchResult& result) {
  std::vector<const Comparison*> all;
  for (const Comparison& c : result.comparisons) all.push_back(&c);
  std::stable_sort(all.begin(), all.end(), [](const Comparison* a, const Comparison* b) {
    return urgency(*a) < urgency(*b);
  });
  return all;
}

std::string folded_words(const BenchResult& result) {
  std::size_t n = 0, of_stages = 0;
  for (const Comparison& c : result.comparisons) {
    n += urgency(c) == kFolded ? 1 : 0;
    of_stages += explains(c) ? 1 : 0;
  }
  const std::string all = report::counted(n, "comparison", "comparisons");
  if (of_stages == 0) return all + " without a change that was found";
  if (of_stages == n) return all + " of stages";
  return fmt::format("{}: {} of stages, {} without a change that was found", all,
                     report::count(of_stages), report::count(n - of_stages));
}

std::vector<VerdictCount> count_verdicts(const BenchResult& result) {
  std::vector<VerdictCount> counts = {{Verdict::regressed, 0},    {Verdict::incomparable, 0},
                                      {Verdict::inconclusive, 0}, {Verdict::insufficient, 0},
                                      {Verdict::clock_shift, 0},  {Verdict::slower_machine, 0},
                                      {Verdict::improved, 0},     {Verdict::unchanged, 0}};
  for (const Comparison& c : result.comparisons) {
    if (explains(c)) continue;
    for (VerdictCount& count : counts) count.n += c.judgement.verdict == count.verdict ? 1 : 0;
  }
  std::erase_if(counts, [](const VerdictCount& count) { return count.n == 0; });
  return counts;
}

std::string verdict_counts(const BenchResult& result) {
  std::vector<std::string> parts;
  for (const VerdictCount& count : count_verdicts(result)) {
    parts.push_back(fmt::format("{} {}", report::count(count.n), verdict_words(count.verdict)));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

char shown_slot(const Cell& cell) { return cell.stats.contains('B') ? 'B' : 'A'; }

std::string attribution_words(const Comparison& c) {
  constexpr std::size_t kShown = 3;
  const Verdict verdict = c.judgement.verdict;
  if (!c.stage_attribution || (verdict != Verdict::regressed && verdict != Verdict::improved)) {
    return "";
  }
  std::vector<const PartChange*> parts;
  for (const PartChange& part : c.stage_attribution->parts) {
    if (part.difference != 0) parts.push_back(&part);
  }
  std::stable_sort(parts.begin(), parts.end(), [](const PartChange* a, const PartChange* b) {
    return std::fabs(a->difference) > std::fabs(b->difference);
  });
  if (parts.size() > kShown) parts.resize(kShown);
  std::vector<std::string> words;
  for (const PartChange* part : parts) {
    std::string text = fmt::format("{} {}", part->name, signed_figure("_s", part->difference));
    if (part->share) text += fmt::format(" ({:.0f} %)", *part->share * 100);
    words.push_back(std::move(text));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string remark_of(const Comparison& c) {
  const Judgement& j = c.judgement;
  std::vector<std::string> sentences;
  const std::string parts = attribution_words(c);
  if (!parts.empty()) sentences.push_back("By stage: " + parts + ".");
  if (j.verdict == Verdict::inconclusive && j.runs_needed) {
    sentences.push_back(
        fmt::format("About {} runs of each side would decide.", report::count(*j.runs_needed)));
  } else if (!j.interval && !j.difference_interval && !j.reason.empty()) {
    sentences.push_back(j.reason + (j.reason.ends_with('.') ? "" : "."));
  } else if (j.verdict == Verdict::clock_shift || j.verdict == Verdict::slower_machine ||
             j.by_own_time) {  // the interval beside it says something else
    sentences.push_back(j.reason + (j.reason.ends_with('.') ? "" : "."));
  }
  for (const std::string& note : j.notes) {
    sentences.push_back(note + (note.ends_with('.') ? "" : "."));
  }
  return fmt::format("{}", fmt::join(sentences, " "));
}

CellLabels::CellLabels(const BenchResult& result) {
  std::map<std::string, std::set<std::string>> values;
  for (const Cell& cell : result.cells) {
    for (const auto& [axis, value] : cell.params) values[axis].insert(value);
  }
  std::map<std::string, std::size_t> used;
  for (const Cell& cell : result.cells) {
    std::vector<std::string> words;
    for (const auto& [axis, value] : cell.params) {
      if (values[axis].size() < 2) continue;
      const bool plain = value.find_first_not_of("0123456789.-+") == std::string::npos;
      words.push_back(plain ? axis + "=" + value : value);
    }
    std::string label = fmt::format("{}", fmt::join(words, " "));
    ++used[label];
    labels_[cell.id] = std::move(label);
  }
  for (auto& [id, label] : labels_) {
    if (label.empty() || used[label] > 1) label = id;
  }
}

const std::string& CellLabels::operator()(const std::string& id) const {
  const auto found = labels_.find(id);
  return found != labels_.end() ? found->second : id;
}

std::vector<std::string> machine_doubts(const Environment& environment) {
  constexpr std::string_view kOfSuite = "warn_";
  std::vector<std::string> doubts;
  for (const EnvironmentCheck& check : environment.checks) {
    const bool judged_by_suite =
        std::any_of(environment.checks.begin(), environment.checks.end(),
                    [&](const auto& other) { return other.name == "warn_" + check.name; });
    if ((check.status != "warn" && check.status != "unfit") || judged_by_suite) continue;
    const bool of_suite = check.name.starts_with(kOfSuite);
    doubts.push_back(fmt::format(
        "{} is {}{}", of_suite ? check.name.substr(kOfSuite.size()) : check.name, check.value,
        check.limit.empty() ? "" : fmt::format(" (should be {})", check.limit)));
  }
  return doubts;
}

std::string failure_words(const Failure& failure) {
  std::string words(name(failure.kind));
  std::replace(words.begin(), words.end(), '_', ' ');
  const std::string_view detail = failure.detail;
  const std::string_view first = detail.substr(0, detail.find('\n'));
  if (!first.empty()) words.append(": ").append(first);
  // The rest is the end of stderr, whose last line mostly says why.
  std::string_view last = detail.substr(first.size());
  while (last.ends_with('\n') || last.ends_with(' ')) last.remove_suffix(1);
  last.remove_prefix(last.rfind('\n') == std::string_view::npos ? 0 : last.rfind('\n') + 1);
  if (!last.empty()) words += fmt::format(" ({})", base::shorten(last, kMostReason));
  return words;
}

std::string title_of(const BenchResult& result) {
  if (!result.suite.empty()) return result.suite;
  const auto a = result.labels.find("A"), b = result.labels.find("B");
  if (a != result.labels.end() && b != result.labels.end()) {
    return a->second + " against " + b->second;
  }
  return a != result.labels.end() ? a->second : result.id;
}

}  // namespace genscope::bench
