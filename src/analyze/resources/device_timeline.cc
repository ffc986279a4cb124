#include "analyze/resources/device_timeline.h"

#include <algorithm>

namespace genscope::analysis {

void TimelineSweep::gap(std::int64_t length, std::int64_t since,
                        std::optional<std::int64_t> launch_ns) {
  std::int64_t& sum = launch_ns && *launch_ns > since           ? sums_.idle_host_wait_ns
                      : length <= DeviceTimeline::kKernelWaitNs ? sums_.idle_kernel_wait_ns
                                                                : sums_.idle_other_ns;
  sum = analysis::add(sum, length);
}

void TimelineSweep::add(Interval here, Work work, std::optional<std::int64_t> launch_ns) {
  if (busy_.empty()) {
    busy_.push_back(here);
  } else if (here.begin > busy_.back().end) {
    gap(subtract(here.begin, busy_.back().end), busy_.back().end, launch_ns);
    busy_.push_back(here);
  } else {
    busy_.back().end = std::max(busy_.back().end, here.end);
  }
  const auto grow = [&](std::int64_t& sum, Coverage& coverage) {
    sum = analysis::add(sum, coverage.add(here));
  };
  grow(sums_.busy_ns, all_);
  if (work == Work::compute) grow(sums_.compute_ns, compute_);
  if (work == Work::communication) grow(sums_.communication_ns, communication_);
  if (is_copy(work)) grow(sums_.copy_ns, copies_);
  if (work != Work::compute) grow(moving_ns_, moving_);
  sums_.kernels += is_copy(work) ? 0 : 1;
  sums_.without_launch += launch_ns ? 0 : 1;
}

DeviceTimeline TimelineSweep::finish() const {
  DeviceTimeline timeline = sums_;
  if (!busy_.empty()) {
    timeline.begin_ns = busy_.front().begin;
    timeline.end_ns = busy_.back().end;
  }
  timeline.exposed_ns = timeline.busy_ns - timeline.compute_ns;
  timeline.overlap_ns = moving_ns_ - timeline.exposed_ns;
  return timeline;
}

std::optional<double> overlap_of(const std::vector<Stretches>& devices) {
  std::vector<std::pair<std::int64_t, int>> edges;
  for (const Stretches& stretches : devices) {
    for (const Interval& one : stretches) {
      edges.emplace_back(one.begin, 1);
      edges.emplace_back(one.end, -1);
    }
  }
  std::sort(edges.begin(), edges.end());
  std::int64_t any = 0, more = 0, since = 0;
  int open = 0;
  for (const auto& [at, change] : edges) {
    if (open >= 1) any = add(any, subtract(at, since));
    if (open >= 2) more = add(more, subtract(at, since));
    open += change;
    since = at;
  }
  if (any <= 0) return std::nullopt;
  return static_cast<double>(more) / static_cast<double>(any);
}

}  // namespace genscope::analysis
