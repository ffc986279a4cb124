// The newest values of a run as facts, and the rules over them: what is a finding in a report is an
// alert here, at the same threshold. Only facts that one instant can tell are set (a GPU that is
// idle right now is no finding), so most rules abstain. Each GPU is asked about on its own.
#include "serve/alerts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

#include <genscope/advise.h>

#include "trace/metrics.h"

namespace genscope::serve {
namespace {

// One machine or GPU, as its readings are now.
struct Device {
  EntityKind kind = EntityKind::other;
  std::map<std::string_view, double> values;  // by metric
};

std::map<std::string, Device> devices_of(const Progress& progress) {
  std::map<std::string, Device> devices;
  for (const Progress::Process& p : progress.processes) {
    for (const Progress::Value& value : p.values) {
      if (value.metric == nullptr) continue;
      Device& device = devices[value.entity];
      device.kind = value.entity_kind;
      device.values[value.metric->id] = value.value;
    }
  }
  return devices;
}

std::optional<double> value_of(const Device& device, std::string_view metric) {
  const auto it = device.values.find(metric);
  return it != device.values.end() ? std::optional(it->second) : std::nullopt;
}

void set_ratio(Facts& facts, const char* fact, std::optional<double> part,
               std::optional<double> whole) {
  if (part && whole && *whole > 0) facts.set(fact, *part / *whole);
}

Facts facts_of_device(const Device& device) {
  Facts facts;
  if (device.kind == EntityKind::machine) {
    set_ratio(facts, "host.memory_peak_share", value_of(device, "memory_used_bytes"),
              value_of(device, "memory_total_bytes"));
    return facts;
  }
  if (device.kind != EntityKind::gpu && device.kind != EntityKind::gpu_instance) return facts;
  set_ratio(facts, "gpu.memory_peak_share", value_of(device, "memory_used_bytes"),
            value_of(device, "memory_total_bytes"));
  set_ratio(facts, "gpu.clock_ratio", value_of(device, "clock_core_mhz"),
            value_of(device, "clock_core_max_mhz"));
  if (const auto celsius = value_of(device, "temperature_celsius")) {
    facts.set("gpu.temperature_max_celsius", *celsius);
  }
  if (const auto reasons = value_of(device, "throttle_reasons"); reasons && *reasons >= 0) {
    const bool hot = (static_cast<std::uint64_t>(*reasons) & trace::kThrottleThermal) != 0;
    facts.set("throttling.thermal_share", hot ? 1.0 : 0.0);
  }
  return facts;
}

Facts facts_of_run(const Progress& progress) {
  Facts facts;
  std::uint64_t dropped = 0;
  std::vector<double> steps;
  const Progress::Process* slowest = nullptr;
  for (const Progress::Process& p : progress.processes) {
    dropped += p.dropped_spans;
    if (!p.rank || !p.step_seconds) continue;
    steps.push_back(*p.step_seconds);
    if (slowest == nullptr || *p.step_seconds > *slowest->step_seconds) slowest = &p;
  }
  facts.set("recorder.dropped_spans", static_cast<double>(dropped));
  if (steps.size() < 2) return facts;
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::nth_element(steps.begin(), middle, steps.end());
  if (*middle <= 0) return facts;
  facts.set("ranks.count", static_cast<double>(steps.size()));
  facts.set("ranks.step_ratio", *slowest->step_seconds / *middle);
  facts.set("ranks.step_slowest", std::to_string(*slowest->rank));
  return facts;
}

void add_findings(const Facts& facts, const std::string& who, std::vector<Alert>& out) {
  for (const Finding& finding : advise(facts).findings) {
    out.push_back({name(finding.rule.severity), finding.rule.id,
                   fmt::format("{}{}: {}", who, finding.rule.title, finding.advice)});
  }
}

}  // namespace

std::vector<Alert> alerts_of(const Progress& progress) {
  std::vector<Alert> out;
  for (const auto& [id, device] : devices_of(progress)) {
    add_findings(facts_of_device(device), id + ": ", out);
  }
  add_findings(facts_of_run(progress), "", out);
  return out;
}

}  // namespace genscope::serve
