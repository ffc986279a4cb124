#include "watch/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "watch/figures.h"

namespace genscope::watch {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

std::optional<double> larger(std::optional<double> a, std::optional<double> b) {
  return a && b ? std::max(*a, *b) : a ? a : b;
}
std::optional<double> smaller(std::optional<double> a, std::optional<double> b) {
  return a && b ? std::min(*a, *b) : a ? a : b;
}

// The figures of one entity.
class Of {
 public:
  Of(const RunTotals& totals, std::uint32_t entity) : totals_(totals), entity_(entity) {}
  std::optional<double> max(const char* metric) const {
    const SeriesTotal* total = totals_.find(entity_, metric);
    return total != nullptr ? std::optional(total->max) : std::nullopt;
  }
  std::optional<double> last(const char* metric) const {
    const SeriesTotal* total = totals_.find(entity_, metric);
    return total != nullptr ? std::optional(total->last) : std::nullopt;
  }
  std::optional<double> mean(const char* metric) const {
    const SeriesTotal* total = totals_.find(entity_, metric);
    return total != nullptr ? total->mean() : std::nullopt;
  }
  const SeriesTotal* find(const char* metric) const { return totals_.find(entity_, metric); }

  std::optional<Energy> energy() const {
    const SeriesTotal* counter = find("energy_joules");
    if (counter != nullptr && counter->values > 1) return Energy{counter->grown, false};
    for (const char* metric : {"power_watts", "power_instant_watts"}) {
      const SeriesTotal* power = find(metric);
      if (power != nullptr && power->covered_seconds > 0) return Energy{power->integral, true};
    }
    return std::nullopt;
  }

 private:
  const RunTotals& totals_;
  std::uint32_t entity_;
};

GpuFigures gpu_figures(const Of& of, const std::string& name) {
  GpuFigures gpu;
  gpu.name = name;
  gpu.memory_peak_bytes = of.max("memory_used_bytes");
  gpu.memory_total_bytes = of.max("memory_total_bytes");
  gpu.busy_mean_ratio = of.mean("busy_ratio");
  gpu.power_mean_watts = of.mean("power_watts");
  if (!gpu.power_mean_watts) gpu.power_mean_watts = of.mean("power_instant_watts");
  gpu.power_limit_watts = of.last("power_limit_watts");
  gpu.temperature_max_celsius = of.max("temperature_celsius");
  gpu.energy = of.energy();
  if (const SeriesTotal* bits = of.find("throttle_reasons")) {
    if (bits->covered_seconds > 0)
      gpu.throttled_ratio = bits->fault_seconds / bits->covered_seconds;
    gpu.throttle = throttle_words(static_cast<double>(bits->seen_bits));
  }
  return gpu;
}

void add_tree(RunFigures& figures, const Of& tree) {
  if (const auto ns = tree.max("cpu_ns")) {
    figures.cpu_seconds = std::max(figures.cpu_seconds, *ns / 1e9);
  }
  figures.rss_peak_bytes = larger(figures.rss_peak_bytes, tree.max("rss_bytes"));
  figures.anon_peak_bytes = tree.max("rss_anon_bytes");
  figures.io_read_bytes = tree.max("io_read_bytes");
  figures.io_write_bytes = tree.max("io_write_bytes");
  figures.processes_peak = tree.max("processes");
}

void add_energy(std::optional<Energy>& sum, const std::optional<Energy>& more) {
  if (!more) return;
  if (!sum) sum = Energy{};
  sum->joules += more->joules;
  sum->integrated |= more->integrated;
}

std::string energy_text(const std::optional<Energy>& energy) {
  if (!energy) return kUnknown;
  return joules_text(energy->joules) + (energy->integrated ? " from power" : "");
}

class Text {
 public:
  Text(const RunFigures& figures, const Look& look) : f_(figures), look_(look) {}

  std::string make(const std::string& command, const std::string& no_gpu) {
    header(command);
    row("wall", seconds_text(f_.wall_seconds));
    cpu();
    memory();
    row("I/O", fmt::format("read {}, written {}", bytes_text(f_.io_read_bytes),
                           bytes_text(f_.io_write_bytes)));
    energy();
    processes();
    gpus(no_gpu);
    return std::move(out_);
  }

 private:
  void line(const Line& line) { out_ += line.text() + "\n"; }
  void row(const char* label, const std::string& text, Style style = Style::plain) {
    constexpr std::size_t kLabel = 12;
    Line l(look_);
    line(l.add("  ").add(label, Style::dim).to_column(kLabel).add(text, style));
  }

  void header(const std::string& command) {
    constexpr int kSignalBase = 128;
    std::string end = fmt::format("exit {}", f_.exit_code);
    if (f_.exit_code > kSignalBase) {
      const char* word = sigabbrev_np(f_.exit_code - kSignalBase);
      if (word != nullptr) end += fmt::format(" (SIG{})", word);
    }
    Line l(look_);
    l.add("genscope: ", Style::bold);
    l.add(cut(clean(command, look_.unicode),
              l.room() > end.size() + 2 ? l.room() - end.size() - 2 : 0));
    l.add_whole(end, f_.exit_code == 0 ? Style::good : Style::bad);
    line(l);
  }

