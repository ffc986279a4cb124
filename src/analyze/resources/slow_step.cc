// A counter is taken as growing evenly between two readings, so what it grew by within a step is
// known where readings are not much further apart than the step is long; else it is not said. What
// the step did is held against the rest of the run: a program that always waits for storage did
// nothing special then.
#include "analyze/resources/slow_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "analyze/resources/points_of.h"
#include "analyze/time.h"

namespace genscope::analysis {
namespace {

// The value of a counter at a time; nothing outside its readings.
std::optional<double> between_readings(const Points& points, std::int64_t at_ns) {
  const auto after = std::lower_bound(points.at_ns.begin(), points.at_ns.end(), at_ns);
  if (after == points.at_ns.end()) return std::nullopt;
  const auto i = static_cast<std::size_t>(after - points.at_ns.begin());
  if (points.at_ns[i] == at_ns) return points.value[i];
  if (i == 0) return std::nullopt;
  const auto length = static_cast<double>(subtract(points.at_ns[i], points.at_ns[i - 1]));
  const auto passed = static_cast<double>(subtract(at_ns, points.at_ns[i - 1]));
  return points.value[i - 1] + (points.value[i] - points.value[i - 1]) * passed / length;
}

double typical_distance(const Points& points) {
  const auto n = points.at_ns.size();
  return n < 2
             ? std::numeric_limits<double>::infinity()
             : seconds(subtract(points.at_ns[n - 1], points.at_ns[0])) / static_cast<double>(n - 1);
}

// Growth a second within the step, and in the rest of the readings.
struct Rates {
  double then = 0, usual = 0;
};

class Meanwhile {
 public:
  Meanwhile(const Run& run, const Clocks& clocks, const Analysis& analysis, Interval step)
      : run_(run), clocks_(clocks), telemetry_(analysis.telemetry), step_(step) {}

  std::string tell() const {
    const EntityRow* const tree = telemetry_.first(EntityKind::process_tree);
    if (tree == nullptr) return "no probe watched it";
    if (const auto held = rates(EntityKind::cgroup, "cpu_throttled_ns", 1e-9)) {
      if (held->then > 0.2 && held->then > 2 * held->usual)
        return fmt::format("the CPU quota held tasks back for {:.0f} % of it",
                           100 * std::min(1.0, held->then));
    }
    if (const std::string swapped = from_disk(); !swapped.empty()) return swapped;
    if (const auto waits = mean_state(*tree);
        waits && waits->then > 0.3 && waits->then > 2 * waits->usual)
      return fmt::format("its processes waited for storage for {:.0f} % of it", 100 * waits->then);
    const auto cpu = rates(EntityKind::process_tree, "cpu_ns", 1e-9);
    const auto ready = rates(EntityKind::process_tree, "cpu_wait_ns", 1e-9);
    if (ready && ready->then > 0.3 && ready->then > 2 * ready->usual)
      return fmt::format("threads that were ready had no CPU for {:.0f} % of it",
                         100 * std::min(1.0, ready->then));
    if (!cpu || cpu->usual <= 0) return "it is too short for the readings to tell";
    if (cpu->then < 0.5 * cpu->usual) {
      return fmt::format("its processes used {:.2f} CPUs instead of {:.2f}: it slept or waited",
                         cpu->then, cpu->usual);
    }
    return fmt::format(
        "its processes computed ({:.2f} CPUs, {:.2f} in the rest of the run): it had more to do, "
        "such as a "
        "collection, a compilation or a larger input",
        cpu->then, cpu->usual);
  }

 private:
  Points points(EntityKind kind, const char* metric) const {
    const EntityRow* const row = telemetry_.first(kind);
    return row == nullptr ? Points{} : points_of(run_, clocks_, row->entity.id, metric);
  }

  std::optional<Rates> rates(EntityKind kind, const char* metric, double scale) const {
    const Points all = points(kind, metric);
    const double length = seconds(step_.length());
    if (all.at_ns.size() < 3 || length <= 0 || typical_distance(all) > 2 * length) return {};
    const auto before = between_readings(all, step_.begin);
    const auto after = between_readings(all, step_.end);
    if (!before || !after) return {};
    const double whole = seconds(subtract(all.at_ns.back(), all.at_ns.front()));
    const double growth = *after - *before, rest = all.value.back() - all.value.front() - growth;
    if (whole <= length || growth < 0 || rest < 0) return {};
    return Rates{growth * scale / length, rest * scale / (whole - length)};
  }

  // The share of readings in the state of waiting for storage.
  std::optional<Rates> mean_state(const EntityRow& tree) const {
    const Points all = points_of(run_, clocks_, tree.entity.id, "storage_wait");
    const PointRange range = range_within(all, step_);
    constexpr std::size_t kFewest = 2;
    if (range.size() < kFewest || range.size() == all.value.size()) return {};
    double then = 0, sum = 0;
    for (std::size_t i = 0; i < all.value.size(); ++i) {
      sum += all.value[i];
      if (i >= range.first && i < range.last) then += all.value[i];
    }
    const auto n = static_cast<double>(range.size());
    return Rates{then / n, (sum - then) / (static_cast<double>(all.value.size()) - n)};
  }

  std::string from_disk() const {
    constexpr double kManyFaults = 100;
    const auto faults = rates(EntityKind::process_tree, "major_faults", 1);
    if (!faults || faults->then < kManyFaults || faults->then < 4 * faults->usual) return "";
    return fmt::format("{:.0f} pages a second came from the disk", faults->then);
  }

  const Run& run_;
  const Clocks& clocks_;
  const Telemetry& telemetry_;
  Interval step_;
};

}  // namespace

std::optional<SlowStep> slow_step(const Run& run, const Clocks& clocks, const StepSeries& series,
                                  const Analysis& analysis) {
  const auto median = static_cast<double>(analysis.steps.steady_p50_ns.value_or(0));
  if (analysis.steps.steady_count < StepSummary::kMinSteady || median <= 0) return std::nullopt;
  std::vector<std::size_t> first, last;  // per trace
  for (std::size_t i = 0; i < series.steps.size(); ++i) {
    const std::uint32_t trace = series.trace_of_loop[series.steps[i].loop];
    if (trace >= first.size()) {
      first.resize(trace + 1, series.steps.size());
      last.resize(trace + 1, 0);
    }
    first[trace] = std::min(first[trace], i);
    last[trace] = i;
  }
  const StepPoint* slowest = nullptr;
  SlowStep slow;
  for (std::size_t i = 0; i < series.steps.size(); ++i) {
    const StepPoint& step = series.steps[i];
    const std::uint32_t trace = series.trace_of_loop[step.loop];
    if (!step.steady() || i == first[trace] || i == last[trace]) continue;
    if (slowest != nullptr && step.duration_ns <= slowest->duration_ns) continue;
    slowest = &step;
    slow.index = i;
  }
  if (slowest == nullptr) return std::nullopt;
  slow.duration_ns = slowest->duration_ns;
  slow.ratio = static_cast<double>(slow.duration_ns) / median;
  if (slow.ratio <= StepSummary::kOutlierRatio) return std::nullopt;
  if (analysis.wall_ns > 0) {
    slow.share = std::min(1.0, (static_cast<double>(slow.duration_ns) - median) /
                                   static_cast<double>(analysis.wall_ns));
  }
  slow.meanwhile = Meanwhile(run, clocks, analysis, slowest->time()).tell();
  return slow;
}

}  // namespace genscope::analysis
