// Readings against stages without a table of either: the stretches in which a row's spans ran are
// sorted and disjoint, readings are sorted, and visit_within() gallops through both. A row costs
// what it has of stretches and of readings within them, so many short stages beside a long series,
// or the reverse, stay cheap.
//
// A reading is an instant: it counts for every row that was open then, so rows that overlap share
// it, and shares of rows do not add up. Energy is a curve over time, so it is integrated over the
// stretches, and only where a row is at least three of the slowest readings long: a row of one
// reading would be given its neighbours' energy.
#include "analyze/resources/stage_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace genscope::analysis {
namespace {

// Fewer than three readings' worth of time would be a guess.
constexpr std::int64_t kMinPeriods = 3;

class UseTally {
 public:
  void add(double value, double weight = 1) noexcept {
    max_ = count_ == 0 ? value : std::max(max_, value);
    sum_ += value * weight;
    weight_ += weight;
    ++count_;
  }
  UseFigure figure() const noexcept {
    UseFigure figure;
    figure.samples = count_;
    if (count_ < kMinSamples) return figure;
    figure.mean = sum_ / weight_;
    figure.max = max_;
    return figure;
  }

 private:
  std::uint64_t count_ = 0;
  double sum_ = 0, weight_ = 0, max_ = 0;
};

UseFigure figure_of(const MeteredRow& row, const Readings& readings, Points HostSeries::*series) {
  UseTally tally;
  for (std::size_t h = 0; h < readings.hosts.size(); ++h) {
    const Points& points = readings.hosts[h].*series;
    visit_within(row.of_host[h], points.at_ns, [&](std::size_t i) { tally.add(points.value[i]); });
  }
  return tally.figure();
}

// What the counters grew by in the stretches whose middle lies in the row, over their length.
UseFigure cores_of(const MeteredRow& row, const Readings& readings) {
  UseTally tally;
  for (std::size_t h = 0; h < readings.hosts.size(); ++h) {
    const CpuRates& cpu = readings.hosts[h].cpu;
    visit_within(row.of_host[h], cpu.middle.at_ns, [&](std::size_t i) {
      tally.add(cpu.middle.value[i], static_cast<double>(cpu.length_ns[i]));
    });
  }
  return tally.figure();
}

std::int64_t energy_period(const Readings& readings) {
  std::int64_t period = 0;
  for (const HostSeries& host : readings.hosts) {
    for (const EnergyCurve* curve : host.energies) period = std::max(period, curve->period_ns());
  }
  return period;
}

// Why figures of this row are absent: sensors that there are not, and too few readings.
std::string reason_for(const StageUse& use, const Readings& readings) {
  std::string few;
  const auto note = [&](const UseFigure& figure, const char* what) {
    if (figure.samples >= kMinSamples) return;
    few += fmt::format("{}{} {}", few.empty() ? "" : ", ", figure.samples, what);
  };
  std::string reason;
  const auto say = [&](const std::string& text) { reason += (reason.empty() ? "" : "; ") + text; };
  if (readings.trees.empty()) {
    say("no probe watched the process");
  } else {
    note(use.cpu_cores, "of CPU");
    note(use.rss_bytes, "of memory");
  }
  if (readings.gpus.empty()) {
    say("no GPU was seen");
  } else {
    note(use.gpu_busy_ratio, "of GPU busy");
    note(use.gpu_memory_bytes, "of GPU memory");
    note(use.gpu_power_watts, "of GPU power");
  }
  if (!few.empty()) say("insufficient samples: " + few);
  if (!use.energy_joules) {
    const bool none = std::all_of(readings.hosts.begin(), readings.hosts.end(),
                                  [](const HostSeries& host) { return host.energies.empty(); });
    say(none ? "no energy readings" : "too short for the energy readings' rate");
  }
  return reason;
}

StageUse use_of(const MeteredRow& row, const Readings& readings, std::int64_t period_ns) {
  StageUse use;
  use.name = row.name;
  use.kind = row.kind;
  use.folded = row.folded;
  use.cpu_cores = cores_of(row, readings);
  use.rss_bytes = figure_of(row, readings, &HostSeries::rss_bytes);
  use.gpu_busy_ratio = figure_of(row, readings, &HostSeries::gpu_busy);
  use.gpu_memory_bytes = figure_of(row, readings, &HostSeries::gpu_memory);
  use.gpu_power_watts = figure_of(row, readings, &HostSeries::gpu_power);
  if (row.total_ns() >= kMinPeriods * period_ns) {
    EnergyOver energy;
    for (std::size_t h = 0; h < readings.hosts.size(); ++h) {
      energy.add(energy_over(readings.hosts[h], row.of_host[h]));
    }
    use.energy_joules = energy.joules;
    use.energy_covered = energy.covered();
  }
  use.reason = reason_for(use, readings);
  return use;
}

}  // namespace

void EnergyOver::add(const EnergyOver& other) noexcept {
  if (other.joules) joules = joules.value_or(0) + *other.joules;
  covered_seconds += other.covered_seconds;
  wanted_seconds += other.wanted_seconds;
}

EnergyOver energy_over(const HostSeries& host, const Stretches& stretches) {
  EnergyOver all;
  for (const EnergyCurve* curve : host.energies) {
    const Energy energy = curve->over(stretches);
    all.add(
        {energy.joules, energy.covered_seconds, energy.covered_seconds + energy.uncovered_seconds});
  }
  return all;
}

std::vector<StageUse> use_of_stages(const MeteredRows& rows, const Readings& readings,
                                    const std::vector<StageRow>& stages) {
  std::map<std::tuple<std::string_view, SpanKind, bool>, const MeteredRow*> of_key;
  for (const MeteredRow& row : rows.rows) {
    if (&row != rows.steps) of_key[{row.name, row.kind, row.folded > 0}] = &row;
  }
  const std::int64_t period = energy_period(readings);
  std::vector<StageUse> uses;
  for (const StageRow& stage : stages) {
    const auto found = of_key.find({stage.name, stage.kind, stage.folded > 0});
    if (found != of_key.end()) uses.push_back(use_of(*found->second, readings, period));
  }
  if (rows.steps != nullptr && rows.steps->total_ns() > 0) {
    uses.push_back(use_of(*rows.steps, readings, period));
  }
  return uses;
}

}  // namespace genscope::analysis
