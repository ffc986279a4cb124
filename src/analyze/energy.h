// Energy from a counter, or from power integrated over time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <genscope/analyze.h>

#include "analyze/time.h"

namespace genscope::analysis {

// Two readings are apart when more than this many usual distances lie between them.
inline constexpr double kGapFactor = 2.5;

// The median distance of two readings that follow one another; 0 for fewer than two.
std::int64_t usual_distance(const std::vector<std::int64_t>& at_ns);

// Good readings of one series, in the order of time.
struct Points {
  std::vector<std::int64_t> at_ns;
  std::vector<double> value;
};

// Energy as a function of time: how much was used up to an instant, and how much of the time before
// it is covered. Both only grow; between two points both grow evenly.
class EnergyCurve {
 public:
  // From a counter in joules. A step down is a reset: that interval is not covered.
  static EnergyCurve from_counter(const Points& joules);
  // From power in watts, by trapezoids. Intervals longer than 2.5 times the usual are gaps.
  static EnergyCurve from_power(const Points& watts);

  // Between two instants, on the scale of the points.
  Energy between(std::int64_t begin_ns, std::int64_t end_ns) const;
  // The same over stretches that are apart and in the order of time: linear in them, and in the
  // logarithm of the points between two.
  Energy over(std::span<const Interval> stretches) const;
  bool empty() const noexcept { return at_ns_.size() < 2; }
  std::uint64_t resets() const noexcept { return resets_; }
  // The typical distance of two points, in nanoseconds.
  std::int64_t period_ns() const noexcept { return period_ns_; }
  // For how long the curve stood still at the most, in seconds.
  double longest_standstill() const noexcept;

 private:
  struct At {
    double joules, seconds;
  };
  At at(std::int64_t ns) const noexcept;
  At at_place(std::size_t after, std::int64_t ns) const noexcept;
  void step(std::int64_t to_ns, double joules, bool covered);

  std::vector<std::int64_t> at_ns_;
  std::vector<double> joules_;
  std::vector<double> covered_;  // seconds
  std::uint64_t resets_ = 0;
  std::int64_t period_ns_ = 0;
  EnergyMethod method_ = EnergyMethod::none;
};

// The better of the two by the policy of docs/metrics.md: the counter, unless it stands still while
// power is drawn; doubts go into the note.
struct DeviceEnergy {
  EnergyCurve curve;
  std::string note;
};
DeviceEnergy choose_energy(const Points& joules, const Points& watts);

}  // namespace genscope::analysis