  void cpu() {
    std::string text = seconds_text(f_.cpu_seconds);
    if (f_.wall_seconds > 0) {
      text += fmt::format(", {} cores on average", figure(f_.cpu_seconds / f_.wall_seconds));
      if (f_.cores) text += fmt::format(" of {}", figure(*f_.cores));
    }
    row("CPU", text);
  }

  void memory() {
    std::string text = "peak " + bytes_text(f_.rss_peak_bytes) + " resident";
    if (f_.anon_peak_bytes) text += ", " + bytes_text(f_.anon_peak_bytes) + " anonymous";
    if (f_.memory_limit_bytes) text += ", limit " + bytes_text(f_.memory_limit_bytes);
    row("memory", text);
  }

  void energy() {
    std::optional<Energy> gpus;
    for (const GpuFigures& gpu : f_.gpus) add_energy(gpus, gpu.energy);
    std::string text = "CPU " + energy_text(f_.cpu_energy);
    if (!f_.gpus.empty()) text += ", GPUs " + energy_text(gpus);
    row("energy", text);
  }

  void processes() {
    std::string text =
        f_.processes_peak ? fmt::format("{:.0f} at once", *f_.processes_peak) : kUnknown;
    if (f_.orphans_reaped > 0) {
      text +=
          fmt::format(", {} orphan{} ended", f_.orphans_reaped, f_.orphans_reaped == 1 ? "" : "s");
    }
    row("processes", text);
    if (f_.left_count == 0) return;
    text = fmt::format("{} still run{}:", f_.left_count, f_.left_count == 1 ? "s" : "");
    for (const Descendant& process : f_.left) {
      text += fmt::format(" {} {}", process.pid, process.name);
      if (&process != &f_.left.back()) text += ',';
    }
    if (f_.left_count > f_.left.size()) text += ", ...";
    row("", text, Style::warn);
  }

  void gpus(const std::string& no_gpu) {
    if (f_.gpus.empty()) {
      if (!no_gpu.empty()) row("GPU", std::string(kUnknown) + ": " + no_gpu);
      return;
    }
    for (std::size_t i = 0; i < f_.gpus.size(); ++i) gpu(i, f_.gpus[i]);
  }

  void gpu(std::size_t number, const GpuFigures& g) {
    Line l(look_);
    l.add("  ").add(fmt::format("GPU {}", number), Style::dim).to_column(12);
    l.add(cut(clean(g.name, look_.unicode), 28));
    l.add_whole("peak " + bytes_of_text(g.memory_peak_bytes, g.memory_total_bytes));
    l.add_whole("busy " + percent_text(g.busy_mean_ratio));
    l.add_whole(!g.power_limit_watts
                    ? watts_text(g.power_mean_watts)
                    : fmt::format("{}/{} W",
                                  g.power_mean_watts ? figure(*g.power_mean_watts) : kUnknown,
                                  figure(*g.power_limit_watts)));
    l.add_whole(g.temperature_max_celsius ? fmt::format("{:.0f} C", *g.temperature_max_celsius)
                                          : kUnknown);
    l.add_whole(energy_text(g.energy));
    if (!g.throttle.empty()) {
      l.add_whole(fmt::format("{} {} of the time", g.throttle, percent_text(g.throttled_ratio)),
                  Style::warn);
    }
    line(l);
  }

  const RunFigures& f_;
  const Look& look_;
  std::string out_;
};

}  // namespace

RunFigures figures_of(const RunTotals& totals, const Ending& ending) {
  RunFigures figures;
  figures.exit_code = ending.exit_code;
  figures.wall_seconds = ending.wall_seconds;
  figures.cpu_seconds = seconds(ending.usage.ru_utime) + seconds(ending.usage.ru_stime);
  if (const auto peak = ending.max_rss_bytes()) {
    figures.rss_peak_bytes = static_cast<double>(*peak);
  }
  figures.orphans_reaped = ending.orphans_reaped;
  figures.left = ending.left;
  figures.left_count = ending.left_count;
  for (std::uint32_t i = 0; i < totals.entities().size(); ++i) {
    const Entity& entity = totals.entities()[i];
    const Of of(totals, i);
    if (entity.kind == EntityKind::process_tree) {
      add_tree(figures, of);
    } else if (entity.kind == EntityKind::machine) {
      figures.cores = smaller(figures.cores, of.last("cpu_count"));
    } else if (entity.kind == EntityKind::cgroup) {
      figures.cores = smaller(figures.cores, of.last("cpu_limit_cores"));
      figures.memory_limit_bytes = of.last("memory_limit_bytes");
    } else if (entity.kind == EntityKind::cpu_package) {
      add_energy(figures.cpu_energy, of.energy());
    } else if (entity.kind == EntityKind::gpu) {
      figures.gpus.push_back(gpu_figures(of, entity.name));
    }
  }
  return figures;
}

std::string summary_text(const RunFigures& figures, const std::string& command,
                         const std::string& no_gpu, const Look& look) {
  return Text(figures, look).make(command, no_gpu);
}

}  // namespace genscope::watch
