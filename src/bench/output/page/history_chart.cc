// Points stand at equal distances, not at their times: results come in bursts, and a level is about
// results. The dates below tell the time.
#include "bench/output/page/history_chart.h"

#include <set>

#include "bench/output/page/draw.h"
#include "bench/output/words.h"
#include "report/format.h"

namespace genscope::bench::page {
namespace {

constexpr double kLeft = 70, kRight = kChartWidth - 14;
constexpr double kTop = 30, kBottom = 178, kChartHeight = 200;
constexpr double kLeastSpan = 0.05;  // of the middle: noise should look like noise
constexpr std::size_t kBigDots = 120, kMostSeries = 60, kMostTableRows = 400;

std::string state_of(const HistoryStep& step) {
  if (step.accepted) return "accepted";
  if (!step.confirmed) return "open";
  return step.worse ? "worse" : "better";
}

std::string state_words(const HistoryStep& step) {
  if (step.accepted) return "accepted";
  if (!step.confirmed) return "not confirmed yet";
  return step.worse ? "worse, not accepted" : "better";
}

Scale value_scale(const HistorySeries& series) {
  Range range;
  for (const HistoryPoint& point : series.points) {
    range.add(point.value);
    if (point.lo) range.add(*point.lo);
    if (point.hi) range.add(*point.hi);
  }
  if (!range.any) return {0, 1, kBottom, kTop};
  // A target that is far away would flatten all the rest; the words below name it.
  if (series.limit && *series.limit > 2 * range.low - range.high &&
      *series.limit < 2 * range.high - range.low) {
    range.add(*series.limit);
  }
  const double middle = (range.low + range.high) / 2;
  const double missing = std::fabs(middle) * kLeastSpan - (range.high - range.low);
  if (missing > 0) {
    range.low -= missing / 2;
    range.high += missing / 2;
  }
  range.pad(0.08);
  return {range.low, range.high, kBottom, kTop};
}

void put_value_axis(std::string& out, const std::string& metric_name, const Scale& y) {
  std::string before;
  for (const double value : ticks_of(metric_name, y.low, y.high, 4)) {
    put(out, "<line class=\"grid\" x1=\"{0:.0f}\" x2=\"{1:.0f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>",
        kLeft, kRight, y(value));
    std::string label = figure(metric_name, value);
    if (label == before) continue;  // three digits may not tell two ticks apart
    put(out, "<text class=\"tick left\" x=\"{:.0f}\" y=\"{:.1f}\">{}</text>", kLeft - 8,
        y(value) + 4, xml_text(label));
    before = std::move(label);
  }
}

// Days, or times of one day.
void put_time_axis(std::string& out, const std::vector<HistoryPoint>& points, const Scale& x) {
  constexpr std::size_t kLabels = 6;
  if (points.size() < 2) return;
  const bool one_day = points.front().started.substr(0, 10) == points.back().started.substr(0, 10);
  const auto label_of = [&](const HistoryPoint& point) {
    if (point.started.size() < 16) return point.started;
    return one_day ? point.started.substr(11, 5) : point.started.substr(0, 10);
  };
  const std::size_t step = std::max<std::size_t>(1, (points.size() + kLabels - 2) / (kLabels - 1));
  std::string before;
  double last = -1e9;
  for (std::size_t i = 0; i < points.size(); i += step) {
    std::string label = label_of(points[i]);
    const double at = std::clamp(x(static_cast<double>(i)), kLeft + 20, kRight - 32);
    if (label == before || at - last < 76) continue;
    put(out, "<text class=\"tick\" x=\"{:.1f}\" y=\"{:.0f}\">{}</text>", at, kBottom + 18,
        xml_text(label));
    before = std::move(label);
    last = at;
  }
}

void put_levels(std::string& out, const HistorySeries& series, const Scale& x, const Scale& y) {
  for (const HistoryLevel& level : series.levels) {
    if (level.begin >= level.end) continue;
    const double from = x(static_cast<double>(level.begin) - 0.4),
                 to = x(static_cast<double>(level.end) - 0.6);
    put(out, "<line class=\"level\" x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\">",
        from, to, y(level.value));
    put(out, "{}</line>",
        title(fmt::format("level {} of {}", figure(series.metric, level.value),
                          report::counted(level.end - level.begin, "result", "results"))));
  }
}

void put_steps(std::string& out, const HistorySeries& series, const Scale& x) {
  double last = -1e9;
  bool raised = false;  // the label before stands in the upper row
  for (const HistoryStep& step : series.changes) {
    if (step.index >= series.points.size()) continue;
    const double at = x(static_cast<double>(step.index) - 0.5);
    const std::string state = state_of(step);
    const std::string by = change_text(step.after / step.before);
    raised = at - last < 64 && !raised;
    last = at;
    put(out,
        "<line class=\"change {0}\" x1=\"{1:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.0f}\" y2=\"{3:.0f}\">",
        state, at, raised ? 14.0 : 26.0, kBottom);
    put(out, "{}</line>",
        title(fmt::format("{} since {} ({}): {} to {}; {}", by, series.points[step.index].id,
                          series.points[step.index].started.substr(0, 10),
                          figure(series.metric, step.before), figure(series.metric, step.after),
                          state_words(step))));
    put(out, "<text class=\"change-label {}\" x=\"{:.1f}\" y=\"{}\">{}</text>", state,
        std::clamp(at, kLeft + 24, kRight - 24), raised ? 10 : 22, xml_text(by));
  }
}

void put_points(std::string& out, const HistorySeries& series, const Scale& x, const Scale& y) {
  const bool big = series.points.size() <= kBigDots;
  std::string path;
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    const HistoryPoint& point = series.points[i];
    const double at = x(static_cast<double>(i));
    if (point.lo && point.hi) {
      put(out,
          "<line class=\"whisker\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/>",
          at, y(*point.lo), y(*point.hi));
    }
    put(path, "{}{:.1f} {:.1f}", path.empty() ? "M" : "L", at, y(point.value));
  }
  put(out, "<path class=\"trend\" d=\"{}\"/>", path);
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    const HistoryPoint& point = series.points[i];
    const double at = x(static_cast<double>(i)), up = y(point.value);
    std::string words = fmt::format("{} {}{}: {}", point.started.substr(0, 16), point.id,
                                    point.commit.empty() ? "" : ", " + point.commit.substr(0, 10),
                                    figure(series.metric, point.value));
    if (point.spike) words += ", a spike";
    if (point.accepted) words += ", accepted";
    if (point.accepted) {
      put(out,
          "<rect class=\"accepted-mark\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"11\" height=\"11\" "
          "transform=\"rotate(45 {:.1f} {:.1f})\"/>",
          at - 5.5, up - 5.5, at, up);
    }
    put(out, "<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\">{}</circle>",
        point.spike   ? "spike"
        : point.shown ? "dot b"
                      : "dot a",
        at, up,
        point.shown ? 4.5
        : big       ? 3
                    : 1.5,
        title(words));
  }
}

