#include "cli/top/gpu_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "cli/top/labelled_lines.h"
#include "watch/figures.h"
#include "watch/gpu_lines.h"

namespace genscope::cli::top {
namespace {

using watch::Line;
using watch::Look;
using watch::Style;
using watch::value_of;

constexpr std::size_t kGridFrom = 4;

struct Gpu {
  std::uint32_t entity = 0;
  std::string label;  // "GPU 0", "MIG 1"
};

std::vector<Gpu> all_gpus(const Snapshot& snapshot) {
  std::vector<Gpu> gpus;
  std::size_t cards = 0, slices = 0;
  for (std::uint32_t i = 0; i < snapshot.entities.size(); ++i) {
    const EntityKind kind = snapshot.entities[i].kind;
    if (kind == EntityKind::gpu) gpus.push_back({i, fmt::format("GPU {}", cards++)});
    if (kind == EntityKind::gpu_instance) gpus.push_back({i, fmt::format("MIG {}", slices++)});
  }
  return gpus;
}

std::optional<double> fill(const Snapshot& snapshot, std::uint32_t gpu) {
  const auto used = value_of(snapshot, gpu, "memory_used_bytes");
  const auto total = value_of(snapshot, gpu, "memory_total_bytes");
  if (!used || !total || *total <= 0) return std::nullopt;
  return *used / *total;
}

// The average where the device gives one, else the instant.
const Reading* power_of(const Snapshot& snapshot, std::uint32_t gpu) {
  const Reading* average = reading_of(snapshot, gpu, "power_watts");
  if (average != nullptr && watch::known(*average)) return average;
  const Reading* instant = reading_of(snapshot, gpu, "power_instant_watts");
  return instant != nullptr && watch::known(*instant) ? instant : average;
}

std::string memory_text(const Snapshot& snapshot, std::uint32_t gpu) {
  const auto used = value_of(snapshot, gpu, "memory_used_bytes");
  const auto total = value_of(snapshot, gpu, "memory_total_bytes");
  if (used) return watch::bytes_of_text(used, total);
  return unknown_text(reading_of(snapshot, gpu, "memory_used_bytes"));
}

std::string power_text(const Snapshot& snapshot, std::uint32_t gpu) {
  const auto limit = value_of(snapshot, gpu, "power_limit_watts");
  return value_text("", power_of(snapshot, gpu), [&](double watts) {
    return limit ? fmt::format("{}/{} W", watch::figure(watts), watch::figure(*limit))
                 : watch::watts_text(watts);
  });
}

std::string throttle_text(const Snapshot& snapshot, std::uint32_t gpu) {
  return watch::throttle_words(value_of(snapshot, gpu, "throttle_reasons").value_or(0));
}

void add_card(const Frame& frame, const Look& look, const Gpu& gpu,
              std::vector<std::string>& lines) {
  const Snapshot& now = frame.snapshot;
  Line title = labelled(look, gpu.label);
  title.add(now.entities[gpu.entity].name, Style::bold);
  if (const std::string held = throttle_text(now, gpu.entity); !held.empty()) {
    title.add_whole("held down: " + held, Style::bad);
  }
  lines.push_back(title.text());

  Line line = labelled(look, "");
  line.add(value_text("busy", reading_of(now, gpu.entity, "busy_ratio"),
                      [](double ratio) { return watch::percent_text(ratio); }));
  add_trail(line, look, frame, gpu.entity, "busy_ratio");
  line.add_whole("memory " + memory_text(now, gpu.entity), by_level(fill(now, gpu.entity)));
  line.add_whole("power " + power_text(now, gpu.entity));
  line.add_whole(value_text("", reading_of(now, gpu.entity, "temperature_celsius"),
                            [](double celsius) { return fmt::format("{:.0f} C", celsius); }));
  if (const auto mhz = value_of(now, gpu.entity, "clock_core_mhz")) {
    line.add_whole(fmt::format("{:.0f} MHz", *mhz));
  }
  lines.push_back(line.text());
}

std::string cell_text(const Snapshot& now, const Gpu& gpu) {
  const auto celsius = value_of(now, gpu.entity, "temperature_celsius");
  const Reading* power = power_of(now, gpu.entity);
  const std::string held = throttle_text(now, gpu.entity);
  return fmt::format("{}: {:>4} {} {} {}{}", gpu.label,
                     watch::percent_text(value_of(now, gpu.entity, "busy_ratio")),
                     watch::bytes_of_text(value_of(now, gpu.entity, "memory_used_bytes"),
                                          value_of(now, gpu.entity, "memory_total_bytes")),
                     watch::watts_text(power == nullptr ? std::nullopt : watch::known(*power)),
                     celsius ? fmt::format("{:.0f} C", *celsius) : watch::kUnknown,
                     held.empty() ? "" : " " + held);
}

// Why the n/a of the grid are: each reason once, with the words it explains.
std::vector<std::string> grid_reasons(const Snapshot& now, const Look& look,
                                      const std::vector<Gpu>& gpus) {
  constexpr std::array<std::pair<const char*, const char*>, 4> kShown = {
      {{"busy", "busy_ratio"},
       {"memory", "memory_used_bytes"},
       {"power", "power_watts"},
       {"temperature", "temperature_celsius"}}};
  std::map<std::string, std::set<std::string>> words_of;
  for (const Gpu& gpu : gpus) {
    for (const auto& [word, metric] : kShown) {
      const Reading* reading = std::string_view(word) == "power"
                                   ? power_of(now, gpu.entity)
                                   : reading_of(now, gpu.entity, metric);
      if (reading != nullptr && watch::known(*reading)) continue;
      words_of[reading == nullptr ? "not read" : why(*reading)].insert(word);
    }
  }
  std::vector<std::string> lines;
  for (const auto& [reason, words] : words_of) {
    Line line = labelled(look, "");
    line.add(fmt::format("{}: {} ({})", watch::kUnknown, fmt::join(words, ", "), reason),
             Style::dim);
    lines.push_back(line.text());
  }
  return lines;
}

std::vector<std::string> grid(const Frame& frame, const Look& look, const std::vector<Gpu>& gpus) {
  constexpr std::size_t kGap = 2;
  std::vector<std::string> cells;
  std::size_t widest = 1;
  for (const Gpu& gpu : gpus) {
    cells.push_back(cell_text(frame.snapshot, gpu));
    widest = std::max(widest, watch::columns(cells.back()));
  }
  const std::size_t across = std::max<std::size_t>(1, (look.width + kGap) / (widest + kGap));
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < gpus.size(); i += across) {
    Line line(look);
    for (std::size_t k = i; k < std::min(i + across, gpus.size()); ++k) {
      line.to_column((k - i) * (widest + kGap));
      line.add(cells[k], by_level(fill(frame.snapshot, gpus[k].entity)));
    }
    lines.push_back(line.text());
  }
  for (std::string& reason : grid_reasons(frame.snapshot, look, gpus)) {
    lines.push_back(std::move(reason));
  }
  return lines;
}

}  // namespace

std::vector<std::string> gpu_part(const Frame& frame, const Look& look) {
  const std::vector<Gpu> gpus = all_gpus(frame.snapshot);
  if (gpus.size() >= kGridFrom) return grid(frame, look, gpus);
  std::vector<std::string> lines;
  for (const Gpu& gpu : gpus) add_card(frame, look, gpu, lines);
  if (gpus.empty()) {
    const std::string reason = watch::no_gpu_reason(frame.probes);
    Line line = labelled(look, "GPU");
    line.add(reason.empty() ? std::string(watch::kUnknown)
                            : fmt::format("{} ({})", watch::kUnknown, reason));
    lines.push_back(line.text());
  }
  return lines;
}

}  // namespace genscope::cli::top
