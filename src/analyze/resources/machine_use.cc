// Each figure is a mean, a difference or a peak of one series of readings within the steps, the
// steady steps or the requests. Fewer than kMinSamples readings there tell nothing.
#include "analyze/resources/machine_use.h"

#include <algorithm>
#include <set>

#include "analyze/resources/points_of.h"
#include "analyze/series.h"
#include "analyze/statistics/statistics.h"
#include "analyze/time.h"

namespace genscope::analysis {
namespace {

constexpr Interval kEver = {kEarliest, kLatest};

// --- GPUs

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

std::optional<double> mean_within(const Points& points, Interval time) {
  const PointRange range = range_within(points, time);
  if (range.size() < kMinSamples) return std::nullopt;
  return stats::describe(std::span(points.value).subspan(range.first, range.size())).mean;
}

// The first step and the extent of all, of the process that has most steps.
struct StepExtent {
  Interval first, all;
  bool any = false;
};

StepExtent extent_of(const StepSeries& series) {
  StepExtent extent;
  const std::optional<std::uint32_t> process = process_with_most_steps(series);
  if (!process) return extent;
  for (const StepPoint& step : series.steps) {
    if (series.trace_of_loop[step.loop] != *process) continue;
    const Interval time = step.time();
    if (!extent.any) extent.first = extent.all = time;
    extent.any = true;
    extent.all.end = std::max(extent.all.end, time.end);
  }
  return extent;
}

std::optional<std::uint64_t> others_on(const Telemetry& telemetry, const EntityRow& gpu) {
  const EntityRow* const tree = telemetry.first(EntityKind::process_tree);
  std::set<std::uint32_t> ours, others;
  for (const ProcessUse& use : telemetry.processes) {
    if (tree != nullptr && use.entity == tree->entity.id) ours.insert(use.pid);
  }
  for (const ProcessUse& use : telemetry.processes) {
    if (use.entity == gpu.entity.id && !ours.contains(use.pid)) others.insert(use.pid);
  }
  // The probes that list a GPU's processes add up the memory of ours.
  const bool listed =
      !others.empty() || gpu.value("tree_memory_bytes", &SeriesRow::max).has_value();
  return listed ? std::optional<std::uint64_t>(others.size()) : std::nullopt;
}

// Exact, where readings are samples.
std::optional<double> busy_by_kernels(const Resources& resources) {
  double busy = 0, all = 0;
  for (const DeviceTimeline& device : resources.devices) {
    busy += static_cast<double>(device.busy_ns);
    all += static_cast<double>(device.end_ns) - static_cast<double>(device.begin_ns);
  }
  return all > 0 ? std::optional(busy / all) : std::nullopt;
}

void add_readings_of(const Run& run, const Clocks& clocks, const EntityRow& gpu,
                     const StepExtent& steps, const Resources& resources, GpuUse& use) {
  const Points busy = points_of(run, clocks, gpu.entity.id, "busy_ratio");
  const auto in_steps =
      std::find_if(resources.stages.begin(), resources.stages.end(),
                   [](const StageUse& row) { return row.kind == SpanKind::step; });
  use.busy_ratio =
      in_steps != resources.stages.end() ? in_steps->gpu_busy_ratio.mean : mean_within(busy, kEver);
  const Points clock = points_of(run, clocks, gpu.entity.id, "clock_core_mhz");
  const auto mean = mean_within(clock, steps.any ? steps.all : kEver);
  const auto most = gpu.value("clock_core_max_mhz", &SeriesRow::max);
  if (mean && most && *most > 0) use.clock_ratio = *mean / *most;
  if (!steps.any) return;
  use.first_step_busy_ratio = mean_within(busy, steps.first);
  const std::int64_t quarter = steps.all.length() / 4;
  const auto early = mean_within(clock, {steps.all.begin, steps.all.begin + quarter});
  const auto late = mean_within(clock, {steps.all.end - quarter, steps.all.end});
  if (early && late && *early > 0) use.clock_drift_ratio = *late / *early - 1;
}

// --- peaks of the allocator

// The first and the highest of the readings within a span.
struct SpanPeak {
  double first = 0, highest = 0;
};

// One for each span of the kind that holds a reading, in the order of their begins; a reading
// counts for the first span that holds it.
std::vector<SpanPeak> peaks_within(const Run& run, const Clocks& clocks, const Points& points,
                                   SpanKind kind) {
  std::vector<Interval> spans;
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    const Trace& trace = run.traces[t];
    for (std::size_t i = 0; i < trace.spans.size(); ++i) {
      if (trace.kind(i) != kind || (trace.spans.flags[i] & kSpanUnfinished) != 0) continue;
      spans.push_back(
          interval(add(trace.spans.begin_ns[i], clocks.offset_ns[t]), trace.spans.duration_ns[i]));
    }
  }
  std::sort(spans.begin(), spans.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  std::vector<SpanPeak> peaks;
  std::size_t at = 0;
  for (const Interval& span : spans) {
    while (at < points.at_ns.size() && points.at_ns[at] < span.begin) ++at;
    if (at == points.at_ns.size() || points.at_ns[at] > span.end) continue;
    SpanPeak peak = {points.value[at], points.value[at]};
    for (; at < points.at_ns.size() && points.at_ns[at] <= span.end; ++at) {
      peak.highest = std::max(peak.highest, points.value[at]);
    }
    peaks.push_back(peak);
  }
  return peaks;
}

}  // namespace

GpuUse gpu_use(const Run& run, const Clocks& clocks, const StepSeries& steps,
               const Analysis& analysis, const Resources& resources) {
  GpuUse use;
  const EntityRow* const gpu = busiest_gpu(analysis.telemetry);
  if (gpu != nullptr) {
    use.id = gpu->entity.id;
    for (const EntityRow& row : analysis.telemetry.entities) {
      use.count += row.entity.kind == EntityKind::gpu ? 1 : 0;
    }
    use.memory_total_bytes = gpu->value("memory_total_bytes", &SeriesRow::max);
    use.memory_peak_bytes = gpu->value("memory_used_bytes", &SeriesRow::max);
    use.tree_memory_peak_bytes = gpu->value("tree_memory_bytes", &SeriesRow::max);
    use.other_processes = others_on(analysis.telemetry, *gpu);
    add_readings_of(run, clocks, *gpu, extent_of(steps), resources, use);
  }
  if (const std::optional<double> exact = busy_by_kernels(resources)) use.busy_ratio = exact;
  return use;
}

namespace {

std::optional<double> lesser(std::optional<double> a, std::optional<double> b) {
  return a && b ? std::min(*a, *b) : a ? a : b;
}

// Growth of a counter a second, from its first reading to its last.
std::optional<double> per_second(const EntityRow& entity, std::string_view metric,
                                 std::uint64_t least = kMinSamples) {
  const SeriesRow* const row = entity.find(metric);
  if (row == nullptr || row->count < least || row->span_seconds <= 0) return {};
  return row->growth / row->span_seconds;
}

// CPUs, and who used them.
void add_cpus(const Telemetry& telemetry, std::int64_t wall_ns, HostUse& use) {
  const EntityRow* const machine = telemetry.first(EntityKind::machine);
  const EntityRow* const group = telemetry.first(EntityKind::cgroup);
  const EntityRow* const tree = telemetry.first(EntityKind::process_tree);
  constexpr std::uint64_t kTwo = 2;
  if (tree != nullptr && wall_ns > 0) {
    const auto cpu_ns = tree->value("cpu_ns", &SeriesRow::max);
    if (cpu_ns) use.own_cores = *cpu_ns / static_cast<double>(wall_ns);
  }
  std::optional<double> all, limit;
  if (machine != nullptr) {
    all = machine->value("cpu_count", &SeriesRow::max);
    const SeriesRow* const busy = machine->find("cpu_busy_ratio");
    if (all && use.own_cores && busy != nullptr && busy->count >= kMinSamples) {
      use.other_cores = std::max(0.0, busy->mean * *all - *use.own_cores);
    }
    const SeriesRow* const steal = machine->find("cpu_steal_ratio");
    if (steal != nullptr && steal->count >= kMinSamples) use.steal_share = steal->mean;
  }
  if (group != nullptr) {
    limit = group->value("cpu_limit_cores", &SeriesRow::min);
    const SeriesRow* const kills = group->find("memory_oom_kills");
    if (kills != nullptr && kills->count >= kTwo) use.oom_kills = kills->growth;
    // The kernel adds up over CPUs, so it may be more than the time.
    if (const auto held = per_second(*group, "cpu_throttled_ns", kTwo)) {
      use.throttled_share = std::min(1.0, *held / 1e9);
    }
  }
  use.cpus = lesser(all, limit);
}

}  // namespace

HostUse host_use(const Run& run, const Clocks& clocks, const StepSeries& steps,
                 const Telemetry& telemetry, std::int64_t wall_ns) {
  HostUse use;
  if (const EntityRow* const machine = telemetry.first(EntityKind::machine)) {
    const auto total = machine->value("memory_total_bytes", &SeriesRow::max);
    const auto used = machine->value("memory_used_bytes", &SeriesRow::max);
    if (total && used && *total > 0) use.memory_peak_share = *used / *total;
  }
  add_cpus(telemetry, wall_ns, use);
  const EntityRow* const tree = telemetry.first(EntityKind::process_tree);
  if (tree == nullptr) {
    use.main_thread_reason = "no probe watched the process: use `genscope run`";
    return use;
  }
  const Points cpu = points_of(run, clocks, tree->entity.id, "main_thread_cpu_ns");
  const Interval steady = steady_stretch(steps);
  const PointRange range = range_within(cpu, steps.steps.empty() ? kEver : steady);
  const auto first = cpu.value.begin() + static_cast<std::ptrdiff_t>(range.first);
  const auto last = cpu.value.begin() + static_cast<std::ptrdiff_t>(range.last);
  if (range.size() < kMinSamples) {
    use.main_thread_reason = "fewer than three readings of the main thread's CPU time";
  } else if (!std::is_sorted(first, last)) {
    use.main_thread_reason = "the readings are of several main threads";
  } else {
    const double length = seconds(subtract(cpu.at_ns[range.last - 1], cpu.at_ns[range.first]));
    const double busy = (*(last - 1) - *first) / 1e9;
    if (length > 0) use.main_thread_busy_ratio = std::min(busy / length, 1.0);  // it is in ticks
  }
  use.major_faults_per_second = per_second(*tree, "major_faults");
  use.read_bytes_per_second = per_second(*tree, "io_read_bytes");
  use.threads_seen = tree->value("threads", &SeriesRow::max);
  use.rss_peak_bytes = tree->value("rss_bytes", &SeriesRow::max);
  use.swap_peak_bytes = tree->value("swap_bytes", &SeriesRow::max);
  use.read_bytes = tree->value("io_read_bytes", &SeriesRow::max);
  use.write_bytes = tree->value("io_write_bytes", &SeriesRow::max);
  return use;
}

AllocatorUse allocator_use(const Run& run, const Clocks& clocks, const Telemetry& telemetry) {
  AllocatorUse use;
  Points allocated;
  if (!telemetry.allocators.empty()) {
    const std::string& device = telemetry.allocators[0].device;
    allocated = points_of(run, clocks, device, "allocator_allocated_bytes");
  }
  if (allocated.value.empty()) {
    use.step_reason = use.request_reason = "the program fed in no figures of its allocator";
    return use;
  }
  const std::vector<SpanPeak> steps = peaks_within(run, clocks, allocated, SpanKind::step);
  double rise = 0;
  for (const SpanPeak& peak : steps) rise = std::max(rise, peak.highest - peak.first);
  if (steps.empty()) {
    use.step_reason = "no reading of the allocator within a step";
  } else {
    use.step_rise_bytes = rise;
  }
  const std::vector<SpanPeak> requests = peaks_within(run, clocks, allocated, SpanKind::request);
  std::vector<double> growth;
  for (std::size_t i = 1; i < requests.size(); ++i) {
    if (requests[i - 1].highest <= 0) continue;
    growth.push_back(requests[i].highest / requests[i - 1].highest - 1);
  }
  if (growth.size() < kMinSamples) {
    use.request_reason = "fewer than four requests with readings of the allocator";
  } else {
    use.request_growth_ratio = stats::quantile(growth, 0.5);
  }
  return use;
}

}  // namespace genscope::analysis
