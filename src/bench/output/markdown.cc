// A result as Markdown. Tables are bounded: the summary of a CI job holds a mebibyte.
#include <fmt/format.h>

#include <algorithm>

#include "bench/output/output.h"
#include "bench/output/words.h"
#include "report/format.h"
#include "report/printable.h"
#include "report/table.h"

namespace genscope::bench {
namespace {

using report::printable;
using report::Table;

constexpr std::size_t kMostRows = 300, kMostReasons = 10, kLongestCell = 80;

std::string md(std::string_view text) { return report::markdown_text(printable(text)); }
std::string cell_text(std::string_view text) {
  return report::shorten(printable(text), kLongestCell);
}

std::string mark(Verdict verdict) {
  switch (verdict) {
    case Verdict::regressed:
      return "🔴 regressed";
    case Verdict::improved:
      return "🟢 improved";
    case Verdict::unchanged:
      return "⚪ unchanged";
    default:
      return "🟡 " + verdict_words(verdict);
  }
}

Table verdict_table() {
  return Table({{"verdict", true},
                {"cell", true},
                {"metric", true},
                {"before"},
                {"after"},
                {"change"},
                {"interval"},
                {"runs"}});
}

void add_row(const Comparison& c, const CellLabels& label, Table& table) {
  const Judgement& j = c.judgement;
  table.add({mark(j.verdict), cell_text(label(c.cell)), cell_text(c.metric),
             j.before ? figure(c.metric, *j.before) : "-",
             j.after ? figure(c.metric, *j.after) : "-", change_words(c), interval_words(c),
             fmt::format("{} + {}", j.before_n, j.after_n)});
}

std::string left_out(std::size_t n) {
  return n == 0 ? "" : fmt::format("\n{} more in the JSON result.\n", report::count(n));
}

// What somebody should look at, or the rest.
void add_verdicts(const BenchResult& r, bool folded, std::string& out) {
  Table table = verdict_table();
  const CellLabels label(r);
  std::size_t n = 0;
  for (const Comparison* c : by_urgency(r)) {
    if ((urgency(*c) == kFolded) == folded && ++n <= kMostRows) add_row(*c, label, table);
  }
  if (n == 0) return;
  const std::string rows = table.markdown() + left_out(n > kMostRows ? n - kMostRows : 0);
  if (!folded) {
    out += "\n" + rows;
    return;
  }
  out += fmt::format("\n<details><summary>{}</summary>\n\n{}", folded_words(r), rows);
  out += "\n</details>\n";
}

void add_explanations(const BenchResult& r, std::string& out) {
  std::string list;
  const CellLabels label(r);
  std::size_t n = 0;
  for (const Comparison* c : by_urgency(r)) {
    if (urgency(*c) >= kFolded) break;
    const std::string remark = remark_of(*c);
    if (remark.empty() || ++n > kMostReasons) continue;
    list +=
        fmt::format("- **{}**, {}: {}\n", md(cell_text(label(c->cell))), md(c->metric), md(remark));
  }
  if (!list.empty()) out += "\n" + list;
}

void add_cells(const BenchResult& r, std::string& out) {
  if (!r.comparisons.empty() || r.cells.empty()) return;
  Table table({{"cell", true}, {"metric", true}, {"median"}, {"interval"}, {"spread"}, {"runs"}});
  const CellLabels label(r);
  std::size_t rows = 0, all = 0;
  for (const Cell& cell : r.cells) {
    const auto side = cell.stats.find(shown_slot(cell));
    if (side == cell.stats.end()) continue;
    for (const auto& [metric_name, s] : side->second) {
      if (++all > kMostRows) continue;
      ++rows;
      table.add({cell_text(label(cell.id)), cell_text(metric_name), figure(metric_name, s.median),
                 interval_words(metric_name, s.ci), s.cv ? share_text(*s.cv) : "-",
                 report::count(s.n_units)});
    }
  }
  if (rows > 0) out += "\n" + table.markdown() + left_out(all - rows);
}

void add_failures(const BenchResult& r, std::string& out) {
  Table table({{"cell", true}, {"status", true}, {"why", true}});
  std::size_t n = 0;
  for (const Cell& cell : r.cells) {
    if (cell.status == "ok" || ++n > kMostRows) continue;
    table.add({cell_text(cell.id), cell.status,
               cell.failure ? cell_text(failure_words(*cell.failure)) : "-"});
  }
  if (n > 0) {
    out +=
        "\n### Not measured\n\n" + table.markdown() + left_out(n > kMostRows ? n - kMostRows : 0);
  }
}

void add_targets(const BenchResult& r, std::string& out) {
  if (r.targets.empty()) return;
  Table table(
      {{"target", true}, {"cell", true}, {"limit"}, {"measured"}, {"score"}, {"met", true}});
  for (const TargetResult& t : r.targets) {
    std::string limit;
    if (t.limit_max) limit += "at most " + figure(t.metric, *t.limit_max);
    if (t.limit_max && t.limit_min) limit += ", ";
    if (t.limit_min) limit += "at least " + figure(t.metric, *t.limit_min);
    std::string met = t.absent.empty() ? "not known" : cell_text(t.absent);
    if (t.score)
      met = !t.score->met ? "🔴 no" : t.score->confident == false ? "🟡 barely" : "🟢 yes";
    table.add({cell_text(t.metric + (t.stat.empty() ? "" : " " + t.stat)), cell_text(t.cell), limit,
               t.value ? figure(t.metric, *t.value) : "-",
               t.score ? fmt::format("{:.1f}", t.score->score) : "-", met});
  }
  out += "\n### Targets\n\n" + table.markdown();
  if (r.score) out += fmt::format("\nScore {:.1f} of 100.\n", *r.score);
}

void add_load(const BenchResult& r, std::string& out) {
  if (r.load.empty()) return;
  Table table({{"scenario", true},
               {"cell", true},
               {"offered"},
               {"achieved"},
               {"failed"},
               {"from arrival", true},
               {"limit", true}});
  for (const LoadResultSummary& load : r.load) {
    std::vector<std::string> points;
    for (const auto& [p, seconds] :
         load.from_arrival_s.empty() ? load.service_s : load.from_arrival_s) {
      points.push_back(fmt::format("{} {}", p, figure("_s", seconds)));
    }
    table.add({load.scenario, cell_text(load.cell),
               load.offered_per_s ? fmt::format("{:.3g}/s", *load.offered_per_s) : "-",
               fmt::format("{:.3g}/s", load.achieved_per_s), report::count(load.failed),
               fmt::format("{}", fmt::join(points, ", ")),
               load.slo_verdict.empty() ? "-" : load.slo_verdict});
  }
  out += "\n### Load\n\n" + table.markdown();
}

void add_environment(const BenchResult& r, std::string& out) {
  std::string lines;
  for (const auto& [side, label] : r.labels) {
    lines += fmt::format("- {}: {}\n", md(side), md(cell_text(label)));
  }
  if (!r.environment.klass.empty()) lines += "- machine: " + md(r.environment.klass) + "\n";
  for (const EnvironmentCheck& check : r.environment.checks) {
    if (check.status == "ok" || check.status == "unknown") continue;
    lines += fmt::format("- {} {}: {}, better {}\n", md(check.status), md(check.name),
                         md(check.value), md(check.limit));
  }
  if (!r.git_sha.empty()) {
    lines += fmt::format("- commit: {}{}\n", md(r.git_sha.substr(0, 12)),
                         r.git_dirty == true ? ", with changes" : "");
  }
  if (!r.id.empty()) lines += "- result: " + md(r.id) + "\n";
  if (lines.empty()) return;
  out += "\n<details><summary>How it was measured</summary>\n\n" + lines + "\n</details>\n";
}

}  // namespace

void result_markdown(const BenchResult& r, const Sink& sink) {
  std::string out = fmt::format("## {}\n", md(cell_text(title_of(r))));
  const std::string counts = verdict_counts(r);
  if (!counts.empty()) out += "\n**" + counts + "**\n";
  if (r.exit.code != 0) out += fmt::format("\nExit code {}.\n", r.exit.code);
  if (r.comparisons.empty() && r.exit.code != 0) {
    out += "\n";
    for (std::size_t i = 0; i < std::min(r.exit.reasons.size(), kMostReasons); ++i) {
      out += "- " + md(r.exit.reasons[i]) + "\n";
    }
  }
  add_verdicts(r, false, out);
  add_explanations(r, out);
  add_verdicts(r, true, out);
  sink(out);
  out.clear();
  add_cells(r, out);
  add_failures(r, out);
  add_targets(r, out);
  if (r.quality) {
    out += fmt::format("\n### Quality\n\n{}: {}\n", md(r.quality->verdict), md(r.quality->reason));
  }
  add_load(r, out);
  add_environment(r, out);
  sink(out);
}

}  // namespace genscope::bench
