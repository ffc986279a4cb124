#include "watch/gpu_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "watch/figures.h"

namespace genscope::watch {
namespace {

constexpr std::size_t kGridFrom = 4;
constexpr std::size_t kBar = 10;
constexpr std::size_t kGpuSparkline = 8;

struct Gpu {
  std::uint32_t entity = 0;
  std::string label;  // "GPU 0", "MIG 1"
  std::optional<double> used, total, busy, watts, limit, celsius;
  std::string throttle;
  std::string problem;  // why nothing of it is known: "lost", "suspended"
};

// The status that all its readings share, if none has a value.
std::string shared_status(const Snapshot& now, std::uint32_t entity) {
  std::optional<SampleStatus> shared;
  for (const Snapshot::Series& series : now.series) {
    if (series.entity != entity) continue;
    if (series.reading.status == SampleStatus::ok) return "";
    if (shared && *shared != series.reading.status) return kUnknown;
    shared = series.reading.status;
  }
  return shared ? std::string(name(*shared)) : kUnknown;
}

std::vector<Gpu> all_gpus(const Snapshot& now) {
  std::vector<Gpu> gpus;
  std::size_t cards = 0, slices = 0;
  for (std::uint32_t i = 0; i < now.entities.size(); ++i) {
    const EntityKind kind = now.entities[i].kind;
    if (kind != EntityKind::gpu && kind != EntityKind::gpu_instance) continue;
    Gpu gpu;
    gpu.entity = i;
    gpu.label =
        kind == EntityKind::gpu ? fmt::format("GPU {}", cards++) : fmt::format("MIG {}", slices++);
    gpu.used = value_of(now, i, "memory_used_bytes");
    gpu.total = value_of(now, i, "memory_total_bytes");
    gpu.busy = value_of(now, i, "busy_ratio");
    gpu.watts = value_of(now, i, "power_watts");
    if (!gpu.watts) gpu.watts = value_of(now, i, "power_instant_watts");
    gpu.limit = value_of(now, i, "power_limit_watts");
    gpu.celsius = value_of(now, i, "temperature_celsius");
    gpu.throttle = throttle_words(value_of(now, i, "throttle_reasons").value_or(0));
    gpu.problem = shared_status(now, i);
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

Style by_fill(std::optional<double> ratio) {
  if (!ratio) return Style::dim;
  return *ratio > 0.95 ? Style::bad : *ratio > 0.8 ? Style::warn : Style::good;
}

std::optional<double> fill(const Gpu& gpu) {
  if (!gpu.used || !gpu.total || *gpu.total <= 0) return std::nullopt;
  return *gpu.used / *gpu.total;
}

std::string power_text(const Gpu& gpu) {
  if (!gpu.limit) return watts_text(gpu.watts);
  return fmt::format("{}/{} W", gpu.watts ? figure(*gpu.watts) : kUnknown, figure(*gpu.limit));
}

std::string celsius_text(const Gpu& gpu) {
  return gpu.celsius ? fmt::format("{:.0f} C", *gpu.celsius) : kUnknown;
}

// `gpu` on a line of its own; what does not fit is left out from the right.
std::string full_line(const Gpu& gpu, const LiveState& state, const Look& look) {
  Line line(look);
  line.add(gpu.label, Style::dim);
  if (!gpu.problem.empty()) {
    line.add_whole(gpu.problem, Style::warn);
    return line.text();
  }
  if (look.width >= 60) {
    line.to_column(7);
    line.add_whole(bar_text(fill(gpu).value_or(0), kBar, look.unicode), by_fill(fill(gpu)));
  }
  line.add_whole(bytes_of_text(gpu.used, gpu.total));
  line.add_whole("busy " + percent_text(gpu.busy));
  const auto trail = state.trails.find(state.snapshot.entities[gpu.entity].id + "busy_ratio");
  if (look.width >= 60 && trail != state.trails.end()) {
    line.add_whole(trail->second.draw(kGpuSparkline, 1, look.unicode), Style::good);
  }
  line.add_whole(power_text(gpu));
  line.add_whole(celsius_text(gpu));
  if (!gpu.throttle.empty()) line.add_whole(gpu.throttle, Style::bad);
  return line.text();
}

// `gpu` in a cell of the grid.
void add_cell(Line& line, const Gpu& gpu, std::size_t width, bool last) {
  const std::size_t begin = line.column();
  std::vector<std::pair<std::string, Style>> parts;
  parts.emplace_back(gpu.label.substr(gpu.label.find(' ') + 1) + ":", Style::dim);
  if (!gpu.problem.empty()) {
    parts.emplace_back(gpu.problem, Style::warn);
  } else {
    parts.emplace_back(percent_text(gpu.busy), Style::plain);
    parts.emplace_back(bytes_of_text(gpu.used, gpu.total), by_fill(fill(gpu)));
    parts.emplace_back(gpu.watts ? watts_text(gpu.watts) : kUnknown, Style::plain);
    parts.emplace_back(celsius_text(gpu), Style::plain);
    if (!gpu.throttle.empty()) parts.emplace_back(gpu.throttle, Style::bad);
  }
  std::size_t used = 0;
  for (const auto& [text, style] : parts) {
    const std::size_t gap = used == 0 ? 0 : 1;
    if (used + gap + columns(text) > width) break;
    line.add(gap != 0 ? " " : "").add(text, style);
    used += gap + columns(text);
  }
  if (!last) line.to_column(begin + width + 2);
}

std::vector<std::string> grid(const std::vector<Gpu>& gpus, const Look& look) {
  constexpr std::size_t kCell = 38;
  constexpr std::size_t kLeastCell = 8;
  const std::size_t fitting = std::clamp<std::size_t>((look.width + 2) / (kCell + 2), 2, 8);
  const std::size_t across = look.width >= 2 * kLeastCell + 2 ? fitting : 1;
  const std::size_t width = (look.width + 2) / across - 2;
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < gpus.size(); i += across) {
    Line line(look);
    const std::size_t end = std::min(i + across, gpus.size());
    for (std::size_t k = i; k < end; ++k) add_cell(line, gpus[k], width, k + 1 == end);
    lines.push_back(line.text());
  }
  return lines;
}

}  // namespace

std::string bar_text(double ratio, std::size_t width, bool unicode) {
  if (width < 3) return "";
  const std::size_t inner = width - 2;
  const double level = std::isfinite(ratio) ? std::clamp(ratio, 0.0, 1.0) : 0;
  const auto filled = static_cast<std::size_t>(std::lround(level * static_cast<double>(inner)));
  std::string out = "[";
  for (std::size_t i = 0; i < inner; ++i) {
    out += i < filled ? (unicode ? "█" : "#") : (unicode ? "·" : "-");
  }
  return out + "]";
}

std::vector<std::string> gpu_lines(const LiveState& state, const Look& look) {
  const std::vector<Gpu> gpus = all_gpus(state.snapshot);
  if (gpus.size() >= kGridFrom) return grid(gpus, look);
  std::vector<std::string> lines;
  for (const Gpu& gpu : gpus) lines.push_back(full_line(gpu, state, look));
  return lines;
}

std::string no_gpu_reason(const std::vector<ProbeReport>& probes) {
  const ProbeReport* telling = nullptr;
  for (const ProbeReport& probe : probes) {
    const bool gpu = is_gpu_probe(probe.name) || probe.name == "remote";
    if (!gpu || probe.state.reason.empty()) continue;
    // broken and denied say more than absent; the enum is in that order
    if (telling == nullptr || probe.state.kind > telling->state.kind) telling = &probe;
  }
  if (telling == nullptr) return "";
  // Of a process that holds several probes: the first reason. genscope doctor has them all.
  std::string reason = telling->state.reason.substr(0, telling->state.reason.find("; "));
  if (telling->state.kind != ProbeState::Kind::absent) return reason;
  // "nvml: no NVIDIA library: libnvidia-ml.so.1: cannot open ...": how it was looked for, and what
  // the loader said, is for genscope doctor.
  const std::size_t colon = reason.find(": ");
  if (colon != std::string::npos && is_gpu_probe(reason.substr(0, colon))) {
    reason.erase(0, colon + 2);
  }
  return reason.substr(0, reason.find(": "));
}

}  // namespace genscope::watch
