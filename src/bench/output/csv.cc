// A result as comma-separated values: cell x slot x metric. Axes are columns, so that a
// spreadsheet can pivot over them.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/printable.h"
#include "bench/output/output.h"

namespace genscope::bench {
namespace {

std::vector<std::string> axes_of(const BenchResult& result) {
  std::vector<std::string> axes;
  for (const Cell& cell : result.cells) {
    for (const auto& [axis, value] : cell.params) {
      if (std::find(axes.begin(), axes.end(), axis) == axes.end()) axes.push_back(axis);
    }
  }
  return axes;
}

void put(std::string& line, const std::optional<double>& value) {
  line += ',';
  if (value) fmt::format_to(std::back_inserter(line), "{}", *value);
}

void put_interval(std::string& line, const std::optional<stats::Interval>& interval) {
  put(line, interval ? std::optional(interval->low) : std::nullopt);
  put(line, interval ? std::optional(interval->high) : std::nullopt);
}

void put_stats(std::string& line, const MetricStats& s) {
  fmt::format_to(std::back_inserter(line), ",{},{}", s.n_units, s.n_samples);
  put(line, s.median);
  put_interval(line, s.ci);
  for (const std::optional<double>& value :
       {std::optional(s.mean), std::optional(s.min), std::optional(s.max), s.sd, s.cv, s.mad}) {
    put(line, value);
  }
}

// Where the slot is the one that is judged.
void put_verdict(std::string& line, const Comparison* c) {
  if (c == nullptr) {
    line += ",,,,,,,,";
    return;
  }
  const Judgement& j = c->judgement;
  fmt::format_to(std::back_inserter(line), ",{},{}", name(j.verdict), c->gate ? "yes" : "no");
  put(line, j.ratio);
  put_interval(line, j.interval);
  put(line, j.p_value);
  put(line, j.p_adjusted);
  put(line, j.q);
}

using CsvVerdicts = std::map<std::pair<std::string_view, std::string_view>, const Comparison*>;

}  // namespace

void result_csv(const BenchResult& result, const Sink& sink) {
  const std::vector<std::string> axes = axes_of(result);
  std::string header = "cell";
  for (const std::string& axis : axes) header += "," + base::csv_field("param." + axis);
  sink(header +
       ",status,slot,metric,n_units,n_samples,median,ci_low,ci_high,mean,min,max,sd,cv,mad,verdict,"
       "gate,ratio,ratio_low,ratio_high,p,p_adj,q\n");
  CsvVerdicts verdicts;
  for (const Comparison& c : result.comparisons) verdicts[{c.cell, c.metric}] = &c;
  for (const Cell& cell : result.cells) {
    std::string begin = base::csv_field(cell.id);
    for (const std::string& axis : axes) {
      const auto found = std::find_if(cell.params.begin(), cell.params.end(),
                                      [&](const auto& param) { return param.first == axis; });
      begin += "," + (found != cell.params.end() ? base::csv_field(found->second) : "");
    }
    begin += "," + base::csv_field(cell.status);
    const char judged = cell.stats.contains('B') ? 'B' : 'A';
    for (const auto& [slot, metrics] : cell.stats) {
      for (const auto& [metric_name, s] : metrics) {
        std::string line = fmt::format("{},{},{}", begin, slot, base::csv_field(metric_name));
        put_stats(line, s);
        const auto verdict = verdicts.find({cell.id, metric_name});
        put_verdict(line, slot == judged && verdict != verdicts.end() ? verdict->second : nullptr);
        sink(line + "\n");
      }
    }
    if (cell.stats.empty()) sink(begin + ",,,,,,,,,,,,,,,,,,,,,\n");
  }
}

}  // namespace genscope::bench
