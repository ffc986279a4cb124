#include <algorithm>
#include <limits>
#include <set>

#include <genscope/statistics.h>

#include "advise/facts/parts.h"

namespace genscope::advice {
namespace {

constexpr std::size_t kMinReadings = 3;
constexpr Stretch kEver = {std::numeric_limits<std::int64_t>::min() / 2,
                           std::numeric_limits<std::int64_t>::max() / 2};

std::optional<double> mean(const std::vector<double>& values) {
  return values.size() < kMinReadings ? std::nullopt : stats::describe(values).mean;
}

std::optional<double> mean_of(const Run& run, const Analysis& analysis, const EntityRow& entity,
                              std::string_view metric, const Stretch& within) {
  return mean(readings(run, analysis, entity.entity.id, metric, within).value);
}

// Of several GPUs the one that was busiest.
const EntityRow* busiest(const Telemetry& telemetry) {
  const EntityRow* best = nullptr;
  double most = -1;
  for (const EntityRow& row : telemetry.entities) {
    if (row.entity.kind != EntityKind::gpu) continue;
    const double busy = row.value("busy_ratio", &SeriesRow::mean).value_or(0);
    if (busy > most) {
      most = busy;
      best = &row;
    }
  }
  return best;
}

void throttle_facts(const Run& run, const Analysis& analysis, const EntityRow& gpu,
                    const Stretch& within, Facts& facts) {
  constexpr std::uint64_t kPower = 0x4, kThermal = 0x20 | 0x40;
  const std::vector<double> bits =
      readings(run, analysis, gpu.entity.id, "throttle_reasons", within).value;
  if (bits.size() < kMinReadings) {
    facts.set_missing("gpu.throttle_thermal_share", "fewer than three readings");
    facts.set_missing("gpu.throttle_power_share", "fewer than three readings");
    return;
  }
  const auto share = [&](std::uint64_t mask) {
    const auto hits = std::count_if(bits.begin(), bits.end(), [&](double b) {
      return b >= 0 && (static_cast<std::uint64_t>(b) & mask) != 0;
    });
    return static_cast<double>(hits) / static_cast<double>(bits.size());
  };
  facts.set("gpu.throttle_thermal_share", share(kThermal));
  facts.set("gpu.throttle_power_share", share(kPower));
}

void vram_facts(const EntityRow& gpu, Facts& facts) {
  const auto total = gpu.value("memory_total_bytes", &SeriesRow::max);
  const auto used = gpu.value("memory_used_bytes", &SeriesRow::max);
  if (!total || *total <= 0) {
    facts.set_missing("vram.total", "the driver does not tell it");
    return;
  }
  facts.set("vram.total", *total);
  if (!used) return;
  facts.set("vram.used_share", *used / *total);
  facts.set("vram.headroom", 1 - *used / *total);
  facts.set("vram.free", *total - *used);
  if (const auto tree = gpu.value("tree_memory_bytes", &SeriesRow::max)) {
    facts.set("vram.tree_peak", *tree);
  }
}

void allocator_facts(const Telemetry& telemetry, Facts& facts) {
  if (telemetry.allocators.empty()) {
    facts.set_missing("mem.reserved", "the program fed in no figures of its allocator");
    return;
  }
  const AllocatorRow& row = telemetry.allocators.front();
  if (row.allocated_bytes) facts.set("mem.alloc", *row.allocated_bytes);
  if (row.reserved_bytes) facts.set("mem.reserved", *row.reserved_bytes);
  if (row.retries) facts.set("mem.retries", *row.retries);
  if (row.ooms) facts.set("mem.ooms", *row.ooms);
}

double others_on(const Telemetry& telemetry, const EntityRow& gpu, const EntityRow* tree) {
  std::set<std::uint32_t> ours, all;
  for (const ProcessUse& use : telemetry.processes) {
    if (tree != nullptr && use.entity == tree->entity.id) ours.insert(use.pid);
    if (use.entity == gpu.entity.id) all.insert(use.pid);
  }
  return static_cast<double>(std::count_if(all.begin(), all.end(),
                                           [&](std::uint32_t pid) { return !ours.contains(pid); }));
}

}  // namespace

void gpu_facts(const Run& run, const Analysis& analysis, const Steps& steps, Facts& facts) {
  const Telemetry& telemetry = analysis.telemetry;
  allocator_facts(telemetry, facts);
  if (telemetry.entities.empty()) {
    facts.set_missing("gpu.present", "no probe ran: use `genscope run`");
    return;
  }
  const EntityRow* const gpu = busiest(telemetry);
  facts.set("gpu.present", gpu != nullptr);
  if (gpu == nullptr) {
    for (const char* name : {"gpu.util", "gpu.temp_max", "gpu.sm_clock_ratio", "vram.total",
                             "vram.used_share", "vram.headroom", "gpu.throttle_thermal_share",
                             "gpu.throttle_power_share", "gpu.others", "gpu.count"}) {
      facts.set_missing(name, "no GPU was seen");
    }
    return;
  }
  facts.set("gpu.count",
            static_cast<double>(std::count_if(
                telemetry.entities.begin(), telemetry.entities.end(),
                [](const EntityRow& row) { return row.entity.kind == EntityKind::gpu; })));
  facts.set("gpu.name", gpu->entity.name);
  if (const std::string vendor = gpu->fact("vendor"); !vendor.empty()) {
    facts.set("gpu.vendor", vendor);
  }
  if (const std::string driver = gpu->fact("driver"); !driver.empty()) {
    facts.set("env.driver", driver);
  }
  const Stretch within = steps.ms.empty() ? kEver : steps.all;
  if (const auto util = mean_of(run, analysis, *gpu, "busy_ratio", within)) {
    facts.set("gpu.util", *util);
  } else {
    facts.set_missing("gpu.util", "fewer than three readings");
  }
  const auto clock = mean_of(run, analysis, *gpu, "clock_core_mhz", within);
  const auto most = gpu->value("clock_core_max_mhz", &SeriesRow::max);
  if (clock && most && *most > 0) facts.set("gpu.sm_clock_ratio", *clock / *most);
  if (const auto hottest = gpu->value("temperature_celsius", &SeriesRow::max)) {
    facts.set("gpu.temp_max", *hottest);
  }
  throttle_facts(run, analysis, *gpu, within, facts);
  vram_facts(*gpu, facts);
  const EntityRow* const tree = telemetry.first(EntityKind::process_tree);
  facts.set("gpu.others", others_on(telemetry, *gpu, tree));
}

void host_facts(const Run& run, const Analysis& analysis, const Steps& steps, Facts& facts) {
  const EntityRow* const tree = analysis.telemetry.first(EntityKind::process_tree);
  if (tree == nullptr) {
    for (const char* name : {"host.rss_slope_low", "host.rss_growth", "host.majflt_rate"}) {
      facts.set_missing(name, "no probe watched the process: use `genscope run`");
    }
    return;
  }
  const auto rate = [&](std::string_view metric, const char* fact) {
    const SeriesRow* const row = tree->find(metric);
    if (row == nullptr || row->count < kMinReadings || row->covered_seconds <= 0) return;
    facts.set(fact, row->growth / row->covered_seconds);
  };
  rate("major_faults", "host.majflt_rate");
  rate("io_read_bytes", "disk.read_rate");
  const Readings rss = steps.ms.size() <= Steps::kFirstSteady
                           ? Readings{}
                           : readings(run, analysis, tree->entity.id, "rss_bytes", steps.steady);
  const std::optional<stats::Trend> line = stats::trend(rss.at_s, rss.value);
  if (rss.value.size() < kMinReadings || !line || rss.value.front() <= 0) {
    for (const char* name : {"host.rss_slope_low", "host.rss_growth"}) {
      facts.set_missing(name, "fewer than three readings in the steady steps");
    }
    return;
  }
  facts.set("host.rss_slope_low", line->low);
  facts.set("host.rss_growth",
            line->slope * (rss.at_s.back() - rss.at_s.front()) / rss.value.front());
}

}  // namespace genscope::advice
