#include "compat/inferix/energy.h"

#include <fmt/format.h>

#include "analyze/statistics/statistics.h"

namespace genscope::compat::inferix {

SampledEnergy sampled_energy(const InferixReport& report) {
  std::vector<std::pair<double, double>> power;  // time, watts
  bool any = false;
  for (const InferixReport::GpuSample& sample : report.gpu) {
    if (!sample.power_watts) continue;
    power.emplace_back(sample.at_seconds, *sample.power_watts);
    any |= *sample.power_watts > 0;
  }
  if (power.empty()) return {std::nullopt, ""};
  if (power.size() < 2 || !any) {
    return {std::nullopt, any ? "one sample of power: no energy" : "power was always 0: no sensor"};
  }
  std::vector<double> distances;
  for (std::size_t i = 1; i < power.size(); ++i) {
    distances.push_back(power[i].first - power[i - 1].first);
  }
  const double longest = stats::quantile(distances, 0.5).value_or(0) * kMaxGaps;
  SampledEnergy energy;
  double joules = 0, covered = 0;
  for (std::size_t i = 1; i < power.size(); ++i) {
    const double distance = distances[i - 1];
    if (!(distance > 0) || distance > longest) continue;
    joules += distance * (power[i].second + power[i - 1].second) / 2;
    covered += distance;
  }
  if (covered <= 0) return {std::nullopt, "samples of power without a distance: no energy"};
  energy.joules = joules;
  constexpr double kWhole = 0.9;
  if (report.duration_seconds && covered < kWhole * *report.duration_seconds) {
    energy.note = fmt::format("energy is of {:.3g} of {:.3g} s: samples cover no more", covered,
                              *report.duration_seconds);
  }
  return energy;
}

}  // namespace genscope::compat::inferix
