// The kernel tells how long threads ran and how long they were ready and had no CPU; both are sums
// over threads. A stretch between two readings cannot have more of either than its length, and what
// is left of it was spent waiting: for storage as often as the state of the main threads said so in
// that stretch. For one thread at a time that is exact but for the states, which are samples.
#include "analyze/resources/time_split.h"

#include <algorithm>

#include "analyze/resources/points_of.h"
#include "analyze/time.h"

namespace genscope::analysis {
namespace {

// The last reading at or before a time; the counters of a tick are read within a moment.
std::optional<double> value_at(const Points& points, std::int64_t at_ns) {
  const auto after = std::upper_bound(points.at_ns.begin(), points.at_ns.end(), at_ns);
  if (after == points.at_ns.begin()) return std::nullopt;
  return points.value[static_cast<std::size_t>(after - points.at_ns.begin()) - 1];
}

double mean_of(const Points& points, PointRange range) {
  double sum = 0;
  for (std::size_t i = range.first; i < range.last; ++i) sum += points.value[i];
  return sum / static_cast<double>(range.size());
}

std::string why_not_split(const EntityRow& tree) {
  const SeriesRow* const row = tree.find("cpu_wait_ns");
  if (row == nullptr) return "recorded without the time that threads waited for a CPU";
  return row->reason.empty() ? "fewer than two readings" : row->reason;
}

class Split {
 public:
  // What was used and waited for within a stretch, in seconds.
  void add(double length, double ran, double waited, std::optional<double> in_storage) {
    const double on = std::clamp(ran, 0.0, length);
    const double ready = std::clamp(waited, 0.0, length - on);
    const double rest = length - on - ready;
    const double stored = std::min(rest, in_storage.value_or(0) * length);
    know_storage_ = know_storage_ && in_storage.has_value();
    length_ += length;
    on_ += on;
    ready_ += ready;
    storage_ += stored;
    ran_ += ran;
    waited_ += waited;
  }

  void tell(TimeSplit& split) const {
    split.covered_seconds = length_;
    if (length_ <= 0) return;
    split.on_cpu_share = on_ / length_;
    split.ready_share = ready_ / length_;
    if (know_storage_) {
      split.storage_share = storage_ / length_;
      split.other_share = std::max(0.0, length_ - on_ - ready_ - storage_) / length_;
    } else {
      split.reason = "the states of the processes were not read";
    }
    if (ran_ + waited_ > 0) split.cpu_wait_share = waited_ / (ran_ + waited_);
  }

 private:
  double length_ = 0, on_ = 0, ready_ = 0, storage_ = 0, ran_ = 0, waited_ = 0;
  bool know_storage_ = true;
};

}  // namespace

TimeSplit time_split(const Run& run, const Clocks& clocks, const Telemetry& telemetry) {
  TimeSplit split;
  const EntityRow* const tree = telemetry.first(EntityKind::process_tree);
  if (tree == nullptr) {
    split.reason = "no probe watched the process: use `genscope run`";
    return split;
  }
  const Points cpu = points_of(run, clocks, tree->entity.id, "cpu_ns");
  const Points wait = points_of(run, clocks, tree->entity.id, "cpu_wait_ns");
  const Points storage = points_of(run, clocks, tree->entity.id, "storage_wait");
  if (wait.at_ns.size() < 2 || cpu.at_ns.empty()) {
    split.reason = why_not_split(*tree);
    return split;
  }
  // Where a stretch has no state (the last one, after the end), those of the whole run stand for
  // it.
  std::optional<double> usually;
  if (!storage.value.empty()) usually = mean_of(storage, {0, storage.value.size()});
  Split sum;
  for (std::size_t i = 1; i < wait.at_ns.size(); ++i) {
    const std::int64_t begin = wait.at_ns[i - 1], end = wait.at_ns[i];
    const std::optional<double> before = value_at(cpu, begin), after = value_at(cpu, end);
    const double waited = wait.value[i] - wait.value[i - 1];
    if (end <= begin || !before || !after || *after < *before || waited < 0) continue;
    const PointRange states = range_within(storage, {begin, end});
    const std::optional<double> in_storage =
        states.size() > 0 ? std::optional(mean_of(storage, states)) : usually;
    sum.add(seconds(subtract(end, begin)), (*after - *before) / 1e9, waited / 1e9, in_storage);
  }
  sum.tell(split);
  if (!split.on_cpu_share) split.reason = "fewer than two readings";
  return split;
}

}  // namespace genscope::analysis
