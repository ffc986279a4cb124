#include "serve/alerts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>

namespace genscope::serve {
namespace {

constexpr double kNearlyFull = 0.95;
constexpr double kSlowestRank = 1.5;      // times the median step
constexpr std::uint64_t kThermal = 0x60;  // NVML: software and hardware thermal slowdown

using Device = std::map<std::string, double, std::less<>>;  // metric -> value

std::map<std::string, Device> devices_of(const Progress& progress) {
  std::map<std::string, Device> devices;
  for (const Progress::Process& p : progress.processes) {
    for (const auto& [counter, value] : p.values) {
      const std::size_t slash = counter.rfind('/');
      if (slash == std::string::npos) continue;
      devices[counter.substr(0, slash)][counter.substr(slash + 1)] = value;
    }
  }
  return devices;
}

const double* find(const Device& device, std::string_view metric) {
  const auto it = device.find(metric);
  return it != device.end() ? &it->second : nullptr;
}

void device_alerts(const std::string& id, const Device& device, std::vector<Alert>& out) {
  const double *const used = find(device, "memory_used_bytes"), *const total = find(
                                                                    device, "memory_total_bytes");
  if (used != nullptr && total != nullptr && *total > 0 && *used > kNearlyFull * *total) {
    out.push_back({"warning", fmt::format("{}: memory is {:.0f}% full", id, *used / *total * 100)});
  }
  const double* const reasons = find(device, "throttle_reasons");
  if (reasons != nullptr && *reasons >= 0 &&
      (static_cast<std::uint64_t>(*reasons) & kThermal) != 0) {
    out.push_back({"critical", fmt::format("{}: slowed down because it is too hot", id)});
  }
}

void rank_alerts(const Progress& progress, std::vector<Alert>& out) {
  std::vector<double> steps;
  const Progress::Process* slowest = nullptr;
  for (const Progress::Process& p : progress.processes) {
    if (!p.rank || !p.step_seconds) continue;
    steps.push_back(*p.step_seconds);
    if (slowest == nullptr || *p.step_seconds > *slowest->step_seconds) slowest = &p;
  }
  if (steps.size() < 2) return;
  std::nth_element(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2),
                   steps.end());
  const double median = steps[steps.size() / 2];
  if (*slowest->step_seconds <= kSlowestRank * median) return;
  out.push_back({"warning", fmt::format("rank {}: a step takes {:.1f} times the median rank's",
                                        *slowest->rank, *slowest->step_seconds / median)});
}

}  // namespace

std::vector<Alert> alerts_of(const Progress& progress) {
  std::vector<Alert> out;
  for (const auto& [id, device] : devices_of(progress)) device_alerts(id, device, out);
  rank_alerts(progress, out);
  std::uint64_t lost = 0;
  for (const Progress::Process& p : progress.processes) lost += p.lost_spans;
  if (lost > 0) {
    out.push_back({"warning", fmt::format("{} spans were dropped: buffers were full", lost)});
  }
  return out;
}

}  // namespace genscope::serve
