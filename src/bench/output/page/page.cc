// The page of a result: one HTML file with its style sheet and SVG charts, no script, nothing from
// elsewhere (its policy forbids both). Every text of others is escaped; lists are bounded, so that
// ten thousand cells still open at once.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "bench/output/output.h"
#include "bench/output/page/heat_map.h"
#include "bench/output/page/history_chart.h"
#include "bench/output/page/style.h"
#include "bench/output/page/svg.h"
#include "bench/output/words.h"
#include "bench/output/xml.h"
#include "report/format.h"

namespace genscope::bench {
namespace {

constexpr std::size_t kMostPageRows = 200, kMostPlots = 48, kMostStages = 8;

std::string section(std::string_view heading, const std::string& content) {
  if (content.empty()) return "";
  return fmt::format("<section><h2>{}</h2>{}</section>\n", heading, content);
}

std::string document_head(std::string_view name_of_it) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n<title>{}</title><style>{}</style></head>\n<body>\n",
      xml_text(name_of_it), page::kStyle);
}

std::string page_head(const BenchResult& r) {
  std::string out = document_head(title_of(r));
  out += fmt::format("<header><h1>{}</h1><p class=\"facts\">",
                     xml_text(r.suite.empty() ? std::string("Benchmark") : r.suite));
  const auto fact = [&](const std::string& text) {
    if (!text.empty()) out += "<span>" + xml_text(text) + "</span>";
  };
  fact(r.started);
  fact(r.environment.klass);
  if (!r.git_sha.empty()) {
    fact("commit " + r.git_sha.substr(0, 12) + (r.git_dirty == true ? " with changes" : ""));
  }
  fact(r.id);
  out += "</p>";
  if (!r.labels.empty()) {
    out += "<div class=\"sides\">";
    for (const auto& [side, label] : r.labels) {
      out += fmt::format("<span class=\"key {}\">{}</span><code>{}</code>", side == "A" ? "a" : "b",
                         xml_text(side), xml_text(label));
    }
    out += "</div>";
  }
  return out;
}

std::string counts_of(const BenchResult& r) {
  std::string out;
  for (const VerdictCount& count : count_verdicts(r)) {
    out += fmt::format("<span><b class=\"{}\">{}</b>{}</span>", name(count.verdict),
                       report::count(count.n), verdict_words(count.verdict));
  }
  if (r.score) out += fmt::format("<span><b>{:.1f}</b>of 100</span>", *r.score);
  const auto failed = std::count_if(r.cells.begin(), r.cells.end(),
                                    [](const Cell& cell) { return cell.status == "failed"; });
  if (failed > 0) out += fmt::format("<span><b class=\"bad\">{}</b>failed</span>", failed);
  return out.empty() ? "" : "<p class=\"counts\">" + out + "</p>";
}

// The change at the ends of all bars: what covers nine of ten intervals, at least 3 %.
double common_reach(const BenchResult& r) {
  std::vector<double> ends;
  for (const Comparison& c : r.comparisons) {
    if (!c.judgement.interval) continue;
    for (const double end : {c.judgement.interval->low, c.judgement.interval->high}) {
      if (end > 0) ends.push_back(std::fabs(std::log(end)));
    }
  }
  if (ends.empty()) return 0.03;
  std::sort(ends.begin(), ends.end());
  return std::clamp(ends[ends.size() * 9 / 10] * 1.15, 0.03, std::log(4.0));
}

struct VerdictLook {
  bool many;     // cells, so that rows name theirs
  double reach;  // of the bars
  const CellLabels& label;
};

std::string verdict_row(const Comparison& c, const VerdictLook& look) {
  const Judgement& j = c.judgement;
  const std::string why = urgency(c) < kFolded ? remark_of(c) : "";
  std::string out = why.empty() ? "<tr>" : "<tr class=\"has-why\">";
  out += fmt::format("<td class=\"v {}\">{}</td>", name(j.verdict), verdict_words(j.verdict));
  if (look.many) out += "<td class=\"cell\">" + xml_text(look.label(c.cell)) + "</td>";
  out += fmt::format("<td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>",
                     xml_text(c.metric), j.before ? figure(c.metric, *j.before) : "-",
                     j.after ? figure(c.metric, *j.after) : "-");
  out += fmt::format(
      "<td class=\"n\"><b>{}</b></td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{} + "
      "{}</td></tr>",
      change_words(c), page::change_bar(c, look.reach), interval_words(c), j.before_n, j.after_n);
  if (!why.empty()) {
    out += fmt::format("<tr><td></td><td class=\"why\" colspan=\"{}\">{}</td></tr>",
                       look.many ? 8 : 7, xml_text(why));
  }
  return out;
}

