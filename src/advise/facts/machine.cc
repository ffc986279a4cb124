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

// Of all steps and of the GPUs that the run used.
std::optional<double> busy_in_steps(const Analysis& analysis) {
  for (const StageUse& use : analysis.resources.stages) {
    if (use.kind == SpanKind::step) return use.gpu_busy_ratio.mean;
  }
  return std::nullopt;
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

// The main thread's CPU time over the time between the first and the last reading within.
void main_thread_fact(const Run& run, const Analysis& analysis, const EntityRow& tree,
                      const Steps& steps, Facts& facts) {
  const Stretch within = steps.ms.empty() ? kEver : steps.steady;
  const Readings cpu = readings(run, analysis, tree.entity.id, "main_thread_cpu_ns", within);
  if (cpu.value.size() < kMinReadings) {
    facts.set_missing("cpu.main", "fewer than three readings of the main thread's CPU time");
  } else if (!std::is_sorted(cpu.value.begin(), cpu.value.end())) {
    facts.set_missing("cpu.main", "the readings are of several main threads");
  } else if (const double seconds = cpu.at_s.back() - cpu.at_s.front(); seconds > 0) {
    const double busy = (cpu.value.back() - cpu.value.front()) / 1e9;
    facts.set("cpu.main", std::min(busy / seconds, 1.0));  // the kernel counts in ticks
  }
}

}  // namespace

const EntityRow* busiest_gpu(const Telemetry& telemetry) {
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

void gpu_facts(const Run& run, const Analysis& analysis, const Steps& steps, Facts& facts) {
  const Telemetry& telemetry = analysis.telemetry;
  allocator_facts(telemetry, facts);
  if (telemetry.entities.empty()) {
    facts.set_missing("gpu.present", "no probe ran: use `genscope run`");
    return;
  }
  const EntityRow* const gpu = busiest_gpu(telemetry);
  facts.set("gpu.present", gpu != nullptr);
  if (gpu == nullptr) {
    for (const char* name : {"gpu.util", "gpu.temp_max", "gpu.sm_clock_ratio", "vram.total",
                             "vram.used_share", "vram.headroom", "gpu.others", "gpu.count"}) {
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
  const std::optional<double> util = steps.ms.empty()
                                         ? mean_of(run, analysis, *gpu, "busy_ratio", kEver)
                                         : busy_in_steps(analysis);
  if (util) {
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
  vram_facts(*gpu, facts);
  const EntityRow* const tree = telemetry.first(EntityKind::process_tree);
  facts.set("gpu.others", others_on(telemetry, *gpu, tree));
}

void host_facts(const Run& run, const Analysis& analysis, const Steps& steps, Facts& facts) {
  const EntityRow* const tree = analysis.telemetry.first(EntityKind::process_tree);
  if (tree == nullptr) {
    for (const char* name : {"cpu.main", "host.majflt_rate", "disk.read_rate"}) {
      facts.set_missing(name, "no probe watched the process: use `genscope run`");
    }
    return;
  }
  main_thread_fact(run, analysis, *tree, steps, facts);
  const auto rate = [&](std::string_view metric, const char* fact) {
    const SeriesRow* const row = tree->find(metric);
    if (row == nullptr || row->count < kMinReadings || row->covered_seconds <= 0) return;
    facts.set(fact, row->growth / row->covered_seconds);
  };
  rate("major_faults", "host.majflt_rate");
  rate("io_read_bytes", "disk.read_rate");
}

}  // namespace genscope::advice
