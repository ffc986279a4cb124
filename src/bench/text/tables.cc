// The tables below the sentence. Only what was measured has a row.
#include <fmt/format.h>

#include <cmath>
#include <set>

#include "bench/output/words.h"
#include "bench/text/text.h"
#include "report/format.h"
#include "report/table.h"

namespace genscope::bench {
namespace {

// Parts of other rows, or evidence for a verdict.
bool is_detail(const std::string& name) {
  return name == "user_s" || name == "system_s" || name == "own_s" || name == "cycles" ||
         name == "instructions" || name == "energy_idle_j" || name.starts_with("stage.");
}

// Counters that stayed at 0 say nothing.
bool is_silent(const Cell& cell, const std::string& name) {
  for (const auto& [slot, stats] : cell.stats) {
    const auto found = stats.find(name);
    if (found != stats.end() && found->second.max > 0) return false;
  }
  return name.starts_with("io_");
}

std::vector<std::string> shown_metrics(const Cell& cell) {
  std::vector<std::string> shown;
  for (const std::string& name : metrics_of(cell, 'A')) {
    if (!is_detail(name) && !is_silent(cell, name)) shown.push_back(name);
  }
  return shown;
}

std::string one_side_table(const Cell& cell, const TextOptions& options) {
  report::Table table({{"", true, 0},
                       {"median", false, 0},
                       {"95 %", false, 1},
                       {"least", false, 2},
                       {"most", false, 2},
                       {"spread", false, 3}});
  const auto stats = cell.stats.find('A');
  if (stats == cell.stats.end()) return "";
  for (const std::string& name : shown_metrics(cell)) {
    const auto found = stats->second.find(name);
    if (found == stats->second.end()) continue;
    const MetricStats& s = found->second;
    const Metric m = metric(name);
    table.add({std::string(m.words), figure(m.name, s.median),
               s.ci ? interval_words(m.name, s.ci) : "", figure(m.name, s.min),
               figure(m.name, s.max), s.cv ? share_text(*s.cv) : ""});
  }
  return table.empty() ? "" : table.render(options.width, options.color);
}

std::string two_side_table(const BenchResult& result, const Cell& cell,
                           const TextOptions& options) {
  report::Table table({{"", true, 0},
                       {"A", false, 0},
                       {"B", false, 0},
                       {"change", false, 0},
                       {"95 %", false, 1},
                       {"verdict", true, 0}});
  std::vector<std::string> names = shown_metrics(cell);
  names.emplace_back("success_ratio");  // of the runs, not of one; there if some failed
  for (const std::string& name : names) {
    const Comparison* const c = find_comparison(result, cell.id, name);
    if (c == nullptr) continue;
    const Judgement& j = c->judgement;
    const Metric m = metric(name);
    table.add({std::string(m.words), j.before ? figure(m.name, *j.before) : "",
               j.after ? figure(m.name, *j.after) : "", change_words(*c), interval_words(*c),
               std::string(verdict_text(j.verdict))});
  }
  return table.empty() ? "" : table.render(options.width, options.color);
}

void add_part(report::Table& table, const PartChange& part, const std::string& title, bool count) {
  constexpr std::string_view seconds = "latency_s";
  const auto level = [&](double value) {
    return count ? fmt::format("{:g}", value) : figure(seconds, value);
  };
  table.add({title, level(part.before), level(part.after), signed_figure(seconds, part.difference),
             part.interval ? signed_figure(seconds, part.interval->low) + " to " +
                                 signed_figure(seconds, part.interval->high)
                           : "",
             part.share ? fmt::format("{} %", std::lround(*part.share * 100)) : ""});
}

}  // namespace

std::string metric_table(const BenchResult& result, const Cell& cell, const TextOptions& options) {
  return cell.stats.contains('B') ? two_side_table(result, cell, options)
                                  : one_side_table(cell, options);
}

std::string stage_table(const Attribution& attribution, const TextOptions& options) {
  report::Table table({{"stage (means)", true, 0},
                       {"A", false, 0},
                       {"B", false, 0},
                       {"difference", false, 0},
                       {"95 %", false, 1},
                       {"share", false, 2}});
  for (const PartChange& part : attribution.parts) {
    add_part(table, part, part.name, false);
    for (const PartChange& of : part.of) add_part(table, of, "  " + of.name, of.name == "steps");
  }
  add_part(table, attribution.total, "total", false);
  return table.render(options.width, options.color);
}

}  // namespace genscope::bench
