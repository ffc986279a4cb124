#include "watch/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstring>

#include "base/figures.h"
#include "report/format.h"
#include "report/telemetry_text.h"
#include "trace/metrics.h"
#include "watch/figures.h"

namespace genscope::watch {
namespace {

// The energy of several devices; absent if none has any.
struct EnergySum {
  std::optional<double> joules;
  bool integrated = false;  // from the power of one of them

  void add(const EntityRow& row) {
    if (!row.energy || !row.energy->joules) return;
    joules = joules.value_or(0) + *row.energy->joules;
    integrated |= row.energy->method == EnergyMethod::integrated;
  }
  std::string text() const {
    return joules ? base::energy(*joules) + (integrated ? " from power" : "") : kUnknown;
  }
};

class Text {
 public:
  Text(const Analysis* analysis, const Ending& ending, const Look& look)
      : analysis_(analysis), ending_(ending), look_(look) {
    if (analysis != nullptr) {
      tree_ = analysis->telemetry.first(EntityKind::process_tree);
      machine_ = analysis->telemetry.first(EntityKind::machine);
      group_ = analysis->telemetry.first(EntityKind::cgroup);
    }
    wall_ns_ =
        analysis != nullptr ? static_cast<double>(analysis->wall_ns) : ending.wall_seconds * 1e9;
  }

  std::string make(const std::string& command, const std::string& no_gpu) {
    header(command);
    row("wall", base::duration(wall_ns_));
    cpu();
    if (analysis_ != nullptr) {
      const std::string time = report::time_text(analysis_->resources.time);
      if (!time.empty()) row("time", time);
    }
    memory();
    row("I/O", fmt::format("read {}, written {}", bytes_text(of(tree_, "io_read_bytes")),
                           bytes_text(of(tree_, "io_write_bytes"))));
    energy();
    processes();
    gpus(no_gpu);
    probes();
    return std::move(out_);
  }

 private:
  static std::optional<double> of(const EntityRow* row, const char* metric,
                                  double SeriesRow::*figure = &SeriesRow::max) {
    return row == nullptr ? std::nullopt : row->value(metric, figure);
  }

  void line(const Line& line) { out_ += line.text() + "\n"; }
  void row(const char* label, const std::string& text, Style style = Style::plain) {
    constexpr std::size_t kLabel = 12;
    Line l(look_);
    line(l.add("  ").add(label, Style::dim).to_column(kLabel).add(text, style));
  }

  void header(const std::string& command) {
    constexpr int kSignalBase = 128;
    std::string end = fmt::format("exit {}", ending_.exit_code);
    if (ending_.exit_code > kSignalBase) {
      const char* word = sigabbrev_np(ending_.exit_code - kSignalBase);
      if (word != nullptr) end += fmt::format(" (SIG{})", word);
    }
    Line l(look_);
    l.add("genscope: ", Style::bold);
    l.add(cut(clean(command, look_.unicode),
              l.room() > end.size() + 2 ? l.room() - end.size() - 2 : 0));
    l.add_whole(end, ending_.exit_code == 0 ? Style::good : Style::bad);
    line(l);
  }

  void cpu() {
    const double cpu_ns = of(tree_, "cpu_ns").value_or(static_cast<double>(ending_.cpu_ns()));
    std::string text = base::duration(cpu_ns);
    if (wall_ns_ > 0) {
      text += fmt::format(", {} cores on average", report::cores(cpu_ns / wall_ns_));
      const auto cpus = analysis_ != nullptr ? analysis_->resources.host.cpus : std::nullopt;
      if (cpus) text += fmt::format(" of {}", report::cores(*cpus));
    }
    row("CPU", text);
  }

  void memory() {
    std::optional<double> peak = of(tree_, "rss_bytes");
    if (!peak && ending_.max_rss_bytes()) peak = static_cast<double>(*ending_.max_rss_bytes());
    std::string text = "peak " + bytes_text(peak) + " resident";
    if (const auto anonymous = of(tree_, "rss_anon_bytes")) {
      text += ", " + bytes_text(anonymous) + " anonymous";
    }
    if (const auto limit = of(group_, "memory_limit_bytes", &SeriesRow::last)) {
      text += ", limit " + bytes_text(limit);
    }
    row("memory", text);
  }

  std::vector<const EntityRow*> all(EntityKind kind) const {
    std::vector<const EntityRow*> rows;
    if (analysis_ == nullptr) return rows;
    for (const EntityRow& row : analysis_->telemetry.entities) {
      if (row.entity.kind == kind) rows.push_back(&row);
    }
    return rows;
  }

  void energy() {
    EnergySum cpus, gpus;
    for (const EntityRow* package : all(EntityKind::cpu_package)) cpus.add(*package);
    for (const EntityRow* gpu : all(EntityKind::gpu)) gpus.add(*gpu);
    std::string text = "CPU " + cpus.text();
    if (!all(EntityKind::gpu).empty()) text += ", GPUs " + gpus.text();
    row("energy", text);
  }

