// energy_j is what the GPUs used, idle power included. Per image it is what the work cost on top of
// being switched on: idle power is subtracted. The bill counts all of it.
#include "bench/suite/derived.h"

#include <unistd.h>

#include <algorithm>
#include <string>

#include "bench/run/gpu_meter.h"
#include "bench/suite/quantities.h"

namespace genscope::bench {
namespace {

constexpr unsigned kIdleMicroseconds = 1'500'000;
constexpr double kJoulesPerKwh = 3.6e6;

double images_of(const Params& params) {
  double images = 1;
  for (const auto& [name, value] : params) {
    const std::optional<double> count = number_in(value);
    if ((name == "batch" || name == "images") && count && *count > 0) images *= *count;
  }
  return images;
}

std::optional<double> metric_in(const Sample& sample, const char* name) {
  const auto found = sample.metrics.find(name);
  if (sample.failure || found == sample.metrics.end()) return std::nullopt;
  return found->second;
}

}  // namespace

std::optional<double> idle_watts() {
  std::string why;
  const std::shared_ptr<GpuMeter> meter = GpuMeter::shared(why);
  if (!meter) return std::nullopt;
  meter->begin();
  ::usleep(kIdleMicroseconds);
  const GpuUse use = meter->end();
  if (!use.energy_j) return std::nullopt;
  return *use.energy_j / (kIdleMicroseconds * 1e-6);
}

void add_derived(const SuiteCost& cost, std::optional<double> idle_w, Cell& cell) {
  const double images = images_of(cell.params);
  bool has_energy = false, has_sample = false;
  for (Unit& unit : cell.units) {
    for (Sample& sample : unit.samples) {
      const std::optional<double> seconds = metric_in(sample, "latency_s");
      if (!seconds) continue;
      has_sample = true;
      const std::optional<double> joules = metric_in(sample, "energy_j");
      has_energy = has_energy || joules;
      if (joules) {
        const double idle = idle_w.value_or(0) * *seconds;
        sample.metrics["energy_j_per_image"] = std::max(0.0, *joules - idle) / images;
      }
      if (!cost.usd_per_hour && !(cost.usd_per_kwh && joules)) continue;
      double usd = cost.usd_per_hour.value_or(0) * *seconds / 3600;
      if (joules) usd += cost.usd_per_kwh.value_or(0) * *joules / kJoulesPerKwh;
      sample.metrics["cost_usd_per_image"] = usd / images;
    }
  }
  if (!has_sample) return;
  const auto reason = cell.absent.find("energy_j");
  const std::string why =
      reason != cell.absent.end() ? reason->second : "no GPU whose energy can be read";
  if (!has_energy) cell.absent["energy_j_per_image"] = why;
  if (!has_energy && cost.usd_per_kwh && !cost.usd_per_hour)
    cell.absent["cost_usd_per_image"] = why;
}

}  // namespace genscope::bench
