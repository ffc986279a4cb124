// A result for tools that keep a history elsewhere: github-action-benchmark and Bencher. Both take
// a name, a value and its spread; of an A/B it is the new side that counts.
#include <fmt/format.h>

#include "base/text.h"
#include "bench/output/output.h"
#include "bench/output/words.h"
#include "bench/result/json_writer.h"

namespace genscope::bench {
namespace {

template <class F>
void each_figure(const BenchResult& r, F&& f) {
  for (const Cell& cell : r.cells) {
    const auto side = cell.stats.find(shown_slot(cell));
    if (side == cell.stats.end()) continue;
    for (const auto& [metric_name, s] : side->second) f(cell, metric_name, s);
  }
}

}  // namespace

void result_benchmark_action(const BenchResult& r, Direction direction, const Sink& sink) {
  std::string out;
  bool first = true;
  sink("[");
  each_figure(r, [&](const Cell& cell, const std::string& metric_name, const MetricStats& s) {
    const Metric known = metric(metric_name);
    if (known.direction != direction) return;
    out = first ? "\n" : ",\n";
    first = false;
    JsonWriter json(out);
    json.begin('{');
    json.key("name");
    json.text(fmt::format("{} / {}", cell.id, metric_name));
    json.key("unit");
    json.text(known.unit.empty() ? "1" : known.unit);
    json.key("value");
    json.number(s.median);
    if (s.ci) {
      json.key("range");
      json.text(fmt::format("{:.3g} to {:.3g}", s.ci->low, s.ci->high));
    }
    json.key("extra");
    json.text(fmt::format("median of {} runs", s.n_units));
    json.end('}');
    sink(out);
  });
  sink("\n]\n");
}

void result_bmf(const BenchResult& r, const Sink& sink) {
  std::string out;
  JsonWriter json(out);
  json.begin('{');
  std::string_view open;
  each_figure(r, [&](const Cell& cell, const std::string& metric_name, const MetricStats& s) {
    if (open != cell.id) {
      if (!open.empty()) json.end('}');
      json.line();
      json.key(cell.id);
      json.begin('{');
      open = cell.id;
    }
    json.key(metric_name);
    json.begin('{');
    json.key("value");
    json.number(s.median);
    if (s.ci) {
      json.key("lower_value");
      json.number(s.ci->low);
      json.key("upper_value");
      json.number(s.ci->high);
    }
    json.end('}');
  });
  if (!open.empty()) json.end('}');
  json.end('}');
  sink(out + "\n");
}

}  // namespace genscope::bench
