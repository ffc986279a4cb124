// One sweep over each device's kernels in the order of their begins answers four questions at once:
// what ran (TimelineSweep), why it waited, for which stage, and what the host did in the steps.
//
// A kernel belongs to the stage in which the host launched it, not to the one that happened to be
// open when it ran: the host is ahead by whole stages. The launch is the kernel's parent where the
// import found it; without one the innermost stage at the kernel's begin has to do, which
// InnermostAt gives in amortised constant time because begins ascend.
//
// A gap before a kernel is the host's if the launch came after the gap began; if the kernel had
// been launched by then, a short gap (DeviceTimeline::kKernelWaitNs) is the time between two
// kernels. Waits of the host in steps are counted by name, once per name and not per span; those of
// logging by whether a span that logs is open on the same thread. Linear in the spans; memory is a
// sum for each pair of stage and kernel name.
#include "analyze/resources/device_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

#include "analyze/resources/device_timeline.h"
#include "analyze/resources/device_tracks.h"
#include "analyze/resources/enclosing.h"
#include "analyze/resources/host_calls.h"
#include "analyze/resources/thread_times.h"
#include "trace/arguments.h"

namespace genscope::analysis {
namespace {

constexpr std::size_t kMostKernels = 50;

struct KernelSum {
  std::uint64_t count = 0;
  std::int64_t total_ns = 0;
};
using KernelSums = std::map<std::pair<std::string, std::string>, KernelSum>;  // stage, name

struct Traffic {
  std::uint64_t steps = 0, syncs = 0, log_syncs = 0, copies = 0;
  bool logging_known = false;
  double bytes = 0, copy_seconds = 0;
  bool bytes_known = false;
};

// The device work of one process.
class TraceWork {
 public:
  explicit TraceWork(const Trace& trace)
      : trace_(trace),
        tracks_(trace),
        around_(trace),
        stages_(trace,
                [&](std::uint32_t i) {
                  const SpanKind kind = trace.kind(i);
                  return kind == SpanKind::stage || kind == SpanKind::load;
                }),
        steps_(trace, [&](std::uint32_t i) { return trace.kind(i) == SpanKind::step; }),
        threads_in_steps_(trace, [&](std::size_t i) { return trace.kind(i) == SpanKind::step; }),
        counted_copy_(trace.spans.size()) {}

  const std::vector<DeviceTracks::Device>& devices() const noexcept { return tracks_.devices(); }

  TimelineSweep sweep(const DeviceTracks::Device& device) {
    stages_.rewind();
    steps_.rewind();
    TimelineSweep sweep;
    tracks_.visit(device,
                  [&](std::size_t span) { sweep.add(at(span), tracks_.work(span), see(span)); });
    return sweep;
  }

  // After all devices were swept.
  void finish(KernelSums& kernels, Traffic& traffic) {
    for (const auto& [key, sum] : sums_) {
      const auto stage = static_cast<std::uint32_t>(key >> 32);
      const auto name = static_cast<std::uint32_t>(key);
      KernelSum& all =
          kernels[{stage == kNone ? "" : trace_.names[stage].text, trace_.names[name].text}];
      all.count += sum.count;
      all.total_ns = add(all.total_ns, sum.total_ns);
    }
    if (launched_ == 0) return;  // nothing says what the host did
    count_steps_and_waits(traffic);
    traffic.copies += traffic_.copies;
    traffic.copy_seconds += traffic_.copy_seconds;
    add_bytes(traffic);
  }

 private:
  Interval at(std::size_t span) const noexcept {
    return interval(trace_.spans.begin_ns[span], trace_.spans.duration_ns[span]);
  }

  bool in_step(std::size_t span) const noexcept {
    return around_.in_step(span) ||
           threads_in_steps_.hold(trace_.spans.track[span], trace_.spans.begin_ns[span]);
  }

  // Books one piece of work; when it was launched, if that is known.
  std::optional<std::int64_t> see(std::size_t span) {
    const std::uint32_t parent = trace_.spans.parent[span];
    const bool known = parent < trace_.spans.size() && !tracks_.is_device(parent);
    const Interval here = at(span);
    const std::uint32_t stage_by_time = stages_.at(here.begin);
    const bool step_by_time = steps_.at(here.begin) != kNone;
    const std::uint32_t stage = known ? around_.stage(parent) : stage_by_time;
    KernelSum& sum = sums_[std::uint64_t{stage} << 32 | trace_.spans.name[span]];
    ++sum.count;
    sum.total_ns = add(sum.total_ns, here.length());
    if (tracks_.work(span) == Work::copy_to_device && (known ? in_step(parent) : step_by_time)) {
      ++traffic_.copies;
      traffic_.copy_seconds += static_cast<double>(here.length()) * 1e-9;
      counted_copy_[span] = true;
    }
    if (!known) return std::nullopt;
    ++launched_;
    return trace_.spans.begin_ns[parent];
  }

