#include "report/resources_json.h"

#include <cmath>
#include <string>

#include "report/json_values.h"

namespace genscope::report {
namespace {

Json figure_json(const UseFigure& figure) {
  return {
      {"samples", figure.samples}, {"mean", or_null(figure.mean)}, {"max", or_null(figure.max)}};
}

Json stages_json(const Resources& resources, Json& absent) {
  Json out = Json::array();
  for (const StageUse& use : resources.stages) {
    out.push_back({{"name", use.name},
                   {"kind", name(use.kind)},
                   {"cpu_cores", figure_json(use.cpu_cores)},
                   {"rss_bytes", figure_json(use.rss_bytes)},
                   {"gpu_busy_ratio", figure_json(use.gpu_busy_ratio)},
                   {"gpu_memory_bytes", figure_json(use.gpu_memory_bytes)},
                   {"gpu_power_watts", figure_json(use.gpu_power_watts)},
                   {"energy_joules", or_null(use.energy_joules)},
                   {"energy_covered_ratio", use.energy_covered},
                   {"reason", text_or_null(use.reason)}});
  }
  absent["resources.stages"] = out.empty() ? "no probe sampled this run, or no stage was marked"
                                           : "null where the row's `reason` says why";
  return out;
}

Json growth_json(const Resources& resources, Json& absent) {
  Json out = Json::array();
  for (const MemoryGrowth& growth : resources.growth) {
    const std::optional<Slope>& slope = growth.bytes_per_second;
    out.push_back({{"what", growth.what},
                   {"stretch", growth.stretch},
                   {"samples", growth.samples},
                   {"bytes_per_second", slope ? Json(slope->value) : Json(nullptr)},
                   {"low_bytes_per_second", slope ? Json(slope->low) : Json(nullptr)},
                   {"high_bytes_per_second", slope ? Json(slope->high) : Json(nullptr)},
                   {"growth_ratio", or_null(growth.growth_ratio)},
                   {"leak", growth.leak},
                   {"stage", text_or_null(growth.stage)},
                   {"reason", text_or_null(growth.reason)}});
  }
  if (out.empty()) absent["resources.growth"] = "no readings of memory";
  return out;
}

Json energy_json(const Resources& resources, Json& absent) {
  Json out = Json::array();
  for (const EnergyPerUnit& row : resources.energy) {
    out.push_back({{"unit", row.unit},
                   {"count", row.count},
                   {"joules_each", row.joules_each},
                   {"covered_ratio", row.covered}});
  }
  if (out.empty()) absent["resources.energy"] = "no energy readings, or nothing to count";
  return out;
}

Json throttling_json(const Resources& resources, Json& absent) {
  Json out = Json::array();
  for (const ThrottleShare& row : resources.throttling) {
    out.push_back(
        {{"gpu", row.gpu}, {"cause", row.cause}, {"share", row.share}, {"samples", row.samples}});
  }
  if (out.empty())
    absent["resources.throttling"] = "fewer than three readings of any GPU's reasons";
  return out;
}

Json utilisation_json(const Utilisation& u, Json& absent) {
  Json per_step = Json::array();
  for (const float mfu : u.per_step) per_step.push_back(std::isfinite(mfu) ? Json(mfu) : nullptr);
  Json out = {{"mfu", or_null(u.mfu)},
              {"band", text_or_null(u.band)},
              {"tflops", or_null(u.tflops)},
              {"peak_tflops", or_null(u.peak_tflops)},
              {"predicted_step_ns", or_null(u.predicted_step_ns)},
              {"bound", text_or_null(u.bound)},
              {"model", text_or_null(u.model)},
              {"hardware", text_or_null(u.hardware)},
              {"forwards_per_step", or_null(u.forwards_per_step)},
              {"attention_share", or_null(u.attention_share)},
              {"note", text_or_null(u.note)},
              {"reason", text_or_null(u.reason)},
              {"per_step", std::move(per_step)}};
  if (!u.mfu) absent["resources.utilisation"] = u.reason;
  if (!u.forwards_per_step) {
    absent["resources.utilisation.forwards_per_step"] = "no forward was marked in a step";
  }
  return out;
}

Json devices_json(const Resources& resources, Json& absent) {
  Json out = Json::array();
  for (const DeviceTimeline& d : resources.devices) {
    out.push_back({{"device", d.device},
                   {"begin_ns", d.begin_ns},
                   {"end_ns", d.end_ns},
                   {"busy_ns", d.busy_ns},
                   {"compute_ns", d.compute_ns},
                   {"communication_ns", d.communication_ns},
                   {"copy_ns", d.copy_ns},
                   {"overlap_ns", d.overlap_ns},
                   {"exposed_ns", d.exposed_ns},
                   {"idle_host_wait_ns", d.idle_host_wait_ns},
                   {"idle_kernel_wait_ns", d.idle_kernel_wait_ns},
                   {"idle_other_ns", d.idle_other_ns},
                   {"kernels", d.kernels},
                   {"without_launch", d.without_launch}});
  }
  if (out.empty()) absent["resources.devices"] = "no kernels: import a profiler's trace";
  return out;
}

Json kernels_json(const Resources& resources) {
  Json out = Json::array();
  for (const KernelRow& row : resources.kernels) {
    out.push_back({{"stage", text_or_null(row.stage)},
                   {"name", row.name},
                   {"count", row.count},
                   {"total_ns", row.total_ns}});
  }
  return out;
}

Json traffic_json(const StepTraffic& traffic, Json& absent) {
  if (!traffic.reason.empty()) absent["resources.step_traffic"] = traffic.reason;
  if (traffic.reason.empty() && !traffic.h2d_bytes_per_second) {
    absent["resources.step_traffic.h2d_bytes_per_second"] = "no such copies, or their size unknown";
  }
  if (traffic.reason.empty() && !traffic.log_syncs_per_step) {
    absent["resources.step_traffic.log_syncs_per_step"] = "no span of the trace logs";
  }
  return {{"steps", traffic.steps},
          {"syncs_per_step", or_null(traffic.syncs_per_step)},
          {"log_syncs_per_step", or_null(traffic.log_syncs_per_step)},
          {"h2d_copies_per_step", or_null(traffic.h2d_copies_per_step)},
          {"h2d_bytes_per_step", or_null(traffic.h2d_bytes_per_step)},
          {"h2d_bytes_per_second", or_null(traffic.h2d_bytes_per_second)}};
}

}  // namespace

Json resources_json(const Resources& resources, Json& absent) {
  Json out;
  out["stages"] = stages_json(resources, absent);
  out["growth"] = growth_json(resources, absent);
  out["energy"] = energy_json(resources, absent);
  out["throttling"] = throttling_json(resources, absent);
  out["utilisation"] = utilisation_json(resources.utilisation, absent);
  out["gpus_used"] = or_null(resources.gpus_used);
  if (!resources.gpus_used) absent["resources.gpus_used"] = "no GPU was seen";
  out["devices"] = devices_json(resources, absent);
  out["device_overlap_ratio"] = or_null(resources.device_overlap);
  if (!resources.device_overlap) {
    absent["resources.device_overlap_ratio"] = "needs the kernels of two GPUs or more";
  }
  out["kernels"] = kernels_json(resources);
  out["step_traffic"] = traffic_json(resources.step_traffic, absent);
  return out;
}

}  // namespace genscope::report