std::string verdict_table(const std::vector<const Comparison*>& rows, const VerdictLook& look) {
  std::string out = "<div class=\"scroll\"><table><thead><tr><th>verdict</th>";
  if (look.many) out += "<th>cell</th>";
  out += fmt::format(
      "<th>metric</th><th class=\"n\">before</th><th class=\"n\">after</th><th "
      "class=\"n\">change</th><th class=\"b\" title=\"the interval; grey: too small to "
      "matter\">-{0} to "
      "+{0}</th><th class=\"n\">interval</th><th class=\"n\">runs</th></tr></thead><tbody>",
      share_text(std::expm1(look.reach)));
  for (std::size_t i = 0; i < std::min(rows.size(), kMostPageRows); ++i) {
    out += verdict_row(*rows[i], look);
  }
  out += "</tbody></table></div>";
  if (rows.size() > kMostPageRows) {
    out += fmt::format("<p class=\"soft\">{} more in the JSON result.</p>",
                       report::count(rows.size() - kMostPageRows));
  }
  return out;
}

std::string verdicts_of(const BenchResult& r) {
  std::vector<const Comparison*> urgent, folded;
  for (const Comparison* c : by_urgency(r)) (urgency(*c) == kFolded ? folded : urgent).push_back(c);
  const CellLabels label(r);
  const VerdictLook look{r.cells.size() > 1, common_reach(r), label};
  std::string out;
  if (!urgent.empty()) out += verdict_table(urgent, look);
  if (folded.empty()) return out;
  const std::string rest = verdict_table(folded, look);
  if (urgent.empty() && folded.size() <= 12) return rest;
  return out + fmt::format("<details><summary>{}</summary>{}</details>", folded_words(r), rest);
}

std::string stage_bars(const Comparison& c, const CellLabels& label) {
  std::vector<PartChange> parts = c.stage_attribution->parts;
  double most = 0;
  for (const PartChange& part : parts) most = std::max(most, std::fabs(part.difference));
  if (most <= 0) return "";
  if (parts.size() > kMostStages) parts.resize(kMostStages);
  std::string out = fmt::format("<div><h3>{}</h3>", xml_text(label(c.cell)));
  for (const PartChange& part : parts) {
    const double width = std::fabs(part.difference) / most * 50;
    const bool slower = part.difference > 0;
    out += fmt::format(
        "<div class=\"stage\"><span>{}</span><span class=\"track\"><i class=\"{}\" "
        "style=\"left:{:.1f}%;width:{:.1f}%\"></i></span><span>{}{}{}</span></div>",
        xml_text(part.name), slower ? "slower" : "faster", slower ? 50 : 50 - width, width,
        slower ? "+" : "-", figure("_s", std::fabs(part.difference)),
        part.share ? fmt::format(" ({:.0f} %)", *part.share * 100) : "");
  }
  return out + "</div>";
}

std::string stages_of(const BenchResult& r) {
  const CellLabels label(r);
  std::string out;
  std::size_t n = 0;
  for (const Comparison* c : by_urgency(r)) {
    if (attribution_words(*c).empty() || n >= kMostStages) continue;
    const std::string bars = stage_bars(*c, label);
    n += bars.empty() ? 0 : 1;
    out += bars;
  }
  return out.empty() ? "" : "<div class=\"plots\">" + out + "</div>";
}

std::string plot_of(const Cell& cell, const std::string& title, const std::string& metric_name,
                    const Comparison* c) {
  std::vector<page::Strip> strips;
  for (const auto& [slot, metrics] : cell.stats) {
    const auto found = metrics.find(metric_name);
    if (found == metrics.end()) continue;
    strips.push_back({std::string(1, slot), slot == 'A' ? "a" : "b",
                      unit_values(cell, slot, metric_name), found->second.median,
                      found->second.ci});
  }
  const std::string chart = page::strip_chart(metric_name, strips);
  if (chart.empty()) return "";
  std::string note = strips.size() == 1 && strips[0].median
                         ? fmt::format("median {}", figure(metric_name, *strips[0].median))
                         : "";
  std::string css = "soft";
  if (c != nullptr) {
    note = change_words(*c) + " " + verdict_words(c->judgement.verdict);
    css = std::string(name(c->judgement.verdict));
  }
  return fmt::format(
      "<div class=\"plot\"><header><h3>{}</h3><span class=\"{}\">{}</span></header>{}</div>",
      xml_text(title), css, xml_text(note), chart);
}

// Cells that somebody should look at first.
std::string plots_of(const BenchResult& r, const std::string& metric_name) {
  std::map<std::string_view, const Comparison*> verdicts;
  std::vector<const Cell*> order;
  std::map<std::string_view, const Cell*> cells;
  for (const Cell& cell : r.cells) cells[cell.id] = &cell;
  std::set<std::string_view> taken;
  const CellLabels label(r);
  for (const Comparison* c : by_urgency(r)) {
    if (c->metric != metric_name) continue;
    verdicts[c->cell] = c;
    const auto cell = cells.find(c->cell);
    if (cell != cells.end() && taken.insert(c->cell).second) order.push_back(cell->second);
  }
  for (const Cell& cell : r.cells) {
    if (taken.insert(cell.id).second) order.push_back(&cell);
  }
  std::string out;
  std::size_t n = 0;
  for (const Cell* cell : order) {
    if (n >= kMostPlots) break;
    const auto verdict = verdicts.find(cell->id);
    const std::string plot = plot_of(*cell, label(cell->id), metric_name,
                                     verdict != verdicts.end() ? verdict->second : nullptr);
    n += plot.empty() ? 0 : 1;
    out += plot;
  }
  if (out.empty()) return "";
  out =
      "<p class=\"legend\">A dot is one run, the line their median, the band its interval.</p>"
      "<div class=\"plots\">" +
      out + "</div>";
  if (order.size() > n && n >= kMostPlots) {
    out += fmt::format("<p class=\"soft\">{} more cells in the JSON result.</p>",
                       report::count(order.size() - n));
  }
  return out;
}

