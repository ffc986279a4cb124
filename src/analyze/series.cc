#include "analyze/series.h"

#include <algorithm>

#include "trace/metrics.h"

namespace genscope {

AllocatorParts take_apart(const AllocatorRow& row, std::optional<double> driver_bytes) noexcept {
  // A difference of two that were read at one moment; a negative one cannot be true.
  const auto less = [](const std::optional<double>& a,
                       const std::optional<double>& b) -> std::optional<double> {
    if (!a || !b || *a < *b) return std::nullopt;
    return *a - *b;
  };
  AllocatorParts parts;
  parts.cache_slack_bytes = less(row.reserved_bytes, row.allocated_bytes);
  parts.rounding_bytes = less(row.allocated_bytes, row.requested_bytes);
  parts.pending_free_bytes = less(row.active_bytes, row.allocated_bytes);
  parts.pinned_bytes = row.inactive_split_bytes;
  parts.releasable_bytes = less(less(row.reserved_bytes, row.active_bytes), parts.pinned_bytes);
  parts.outside_bytes = less(driver_bytes, row.reserved_bytes);
  return parts;
}

namespace analysis {

void SeriesTally::see(std::int64_t at_ns) noexcept {
  if (seen_++ == 0) seen_first_ns_ = at_ns;
  seen_last_ns_ = std::max(seen_last_ns_, at_ns);
}

// 2.5 times the mean distance: beyond it a reading stands for nothing.
std::int64_t SeriesTally::gap_ns() const noexcept {
  if (seen_ < 2) return 0;
  return (seen_last_ns_ - seen_first_ns_) / static_cast<std::int64_t>(seen_ - 1) * 5 / 2;
}

void SeriesTally::add(const Metric& metric, std::int64_t at_ns, double value) {
  if (row_.count == 0) {
    row_.first = row_.min = row_.max = value;
  } else {
    const std::int64_t distance = at_ns - last_ns_;
    if (distance > 0 && distance <= gap_ns()) {
      const double seconds = static_cast<double>(distance) * 1e-9;
      row_.covered_seconds += seconds;
      weighted_ += value * seconds;
      if (metric.kind == MetricKind::bits && value >= 0 && value < 9e15 &&
          (static_cast<std::uint64_t>(value) & trace::kThrottleFaults) != 0) {
        row_.flagged_seconds += seconds;
      }
    }
    if (metric.kind == MetricKind::counter) {
      if (value >= row_.last) {
        row_.growth += value - row_.last;
      } else {
        row_.resets++;
      }
    }
  }
  row_.min = std::min(row_.min, value);
  row_.max = std::max(row_.max, value);
  row_.last = value;
  if (metric.kind == MetricKind::bits && value >= 0 && value < 9e15) {
    row_.bits |= static_cast<std::uint64_t>(value);
  }
  row_.count++;
  if (row_.count == 1) first_ns_ = at_ns;
  row_.span_seconds = static_cast<double>(at_ns - first_ns_) * 1e-9;
  sum_ += value;
  last_ns_ = at_ns;
  if (metric.id == "energy_joules" || metric.id == "power_watts") {
    points_.at_ns.push_back(at_ns);
    points_.value.push_back(value);
  }
}

SeriesRow SeriesTally::row(std::shared_ptr<const Metric> metric) const {
  SeriesRow row = row_;
  row.metric = std::move(metric);
  if (row.covered_seconds > 0) {
    row.mean = weighted_ / row.covered_seconds;
  } else if (row.count > 0) {
    row.mean = sum_ / static_cast<double>(row.count);
  }
  return row;
}

void AllocatorTally::add(const std::string& device, std::string_view metric, double value) {
  Device& row = devices_[device];
  if (metric == "allocator_reserved_bytes") {
    row.now.reserved_bytes = value;
    row.peaking = !row.peak.reserved_bytes || value > *row.peak.reserved_bytes;
    if (row.peaking) row.peak = row.now;
    return;
  }
  const auto set = [&](std::optional<double> AllocatorRow::*field, bool ends_peak) {
    row.now.*field = value;
    if (ends_peak) row.peaking = false;
    if (row.peaking) row.peak.*field = value;
  };
  if (metric == "allocator_requested_bytes") set(&AllocatorRow::requested_bytes, true);
  if (metric == "allocator_allocated_bytes") set(&AllocatorRow::allocated_bytes, true);
  if (metric == "allocator_active_bytes") set(&AllocatorRow::active_bytes, true);
  if (metric == "allocator_inactive_split_bytes") set(&AllocatorRow::inactive_split_bytes, false);
  if (metric == "allocator_retries") row.now.retries = value;
  if (metric == "allocator_ooms") row.now.ooms = value;
}

void AllocatorTally::finish(Telemetry& telemetry) const {
  std::vector<const EntityRow*> gpus;
  for (const EntityRow& row : telemetry.entities) {
    if (row.entity.kind == EntityKind::gpu) gpus.push_back(&row);
  }
  for (const auto& [device, figures] : devices_) {
    AllocatorRow row = figures.peak.reserved_bytes ? figures.peak : figures.now;
    row.device = device;
    row.retries = figures.now.retries;
    row.ooms = figures.now.ooms;
    std::optional<double> driver;
    for (const EntityRow* gpu : gpus) {
      const bool same = gpu->entity.id == device || gpus.size() == 1;
      if (same) driver = gpu->value("tree_memory_bytes", &SeriesRow::max);
    }
    row.parts = take_apart(row, driver);
    telemetry.allocators.push_back(std::move(row));
  }
}

}  // namespace analysis
}  // namespace genscope
