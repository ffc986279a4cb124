#include "analyze/resources/throttling.h"

#include <array>

#include "trace/metrics.h"

namespace genscope::analysis {
namespace {

using trace::kThrottleReasons;
constexpr std::size_t kReasons = std::size(kThrottleReasons);

struct Hits {
  std::uint64_t samples = 0;
  std::array<std::uint64_t, kReasons> of = {};
  void add(double value) noexcept {
    constexpr double kExact = 9007199254740992.0;  // 2^53
    if (!(value >= 0) || value > kExact) return;
    ++samples;
    const auto bits = static_cast<std::uint64_t>(value);
    for (std::size_t c = 0; c < kReasons; ++c) {
      of[c] += (bits & kThrottleReasons[c].bits) != 0 ? 1 : 0;
    }
  }
};

Hits count_bits(const Points& points, const Stretches* steps) {
  Hits hits;
  if (steps != nullptr) {
    visit_within(*steps, points.at_ns, [&](std::size_t i) { hits.add(points.value[i]); });
    if (hits.samples >= kMinSamples) return hits;
  }
  hits = {};
  for (const double value : points.value) hits.add(value);
  return hits;
}

// Drivers that count the time instead: its growth over the time between first and last reading,
// less the intervals in which the counter was reset.
void add_counted(const EntityReadings& gpu, Read what, const char* cause,
                 std::vector<ThrottleShare>& rows) {
  const Points& points = gpu.of(what);
  if (points.at_ns.size() < kMinSamples) return;
  double held = 0, time = 0;
  for (std::size_t i = 1; i < points.at_ns.size(); ++i) {
    const double growth = points.value[i] - points.value[i - 1];
    if (growth < 0) continue;
    held += growth;
    time += static_cast<double>(subtract(points.at_ns[i], points.at_ns[i - 1]));
  }
  if (time <= 0) return;
  rows.push_back({gpu.entity->entity.id, cause, std::min(1.0, held / time), points.at_ns.size()});
}

}  // namespace

std::vector<ThrottleShare> throttle_shares(const Readings& readings, const MeteredRow* steps) {
  std::vector<ThrottleShare> rows;
  for (const std::uint32_t g : readings.used) {
    const EntityReadings& gpu = readings.gpus[g];
    const Stretches* const within = steps == nullptr ? nullptr : &steps->of_host[gpu.host];
    const Hits hits = count_bits(gpu.of(Read::throttle_reasons), within);
    if (hits.samples < kMinSamples) {
      add_counted(gpu, Read::throttle_thermal_ns, "thermal", rows);
      add_counted(gpu, Read::throttle_power_ns, "power cap", rows);
      add_counted(gpu, Read::throttle_other_ns, "hardware slowdown", rows);
      continue;
    }
    for (std::size_t c = 0; c < kReasons; ++c) {
      rows.push_back({gpu.entity->entity.id, std::string(kThrottleReasons[c].name),
                      static_cast<double>(hits.of[c]) / static_cast<double>(hits.samples),
                      hits.samples});
    }
  }
  return rows;
}

}  // namespace genscope::analysis
