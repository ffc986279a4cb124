// The one sentence that says what came out. What is not certain is said as such, with what would
// help; a difference that was not found comes with the one that would have been.
#include <fmt/format.h>

#include <cctype>

#include "bench/output/words.h"
#include "bench/text/text.h"
#include "report/format.h"

namespace genscope::bench {
namespace {

std::string speed_headline(const Judgement& j);

bool beyond_floor(const Judgement& j) {
  return j.interval->low > 1 + j.floor || j.interval->high < 1 / (1 + j.floor);
}

// Unchanged is what lies within the floor. Where the interval leaves no doubt that something moved,
// the sentence does not deny it.
std::string unchanged_headline(const Judgement& j) {
  const bool moved = j.interval->low > 1 || j.interval->high < 1;
  const std::string floor = percent_text(j.floor * 100);
  const std::string within = !moved ? ""
                             : j.floor_source == FloorSource::noise
                                 ? fmt::format(
                                       ", within the noise of {} % that `bench selfcheck` "
                                       "found",
                                       floor)
                                 : fmt::format(", within the {} % that do not matter", floor);
  return fmt::format(
      "{}: {} ({:g} %: {}), {}{}{}", moved ? "No difference that counts" : "No difference found",
      change_text(*j.ratio), j.confidence * 100, interval_text(*j.interval), runs_text(j), within,
      j.mde ? fmt::format("; a change of {} % or more would have been seen",
                          percent_text(*j.mde * 100))
            : "");
}

// Judged without what others took: the figures of that, and what the clock said.
std::string own_time_headline(const Judgement& j) {
  Judgement own = j;
  own.by_own_time = false;
  own.ratio = j.own_time_ratio;
  own.interval = j.own_time_interval;
  return fmt::format("{}, without the time that other programs took; with it {} ({})",
                     speed_headline(own), j.ratio ? change_text(*j.ratio) : "?",
                     j.interval ? interval_text(*j.interval) : "?");
}

std::string speed_headline(const Judgement& j) {
  if (j.by_own_time && j.own_time_ratio && j.own_time_interval) return own_time_headline(j);
  const std::string runs = runs_text(j);
  switch (j.verdict) {
    case Verdict::improved:
    case Verdict::regressed:
      if (!j.ratio || !j.interval) break;
      return fmt::format("B is {}, {}", speed_text(*j.ratio, *j.interval, j.confidence), runs);
    case Verdict::unchanged:
      if (!j.interval) break;
      return unchanged_headline(j);
    case Verdict::inconclusive:
      if (!j.interval || beyond_floor(j)) break;  // others on the machine: it has its own sentence
      return fmt::format("Not decided: {} ({:g} %: {}), {}{}", change_text(*j.ratio),
                         j.confidence * 100, interval_text(*j.interval), runs,
                         j.runs_needed
                             ? fmt::format("; some {} of each would decide: --max-units {}",
                                           *j.runs_needed, *j.runs_needed)
                             : "; more runs, or a quieter machine, would decide");
    default:
      break;
  }
  return j.reason;
}

std::string beside(const Comparison& c) {
  const Judgement& j = c.judgement;
  const std::string words(metric(c.metric).words);
  switch (j.verdict) {
    case Verdict::unchanged:
      return words + " same";
    case Verdict::improved:
    case Verdict::regressed:
      if (j.ratio) return fmt::format("{} {}", words, change_text(*j.ratio));
      break;
    case Verdict::inconclusive:
      return words + " not decided";
    default:
      break;
  }
  return "";
}

std::string quality_words(const QualityResult& quality) {
  std::size_t same = 0, all = 0;
  for (const QualityPair& pair : quality.pairs) {
    if (!pair.absent.empty()) continue;
    ++all;
    same += pair.same_bytes ? 1 : 0;
  }
  if (quality.verdict == "same_bytes") {
    return fmt::format("outputs same ({} of {} bytes equal)", same, all);
  }
  if (quality.verdict == "same_quality") return "outputs of the same quality: " + quality.reason;
  if (quality.verdict == "lower_quality") return "outputs of LOWER quality: " + quality.reason;
  return "outputs: " + quality.reason;
}

std::string without_stop(std::string text) {
  while (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace

const Comparison* find_comparison(const BenchResult& result, const std::string& cell,
                                  std::string_view metric) {
  for (const Comparison& one : result.comparisons) {
    if (one.cell == cell && one.metric == metric) return &one;
  }
  return nullptr;
}

std::string change_headline(const BenchResult& result, const Cell& cell) {
  const Comparison* const time = find_comparison(result, cell.id, "latency_s");
  if (time == nullptr) return "";
  std::string text = speed_headline(time->judgement);
  for (const std::string_view other : {"rss_peak_bytes", "vram_peak_bytes", "energy_j"}) {
    const Comparison* const found = find_comparison(result, cell.id, other);
    const std::string words = found != nullptr ? beside(*found) : "";
    if (!words.empty()) text += "; " + words;
  }
  if (result.quality && !result.quality->pairs.empty()) {
    text += "; " + without_stop(quality_words(*result.quality));
  }
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return without_stop(text) + ".";
}

std::string cell_headline(const Cell& cell, const std::string& subject) {
  const auto slot = cell.stats.find('A');
  if (slot == cell.stats.end()) return "";
  const auto found = slot->second.find("latency_s");
  if (found == slot->second.end()) return "";
  const MetricStats& time = found->second;
  const Metric latency = metric("latency_s");
  std::string interval;
  if (time.ci) {
    interval = fmt::format(" (95 %: {} to {})", figure(latency.name, time.ci->low),
                           figure(latency.name, time.ci->high));
  }
  return fmt::format("{} takes {}{}, {}.", subject, figure(latency.name, time.median), interval,
                     report::counted(time.n_units, "run", "runs"));
}

}  // namespace genscope::bench
