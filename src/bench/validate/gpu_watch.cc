// A sampler's readings, added up as they come: memory stays the same however long it takes.
#include "bench/validate/gpu_watch.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/clock.h"
#include "genscope/config.h"

namespace genscope::bench {
namespace {

// One series, added up. A value holds until the next reading.
struct GpuSum {
  std::uint64_t count = 0;
  double min = 0, max = 0, last = 0, weighted = 0, seconds = 0;
  std::int64_t last_ns = 0;
  std::string absent = "nothing was read";

  void add(const Reading& reading) {
    if (reading.status != SampleStatus::ok || !std::isfinite(reading.value)) {
      absent = reading.reason != nullptr ? reading.reason : std::string(name(reading.status));
      last_ns = 0;  // the time until the next value is nobody's
      return;
    }
    if (last_ns > 0 && reading.at_ns > last_ns) {
      const double dt = static_cast<double>(reading.at_ns - last_ns) * 1e-9;
      weighted += last * dt;
      seconds += dt;
    }
    min = count == 0 ? reading.value : std::min(min, reading.value);
    max = count == 0 ? reading.value : std::max(max, reading.value);
    last = reading.value;
    last_ns = reading.at_ns;
    ++count;
  }
  GpuFigure figure() const {
    if (count == 0) return {0, {}, {}, {}, absent};
    return {count, seconds > 0 ? weighted / seconds : last, min, max, ""};
  }
};

class GpuSink final : public SampleSink {
 public:
  void add_entity(std::uint32_t entity, const Entity& what) noexcept override {
    if (what.kind == EntityKind::gpu) entities_[entity] = what;
  }
  void add_series(std::uint32_t series, std::uint32_t entity, const genscope::Metric& metric,
                  std::string_view) noexcept override {
    series_[series] = {entity, metric.id};
  }
  void add_reading(std::uint32_t series, const Reading& reading) noexcept override {
    const auto found = series_.find(series);
    if (found == series_.end() || entities_.count(found->second.first) == 0) return;
    sums_[found->second].add(reading);
  }
  void add_event(std::uint32_t, std::string_view, std::string_view) noexcept override {}
  void set_processes(std::uint32_t, std::span<const ProcessRow>) noexcept override {}

  std::vector<WatchedGpu> uses() const {
    std::vector<WatchedGpu> all;
    for (const auto& [number, entity] : entities_) {
      WatchedGpu use;
      use.id = entity.id;
      use.name = entity.name;
      for (const auto& [key, value] : entity.facts) {
        if (key == "driver") use.driver = value;
        if (key == "cuda") use.cuda = value;
      }
      use.busy_ratio = figure(number, "busy_ratio");
      use.memory_used_bytes = figure(number, "memory_used_bytes");
      use.power_watts = figure(number, "power_watts");
      use.memory_total_bytes = figure(number, "memory_total_bytes").max;
      all.push_back(std::move(use));
    }
    return all;
  }

 private:
  GpuFigure figure(std::uint32_t entity, std::string_view metric) const {
    const auto found = sums_.find({entity, metric});
    return found != sums_.end() ? found->second.figure()
                                : GpuFigure{0, {}, {}, {}, "the driver does not tell it"};
  }

  std::map<std::uint32_t, Entity> entities_;
  std::map<std::uint32_t, std::pair<std::uint32_t, std::string_view>> series_;
  std::map<std::pair<std::uint32_t, std::string_view>, GpuSum> sums_;
};

SamplerOptions watch_options(double interval_s, SampleSink* sink) {
  SamplerOptions options;
  const TierPeriods tiers = periods(std::clamp(interval_s, 0.001, 3600.0));
  options.fast_ns = tiers.fast_ns;
  options.normal_ns = tiers.normal_ns;
  options.slow_ns = tiers.slow_ns;
  options.budget_ratio = 0.01;
  options.sink = sink;
  return options;
}

}  // namespace

std::optional<double> WatchedGpu::memory_efficiency() const {
  if (!memory_used_bytes.mean || !memory_total_bytes || *memory_total_bytes <= 0)
    return std::nullopt;
  return *memory_used_bytes.mean / *memory_total_bytes;
}

struct GpuWatch::Impl {
  explicit Impl(double interval_s) : sampler(watch_options(interval_s, &sink)) {}
  GpuSink sink;  // outlives the sampler
  Sampler sampler;
  std::int64_t started_ns = 0;
};

GpuWatch::GpuWatch(std::vector<std::unique_ptr<Probe>> probes, double interval_s)
    : impl_(std::make_unique<Impl>(interval_s)) {
  for (std::unique_ptr<Probe>& probe : probes) impl_->sampler.add(std::move(probe));
}
GpuWatch::~GpuWatch() = default;

Status GpuWatch::start() {
  impl_->started_ns = base::monotonic_ns();
  return impl_->sampler.start();
}

GpuWatched GpuWatch::stop() {
  GpuWatched watched;
  impl_->sampler.stop();
  watched.seconds = static_cast<double>(base::monotonic_ns() - impl_->started_ns) * 1e-9;
  watched.gpus = impl_->sink.uses();
  if (!watched.gpus.empty()) return watched;
  const std::vector<ProbeReport> reports = impl_->sampler.reports();
  for (std::size_t i = 0; i < reports.size(); ++i) {
    if (reports[i].state.reason.empty()) continue;
    // One that runs in a child is called "remote" there.
    const bool all = reports.size() == gpu_probes().size();
    watched.absent += (watched.absent.empty() ? "" : "; ") +
                      (all ? std::string(gpu_probes()[i]) : reports[i].name) + ": " +
                      reports[i].state.reason;
  }
  if (watched.absent.empty()) watched.absent = "no GPU was found";
  return watched;
}

std::vector<std::unique_ptr<Probe>> make_gpu_probes() {
  const ProbeOptions options = probe_options_from_environment();
  std::vector<std::unique_ptr<Probe>> probes;
  for (const std::string_view probe : gpu_probes()) {
    Result<std::unique_ptr<Probe>> made = make_probe(probe, options);
    if (made) probes.push_back(std::move(*made));
  }
  return probes;
}

}  // namespace genscope::bench
