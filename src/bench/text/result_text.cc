// A result for a terminal. Commands are shown cell by cell (bench/text); a suite as tables: what
// was measured or how the sides compare, then what is wrong, then the verdict. Rows are bounded:
// the JSON result has them all.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "bench/http/load.h"
#include "bench/output/output.h"
#include "bench/output/words.h"
#include "bench/text/text.h"
#include "report/format.h"
#include "report/printable.h"
#include "report/table.h"

namespace genscope::bench {
namespace {

using report::printable;
using report::Table;

constexpr std::size_t kMostTextRows = 60, kMostSentences = 8, kFewCells = 4;

const char* style_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::regressed:
      return "1;31";
    case Verdict::improved:
      return "1;32";
    case Verdict::unchanged:
      return "1";
    default:
      return "1;33";
  }
}

// Metrics that somebody who asked for nothing wants to see.
bool matters(std::string_view metric_name) {
  for (const std::string_view one :
       {"latency_s", "rss_peak_bytes", "vram_peak_bytes", "energy_j", "ttft_s", "tpot_s"}) {
    if (metric_name == one) return true;
  }
  return metric_name.ends_with("_per_image");
}

class ResultText {
 public:
  ResultText(const BenchResult& result, const ResultTextOptions& options)
      : r_(result), options_(options), label_(result), width_(report::text_width(options.width)) {}

  std::string make() {
    if (r_.suite.empty() && r_.cells.size() <= kFewCells && !against_another()) {
      out_ = commands_text(r_, {.width = width_, .color = options_.color});
    } else {
      tables();
    }
    targets();
    load();
    if (r_.quality) {
      blank();
      sentence("Quality: " + r_.quality->verdict + ". " + r_.quality->reason);
    }
    verdict();
    return std::move(out_);
  }

 private:
  // Compared with another result: its cells have one side each.
  bool against_another() const {
    return !r_.comparisons.empty() &&
           std::none_of(r_.cells.begin(), r_.cells.end(),
                        [](const Cell& cell) { return cell.stats.contains('B'); });
  }
  void tables() {
    heading_lines();
    if (r_.comparisons.empty()) {
      cells();
    } else {
      comparisons();
      explanations();
    }
    failures();
    environment();
  }

  std::string styled(const std::string& text, const char* style) const {
    return options_.color ? fmt::format("\x1b[{}m{}\x1b[0m", style, text) : text;
  }
  void line(const std::string& text) { out_ += text + "\n"; }
  void sentence(const std::string& text) { line(report::wrap(printable(text), width_)); }
  void warning(const std::string& text) {
    line(styled(report::wrap(printable(text), width_), "33"));
  }
  void blank() {
    if (!out_.empty() && !out_.ends_with("\n\n")) out_ += "\n";
  }

  void heading_lines() {
    if (!r_.suite.empty()) line(styled(printable(r_.suite), "1"));
    for (const auto& [side, label] : r_.labels) {
      line(fmt::format("{}  {}", styled(printable(side), "1"),
                       report::shorten(printable(label), width_ - 3)));
    }
  }

  // Of many cells, what did not change is a number at the end.
  bool shown(const Comparison& c) const {
    if (options_.all) return true;
    if (r_.cells.size() > 1) return urgency(c) < kFolded;
    return c.gate || matters(c.metric) || urgency(c) <= 2;
  }

  // The verdict is the last column, so that colour comes after the widths.
  std::string coloured(const std::string& table, const std::vector<Verdict>& verdicts) const {
    if (!options_.color) return table;
    std::string out;
    std::string_view rest = table;
    for (std::size_t row = 0; !rest.empty(); ++row) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      std::string text(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (row > 0 && row <= verdicts.size()) {
        const std::string word = verdict_words(verdicts[row - 1]);
        if (text.ends_with(word)) {
          text.resize(text.size() - word.size());
          text += styled(word, style_of(verdicts[row - 1]));
        }
      }
      out += text + "\n";
    }
    return out;
  }

  void comparisons() {
    const bool many = r_.cells.size() > 1;
    std::vector<Table::Column> columns = {
        {"metric", true},       {"before", false, 2}, {"after"},        {"change"},
        {"interval", false, 1}, {"runs", false, 3},   {"verdict", true}};
    if (many) columns.insert(columns.begin(), {"cell", true});
    Table table(std::move(columns));
    std::vector<Verdict> verdicts;
    std::size_t left = 0;
    for (const Comparison* c : by_urgency(r_)) {
      if (!shown(*c)) continue;
      if (verdicts.size() >= kMostTextRows) {
        ++left;
        continue;
      }
      const Judgement& j = c->judgement;
      std::vector<std::string> row = {printable(c->metric),
                                      j.before ? figure(c->metric, *j.before) : "-",
                                      j.after ? figure(c->metric, *j.after) : "-",
                                      change_words(*c),
                                      interval_words(*c),
                                      fmt::format("{} + {}", j.before_n, j.after_n),
                                      verdict_words(j.verdict)};
      if (many) row.insert(row.begin(), printable(label_(c->cell)));
      table.add(std::move(row));
      verdicts.push_back(j.verdict);
    }
    if (verdicts.empty()) return;
    blank();
    out_ += coloured(table.render(width_, options_.color), verdicts);
    if (left > 0) line(fmt::format("... and {} more; -f json has them", report::count(left)));
  }

  // What the table cannot say.
  void explanations() {
    std::size_t n = 0;
    for (const Comparison* c : by_urgency(r_)) {
      if (!c->gate || urgency(*c) >= kFolded || n >= kMostSentences) continue;
      const std::string remark = remark_of(*c);
      if (remark.empty()) continue;
      if (n++ == 0) blank();
      sentence(fmt::format("{}, {}: {}", label_(c->cell), c->metric, remark));
    }
  }