void put_limit(std::string& out, const HistorySeries& series, const Scale& y) {
  if (!series.limit || *series.limit < y.low || *series.limit > y.high) return;
  const double at = y(*series.limit);
  put(out, "<line class=\"limit\" x1=\"{0:.0f}\" x2=\"{1:.0f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>",
      kLeft, kRight, at);
  put(out, "<text class=\"limit-label\" x=\"{:.0f}\" y=\"{:.1f}\">target {}</text>", kLeft + 4,
      at - 4, xml_text(figure(series.metric, *series.limit)));
}

// Of the marks that occur.
std::string history_legend(const std::vector<HistorySeries>& all) {
  bool spike = false, accepted = false, shown = false, open = false, steps = false;
  for (const HistorySeries& series : all) {
    for (const HistoryPoint& point : series.points) {
      spike |= point.spike;
      accepted |= point.accepted;
      shown |= point.shown;
    }
    for (const HistoryStep& step : series.changes) {
      steps = true;
      open |= !step.confirmed && !step.accepted;
    }
  }
  std::string out =
      "A dot is the median of one result, the thin line its interval; the newest is on the right.";
  if (steps) out += " A dashed line is where a level changes.";
  if (open) out += " Dotted: not confirmed yet.";
  if (spike) out += " A ring is a spike, which moves no level.";
  if (accepted) out += " A diamond is a level that somebody accepted.";
  if (shown) out += " The large dot is this result.";
  return "<p class=\"legend\">" + out + "</p>";
}