std::string targets_of(const BenchResult& r) {
  if (r.targets.empty()) return "";
  std::string out =
      "<div class=\"scroll\"><table><thead><tr><th>target</th><th>cell</th><th "
      "class=\"n\">limit</th><th class=\"n\">measured</th><th "
      "class=\"n\">score</th><th>met</th></tr></thead><tbody>";
  for (const TargetResult& t : r.targets) {
    std::string limit = t.limit_max ? "at most " + figure(t.metric, *t.limit_max) : "";
    if (t.limit_min) {
      limit += (limit.empty() ? "" : ", ") + ("at least " + figure(t.metric, *t.limit_min));
    }
    std::string met = "<td class=\"warn\">not known</td>";
    if (t.score && !t.score->met) met = "<td class=\"bad\">no</td>";
    if (t.score && t.score->met) {
      met = t.score->confident == false ? "<td class=\"warn\">barely</td>"
                                        : "<td class=\"good\">yes</td>";
    }
    out += fmt::format(
        "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td>{}</tr>",
        xml_text(t.metric + " " + t.stat), xml_text(t.cell), limit,
        t.value ? figure(t.metric, *t.value) : "-",
        t.score ? fmt::format("{:.1f}", t.score->score) : "-", met);
  }
  return out + "</tbody></table></div>";
}

std::string failures_of(const BenchResult& r) {
  std::string out;
  std::size_t n = 0;
  for (const Cell& cell : r.cells) {
    if (cell.status == "ok" || ++n > kMostPageRows) continue;
    out += fmt::format("<dt>{}</dt><dd class=\"{}\">{}{}</dd>", xml_text(cell.id),
                       cell.status == "failed" ? "bad" : "soft", xml_text(cell.status),
                       cell.failure ? ": " + xml_text(failure_words(*cell.failure)) : "");
  }
  return out.empty() ? "" : "<dl class=\"list\">" + out + "</dl>";
}

std::string method_of(const BenchResult& r) {
  std::string out;
  const auto fact = [&](std::string_view key, std::string_view value, std::string_view css = "") {
    if (value.empty()) return;
    out += fmt::format("<dt>{}</dt><dd class=\"{}\">{}</dd>", xml_text(key), css, xml_text(value));
  };
  fact("command", fmt::format("{}", fmt::join(r.argv, " ")));
  fact("genscope", r.tool_version);
  fact("ended", r.ended);
  for (const auto& [key, value] : r.workload) fact(key, value);
  for (const auto& [key, value] : r.environment.fingerprint) fact(key, value);
  for (const EnvironmentCheck& check : r.environment.checks) {
    std::string text = check.status;
    if (!check.value.empty()) text += ": " + check.value;
    if (check.status != "ok" && !check.limit.empty()) text += ", better " + check.limit;
    fact("check " + check.name, text,
         check.status == "warn"    ? "warn"
         : check.status == "unfit" ? "bad"
                                   : "");
  }
  return out.empty() ? "" : "<dl class=\"list\">" + out + "</dl>";
}

}  // namespace

void result_html(const BenchResult& r, const ResultPageOptions& options, const Sink& sink) {
  sink(page_head(r));
  sink(counts_of(r) + "</header>\n");
  sink(section("Verdicts", verdicts_of(r)));
  sink(section("Where the time went", stages_of(r)));
  sink(section("Targets", targets_of(r)));
  if (r.quality) {
    std::string verdict = r.quality->verdict;
    std::replace(verdict.begin(), verdict.end(), '_', ' ');
    sink(section("Quality", fmt::format("<p><b>{}</b> {}</p>", xml_text(verdict),
                                        xml_text(r.quality->reason))));
  }
  sink(section("Map of " + xml_text(options.metric), page::heat_maps(r, options)));
  sink(section("Runs: " + xml_text(options.metric), plots_of(r, options.metric)));
  sink(section("History", page::history_charts(options.history, false)));
  sink(section("Not measured", failures_of(r)));
  sink(section("How it was measured", method_of(r)));
  sink("</body></html>\n");
}

void result_html(const BenchResult& result, const Sink& sink) { result_html(result, {}, sink); }

void history_html(const std::vector<HistorySeries>& all, const HistoryPageOptions& options,
                  const Sink& sink) {
  sink(document_head(options.title));
  std::string facts;
  for (const std::string& fact : options.facts) facts += "<span>" + xml_text(fact) + "</span>";
  sink(fmt::format("<header><h1>{}</h1><p class=\"facts\">{}</p></header>\n",
                   xml_text(options.title), facts));
  sink(section("History", page::history_charts(all, true)));
  sink("</body></html>\n");
}

}  // namespace genscope::bench
