#include "serve/metrics.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include <genscope/sample.h>

namespace genscope::serve {
namespace {

std::string label(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out;
}

// The families, each with its samples together, as the format wants them.
class Families {
 public:
  void add(const std::string& family, const char* type, std::string_view help,
           const std::string& labels, double value) {
    if (!std::isfinite(value)) return;
    Family& to = families_[family];
    to.type = type;
    to.help = help;
    to.lines += labels.empty() ? fmt::format("{} {}\n", family, value)
                               : fmt::format("{}{{{}}} {}\n", family, labels, value);
  }
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
    std::string help, lines;
  };
  std::map<std::string, Family> families_;
};

constexpr std::size_t kMostOwnCounters = 200;  // of a process: labels cost a scraper memory

// Under a name in base units, as Prometheus has it: seconds, hertz.
void add_metric(const Metric& metric, const std::string& labels, double value, Families& out) {
  struct Base {
    std::string_view suffix;
    const char* base;
    double factor;
  };
  constexpr Base kBases[] = {{"_ns", "_seconds", 1e-9}, {"_mhz", "_hertz", 1e6}};
  std::string name = fmt::format("genscope_{}", metric.id);
  for (const Base& base : kBases) {
    if (!name.ends_with(base.suffix)) continue;
    name.replace(name.size() - base.suffix.size(), std::string::npos, base.base);
    value *= base.factor;
  }
  const bool grows = metric.kind == MetricKind::counter;
  out.add(name + (grows ? "_total" : ""), grows ? "counter" : "gauge", metric.description, labels,
          value);
}

void add_process(const std::string& run, const Progress::Process& p, Families& out) {
  std::string who = fmt::format("run=\"{}\",pid=\"{}\"", run, p.pid);
  if (p.rank) who += fmt::format(",rank=\"{}\"", *p.rank);
  out.add("genscope_process_up", "gauge", "1 while the process records", who, p.alive ? 1 : 0);
  if (!p.stage.empty()) {
    out.add("genscope_stage_info", "gauge", "The stage that the process is in",
            who + fmt::format(",stage=\"{}\"", label(p.stage)), 1);
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
  out.add("genscope_lost_spans_total", "counter", "Spans dropped because buffers were full", who,
          static_cast<double>(p.lost_spans));
  std::size_t own = 0;
  for (const auto& [counter, value] : p.values) {
    const std::size_t slash = counter.rfind('/');
    const Metric* const metric = slash != std::string::npos
                                     ? find_metric(std::string_view(counter).substr(slash + 1))
                                     : nullptr;
    if (metric != nullptr) {
      const std::string entity = label(std::string_view(counter).substr(0, slash));
      add_metric(*metric, who + fmt::format(",entity=\"{}\"", entity), value, out);
    } else if (own++ < kMostOwnCounters) {
      out.add("genscope_counter", "gauge", "A counter of the program, by its name",
              who + fmt::format(",name=\"{}\"", label(counter)), value);
    }
  }
}

}  // namespace

std::string metrics_text(const std::vector<std::pair<RunEntry, Progress>>& runs,
                         const HttpCounts& server) {
  Families out;
  out.add("genscope_runs_in_progress", "gauge", "Runs that are being recorded", "",
          static_cast<double>(runs.size()));
  out.add("genscope_http_connections", "gauge", "Open connections of this server", "",
          static_cast<double>(server.connections));
  out.add("genscope_http_streams", "gauge", "Of them, event streams", "",
          static_cast<double>(server.streams));
  out.add("genscope_http_requests_total", "counter", "Requests answered", "",
          static_cast<double>(server.requests));
  out.add("genscope_http_refused_total", "counter", "Requests refused: malformed, or too many", "",
          static_cast<double>(server.refused));
  out.add("genscope_http_slow_readers_total", "counter", "Event streams dropped for slowness", "",
          static_cast<double>(server.slow_readers));
  for (const auto& [run, progress] : runs) {
    for (const Progress::Process& p : progress.processes) add_process(label(run.id), p, out);
  }
  return out.text();
}

}  // namespace genscope::serve
