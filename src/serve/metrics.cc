#include "serve/metrics.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>

#include "base/text.h"

namespace genscope::serve {
namespace {

constexpr std::size_t kMostOwnValues = 200;  // of a process: labels cost a scraper memory
constexpr std::size_t kMostSeries = 50'000;  // of a scrape

struct BaseUnit {
  std::string_view suffix;
  const char* base;
  double factor;
};
constexpr BaseUnit kBaseUnits[] = {{"_ns", "_seconds", 1e-9}, {"_mhz", "_hertz", 1e6}};

const BaseUnit* base_unit(const Metric& metric) {
  for (const BaseUnit& unit : kBaseUnits) {
    if (metric.id.ends_with(unit.suffix)) return &unit;
  }
  return nullptr;
}

using base::prometheus_label;

// The families, each with its samples together, as the format wants them.
class Families {
 public:
  void add(const std::string& family, const char* type, std::string_view help,
           const std::string& labels, double value) {
    if (!std::isfinite(value)) return;
    std::string series = labels.empty() ? family : fmt::format("{}{{{}}}", family, labels);
    if (series_.size() >= kMostSeries || !series_.insert(series).second) {
      leave_out();
      return;
    }
    Family& to = families_[family];
    to.type = type;
    to.help = help;
    to.lines += fmt::format("{} {}\n", series, value);
  }
  void leave_out() { left_out_++; }
  std::size_t left_out() const { return left_out_; }

  std::string text() const {
    std::string out;
    for (const auto& [name, family] : families_) {
      out += fmt::format("# HELP {} {}\n# TYPE {} {}\n{}", name, family.help, name, family.type,
                         family.lines);
    }
    return out;
  }

 private:
  struct Family {
    const char* type = "gauge";
    std::string_view help;  // one of ours: no line ends, no backslashes
    std::string lines;
  };
  std::map<std::string, Family> families_;
  std::set<std::string, std::less<>> series_;
  std::size_t left_out_ = 0;
};

// A metric of the table has a family of its own. Those of the program are labels of one: what they
// are called need not be a name for Prometheus.
void add_value(const std::string& who, const Progress::Value& value, std::size_t& own_values,
               Families& out) {
  const Metric* const metric = value.metric.get();
  const bool grows = metric != nullptr && metric->kind == MetricKind::counter;
  if (metric != nullptr && find_metric(metric->id) != nullptr) {
    const BaseUnit* const unit = base_unit(*metric);
    out.add(prometheus_name(*metric), grows ? "counter" : "gauge", metric->description,
            who + fmt::format(",entity=\"{}\"", prometheus_label(value.entity)),
            unit != nullptr ? value.value * unit->factor : value.value);
  } else if (own_values++ >= kMostOwnValues) {
    out.leave_out();
  } else if (metric != nullptr) {
    out.add(grows ? "genscope_own_metric_total" : "genscope_own_metric",
            grows ? "counter" : "gauge", "What the program's own probes read, in its unit",
            who + fmt::format(",entity=\"{}\",metric=\"{}\",unit=\"{}\"",
                              prometheus_label(value.entity), prometheus_label(metric->id),
                              prometheus_label(metric->unit)),
            value.value);
  } else {
    out.add("genscope_program_value", "gauge", "What the program itself counts, by its name",
            who + fmt::format(",name=\"{}\"", prometheus_label(value.counter)), value.value);
  }
}

void add_process(const std::string& who, const Progress::Process& p, Families& out) {
  out.add("genscope_process_up", "gauge", "1 while the process records", who, p.alive ? 1 : 0);
  if (!p.stage.empty()) {
    out.add("genscope_stage_info", "gauge", "The stage that the process is in",
            who + fmt::format(",stage=\"{}\"", prometheus_label(p.stage)), 1);
    out.add("genscope_stage_steps_done", "gauge", "Finished steps of that stage", who,
            static_cast<double>(p.steps_done));
  }
  if (p.steps_total) {
    out.add("genscope_stage_steps_planned", "gauge", "Steps that the stage will have", who,
            static_cast<double>(*p.steps_total));
  }
  if (p.step_seconds) {
    out.add("genscope_step_seconds", "gauge", "Median of the last steps", who, *p.step_seconds);
  }
  if (p.eta_seconds) {
    out.add("genscope_stage_eta_seconds", "gauge", "Until the stage ends", who, *p.eta_seconds);
  }
  out.add("genscope_dropped_spans_total", "counter", "Spans dropped because buffers were full", who,
          static_cast<double>(p.dropped_spans));
  std::size_t own_values = 0;
  for (const Progress::Value& value : p.values) add_value(who, value, own_values, out);
}

void add_run(const MeasuredRun& run, Families& out) {
  // Processes of two hosts may have one pid: the second of a pid says so.
  std::map<std::string, std::size_t> met;
  for (const Progress::Process& p : run.progress->processes) {
    std::string who = fmt::format("run=\"{}\",pid=\"{}\"", prometheus_label(run.id), p.pid);
    if (p.rank) who += fmt::format(",rank=\"{}\"", *p.rank);
    if (const std::size_t nth = ++met[who]; nth > 1) who += fmt::format(",nth=\"{}\"", nth);
    add_process(who, p, out);
  }
}

}  // namespace

std::string prometheus_name(const Metric& metric) {
  std::string name = fmt::format("genscope_{}", metric.id);
  if (const BaseUnit* const unit = base_unit(metric)) {
    name.replace(name.size() - unit->suffix.size(), std::string::npos, unit->base);
  }
  // "_count" is kept for histograms: cpu_count is genscope_cpus.
  constexpr std::string_view kCount = "_count";
  if (name.ends_with(kCount)) name.replace(name.size() - kCount.size(), std::string::npos, "s");
  return metric.kind == MetricKind::counter ? name + "_total" : name;
}

std::string metrics_text(const std::vector<MeasuredRun>& runs, const HttpCounts& server) {
  Families out;
  const auto own = [&](const char* name, const char* type, const char* help, std::uint64_t value) {
    out.add(name, type, help, "", static_cast<double>(value));
  };
  std::size_t behind = 0;
  for (const MeasuredRun& run : runs) behind += run.progress == nullptr ? 1 : 0;
  own("genscope_runs_in_progress", "gauge", "Runs that are being recorded", runs.size());
  own("genscope_runs_not_read_yet", "gauge",
      "Of them, those without series yet: too long to read at once", behind);
  own("genscope_http_connections", "gauge", "Open connections of this server", server.connections);
  own("genscope_http_streams", "gauge", "Of them, event streams", server.streams);
  own("genscope_http_requests_total", "counter", "Requests answered", server.requests);
  own("genscope_http_refused_total", "counter", "Requests refused: malformed, or too many",
      server.refused);
  own("genscope_http_slow_readers_total", "counter", "Event streams dropped for slowness",
      server.slow_readers);
  // Before the runs, so that there is room for it.
  Families of_runs;
  for (const MeasuredRun& run : runs) {
    if (run.progress != nullptr) add_run(run, of_runs);
  }
  own("genscope_series_left_out", "gauge", "Series that are not shown: too many, or of one name",
      of_runs.left_out());
  return out.text() + of_runs.text();
}

}  // namespace genscope::serve
