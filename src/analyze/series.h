// Running figures of one series of samples, and of a framework's allocator.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <genscope/analyze.h>

#include "analyze/energy.h"

namespace genscope::analysis {

// Two passes: see() every reading, which tells how far apart they usually are, then add() them.
class SeriesTally {
 public:
  void see(std::int64_t at_ns) noexcept;
  void add(const Metric& metric, std::int64_t at_ns, double value);

  SeriesRow row(std::shared_ptr<const Metric> metric) const;
  std::int64_t last_ns() const noexcept { return seen_last_ns_; }
  // The readings, kept only of metrics that energy is told from.
  Points take_points() noexcept { return std::move(points_); }

 private:
  std::int64_t gap_ns() const noexcept;

  std::uint64_t seen_ = 0;
  std::int64_t seen_first_ns_ = 0, seen_last_ns_ = 0;
  SeriesRow row_;
  std::int64_t first_ns_ = 0, last_ns_ = 0;
  double weighted_ = 0;  // sum of value times seconds
  double sum_ = 0;
  Points points_;
};

// Keeps each device's figures at the moment of its highest reservation.
class AllocatorTally {
 public:
  void add(const std::string& device, std::string_view metric, double value);
  // Appends the rows, taken apart with what the GPUs of `telemetry` know.
  void finish(Telemetry& telemetry) const;

 private:
  struct Device {
    AllocatorRow now, peak;
    bool peaking = false;  // what follows in this report still belongs to the peak
  };
  std::map<std::string, Device, std::less<>> devices_;
};

}  // namespace genscope::analysis
