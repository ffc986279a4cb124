// A row reads its field and computes nothing beyond a ratio of two fields. The name is the field's
// place in the JSON report (docs/report-json.md), less `resources.`, so that a finding's evidence
// can be looked up there.
#include "advise/facts/fields.h"

#include <algorithm>

#include <genscope/predict.h>

namespace genscope::advice {
namespace {

using A = const Analysis&;
using Value = std::optional<FactValue>;

// --- from a field to a value

template <class T>
Value as_number(const T& value) {
  return FactValue(static_cast<double>(value));
}
template <class T>
Value as_number(const std::optional<T>& value) {
  return value ? Value(FactValue(static_cast<double>(*value))) : std::nullopt;
}
Value as_text(const std::string& value) {
  return value.empty() ? std::nullopt : Value(FactValue(value));
}
Value as_text(const std::optional<int>& value) {
  return value ? Value(FactValue(std::to_string(*value))) : std::nullopt;
}
Value as_flag(std::optional<bool> value) { return value ? Value(FactValue(*value)) : std::nullopt; }

// --- rows that a field is in

const EntityRow* gpu_row(A a) {
  const std::string& id = a.resources.gpu.id;
  const auto row = std::find_if(a.telemetry.entities.begin(), a.telemetry.entities.end(),
                                [&](const EntityRow& one) {
                                  return one.entity.kind == EntityKind::gpu && one.entity.id == id;
                                });
  return row == a.telemetry.entities.end() ? nullptr : &*row;
}
Value gpu_text(A a, const char* key) {
  const EntityRow* const gpu = gpu_row(a);
  return gpu == nullptr ? std::nullopt : as_text(gpu->fact(key));
}
// Of a short number in digits.
std::optional<double> gpu_digits(A a, const char* key) {
  const EntityRow* const gpu = gpu_row(a);
  const std::string digits = gpu == nullptr ? "" : gpu->fact(key);
  const bool known = !digits.empty() && digits.size() < 3 &&
                     digits.find_first_not_of("0123456789") == std::string::npos;
  return known ? std::optional(std::stod(digits)) : std::nullopt;
}

std::optional<Hardware> hardware_of(A a) {
  const std::string& name = a.resources.utilisation.hardware;
  if (name.empty()) return std::nullopt;
  Result<Hardware> found = find_hardware(name);
  return found.ok() ? std::optional(*std::move(found)) : std::nullopt;
}

const AllocatorRow* allocator(A a) {
  return a.telemetry.allocators.empty() ? nullptr : &a.telemetry.allocators.front();
}
Value of_allocator(A a, std::optional<double> AllocatorRow::*field) {
  return allocator(a) == nullptr ? std::nullopt : as_number(allocator(a)->*field);
}

const MemoryGrowth* host_growth(A a, std::string_view stretch = "steady steps") {
  const auto row = std::find_if(a.resources.growth.begin(), a.resources.growth.end(),
                                [&](const MemoryGrowth& growth) {
                                  return growth.what == "host" && growth.stretch == stretch &&
                                         growth.bytes_per_second && growth.growth_ratio;
                                });
  return row == a.resources.growth.end() ? nullptr : &*row;
}

const MemoryGrowth* run_growth(A a) { return host_growth(a, "after the first quarter"); }

// Of several GPUs the most.
Value throttle_share(A a, std::string_view cause) {
  std::optional<double> most;
  for (const ThrottleShare& row : a.resources.throttling) {
    if (row.cause == cause) most = std::max(most.value_or(0), row.share);
  }
  return as_number(most);
}

Value memory_share(A a, double (*of)(double used, double total)) {
  const GpuUse& gpu = a.resources.gpu;
  if (!gpu.memory_total_bytes || !gpu.memory_peak_bytes || *gpu.memory_total_bytes <= 0) return {};
  return as_number(of(*gpu.memory_peak_bytes, *gpu.memory_total_bytes));
}

// --- why a field is empty

template <const char* const& kText>
std::string say(A) {
  return kText;
}
std::string unsaid(A) { return ""; }  // the rule's other facts say enough
std::string why_no_step(A a) {
  return a.steps.count == 0 ? "no step was marked" : "fewer than three steady steps";
}
std::string why_no_trend(A a) {
  return a.steps.count == 0 ? "no step was marked" : "fewer than five steady steps";
}
std::string why_no_gpu(A a) {
  if (a.telemetry.entities.empty()) return "no probe ran: use `genscope run`";
  return a.resources.gpu.id.empty() ? "no GPU was seen" : "fewer than three readings";
}
std::string why_no_memory(A a) {
  return a.resources.gpu.id.empty() ? why_no_gpu(a) : "the driver does not tell it";
}
std::string why_no_hardware(A a) {
  const std::string& name = a.resources.utilisation.hardware;
  return name.empty() ? "no GPU was seen" : name + " is not in the table of GPUs";
}
std::string why_no_prediction(A a) {
  const std::string& reason = a.resources.utilisation.reason;
  return reason.empty() ? "nothing tells it" : reason;
}
std::string why_no_traffic(A a) {
  const std::string& reason = a.resources.step_traffic.reason;
  return reason.empty() ? "the trace does not tell it" : reason;
}
std::string why_no_log_syncs(A a) {
  return a.resources.step_traffic.syncs_per_step
             ? "no span of the trace logs: profile with stacks, or mark `logging`"
             : why_no_traffic(a);
}
std::string why_no_growth(A a) {
  return a.resources.growth.empty() ? "no probe watched the process: use `genscope run`"
                                    : "fewer than three readings in the steady steps";
}
std::string why_no_run_growth(A a) {
  return a.steps.count > 0 ? "steps were marked: see their growth" : why_no_growth(a);
}
std::string why_no_time(A a) { return a.resources.time.reason; }
std::string why_no_group(A a) {
  return a.telemetry.first(EntityKind::cgroup) == nullptr ? "no control group was read"
                                                          : "it has no quota";
}
std::string why_no_block(A a) {
  return a.diffusion.blocks == 0 ? "no block was marked" : "fewer than two blocks";
}
std::string why_no_frames(A a) {
  return a.diffusion.blocks == 0 ? "no block was marked" : "no block says how many frames it holds";
}
std::string why_no_stream(A a) {
  return a.streaming ? "no frame was sent or dropped" : "no event `streaming` was recorded";
}
std::string why_no_input_wait(A a) {
  return a.training.batches.count > 0 ? "no span of the loop is named as a wait for input"
                                      : "no batch was marked";
}
std::string why_no_encoder(A a) {
  return a.training.batches.count > 0 ? "no encoder was marked inside a batch"
                                      : "no batch was marked";
}
std::string why_no_ranks(A a) {
  if (a.ranks.count == 0) return "no process says its rank";
  return a.ranks.count == 1 ? "the run has one rank" : "fewer than two ranks marked such waits";
}
std::string why_no_target(A a) {
  return a.settings.contains("target_seconds") ? "no request or session ended well"
                                               : "the program names no target_seconds";
}
std::string why_no_main_thread(A a) { return a.resources.host.main_thread_reason; }
std::string why_no_rise(A a) { return a.resources.allocator.step_reason; }
std::string why_no_request_growth(A a) { return a.resources.allocator.request_reason; }
std::string why_no_machine(A a) {
  return a.telemetry.first(EntityKind::machine) == nullptr ? "no probe ran: use `genscope run`"
                                                           : "the system does not tell it";
}
std::string why_no_host(A a) {
  return a.telemetry.first(EntityKind::process_tree) == nullptr
             ? "no probe watched the process: use `genscope run`"
             : "fewer than three readings";
}

std::string why_no_slow_step(A a) {
  return a.steps.count == 0 ? "no step was marked" : "no step is far slower than the others";
}
Value slow(A a, double (*figure)(const SlowStep&)) {
  return a.resources.slow_step ? as_number(figure(*a.resources.slow_step)) : Value();
}

constexpr const char* kNotEven = "there are fewer than four, or they do not come regularly";
constexpr const char* kNoPauses = "too few readings of CPU time, or the program is not busy";
constexpr const char* kNoStage = "no stage was marked";
constexpr const char* kNoLayer = "no layer was told: events `layer`, or spans with `parameters`";
constexpr const char* kNoForward = "no forward pass was marked in a step";
constexpr const char* kNoShape = "no forward pass says its shape";
constexpr const char* kNoWait = "no span is a wait for the GPU: mark it as `synchronize`";
constexpr const char* kNoClock =
    "no span carries GPU time, and nothing tells whether the host waited";
constexpr const char* kNoThrottle = "fewer than three readings of the reasons for low clocks";
constexpr const char* kNoKernels = "needs the kernels of a GPU";
constexpr const char* kNoOverlap = "needs the kernels of two GPUs or more";
constexpr const char* kNoAllocator = "the program fed in no figures of its allocator";
constexpr const char* kNoLoad = "no load says its file or bytes";
constexpr const char* kNoPrompt = "no text encoding says its prompt";
constexpr const char* kNoRequest = "no request or session was marked, or none has ended";
constexpr const char* kNoImages = "no request was marked, and the program does not say";
constexpr const char* kNoTraining = "neither an epoch nor a loss nor an optimizer was recorded";
constexpr const char* kNoProbe = "no probe sampled this run";
constexpr const char* kOneReading = "the sampler read its own clock only once";
constexpr const char* kNoFirstStep = "fewer than three readings in the first step";
constexpr const char* kNoDrift = "fewer than three readings of the clock in a quarter of the steps";

std::string why_no_steady_cost(A a) { return a.recorder.probe_cpu_ns ? kOneReading : kNoProbe; }

// clang-format off
constexpr FactField kFields[] = {
  {"stage_groups.top", [](A a) { return a.stage_groups.empty() ? Value() : as_text(a.stage_groups.front().name); }, say<kNoStage>},
  {"stage_groups.top_exclusive_share", [](A a) { return a.stage_groups.empty() ? Value() : as_number(a.stage_groups.front().exclusive_share); }, say<kNoStage>},
  {"layers.top", [](A a) { return a.layers.empty() ? Value() : as_text(a.layers.front().name); }, say<kNoLayer>},
  {"layers.top_share", [](A a) { return a.layers.empty() ? Value() : as_number(a.layers.front().share); }, say<kNoLayer>},

  {"steps.count", [](A a) { return as_number(a.steps.count); }, unsaid},
  {"steps.steady_p50_ns", [](A a) { return a.steps.slow_count ? as_number(a.steps.steady_p50_ns) : Value(); }, why_no_step},
  {"steps.first_ratio", [](A a) { return a.steps.slow_count && a.steps.first_ratio > 0 ? as_number(a.steps.first_ratio) : Value(); }, why_no_step},
  {"steps.second_ratio", [](A a) { return as_number(a.steps.second_ratio); }, why_no_step},
  {"steps.steady_cv", [](A a) { return as_number(a.steps.steady_cv); }, why_no_step},
  {"steps.trend_percent_per_100", [](A a) {
     const std::optional<Slope>& trend = a.steps.trend_percent_per_100;
     return !trend ? Value() : as_number(trend->flat() ? 0.0 : trend->value);
   }, why_no_trend},
  {"steps.slow_count", [](A a) { return as_number(a.steps.slow_count); }, why_no_step},
  {"steps.slow_first", [](A a) { return a.steps.slow_count ? as_flag(a.steps.slow_first) : Value(); }, why_no_step},
  {"steps.slow_inner_count", [](A a) { return as_number(a.steps.slow_inner_count); }, why_no_step},
  {"steps.slow_at_shape_count", [](A a) { return as_number(a.steps.slow_at_shape_count); }, say<kNoShape>},
  {"steps.slow_every", [](A a) { return as_number(a.steps.slow_every); }, say<kNotEven>},
  {"slow_step.number", [](A a) { return slow(a, [](const SlowStep& s) { return static_cast<double>(s.index + 1); }); }, why_no_slow_step},
  {"slow_step.ratio", [](A a) { return slow(a, [](const SlowStep& s) { return s.ratio; }); }, why_no_slow_step},
  {"slow_step.share", [](A a) { return slow(a, [](const SlowStep& s) { return s.share; }); }, why_no_slow_step},
  {"slow_step.meanwhile", [](A a) { return a.resources.slow_step ? as_text(a.resources.slow_step->meanwhile) : Value(); }, why_no_slow_step},
  {"steps.short_count", [](A a) { return as_number(a.steps.short_count); }, why_no_step},
  {"steps.jump_ratio", [](A a) { return as_number(a.steps.jump_ratio); }, why_no_step},
  {"steps.scheduler_share", [](A a) { return as_number(a.steps.scheduler_share); }, unsaid},
  {"steps.hook_share", [](A a) { return as_number(a.steps.hook_share); }, unsaid},
  {"steps.shape_changes", [](A a) { return as_number(a.steps.shape_changes); }, say<kNoShape>},

  {"step_traffic.syncs_per_step", [](A a) { return as_number(a.resources.step_traffic.syncs_per_step); }, why_no_traffic},
  {"step_traffic.log_syncs_per_step", [](A a) { return as_number(a.resources.step_traffic.log_syncs_per_step); }, why_no_log_syncs},
  {"step_traffic.h2d_copies_per_step", [](A a) { return as_number(a.resources.step_traffic.h2d_copies_per_step); }, why_no_traffic},
  {"step_traffic.h2d_bytes_per_step", [](A a) { return as_number(a.resources.step_traffic.h2d_bytes_per_step); }, why_no_traffic},
  {"step_traffic.h2d_bytes_per_second", [](A a) { return as_number(a.resources.step_traffic.h2d_bytes_per_second); }, why_no_traffic},

  {"span_clock.gpu", [](A a) { return as_flag(a.resources.span_clock.gpu); }, say<kNoClock>},
  {"span_clock.last_span_share", [](A a) { return as_number(a.resources.span_clock.last_span_share); }, say<kNoWait>},
  {"span_clock.stages_per_busy_ratio", [](A a) { return as_number(a.resources.span_clock.stages_per_busy_ratio); }, say<kNoKernels>},

  {"gpu.present", [](A a) {
     if (!a.resources.devices.empty()) return as_flag(true);
     return a.telemetry.entities.empty() ? Value() : as_flag(!a.resources.gpu.id.empty());
   }, why_no_gpu},
  {"gpu.vendor", [](A a) { return gpu_text(a, "vendor"); }, why_no_memory},
  {"gpu.name", [](A a) { return gpu_row(a) == nullptr ? Value() : as_text(gpu_row(a)->entity.name); }, why_no_memory},
  {"gpu.count", [](A a) { return a.resources.gpu.id.empty() ? Value() : as_number(a.resources.gpu.count); }, why_no_gpu},
  {"gpus_used", [](A a) { return as_number(a.resources.gpus_used); }, why_no_gpu},
  {"device_overlap_ratio", [](A a) { return as_number(a.resources.device_overlap); }, say<kNoOverlap>},
  {"gpu.capability", [](A a) {
     const auto major = gpu_digits(a, "compute_major"), minor = gpu_digits(a, "compute_minor");
     return major && minor ? as_number(*major + *minor / 10) : Value();
   }, why_no_memory},
  {"gpu.fp8", [](A a) { const auto h = hardware_of(a); return h ? as_flag(h->fp8_tflops.has_value()) : Value(); }, why_no_hardware},
  {"gpu.link_bytes_per_second", [](A a) { const auto h = hardware_of(a); return h && h->link_gbs > 0 ? as_number(h->link_gbs * 1e9) : Value(); }, why_no_hardware},
  {"gpu.busy_ratio", [](A a) { return as_number(a.resources.gpu.busy_ratio); }, why_no_gpu},
  {"gpu.first_step_busy_ratio", [](A a) { return as_number(a.resources.gpu.first_step_busy_ratio); }, say<kNoFirstStep>},
  {"gpu.clock_ratio", [](A a) { return as_number(a.resources.gpu.clock_ratio); }, why_no_gpu},
  {"gpu.clock_drift_ratio", [](A a) { return as_number(a.resources.gpu.clock_drift_ratio); }, say<kNoDrift>},
  {"throttling.thermal_share", [](A a) { return throttle_share(a, "thermal"); }, say<kNoThrottle>},
  {"throttling.power_cap_share", [](A a) { return throttle_share(a, "power cap"); }, say<kNoThrottle>},
  {"gpu.temperature_max_celsius", [](A a) { return gpu_row(a) == nullptr ? Value() : as_number(gpu_row(a)->value("temperature_celsius", &SeriesRow::max)); }, why_no_gpu},
  {"gpu.other_processes", [](A a) { return as_number(a.resources.gpu.other_processes); }, why_no_gpu},

  {"gpu.memory_total_bytes", [](A a) {
     const std::optional<double>& total = a.resources.gpu.memory_total_bytes;
     return total && *total > 0 ? as_number(total) : Value();
   }, why_no_memory},
  {"gpu.memory_free_bytes", [](A a) { return memory_share(a, [](double used, double total) { return total - used; }); }, why_no_memory},
  {"gpu.memory_peak_share", [](A a) { return memory_share(a, [](double used, double total) { return used / total; }); }, why_no_memory},
  {"gpu.memory_headroom_share", [](A a) { return memory_share(a, [](double used, double total) { return 1 - used / total; }); }, why_no_memory},
  {"gpu.tree_memory_peak_bytes", [](A a) { return as_number(a.resources.gpu.tree_memory_peak_bytes); }, why_no_memory},
  {"allocator.allocated_bytes", [](A a) { return of_allocator(a, &AllocatorRow::allocated_bytes); }, say<kNoAllocator>},
  {"allocator.reserved_bytes", [](A a) { return of_allocator(a, &AllocatorRow::reserved_bytes); }, say<kNoAllocator>},
  {"allocator.retries", [](A a) { return of_allocator(a, &AllocatorRow::retries); }, say<kNoAllocator>},
  {"allocator.ooms", [](A a) { return of_allocator(a, &AllocatorRow::ooms); }, say<kNoAllocator>},
  {"allocator.step_rise_bytes", [](A a) { return as_number(a.resources.allocator.step_rise_bytes); }, why_no_rise},
  {"allocator.request_growth_ratio", [](A a) { return as_number(a.resources.allocator.request_growth_ratio); }, why_no_request_growth},

  {"time.on_cpu_share", [](A a) { return as_number(a.resources.time.on_cpu_share); }, why_no_time},
  {"time.ready_share", [](A a) { return as_number(a.resources.time.ready_share); }, why_no_time},
  {"time.storage_share", [](A a) { return as_number(a.resources.time.storage_share); }, why_no_time},
  {"time.other_share", [](A a) { return as_number(a.resources.time.other_share); }, why_no_time},
  {"time.cpu_wait_share", [](A a) { return as_number(a.resources.time.cpu_wait_share); }, why_no_time},
  {"time.covered_seconds", [](A a) { return a.resources.time.on_cpu_share ? as_number(a.resources.time.covered_seconds) : Value(); }, why_no_time},
  {"pauses.count", [](A a) { return a.resources.pauses ? as_number(a.resources.pauses->count) : Value(); }, say<kNoPauses>},
  {"pauses.share", [](A a) { return a.resources.pauses ? as_number(a.resources.pauses->share) : Value(); }, say<kNoPauses>},
  {"pauses.typical_seconds", [](A a) { return a.resources.pauses ? as_number(a.resources.pauses->typical_seconds) : Value(); }, say<kNoPauses>},
  {"pauses.every_seconds", [](A a) { return a.resources.pauses ? as_number(a.resources.pauses->every_seconds) : Value(); }, say<kNotEven>},
  {"host.machine_cpus", [](A a) {
     const EntityRow* const machine = a.telemetry.first(EntityKind::machine);
     return machine == nullptr ? Value() : as_number(machine->value("cpu_count", &SeriesRow::max));
   }, why_no_machine},
  {"host.cpus", [](A a) { return as_number(a.resources.host.cpus); }, why_no_machine},
  {"host.own_cores", [](A a) { return as_number(a.resources.host.own_cores); }, why_no_host},
  {"host.other_cores", [](A a) { return as_number(a.resources.host.other_cores); }, why_no_machine},
  {"host.steal_share", [](A a) { return as_number(a.resources.host.steal_share); }, why_no_machine},
  {"host.throttled_share", [](A a) { return as_number(a.resources.host.throttled_share); }, why_no_group},
  {"host.oom_kills", [](A a) { return as_number(a.resources.host.oom_kills); }, why_no_group},
  {"host.threads_seen", [](A a) { return as_number(a.resources.host.threads_seen); }, why_no_host},
  {"host.rss_peak_bytes", [](A a) { return as_number(a.resources.host.rss_peak_bytes); }, why_no_host},
  {"host.swap_peak_bytes", [](A a) { return as_number(a.resources.host.swap_peak_bytes); }, why_no_host},
  {"host.read_bytes", [](A a) { return as_number(a.resources.host.read_bytes); }, why_no_host},
  {"host.write_bytes", [](A a) { return as_number(a.resources.host.write_bytes); }, why_no_host},
  {"host.run_low_bytes_per_second", [](A a) { return a.steps.count > 0 || run_growth(a) == nullptr ? Value() : as_number(run_growth(a)->bytes_per_second->low); }, why_no_run_growth},
  {"host.run_growth_ratio", [](A a) { return a.steps.count > 0 || run_growth(a) == nullptr ? Value() : as_number(run_growth(a)->growth_ratio); }, why_no_run_growth},
  {"host.main_thread_busy_ratio", [](A a) { return as_number(a.resources.host.main_thread_busy_ratio); }, why_no_main_thread},
  {"host.rss_low_bytes_per_second", [](A a) { return host_growth(a) == nullptr ? Value() : as_number(host_growth(a)->bytes_per_second->low); }, why_no_growth},
  {"host.rss_growth_ratio", [](A a) { return host_growth(a) == nullptr ? Value() : as_number(host_growth(a)->growth_ratio); }, why_no_growth},
  {"host.memory_peak_share", [](A a) { return as_number(a.resources.host.memory_peak_share); }, why_no_machine},
  {"host.major_faults_per_second", [](A a) { return as_number(a.resources.host.major_faults_per_second); }, why_no_host},
  {"host.read_bytes_per_second", [](A a) { return as_number(a.resources.host.read_bytes_per_second); }, why_no_host},

  {"loads.bytes_per_second", [](A a) { return as_number(a.loads.bytes_per_second); }, say<kNoLoad>},
  {"loads.repeats", [](A a) { return as_number(a.loads.repeats); }, say<kNoLoad>},
  {"loads.prompt_repeats", [](A a) { return as_number(a.loads.prompt_repeats); }, say<kNoPrompt>},

  {"utilisation.mfu", [](A a) { return as_number(a.resources.utilisation.mfu); }, why_no_prediction},
  {"utilisation.predicted_step_ns", [](A a) { return as_number(a.resources.utilisation.predicted_step_ns); }, why_no_prediction},
  {"utilisation.bound", [](A a) { return as_text(a.resources.utilisation.bound); }, why_no_prediction},
  {"utilisation.offload_ns", [](A a) { return as_number(a.resources.utilisation.offload_ns); }, why_no_prediction},
  {"utilisation.attention_share", [](A a) { return as_number(a.resources.utilisation.attention_share); }, why_no_prediction},
  {"utilisation.attention_bytes", [](A a) { return as_number(a.resources.utilisation.attention_bytes); }, why_no_prediction},
  {"utilisation.vae_bytes", [](A a) { return as_number(a.resources.utilisation.vae_bytes); }, why_no_prediction},
  {"utilisation.peak_bytes", [](A a) { return as_number(a.resources.utilisation.peak_bytes); }, why_no_prediction},
  {"utilisation.peak_tflops", [](A a) {
     const auto h = hardware_of(a);
     return h ? as_number(a.resources.utilisation.peak_tflops.value_or(h->bf16_tflops)) : Value();
   }, why_no_hardware},
  {"utilisation.forwards_per_step", [](A a) { return as_number(a.resources.utilisation.forwards_per_step); }, say<kNoForward>},

  {"training.input_wait_share", [](A a) { return as_number(a.training.input_wait_share); }, why_no_input_wait},
  {"training.encode_share", [](A a) { return as_number(a.training.encode_share); }, why_no_encoder},
  {"set.training", [](A a) { return a.training.trains ? as_flag(true) : Value(); }, say<kNoTraining>},
  {"ranks.count", [](A a) { return a.ranks.count > 0 ? as_number(a.ranks.count) : Value(); }, why_no_ranks},
  {"ranks.input_wait_ratio", [](A a) { return as_number(a.ranks.input_wait_ratio); }, why_no_ranks},
  {"ranks.input_slowest", [](A a) { return as_text(a.ranks.input_slowest); }, why_no_ranks},
  {"ranks.wait_p50_share", [](A a) { return as_number(a.ranks.wait_p50_share); }, why_no_ranks},
  {"ranks.wait_min_share", [](A a) { return as_number(a.ranks.wait_min_share); }, why_no_ranks},
  {"ranks.step_ratio", [](A a) { return as_number(a.ranks.step_ratio); }, why_no_ranks},
  {"ranks.step_slowest", [](A a) { return as_text(a.ranks.step_slowest); }, why_no_ranks},
  {"ranks.straggler", [](A a) { return as_text(a.ranks.straggler); }, why_no_ranks},

  {"requests.count", [](A a) { return a.requests.count > 0 ? as_number(a.requests.count) : Value(); }, say<kNoRequest>},
  {"requests.failed", [](A a) { return a.requests.count > 0 ? as_number(a.requests.failed) : Value(); }, say<kNoRequest>},
  {"set.images", [](A a) { return as_number(a.requests.images); }, say<kNoImages>},
  {"requests.target_ratio", [](A a) { return as_number(a.requests.target_ratio); }, why_no_target},
  {"requests.target_met_share", [](A a) { return as_number(a.requests.target_met_share); }, why_no_target},
  {"diffusion.first_block_ratio", [](A a) { return as_number(a.diffusion.first_block_ratio); }, why_no_block},
  {"diffusion.frames_per_block", [](A a) { return as_number(a.diffusion.frames_per_block); }, why_no_frames},
  {"diffusion.frames_per_second", [](A a) { return as_number(a.diffusion.frames_per_second); }, why_no_frames},
  {"streaming.frames_sent", [](A a) { return a.streaming ? as_number(a.streaming->frames_sent) : Value(); }, why_no_stream},
  {"streaming.drop_ratio", [](A a) { return a.streaming ? as_number(a.streaming->drop_ratio) : Value(); }, why_no_stream},

  {"env.driver", [](A a) { return gpu_text(a, "driver"); }, why_no_memory},
  {"recorder.probe_steady_ratio", [](A a) { return as_number(a.recorder.probe_steady_ratio); }, why_no_steady_cost},
  {"recorder.dropped_spans", [](A a) { return as_number(a.recorder.dropped_spans); }, unsaid},
};
// clang-format on

}  // namespace

std::span<const FactField> fact_fields() noexcept { return kFields; }

}  // namespace genscope::advice