  void cells() {
    const bool many = r_.cells.size() > 1;
    std::vector<Table::Column> columns = {{"metric", true},
                                          {"median"},
                                          {"interval", false, 1},
                                          {"spread", false, 2},
                                          {"min", false, 3},
                                          {"max", false, 3},
                                          {"runs"}};
    if (many) columns.insert(columns.begin(), {"cell", true});
    Table table(std::move(columns));
    std::size_t rows = 0, left = 0;
    for (const Cell& cell : r_.cells) {
      const auto side = cell.stats.find('A');
      if (side == cell.stats.end()) continue;
      for (const std::string& metric_name : metrics_of(cell, 'A')) {
        const auto found = side->second.find(metric_name);
        if (found == side->second.end() || (!options_.all && !matters(metric_name))) continue;
        const MetricStats& s = found->second;
        if (rows++ >= kMostTextRows) {
          ++left;
          continue;
        }
        std::vector<std::string> row = {printable(metric_name),
                                        figure(metric_name, s.median),
                                        interval_words(metric_name, s.ci),
                                        s.cv ? share_text(*s.cv) : "-",
                                        figure(metric_name, s.min),
                                        figure(metric_name, s.max),
                                        report::count(s.n_units)};
        if (many) row.insert(row.begin(), printable(label_(cell.id)));
        table.add(std::move(row));
      }
    }
    if (rows == 0) return;
    blank();
    out_ += table.render(width_, options_.color);
    if (left > 0) line(fmt::format("... and {} more; -f json has them", report::count(left)));
  }

  void failures() {
    std::size_t n = 0;
    for (const Cell& cell : r_.cells) {
      if (cell.status == "ok") continue;
      if (n == 0) blank();
      if (++n > kMostSentences) continue;
      std::string why = cell.failure ? failure_words(*cell.failure) : "";
      if (why.starts_with(cell.status)) {  // "skipped: skipped: ..."
        why.erase(0, std::min(why.size(), cell.status.size() + 2));
      }
      warning(fmt::format("{} {}{}", label_(cell.id), cell.status, why.empty() ? "" : ": " + why));
    }
    if (n > kMostSentences) line(fmt::format("... and {} more", n - kMostSentences));
  }

  void targets() {
    if (r_.targets.empty()) return;
    Table table(
        {{"target", true}, {"cell", true, 1}, {"limit"}, {"measured"}, {"score"}, {"met", true}});
    for (const TargetResult& t : r_.targets) {
      std::string limit = t.limit_max ? "<= " + figure(t.metric, *t.limit_max) : "";
      if (t.limit_min) limit += (limit.empty() ? ">= " : ", >= ") + figure(t.metric, *t.limit_min);
      std::string met = "not known";
      if (t.score) met = !t.score->met ? "no" : t.score->confident == false ? "barely" : "yes";
      table.add({printable(t.metric + (t.stat.empty() ? "" : " " + t.stat)), printable(t.cell),
                 limit, t.value ? figure(t.metric, *t.value) : "-",
                 t.score ? fmt::format("{:.1f}", t.score->score) : "-", met});
    }
    blank();
    out_ += table.render(width_, options_.color);
    std::set<std::string> unknown;  // each reason once, whatever the number of cells
    for (const TargetResult& t : r_.targets) {
      if (!t.score && !t.absent.empty()) unknown.insert(t.absent);
    }
    for (const std::string& why : unknown) warning("A target is open: " + why);
    if (r_.score) line(fmt::format("Score {:.1f} of 100", *r_.score));
  }

  void load() {
    for (const LoadResultSummary& l : r_.load) {
      blank();
      std::string text =
          fmt::format("{}{}: {} requests, {:.3g}/s", l.cell.empty() ? "" : l.cell + ", ",
                      l.scenario, report::count(l.requests), l.achieved_per_s);
      if (l.offered_per_s) text += fmt::format(" of {:.3g}/s offered", *l.offered_per_s);
      if (l.failed > 0) text += fmt::format(", {} failed", report::count(l.failed));
      for (const auto& [p, seconds] : l.from_arrival_s.empty() ? l.service_s : l.from_arrival_s) {
        text += fmt::format(", {} {}", p, figure("_s", seconds));
      }
      sentence(text + ".");
      if (!l.slo_verdict.empty()) sentence(load_sentence(l));
      if (!l.refused.empty()) warning(l.refused);
      for (const std::string& note : l.notes) warning(note);
    }
  }

  void environment() {
    const std::vector<std::string> doubts = machine_doubts(r_.environment);
    if (doubts.empty()) return;
    blank();
    warning(fmt::format("This machine: {}.", fmt::join(doubts, ", ")));
  }

  // Reasons that no table above has shown, then the counts.
  void verdict() {
    if (r_.comparisons.empty() && r_.exit.code != 0) {
      blank();
      for (std::size_t i = 0; i < std::min(r_.exit.reasons.size(), kMostSentences); ++i) {
        line(styled(report::wrap(printable(r_.exit.reasons[i]), width_), "1;31"));
      }
    }
    if (r_.comparisons.size() < 2 || r_.cells.size() < 2) return;
    blank();
    const char* const style = style_of(by_urgency(r_).front()->judgement.verdict);
    line(styled(verdict_counts(r_), style));
  }

  const BenchResult& r_;
  const ResultTextOptions& options_;
  CellLabels label_;
  std::size_t width_;
  std::string out_;
};

}  // namespace

void result_text(const BenchResult& result, const ResultTextOptions& options, const Sink& sink) {
  sink(ResultText(result, options).make());
}

}  // namespace genscope::bench
