#include "report/json_sections.h"

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
    if (use.folded > 0) out.back()["folded"] = use.folded;
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
              {"attention_bytes", or_null(u.attention_bytes)},
              {"vae_bytes", or_null(u.vae_bytes)},
              {"peak_bytes", or_null(u.peak_bytes)},
              {"offload_ns", or_null(u.offload_ns)},
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

Json span_clock_json(const SpanClock& clock, Json& absent) {
  if (!clock.gpu) {
    absent["resources.span_clock.gpu"] = "no span carries GPU time, and none is a wait for the GPU";
  }
  if (!clock.last_span_share) {
    absent["resources.span_clock.last_span_share"] = "no span is a wait for the GPU";
  }
  if (!clock.stages_per_busy_ratio) {
    absent["resources.span_clock.stages_per_busy_ratio"] = "needs stages and a GPU's kernels";
  }
  return {{"gpu", or_null(clock.gpu)},
          {"last_span_share", or_null(clock.last_span_share)},
          {"stages_per_busy_ratio", or_null(clock.stages_per_busy_ratio)}};
}

Json gpu_json(const GpuUse& gpu, Json& absent) {
  absent["resources.gpu"] =
      gpu.id.empty() ? "no GPU was seen" : "null where there are fewer than three readings";
  return {{"id", text_or_null(gpu.id)},
          {"count", gpu.count},
          {"busy_ratio", or_null(gpu.busy_ratio)},
          {"first_step_busy_ratio", or_null(gpu.first_step_busy_ratio)},
          {"clock_ratio", or_null(gpu.clock_ratio)},
          {"clock_drift_ratio", or_null(gpu.clock_drift_ratio)},
          {"memory_total_bytes", or_null(gpu.memory_total_bytes)},
          {"memory_peak_bytes", or_null(gpu.memory_peak_bytes)},
          {"tree_memory_peak_bytes", or_null(gpu.tree_memory_peak_bytes)},
          {"other_processes", or_null(gpu.other_processes)}};
}

Json time_json(const TimeSplit& time, Json& absent) {
  if (!time.reason.empty()) absent["resources.time"] = time.reason;
  Json threads = Json::array();
  for (const ThreadTime& thread : time.threads) {
    threads.push_back({{"name", thread.name},
                       {"pid", thread.pid},
                       {"tid", thread.tid},
                       {"seen_seconds", thread.seen_seconds},
                       {"on_cpu_share", thread.on_cpu_share},
                       {"ready_share", thread.ready_share},
                       {"storage_share", or_null(thread.storage_share)},
                       {"other_share", thread.other_share}});
  }
  return {{"on_cpu_share", or_null(time.on_cpu_share)},
          {"ready_share", or_null(time.ready_share)},
          {"storage_share", or_null(time.storage_share)},
          {"other_share", or_null(time.other_share)},
          {"cpu_wait_share", or_null(time.cpu_wait_share)},
          {"covered_seconds", time.covered_seconds},
          {"threads", std::move(threads)}};
}

Json pauses_json(const std::optional<Pauses>& pauses, Json& absent) {
  if (!pauses) {
    absent["resources.pauses"] = "too few readings of CPU time, or the program is not busy";
    return nullptr;
  }
  return {{"count", pauses->count},
          {"share", pauses->share},
          {"typical_seconds", pauses->typical_seconds},
          {"every_seconds", or_null(pauses->every_seconds)}};
}

Json slow_step_json(const std::optional<SlowStep>& slow, Json& absent) {
  if (!slow) {
    absent["resources.slow_step"] = "no step in the middle is far slower than the others";
    return nullptr;
  }
  return {{"number", slow->index + 1},
          {"duration_ns", slow->duration_ns},
          {"ratio", slow->ratio},
          {"share", slow->share},
          {"meanwhile", slow->meanwhile}};
}

Json host_json(const HostUse& host, Json& absent) {
  if (!host.main_thread_busy_ratio) {
    absent["resources.host.main_thread_busy_ratio"] = host.main_thread_reason;
  }
  absent["resources.host"] = "null where no probe read it, or fewer than three times";
  return {{"main_thread_busy_ratio", or_null(host.main_thread_busy_ratio)},
          {"major_faults_per_second", or_null(host.major_faults_per_second)},
          {"read_bytes_per_second", or_null(host.read_bytes_per_second)},
          {"memory_peak_share", or_null(host.memory_peak_share)},
          {"cpus", or_null(host.cpus)},
          {"own_cores", or_null(host.own_cores)},
          {"other_cores", or_null(host.other_cores)},
          {"steal_share", or_null(host.steal_share)},
          {"throttled_share", or_null(host.throttled_share)},
          {"threads_seen", or_null(host.threads_seen)},
          {"rss_peak_bytes", or_null(host.rss_peak_bytes)},
          {"swap_peak_bytes", or_null(host.swap_peak_bytes)},
          {"read_bytes", or_null(host.read_bytes)},
          {"write_bytes", or_null(host.write_bytes)},
          {"oom_kills", or_null(host.oom_kills)}};
}

Json allocator_json(const AllocatorUse& use, Json& absent) {
  if (!use.step_rise_bytes) absent["resources.allocator.step_rise_bytes"] = use.step_reason;
  if (!use.request_growth_ratio) {
    absent["resources.allocator.request_growth_ratio"] = use.request_reason;
  }
  return {{"step_rise_bytes", or_null(use.step_rise_bytes)},
          {"request_growth_ratio", or_null(use.request_growth_ratio)}};
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
  out["span_clock"] = span_clock_json(resources.span_clock, absent);
  out["time"] = time_json(resources.time, absent);
  out["pauses"] = pauses_json(resources.pauses, absent);
  out["slow_step"] = slow_step_json(resources.slow_step, absent);
  out["gpu"] = gpu_json(resources.gpu, absent);
  out["host"] = host_json(resources.host, absent);
  out["allocator"] = allocator_json(resources.allocator, absent);
  return out;
}

}  // namespace genscope::report
