// energy_j is what the GPUs used, idle power included. Per image it is what the work cost on top of
// being switched on: energy_net_j. The bill counts all of it.
#include "bench/suite/derived.h"

#include <algorithm>
#include <string>

#include "bench/run/quantities.h"

namespace genscope::bench {
namespace {

constexpr double kJoulesPerKwh = 3.6e6;

// Nothing: no axis says how many a run makes.
std::optional<double> images_of(const Params& params) {
  std::optional<double> images;
  for (const auto& [name, value] : params) {
    const std::optional<double> count = number_in(value);
    if ((name == "batch" || name == "images") && count && *count > 0) {
      images = images.value_or(1) * *count;
    }
  }
  return images;
}

std::optional<double> metric_in(const Sample& sample, const char* name) {
  const auto found = sample.metrics.find(name);
  if (sample.failure || found == sample.metrics.end()) return std::nullopt;
  return found->second;
}

}  // namespace

std::optional<double> idle_watts(std::span<const Cell> cells) {
  for (const Cell& cell : cells) {
    for (const Unit& unit : cell.units) {
      for (const Sample& sample : unit.samples) {
        const std::optional<double> seconds = metric_in(sample, "latency_s");
        const std::optional<double> joules = metric_in(sample, "energy_idle_j");
        if (seconds && *seconds > 0 && joules) return *joules / *seconds;
      }
    }
  }
  return std::nullopt;
}

void add_derived(const SuiteCost& cost, Cell& cell) {
  const std::optional<double> batch = images_of(cell.params);
  const double images = batch.value_or(1);
  bool has_net = false, has_energy = false, has_sample = false;
  for (Unit& unit : cell.units) {
    for (Sample& sample : unit.samples) {
      const std::optional<double> seconds = metric_in(sample, "latency_s");
      if (!seconds) continue;
      has_sample = true;
      if (const std::optional<double> net = metric_in(sample, "energy_net_j")) {
        has_net = true;
        sample.metrics["energy_j_per_image"] = *net / images;
      }
      for (const char* peak : {"rss_peak_bytes", "vram_peak_bytes"}) {
        const std::optional<double> bytes = metric_in(sample, peak);
        if (batch && bytes) sample.metrics[std::string(peak) + "_per_image"] = *bytes / images;
      }
      const std::optional<double> joules = metric_in(sample, "energy_j");
      has_energy = has_energy || joules;
      if (!cost.usd_per_hour && !(cost.usd_per_kwh && joules)) continue;
      double usd = cost.usd_per_hour.value_or(0) * *seconds / 3600;
      if (joules) usd += cost.usd_per_kwh.value_or(0) * *joules / kJoulesPerKwh;
      sample.metrics["cost_usd_per_image"] = usd / images;
    }
  }
  if (!has_sample) return;
  const auto why_no = [&](const char* energy) {
    const auto reason = cell.absent.find(energy);
    return reason != cell.absent.end() ? reason->second : "no GPU whose energy can be read";
  };
  if (!has_net) cell.absent["energy_j_per_image"] = why_no("energy_net_j");
  if (!has_energy && cost.usd_per_kwh && !cost.usd_per_hour) {
    cell.absent["cost_usd_per_image"] = why_no("energy_j");
  }
}

}  // namespace genscope::bench
