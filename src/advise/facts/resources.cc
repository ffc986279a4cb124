// What the run used, from Analysis::resources: GPUs, memory, the model's floor, the link.
#include <algorithm>

#include <genscope/predict.h>
#include <genscope/statistics.h>

#include "advise/facts/parts.h"

namespace genscope::advice {
namespace {

constexpr std::size_t kMinReadings = 3;

// Sets the fact, or says why it is not known.
void set_or(const char* name, const std::optional<double>& value, const std::string& reason,
            Facts& facts) {
  if (value) {
    facts.set(name, *value);
  } else {
    facts.set_missing(name, reason.empty() ? "nothing tells it" : reason);
  }
}

// --- GPUs

void throttle_facts(const Resources& resources, Facts& facts) {
  constexpr std::pair<const char*, const char*> kCauses[] = {
      {"thermal", "gpu.throttle_thermal_share"}, {"power cap", "gpu.throttle_power_share"}};
  for (const auto& [cause, fact] : kCauses) {
    std::optional<double> most;  // of several GPUs
    for (const ThrottleShare& row : resources.throttling) {
      if (row.cause == cause) most = std::max(most.value_or(0), row.share);
    }
    set_or(fact, most, "fewer than three readings of the reasons for low clocks", facts);
  }
}

void timeline_facts(const Resources& resources, Facts& facts) {
  if (resources.devices.empty()) return;
  facts.set("gpu.present", true);
  double busy = 0, all = 0;
  for (const DeviceTimeline& device : resources.devices) {
    busy += static_cast<double>(device.busy_ns);
    all += static_cast<double>(device.end_ns) - static_cast<double>(device.begin_ns);
  }
  if (all > 0) facts.set("gpu.util", busy / all);  // exact, where readings are samples
  double stages_ms = 0;
  for (const auto& [name, value] : facts.all()) {
    if (name.starts_with("stage.ms[")) stages_ms += std::get<double>(value);
  }
  if (busy > 0 && stages_ms > 0) facts.set("time.spans_per_gpu", stages_ms * 1e6 / busy);
}

std::optional<double> mean_within(const Run& run, const Analysis& analysis, const EntityRow& gpu,
                                  const char* metric, const Stretch& within) {
  const std::vector<double> values = readings(run, analysis, gpu.entity.id, metric, within).value;
  return values.size() < kMinReadings ? std::nullopt : stats::describe(values).mean;
}

void clock_facts(const Run& run, const Analysis& analysis, const Steps& steps, Facts& facts) {
  const EntityRow* const gpu = busiest_gpu(analysis.telemetry);
  if (gpu == nullptr || steps.spans.empty()) return;
  const SpanColumns& spans = run.traces[steps.trace].spans;
  const std::int64_t first_ns = spans.duration_ns[steps.spans.front()];
  set_or("gpu.util_first",
         mean_within(run, analysis, *gpu, "busy_ratio",
                     {steps.all.begin_ns, steps.all.begin_ns + first_ns}),
         "fewer than three readings in the first step", facts);
  const std::int64_t quarter = (steps.all.end_ns - steps.all.begin_ns) / 4;
  const auto early = mean_within(run, analysis, *gpu, "clock_core_mhz",
                                 {steps.all.begin_ns, steps.all.begin_ns + quarter});
  const auto late = mean_within(run, analysis, *gpu, "clock_core_mhz",
                                {steps.all.end_ns - quarter, steps.all.end_ns});
  const bool known = early && late && *early > 0;
  set_or("gpu.clock_drift", known ? std::optional(*late / *early - 1) : std::nullopt,
         "fewer than three readings of the clock in a quarter of the steps", facts);
}

void hardware_facts(const Analysis& analysis, Facts& facts) {
  const Utilisation& u = analysis.resources.utilisation;
  const EntityRow* const gpu = busiest_gpu(analysis.telemetry);
  const auto number = [&](const char* key) {
    const std::string text = gpu == nullptr ? "" : gpu->fact(key);
    const bool digits = !text.empty() && text.size() < 3 &&
                        text.find_first_not_of("0123456789") == std::string::npos;
    return digits ? std::optional(std::stod(text)) : std::nullopt;
  };
  if (const auto major = number("compute_major"), minor = number("compute_minor"); major && minor) {
    facts.set("gpu.capability", *major + *minor / 10);
  }
  const Result<Hardware> hardware = find_hardware(u.hardware);
  if (u.hardware.empty() || !hardware.ok()) {
    const std::string reason =
        u.hardware.empty() ? "no GPU was seen" : u.hardware + " is not in the table of GPUs";
    for (const char* name : {"gpu.fp8", "gpu.peak_tflops", "pcie.rate"}) {
      facts.set_missing(name, reason);
    }
    return;
  }
  facts.set("gpu.fp8", hardware->fp8_tflops.has_value());
  facts.set("gpu.peak_tflops", u.peak_tflops.value_or(hardware->bf16_tflops));
  if (hardware->link_gbs > 0) facts.set("pcie.rate", hardware->link_gbs * 1e9);
}

void prediction_facts(const Utilisation& u, Facts& facts) {
  const auto ms = [](const std::optional<double>& ns) {
    return ns ? std::optional(*ns / 1e6) : std::nullopt;
  };
  set_or("mfu", u.mfu, u.reason, facts);
  set_or("pred.step_ms", ms(u.predicted_step_ns), u.reason, facts);
  set_or("pred.offload_ms", ms(u.offload_ns), u.reason, facts);
  set_or("pred.attn_share", u.attention_share, u.reason, facts);
  set_or("pred.attn_bytes", u.attention_bytes, u.reason, facts);
  set_or("pred.vae_bytes", u.vae_bytes, u.reason, facts);
  set_or("pred.peak_bytes", u.peak_bytes, u.reason, facts);
  if (u.bound.empty()) {
    facts.set_missing("pred.bound", u.reason);
  } else {
    facts.set("pred.bound", u.bound);
  }
  if (u.forwards_per_step) facts.set("fwd.per_step", *u.forwards_per_step);
}

// --- the host and the link

void growth_facts(const Resources& resources, Facts& facts) {
  for (const MemoryGrowth& growth : resources.growth) {
    if (growth.what != "host" || growth.stretch != "steady steps") continue;
    if (!growth.bytes_per_second || !growth.growth_ratio) continue;
    facts.set("host.rss_slope_low", growth.bytes_per_second->low);
    facts.set("host.rss_growth", *growth.growth_ratio);
    return;
  }
  const char* const reason = resources.growth.empty()
                                 ? "no probe watched the process: use `genscope run`"
                                 : "fewer than three readings in the steady steps";
  facts.set_missing("host.rss_slope_low", reason);
  facts.set_missing("host.rss_growth", reason);
}

void traffic_facts(const Analysis& analysis, Facts& facts) {
  const StepTraffic& traffic = analysis.resources.step_traffic;
  const std::string reason = traffic.reason.empty() ? "the trace does not tell it" : traffic.reason;
  set_or("sync.per_step", traffic.syncs_per_step, reason, facts);
  set_or("sync.log_per_step", traffic.log_syncs_per_step,
         traffic.syncs_per_step
             ? "no span of the trace logs: profile with stacks, or mark `logging`"
             : reason,
         facts);
  set_or("h2d.copies_per_step", traffic.h2d_copies_per_step, reason, facts);
  set_or("h2d.bytes_per_step", traffic.h2d_bytes_per_step, reason, facts);
  set_or("h2d.rate", traffic.h2d_bytes_per_second, reason, facts);
  const bool device_time =
      std::any_of(analysis.stages.begin(), analysis.stages.end(), [](const StageRow& row) {
        return row.device_ns.has_value() && row.kind != SpanKind::session;
      });
  if (device_time) {
    facts.set("time.gpu_clock", true);
  } else {
    facts.set_missing("time.gpu_clock",
                      "no span carries GPU time, and nothing tells whether the host waited");
  }
}

// --- peaks of the allocator

// The first and the highest of the readings within an interval.
struct Peak {
  double first = 0, highest = 0;
};

// One for each interval that holds a reading. Intervals must be in the order of their begins.
std::vector<Peak> peaks_within(const Readings& readings, const Stretch& whole,
                               const std::vector<Stretch>& intervals) {
  std::vector<Peak> peaks;
  std::size_t at = 0;
  for (const Stretch& interval : intervals) {
    const double begin = static_cast<double>(interval.begin_ns - whole.begin_ns) / 1e9;
    const double end = static_cast<double>(interval.end_ns - whole.begin_ns) / 1e9;
    while (at < readings.at_s.size() && readings.at_s[at] < begin) ++at;
    if (at == readings.at_s.size() || readings.at_s[at] > end) continue;
    Peak peak = {readings.value[at], readings.value[at]};
    for (; at < readings.at_s.size() && readings.at_s[at] <= end; ++at) {
      peak.highest = std::max(peak.highest, readings.value[at]);
    }
    peaks.push_back(peak);
  }
  return peaks;
}

std::vector<Stretch> spans_of_kind(const Run& run, const Analysis& analysis, SpanKind kind) {
  std::vector<Stretch> found;
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    const Trace& trace = run.traces[t];
    const std::int64_t offset =
        t < analysis.clock_offset_ns.size() ? analysis.clock_offset_ns[t] : 0;
    for (std::size_t i = 0; i < trace.spans.size(); ++i) {
      if (trace.kind(i) != kind || (trace.spans.flags[i] & kSpanUnfinished) != 0) continue;
      const std::int64_t begin = trace.spans.begin_ns[i] + offset;
      found.push_back({begin, begin + trace.spans.duration_ns[i]});
    }
  }
  std::sort(found.begin(), found.end(),
            [](const Stretch& a, const Stretch& b) { return a.begin_ns < b.begin_ns; });
  return found;
}

void peak_facts(const Run& run, const Analysis& analysis, Facts& facts) {
  const Stretch whole = {analysis.begin_ns, analysis.begin_ns + analysis.wall_ns};
  Readings allocated;  // its times are since `whole` begins
  if (!analysis.telemetry.allocators.empty()) {
    allocated = readings(run, analysis, "allocator:" + analysis.telemetry.allocators[0].device,
                         "allocator_allocated_bytes", whole);
  }
  if (allocated.value.empty()) {
    const char* const reason = "the program fed in no figures of its allocator";
    facts.set_missing("mem.peak_growth", reason);
    facts.set_missing("mem.step_jump", reason);
    return;
  }
  double jump = 0;
  const std::vector<Peak> steps =
      peaks_within(allocated, whole, spans_of_kind(run, analysis, SpanKind::step));
  for (const Peak& peak : steps) jump = std::max(jump, peak.highest - peak.first);
  set_or("mem.step_jump", steps.empty() ? std::nullopt : std::optional(jump),
         "no reading of the allocator within a step", facts);
  const std::vector<Peak> requests =
      peaks_within(allocated, whole, spans_of_kind(run, analysis, SpanKind::request));
  std::vector<double> growth;
  for (std::size_t i = 1; i < requests.size(); ++i) {
    if (requests[i - 1].highest > 0) {
      growth.push_back(requests[i].highest / requests[i - 1].highest - 1);
    }
  }
  set_or("mem.peak_growth",
         growth.size() < kMinReadings ? std::nullopt : stats::quantile(growth, 0.5),
         "fewer than four requests with readings of the allocator", facts);
}

}  // namespace

void resource_facts(const Run& run, const Analysis& analysis, const Steps& steps, Facts& facts) {
  const Resources& resources = analysis.resources;
  if (resources.gpus_used) facts.set("gpu.used", static_cast<double>(*resources.gpus_used));
  set_or("gpu.overlap", resources.device_overlap, "needs the kernels of two GPUs or more", facts);
  throttle_facts(resources, facts);
  timeline_facts(resources, facts);
  clock_facts(run, analysis, steps, facts);
  hardware_facts(analysis, facts);
  prediction_facts(resources.utilisation, facts);
  growth_facts(resources, facts);
  traffic_facts(analysis, facts);
  peak_facts(run, analysis, facts);
}

}  // namespace genscope::advice