std::string points_table(const HistorySeries& series) {
  std::string out =
      "<details><summary>Results</summary><div class=\"scroll\"><table><thead><tr><th>result</th>"
      "<th>time (UTC)</th><th>commit</th><th class=\"n\">median</th><th class=\"n\">interval</th>"
      "<th></th></tr></thead><tbody>";
  const std::size_t n = series.points.size();
  for (std::size_t i = n > kMostTableRows ? n - kMostTableRows : 0; i < n; ++i) {
    const HistoryPoint& point = series.points[i];
    std::string mark;
    for (const HistoryStep& step : series.changes) {
      if (step.index == i) mark = change_text(step.after / step.before) + ", " + state_words(step);
    }
    if (mark.empty()) mark = point.accepted ? "accepted" : point.spike ? "spike" : "";
    std::string time = point.started.substr(0, 16);
    std::replace(time.begin(), time.end(), 'T', ' ');
    put(out,
        "<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>"
        "<td>{}</td></tr>",
        xml_text(point.id), xml_text(time), xml_text(point.commit.substr(0, 10)),
        figure(series.metric, point.value),
        point.lo && point.hi
            ? figure(series.metric, *point.lo) + " to " + figure(series.metric, *point.hi)
            : "-",
        mark);
  }
  return out + "</tbody></table></div></details>";
}

}  // namespace

std::string history_chart(const HistorySeries& series) {
  if (series.points.empty()) return "";
  const Scale y = value_scale(series);
  const auto n = static_cast<double>(series.points.size());
  const Scale x{-0.5, n - 0.5, kLeft, kRight};
  std::string out =
      fmt::format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"history of {}\">",
                  kChartWidth, kChartHeight, xml_text(series.metric));
  put_value_axis(out, series.metric, y);
  put_time_axis(out, series.points, x);
  put_limit(out, series, y);
  put_steps(out, series, x);
  put_levels(out, series, x, y);
  put_points(out, series, x, y);
  return out + "</svg>";
}

std::string history_charts(const std::vector<HistorySeries>& all, bool table) {
  std::string out;
  std::size_t n = 0;
  std::set<std::string> cells;
  for (const HistorySeries& series : all) cells.insert(series.cell);
  for (const HistorySeries& series : all) {
    const std::string chart = history_chart(series);
    if (chart.empty() || ++n > kMostSeries) continue;
    put(out, "<div class=\"plot\"><header><h3>{}</h3><span class=\"soft\">{}</span></header>{}",
        xml_text(series.metric), xml_text(cells.size() > 1 ? series.cell : ""), chart);
    std::string remarks;
    for (const std::string& remark : series.remarks) remarks += "<li>" + xml_text(remark) + "</li>";
    if (!remarks.empty()) out += "<ul class=\"remarks\">" + remarks + "</ul>";
    if (table) out += points_table(series);
    out += "</div>";
  }
  if (out.empty()) return "";
  out = history_legend(all) + "<div class=\"plots\">" + out + "</div>";
  if (n > kMostSeries) {
    out += fmt::format("<p class=\"soft\">{} more: name a METRIC or a --cell.</p>",
                       report::count(n - kMostSeries));
  }
  return out;
}

}  // namespace genscope::bench::page
