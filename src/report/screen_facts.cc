#include "report/screen_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/cpu_wait.h"
#include "report/format.h"
#include "report/printable.h"
#include "report/stacks.h"
#include "trace/metrics.h"

namespace genscope::report {
namespace {

constexpr double kWorthSaying = 0.01;  // a share of the time

std::string size_text(double value) {
  return bytes(static_cast<std::uint64_t>(std::max(0.0, value)));
}

std::optional<double> figure_of(const EntityRow* row, const char* metric,
                                double SeriesRow::*figure = &SeriesRow::max) {
  return row == nullptr ? std::nullopt : row->value(metric, figure);
}

std::string memory_text(const Run& run, const Analysis& analysis) {
  const EntityRow* const tree = analysis.telemetry.first(EntityKind::process_tree);
  auto peak = figure_of(tree, "rss_bytes");
  if (!peak && run.max_rss_bytes) peak = static_cast<double>(*run.max_rss_bytes);
  if (!peak) return "";
  std::string text = "peak " + size_text(*peak);
  if (const auto anon = figure_of(tree, "rss_anon_bytes")) {
    text += fmt::format(" ({} anonymous)", size_text(*anon));
  }
  const EntityRow* const group = analysis.telemetry.first(EntityKind::cgroup);
  if (const auto limit = figure_of(group, "memory_limit_bytes", &SeriesRow::last)) {
    text += ", limit " + size_text(*limit);
  }
  for (const MemoryGrowth& growth : analysis.resources.growth) {
    if (growth.what != "host" || !growth.leak || !growth.bytes_per_second) continue;
    text += fmt::format(", grows by {} a second", size_text(growth.bytes_per_second->value));
  }
  return text;
}

std::string cpu_text(const Run& run, const Analysis& analysis) {
  const Telemetry& telemetry = analysis.telemetry;
  const EntityRow* const machine = telemetry.first(EntityKind::machine);
  auto cpu_ns = figure_of(telemetry.first(EntityKind::process_tree), "cpu_ns");
  if (!cpu_ns && run.cpu_ns) cpu_ns = static_cast<double>(*run.cpu_ns);
  std::string text;
  const auto wall_ns = static_cast<double>(analysis.wall_ns);
  if (cpu_ns && wall_ns > 0) {
    text = cores(*cpu_ns / wall_ns);
    if (const auto all = analysis.resources.host.cpus) text += fmt::format(" of {}", cores(*all));
    text += " cores";
    const CpuWait wait = cpu_wait(run, analysis);
    if (wait.share && *wait.share >= kWorthSaying) {
      text += fmt::format(", {} {} of the time",
                          wait.of_main_thread ? "main thread waited" : "waited for one",
                          percent(*wait.share));
    }
  }
  const auto user = figure_of(machine, "cpu_user_ratio", &SeriesRow::mean);
  const auto system = figure_of(machine, "cpu_system_ratio", &SeriesRow::mean);
  if (user && system) {
    text += fmt::format("{}machine {} user, {} system", text.empty() ? "" : "; ", percent(*user),
                        percent(*system));
  }
  return text;
}

// Over several GPUs the range of a figure: "12% to 64%".
std::string range_of(const std::vector<const EntityRow*>& gpus, const char* metric,
                     double SeriesRow::*figure, std::string (*format)(double)) {
  std::optional<double> low, high;
  for (const EntityRow* const gpu : gpus) {
    const auto value = gpu->value(metric, figure);
    if (!value) continue;
    low = std::min(low.value_or(*value), *value);
    high = std::max(high.value_or(*value), *value);
  }
  if (!low) return "";
  const std::string least = format(*low), most = format(*high);
  return least == most ? least : least + " to " + most;
}

std::string held_down(const std::vector<const EntityRow*>& gpus) {
  for (const EntityRow* const gpu : gpus) {
    const SeriesRow* const throttle = gpu->find("throttle_reasons");
    if (throttle == nullptr || throttle->covered_seconds <= 0) continue;
    const std::string words = trace::throttle_words(static_cast<double>(throttle->bits));
    const double share = throttle->flagged_seconds / throttle->covered_seconds;
    if (words.empty() || share < kWorthSaying) continue;
    return fmt::format(", {} {}", words, percent(share));
  }
  return "";
}

std::string gpu_text(const Analysis& analysis) {
  std::vector<const EntityRow*> gpus;
  for (const EntityRow& row : analysis.telemetry.entities) {
    if (row.entity.kind == EntityKind::gpu) gpus.push_back(&row);
  }
  if (gpus.empty()) return "";
  const std::string busy = range_of(gpus, "busy_ratio", &SeriesRow::mean, percent);
  const std::string peak = range_of(gpus, "memory_used_bytes", &SeriesRow::max, size_text);
  const std::string power = range_of(gpus, "power_watts", &SeriesRow::mean, watts);
  if (busy.empty() && peak.empty() && power.empty()) return "";
  const Entity& first = gpus.front()->entity;
  std::string text = shorten(printable(first.name.empty() ? first.id : first.name), 26);
  if (gpus.size() > 1) text = fmt::format("{} x {}", gpus.size(), text);
  if (!busy.empty()) text += ": busy " + busy;
  if (!peak.empty()) {
    text += ", peak " + peak;
    const auto total = gpus.front()->value("memory_total_bytes", &SeriesRow::last);
    if (total) text += " of " + size_text(*total);
  }
  if (!power.empty()) text += ", " + power;
  return text + held_down(gpus);
}

std::string energy_text(const Analysis& analysis) {
  const auto joules = analysis.telemetry.joules();
  if (!joules) return "";
  double gpus = 0;
  bool any = false, cpus = false;
  for (const EntityRow& row : analysis.telemetry.entities) {
    if (!row.energy || !row.energy->joules) continue;
    cpus |= row.entity.kind == EntityKind::cpu_package;
    if (row.entity.kind != EntityKind::gpu) continue;
    gpus += *row.energy->joules;
    any = true;
  }
  std::string text = energy(*joules);
  if (any && cpus) text += fmt::format(" (GPUs {})", energy(gpus));
  if (!analysis.resources.energy.empty()) {
    const EnergyPerUnit& each = analysis.resources.energy.front();
    text += fmt::format(", {} per {}", energy(each.joules_each), printable(each.unit));
  }
  return text;
}

std::string quality_text(const Analysis& analysis) {
  const RecorderSummary& recorder = analysis.recorder;
  const std::uint64_t dropped = recorder.dropped_spans + recorder.dropped_records;
  if (dropped == 0) return "";
  return fmt::format("{} dropped; --full says why", counted(dropped, "record was", "records were"));
}

}  // namespace

std::vector<ScreenFact> screen_facts(const Run& run, const Analysis& analysis) {
  std::vector<ScreenFact> facts;
  const auto add = [&](const char* label, std::string text, bool doubtful = false) {
    if (!text.empty()) facts.push_back({label, std::move(text), doubtful});
  };
  add("memory", memory_text(run, analysis));
  add("CPU", cpu_text(run, analysis));
  add("GPU", gpu_text(analysis));
  add("energy", energy_text(analysis));
  add("code", sampled_line(analysis));
  add("quality", quality_text(analysis), true);
  return facts;
}

std::string sparkline(std::span<const std::int64_t> values_ns, std::size_t cells, bool unicode) {
  static constexpr std::array<const char*, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static constexpr std::array<const char*, 8> kPlain = {"_", ".", ":", "-", "=", "+", "*", "#"};
  cells = std::min(cells, values_ns.size());
  std::vector<std::int64_t> heights(cells);
  for (std::size_t i = 0; i < values_ns.size() && cells > 0; ++i) {
    std::int64_t& cell = heights[i * cells / values_ns.size()];
    cell = std::max(cell, values_ns[i]);
  }
  if (heights.empty()) return "";
  const auto most = static_cast<double>(*std::max_element(heights.begin(), heights.end()));
  std::string text;
  for (const std::int64_t height : heights) {
    const double level = most > 0 ? static_cast<double>(height) / most * 7 : 0;
    const auto index = static_cast<std::size_t>(std::clamp(level + 0.5, 0.0, 7.0));
    text += unicode ? kBlocks[index] : kPlain[index];
  }
  return text;
}

bool is_of_python(const Run& run) {
  const auto python = [](const std::vector<std::string>& command) {
    if (command.empty()) return false;
    const std::string_view word = command.front();
    return word.substr(word.rfind('/') + 1).starts_with("python") || word.ends_with(".py");
  };
  return python(run.command) ||
         std::any_of(run.traces.begin(), run.traces.end(),
                     [&](const Trace& trace) { return python(trace.process.command); });
}

std::string shorten_end(std::string_view text, std::size_t limit) {
  if (columns(text) <= limit) return std::string(text);
  std::size_t used = 0, end = 0, space = 0;
  while (end < text.size()) {
    const base::Character next = base::next_character(text.substr(end));
    const std::size_t wide = base::columns(next.code);
    if (used + wide + 1 > limit) break;
    if (next.code == U' ') space = end;
    used += wide;
    end += next.bytes.size();
  }
  if (space > end / 2) end = space;
  return std::string(text.substr(0, end)) + "…";
}

}  // namespace genscope::report
