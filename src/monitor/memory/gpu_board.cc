#include "monitor/memory/gpu_board.h"

namespace genscope::monitor {

std::uint32_t GpuBoard::add_entity(const Entity& entity) {
  if (entity.kind != EntityKind::gpu) return kNoSeries;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (gpus[i].entity.id != entity.id) continue;
    gpus[i].entity = entity;
    return static_cast<std::uint32_t>(i);
  }
  gpus.push_back({entity, false, {}, {}});
  return static_cast<std::uint32_t>(gpus.size() - 1);
}

// Two series a GPU: used at 2 n, total at 2 n + 1.
std::uint32_t GpuBoard::add_series(std::uint32_t entity, const Metric& metric, Tier,
                                   std::string_view) {
  if (entity >= gpus.size()) return kNoSeries;
  if (metric.id == "memory_total_bytes") return 2 * entity + 1;
  if (metric.id != "memory_used_bytes") return kNoSeries;
  gpus[entity].tells_used = true;
  return 2 * entity;
}

void GpuBoard::set_all(std::uint32_t entity, SampleStatus, const char*) noexcept {
  put(2 * entity, {});
  put(2 * entity + 1, {});
}

void GpuBoard::put(std::uint32_t series, std::optional<double> value) noexcept {
  if (series / 2 >= gpus.size()) return;
  Gpu& gpu = gpus[series / 2];
  (series % 2 == 0 ? gpu.used : gpu.total) = value;
}

ProbeOptions memory_only(ProbeOptions options) {
  options.gpu_utilization = options.gpu_temperature = options.gpu_power = false;
  options.gpu_processes = options.gpu_counters = false;
  return options;
}

}  // namespace genscope::monitor