  void count_steps_and_waits(Traffic& traffic) const {
    std::vector<bool> waits, logs, others;
    for (const Name& name : trace_.names) {
      waits.push_back(waits_for_gpu(name.text));
      logs.push_back(is_logging(name.text, name.kind));
      others.push_back(is_apart_from_logging(name.text));
    }
    const auto named = [&](const std::vector<bool>& so) {
      return [&](std::size_t i) { return so[trace_.spans.name[i]]; };
    };
    const ThreadTimes logging(trace_, named(logs)), apart(trace_, named(others));
    traffic.logging_known = traffic.logging_known || !logging.empty();
    for (std::size_t i = 0; i < trace_.spans.size(); ++i) {
      if (trace_.kind(i) == SpanKind::step) ++traffic.steps;
      if (!waits[trace_.spans.name[i]] || tracks_.is_device(i) || !in_step(i)) continue;
      ++traffic.syncs;
      const std::uint32_t track = trace_.spans.track[i];
      const std::int64_t at = trace_.spans.begin_ns[i];
      if (logging.hold(track, at) && !apart.hold(track, at)) ++traffic.log_syncs;
    }
  }

  void add_bytes(Traffic& traffic) const {
    const ArgColumns& args = trace_.span_args;
    std::vector<bool> is_bytes;
    for (const Name& name : trace_.names) is_bytes.push_back(name.text == "bytes");
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (!is_bytes[args.key[i]] || !counted_copy_[args.owner[i]]) continue;
      const auto value = trace::argument_at(trace_, args, i);
      if (!value || !std::holds_alternative<double>(*value)) continue;
      traffic.bytes += std::get<double>(*value);
      traffic.bytes_known = true;
    }
  }

  const Trace& trace_;
  const DeviceTracks tracks_;
  const Enclosing around_;
  InnermostAt stages_, steps_;
  const ThreadTimes threads_in_steps_;
  std::unordered_map<std::uint64_t, KernelSum> sums_;  // name of the stage, name of the work
  std::vector<bool> counted_copy_;
  Traffic traffic_;
  std::uint64_t launched_ = 0;
};

std::string device_name(const Run& run, std::size_t t, const std::string& device) {
  if (run.traces.size() == 1) return device;
  const ProcessInfo& process = run.traces[t].process;
  return process.rank ? fmt::format("rank {} {}", *process.rank, device)
                      : fmt::format("pid {} {}", process.pid, device);
}

void fill_kernels(const KernelSums& sums, std::vector<KernelRow>& rows) {
  for (const auto& [key, sum] : sums)
    rows.push_back({key.first, key.second, sum.count, sum.total_ns});
  std::stable_sort(rows.begin(), rows.end(),
                   [](const KernelRow& a, const KernelRow& b) { return a.total_ns > b.total_ns; });
  if (rows.size() > kMostKernels) rows.resize(kMostKernels);
}

void fill_traffic(const Traffic& sums, bool any_device, StepTraffic& traffic) {
  traffic.steps = sums.steps;
  if (sums.steps == 0) {
    traffic.reason = any_device ? "no step was marked, or no launch of a kernel is known"
                                : "no kernels were recorded: import a profiler's trace";
    return;
  }
  const auto steps = static_cast<double>(sums.steps);
  traffic.syncs_per_step = static_cast<double>(sums.syncs) / steps;
  if (sums.logging_known) {
    traffic.log_syncs_per_step = static_cast<double>(sums.log_syncs) / steps;
  }
  traffic.h2d_copies_per_step = static_cast<double>(sums.copies) / steps;
  if (sums.copies > 0 && !sums.bytes_known) return;
  traffic.h2d_bytes_per_step = sums.bytes / steps;
  if (sums.copy_seconds > 0) traffic.h2d_bytes_per_second = sums.bytes / sums.copy_seconds;
}

}  // namespace

void add_device_work(const Run& run, const Clocks& clocks, Resources& resources) {
  KernelSums kernels;
  Traffic traffic;
  std::vector<Stretches> busy;
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    const Trace& trace = run.traces[t];
    if (!has_device_tracks(trace)) continue;
    TraceWork work(trace);
    const std::int64_t shift = subtract(clocks.offset_ns[t], clocks.begin_ns);
    for (const DeviceTracks::Device& device : work.devices()) {
      TimelineSweep sweep = work.sweep(device);
      if (sweep.empty()) continue;
      DeviceTimeline timeline = sweep.finish();
      timeline.device = device_name(run, t, device.name);
      timeline.begin_ns = add(timeline.begin_ns, shift);
      timeline.end_ns = add(timeline.end_ns, shift);
      resources.devices.push_back(std::move(timeline));
      busy.push_back(sweep.take_busy());
      for (Interval& one : busy.back()) one = {add(one.begin, shift), add(one.end, shift)};
    }
    work.finish(kernels, traffic);
  }
  fill_kernels(kernels, resources.kernels);
  if (busy.size() > 1) resources.device_overlap = overlap_of(busy);
  fill_traffic(traffic, !resources.devices.empty(), resources.step_traffic);
}

}  // namespace genscope::analysis
