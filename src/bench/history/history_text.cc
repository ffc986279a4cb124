#include "bench/history/history_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/output/words.h"
#include "report/format.h"
#include "report/printable.h"
#include "report/table.h"

namespace genscope::bench {
namespace {

std::string day_of(std::int64_t us) { return report::utc_time(us * 1000).substr(0, 10); }
std::string minute_of(std::int64_t us) { return report::utc_time(us * 1000).substr(0, 16); }

std::string range_text(double low, double high, const Metric& of) {
  return figure(of.name, low) + " to " + figure(of.name, high);
}

std::string mark_of(const HistoryAnalysis& analysis, std::size_t i) {
  const SeriesPoint& point = analysis.points[i];
  std::string mark;
  for (const HistoryChange& change : analysis.changes) {
    if (change.index != i) continue;
    mark = change_text(change.after / change.before);
    if (change.accepted) {
      mark += ", accepted";
    } else if (!change.confirmed) {
      mark += ", not confirmed";
    }
  }
  if (mark.empty() && point.accepted) mark = "accepted";
  if (mark.empty() && point.spike) mark = "spike";
  return mark;
}

report::Table table_of(const ShownSeries& shown, std::size_t rows) {
  const Metric of = metric(shown.series.metric);
  const HistoryAnalysis& analysis = shown.analysis;
  report::Table table({{"result", true, 0},
                       {"", false, 0},
                       {"time (UTC)", true, 1},
                       {"commit", true, 2},
                       {"median", false, 0},
                       {"95 %", true, 3},
                       {"level", true, 0}});
  const std::size_t n = analysis.points.size();
  for (std::size_t i = rows == 0 || rows > n ? 0 : n - rows; i < n; ++i) {
    const SeriesPoint& point = analysis.points[i];
    table.add({report::printable(point.run), fmt::format("{}", i), minute_of(point.started_us),
               report::printable(point.commit.substr(0, 10)), figure(of.name, point.value),
               point.lo && point.hi ? range_text(*point.lo, *point.hi, of) : "-",
               mark_of(analysis, i)});
  }
  return table;
}

std::string title_of_series(const ShownSeries& shown) {
  const Series& series = shown.series;
  const std::string what = series.suite.empty() ? series.subject : series.suite;
  return fmt::format(
      "{} of {}{}", series.metric, what.empty() ? "what was measured" : report::printable(what),
      series.cell.empty() || series.cell == "all" ? "" : ", " + report::printable(series.cell));
}

std::string change_sentence(const HistoryAnalysis& analysis, const HistoryChange& change,
                            const Metric& of) {
  const SeriesPoint& at = analysis.points[change.index];
  const std::string commit = at.commit.empty() ? "" : ", commit " + at.commit.substr(0, 10);
  return fmt::format("{} since {} ({}{}): {} to {}{}", change_text(change.after / change.before),
                     report::printable(at.run), day_of(at.started_us), report::printable(commit),
                     figure(of.name, change.before), figure(of.name, change.after),
                     change.accepted     ? "; accepted"
                     : !change.confirmed ? "; not confirmed yet: a few more results will tell"
                     : change.worse      ? "; worse, and not accepted"
                                         : "; better");
}

std::string trend_sentence(const HistoryTrend& trend, std::size_t points) {
  return fmt::format("{} a week over {} results (95 %: {} to {}): {}",
                     change_text(1 + trend.per_week), points, change_text(1 + trend.low),
                     change_text(1 + trend.high), trend.real ? "it creeps" : "no trend");
}

std::string heading_of(const ShownSeries& shown) {
  const std::vector<SeriesPoint>& points = shown.analysis.points;
  const std::string& machine = shown.series.environment_class;
  return fmt::format("{} from {} to {}{}; {} is better",
                     report::counted(points.size(), "result", "results"),
                     day_of(points.front().started_us), day_of(points.back().started_us),
                     machine.empty() ? "" : ", " + report::printable(machine),
                     shown.series.direction == Direction::lower_is_better ? "lower" : "higher");
}

}  // namespace

std::string sparkline(const std::vector<double>& values, std::size_t width, bool unicode) {
  if (values.empty() || width == 0) return "";
  static constexpr const char* kBlocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static constexpr const char* kLetters[] = {"_", ".", "-", "~", "=", "+", "*", "#"};
  const std::size_t first = values.size() > width ? values.size() - width : 0;
  const auto [low, high] =
      std::minmax_element(values.begin() + static_cast<std::ptrdiff_t>(first), values.end());
  // Noise should look like noise: the scale spans 10 % of the level at least.
  const double span = std::max(*high - *low, std::abs(*low) * 0.1);
  std::string text;
  for (std::size_t i = first; i < values.size(); ++i) {
    const double share = span > 0 ? (values[i] - *low) / span : 0;
    const auto step = static_cast<std::size_t>(std::clamp(share * 7.999, 0.0, 7.0));
    text += unicode ? kBlocks[step] : kLetters[step];
  }
  return text;
}

std::vector<std::string> history_sentences(const ShownSeries& shown) {
  const HistoryAnalysis& analysis = shown.analysis;
  const Metric of = metric(shown.series.metric);
  std::vector<std::string> all;
  if (analysis.changes.empty() && analysis.points.size() >= 2 * kLeastForLevel) {
    all.push_back("No change of level.");
  }
  for (const HistoryChange& change : analysis.changes) {
    all.push_back("Level: " + change_sentence(analysis, change, of));
  }
  if (analysis.trend) {
    all.push_back("Trend: " +
                  trend_sentence(*analysis.trend, analysis.points.size() - analysis.level_begin));
  }
  if (shown.limit) {
    const std::string limit = figure(of.name, *shown.limit);
    if (analysis.breached) {
      all.push_back(fmt::format("Target: {} is missed by the newest result.", limit));
    } else if (analysis.breach_us) {
      all.push_back(fmt::format("Target: {} will be missed about {} if the trend goes on.", limit,
                                day_of(*analysis.breach_us)));
    } else {
      all.push_back(fmt::format("Target: {} is kept.", limit));
    }
  }
  if (analysis.newest) {
    const HistoryNewest& newest = *analysis.newest;
    all.push_back(fmt::format("Newest: {}, expected {}: {}", figure(of.name, newest.value),
                              range_text(newest.low, newest.high, of), newest.verdict));
  }
  for (const std::string& note : analysis.notes) all.push_back("Note: " + note + ".");
  if (shown.series.other_machine > 0) {
    all.push_back(fmt::format("Note: {} of another kind of machine are left out.",
                              report::counted(shown.series.other_machine, "result", "results")));
  }
  if (shown.series.other_work > 0) {
    all.push_back(fmt::format("Note: {} of other work are left out.",
                              report::counted(shown.series.other_work, "result", "results")));
  }
  return all;
}

std::string history_text(const ShownSeries& shown, const HistoryTextOptions& options) {
  const std::vector<SeriesPoint>& points = shown.analysis.points;
  if (points.empty()) return "";
  std::vector<double> values;
  for (const SeriesPoint& point : points) values.push_back(point.value);
  std::string text = report::wrap(title_of_series(shown), options.width) + "\n";
  text += report::wrap(heading_of(shown), options.width) + "\n";
  text += sparkline(values, options.width, options.unicode) + "\n\n";
  text += table_of(shown, options.rows).render(options.width, options.color) + "\n";
  for (const std::string& sentence : history_sentences(shown)) {
    text += report::wrap(sentence, options.width) + "\n";
  }
  return text;
}

std::string history_markdown(const ShownSeries& shown, std::size_t rows) {
  if (shown.analysis.points.empty()) return "";
  std::string text = "### " + report::markdown_text(title_of_series(shown)) + "\n\n";
  text += report::markdown_text(heading_of(shown)) + "\n\n";
  text += table_of(shown, rows).markdown() + "\n";
  for (const std::string& sentence : history_sentences(shown)) {
    text += "- " + report::markdown_text(sentence) + "\n";
  }
  return text;
}

std::string baselines_text(const Decisions& decisions, std::size_t width, bool color) {
  if (decisions.baselines.empty()) {
    return "There are no baselines. `genscope bench baseline set main` makes the newest result "
           "one.\n";
  }
  report::Table table(
      {{"name", true, 0}, {"result", true, 0}, {"made (UTC)", true, 1}, {"note", true, 2}});
  for (const BaselineRow& one : decisions.baselines) {
    table.add({report::printable(one.name), report::printable(one.run), minute_of(one.made_us),
               report::printable(one.note)});
  }
  return table.render(width, color);
}

}  // namespace genscope::bench