  void processes() {
    const auto peak = of(tree_, "processes");
    std::string text = peak ? fmt::format("{:.0f} seen at once", *peak) : kUnknown;
    if (ending_.orphans_reaped > 0) {
      text += fmt::format(", {} orphan{} ended", ending_.orphans_reaped,
                          ending_.orphans_reaped == 1 ? "" : "s");
    }
    row("processes", text);
    const std::string left = left_text(ending_);
    if (!left.empty()) row("", left, Style::warn);
  }

  void gpus(const std::string& no_gpu) {
    const std::vector<const EntityRow*> rows = all(EntityKind::gpu);
    if (rows.empty() && !no_gpu.empty()) row("GPU", std::string(kUnknown) + ": " + no_gpu);
    for (std::size_t i = 0; i < rows.size(); ++i) gpu(i, *rows[i]);
  }

  void gpu(std::size_t number, const EntityRow& g) {
    Line l(look_);
    l.add("  ").add(fmt::format("GPU {}", number), Style::dim).to_column(12);
    l.add(cut(clean(g.entity.name, look_.unicode), 28));
    l.add_whole("peak " + bytes_of_text(of(&g, "memory_used_bytes"),
                                        of(&g, "memory_total_bytes", &SeriesRow::last)));
    const auto busy = of(&g, "busy_ratio", &SeriesRow::mean);
    l.add_whole("busy " + (busy ? base::percent(*busy) : kUnknown));
    auto watts = of(&g, "power_watts", &SeriesRow::mean);
    if (!watts) watts = of(&g, "power_instant_watts", &SeriesRow::mean);
    const auto limit = of(&g, "power_limit_watts", &SeriesRow::last);
    l.add_whole(!limit ? watts_text(watts)
                       : fmt::format("{}/{} W", watts ? base::figure(*watts) : kUnknown,
                                     base::figure(*limit)));
    const auto celsius = of(&g, "temperature_celsius");
    l.add_whole(celsius ? fmt::format("{:.0f} C", *celsius) : kUnknown);
    EnergySum energy;
    energy.add(g);
    l.add_whole(energy.text());
    const SeriesRow* const throttle = g.find("throttle_reasons");
    const std::string words =
        throttle == nullptr ? "" : trace::throttle_words(static_cast<double>(throttle->bits));
    if (!words.empty()) {
      const std::string share =
          throttle->covered_seconds > 0
              ? base::percent(throttle->flagged_seconds / throttle->covered_seconds)
              : kUnknown;
      l.add_whole(fmt::format("{} {} of the time", words, share), Style::warn);
    }
    line(l);
  }

  void probes() {
    if (analysis_ == nullptr || !analysis_->recorder.probe_cpu_ns || wall_ns_ <= 0) return;
    const auto cpu_ns = static_cast<double>(*analysis_->recorder.probe_cpu_ns);
    row("probes", fmt::format("{} of CPU, {} of a core", base::duration(cpu_ns),
                              base::percent(cpu_ns / wall_ns_)));
  }

  const Analysis* const analysis_;
  const Ending& ending_;
  const Look& look_;
  const EntityRow *tree_ = nullptr, *machine_ = nullptr, *group_ = nullptr;
  double wall_ns_ = 0;
  std::string out_;
};

}  // namespace

std::string left_text(const Ending& ending) {
  if (ending.left_count == 0) return "";
  std::string text =
      fmt::format("{} still run{}:", ending.left_count, ending.left_count == 1 ? "s" : "");
  for (const Descendant& process : ending.left) {
    text += fmt::format(" {} {}", process.pid, clean(process.name));
    if (&process != &ending.left.back()) text += ',';
  }
  if (ending.left_count > ending.left.size()) text += ", ...";
  return text;
}

std::string unrecorded_text(const Ending& ending) {
  Run run;
  run.exit_code = ending.exit_code;
  const std::string wall = base::duration(ending.wall_seconds * 1e9);
  std::string how = ending_text(run_ending(run));
  std::string text = "Took " + wall;
  if (ending.exit_code != 0 && !how.empty()) {
    how[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(how[0])));
    text = how + " after " + wall;
  }
  text += ".\n\n";
  if (ending.max_rss_bytes()) {
    text += fmt::format("  memory  peak {}\n",
                        bytes_text(static_cast<double>(*ending.max_rss_bytes())));
  }
  if (ending.wall_seconds > 0) {
    text += fmt::format("  CPU     {} cores\n", base::figure(static_cast<double>(ending.cpu_ns()) /
                                                             (ending.wall_seconds * 1e9)));
  }
  return text;
}

std::string summary_text(const Analysis* analysis, const Ending& ending, const std::string& command,
                         const std::string& no_gpu, const Look& look) {
  return Text(analysis, ending, look).make(command, no_gpu);
}

}  // namespace genscope::watch
