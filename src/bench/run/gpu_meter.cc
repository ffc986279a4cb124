// Counters are read right before and right after the iteration, outside its time; levels come from
// the sampler's thread meanwhile. A counter moves in the driver's own rhythm (20 to 100 ms), so
// that the energy of an iteration below kShortest would be that rhythm: it is left out.
#include "bench/run/gpu_meter.h"

#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace genscope::bench {
namespace {

constexpr std::int64_t kShortestNs = 500'000'000;
constexpr auto kPatience = std::chrono::milliseconds(200);
constexpr std::uint64_t kLeastReadings = 3;  // of a mean

bool any_file(const std::string& pattern) {
  glob_t found{};
  const bool some = ::glob(pattern.c_str(), 0, nullptr, &found) == 0;
  ::globfree(&found);
  return some;
}

}  // namespace

struct GpuMeter::Sink final : SampleSink {
  struct Series {
    std::string_view metric;
    std::optional<double> at_begin, last, peak;
    double sum = 0;
    std::uint64_t readings = 0;
    std::int64_t at_ns = 0;
  };
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Series> series;
  std::vector<bool> gpu;  // by entity

  void add_entity(std::uint32_t entity, const Entity& what) noexcept override {
    const std::lock_guard lock(mutex);
    if (gpu.size() <= entity) gpu.resize(entity + 1);
    gpu[entity] = what.kind == EntityKind::gpu;
  }
  void add_series(std::uint32_t number, std::uint32_t entity, const genscope::Metric& metric,
                  std::string_view) noexcept override {
    const std::lock_guard lock(mutex);
    if (series.size() <= number) series.resize(number + 1);
    if (entity < gpu.size() && gpu[entity]) series[number].metric = metric.id;
  }
  void add_reading(std::uint32_t number, const Reading& reading) noexcept override {
    const std::lock_guard lock(mutex);
    if (number >= series.size() || series[number].metric.empty()) return;
    Series& one = series[number];
    one.at_ns = base::monotonic_ns();
    changed.notify_all();
    if (reading.status != SampleStatus::ok) return;
    one.last = reading.value;
    one.peak = std::max(one.peak.value_or(reading.value), reading.value);
    one.sum += reading.value;
    ++one.readings;
  }
  void add_event(std::uint32_t, std::string_view, std::string_view) noexcept override {}
  void set_processes(std::uint32_t, std::span<const ProcessRow>) noexcept override {}

  void restart() {
    const std::lock_guard lock(mutex);
    for (Series& one : series) {
      one.at_begin = one.peak = one.last;
      one.sum = 0;
      one.readings = 0;
    }
    began_ns = base::monotonic_ns();
  }
  bool has_gpu() const { return std::find(gpu.begin(), gpu.end(), true) != gpu.end(); }
  std::int64_t began_ns = 0;
};

GpuMeter::GpuMeter() : sink_(std::make_unique<Sink>()) {}
GpuMeter::~GpuMeter() = default;

// Subjects run one at a time, and both sides of a comparison read the same devices.
std::shared_ptr<GpuMeter> GpuMeter::shared(std::string& why) {
  static std::mutex mutex;
  static std::weak_ptr<GpuMeter> current;
  const std::lock_guard lock(mutex);
  if (auto meter = current.lock()) return meter;
  std::shared_ptr<GpuMeter> meter = open(why);
  current = meter;
  return meter;
}

std::unique_ptr<GpuMeter> GpuMeter::open(std::string& why) {
  const ProbeOptions options = probe_options_from_environment();
  const bool nvidia = !options.nvml_library.empty() || ::access("/dev/nvidiactl", F_OK) == 0;
  const bool drm = any_file(options.sys_root + "/class/drm/card[0-9]*/device/vendor");
  why = kNoGpu;
  if (!nvidia && !drm) return nullptr;
  std::unique_ptr<GpuMeter> meter(new GpuMeter);
  SamplerOptions sampling;
  sampling.sink = meter->sink_.get();
  sampling.budget_ratio = 0.01;
  meter->sampler_ = std::make_unique<Sampler>(sampling);
  for (const ProbeInfo& probed : all_probes()) {
    if (!probed.watches_gpus || (probed.loads_driver_code != nvidia && !drm)) continue;
    const std::string_view name = probed.name;
    if (auto probe = make_probe(name, options)) meter->sampler_->add(std::move(*probe));
  }
  if (!meter->sampler_->start()) return nullptr;
  const std::lock_guard lock(meter->sink_->mutex);
  if (!meter->sink_->has_gpu()) return nullptr;
  why.clear();
  return meter;
}

void GpuMeter::refresh() {
  const std::int64_t now = base::monotonic_ns();
  sampler_->request(Tier::fast);
  std::unique_lock lock(sink_->mutex);
  sink_->changed.wait_for(lock, kPatience, [&] {
    bool any = false;
    for (const Sink::Series& one : sink_->series) {
      if (one.metric != "energy_joules" && one.metric != "memory_used_bytes") continue;
      any = true;
      if (one.metric == "energy_joules" && one.last && one.at_ns < now) return false;
    }
    return any;
  });
}

// Others who use the GPUs at that time count as idle, too: what they take is not the command's.
void GpuMeter::measure_idle() {
  idle_asked_ = true;
  const auto energy = [&]() -> std::optional<double> {
    refresh();
    const std::lock_guard lock(sink_->mutex);
    std::optional<double> sum;
    for (const Sink::Series& one : sink_->series) {
      if (one.metric == "energy_joules" && one.last) sum = sum.value_or(0) + *one.last;
    }
    return sum;
  };
  const std::optional<double> before = energy();
  if (!before) return;
  const std::int64_t began = base::monotonic_ns();
  std::this_thread::sleep_for(std::chrono::duration<double>(kIdleSeconds));
  const std::optional<double> after = energy();
  const double took = static_cast<double>(base::monotonic_ns() - began) * 1e-9;
  if (after && *after >= *before) idle_watts_ = (*after - *before) / took;
}

void GpuMeter::begin() {
  if (!idle_asked_) measure_idle();
  refresh();
  sink_->restart();
}

GpuUse GpuMeter::end() {
  const std::int64_t took = base::monotonic_ns() - sink_->began_ns;
  refresh();
  GpuUse use;
  const std::lock_guard lock(sink_->mutex);
  double busy = 0;
  std::uint64_t busy_series = 0;
  for (const Sink::Series& one : sink_->series) {
    if (one.metric == "energy_joules" && took >= kShortestNs && one.at_begin && one.last &&
        *one.last >= *one.at_begin) {
      use.energy_j = use.energy_j.value_or(0) + *one.last - *one.at_begin;
    }
    if (one.metric == "memory_used_bytes" && one.at_begin && one.peak &&
        one.readings >= kLeastReadings && *one.peak > *one.at_begin) {
      use.vram_peak_bytes = use.vram_peak_bytes.value_or(0) + *one.peak - *one.at_begin;
    }
    if (one.metric == "busy_ratio" && one.readings >= kLeastReadings) {
      busy += one.sum / static_cast<double>(one.readings);
      ++busy_series;
    }
  }
  if (use.energy_j && idle_watts_) {
    use.energy_idle_j = *idle_watts_ * static_cast<double>(took) * 1e-9;
    use.energy_net_j = std::max(0.0, *use.energy_j - *use.energy_idle_j);
  }
  if (busy_series > 0) use.util_ratio = busy / static_cast<double>(busy_series);
  return use;
}

}  // namespace genscope::bench
