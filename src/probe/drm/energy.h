// An energy counter that may stand still, fall back, or be all there is to know of the power.
#pragma once

#include <cstdint>

#include "genscope/probe.h"

namespace genscope::probe::drm {

class EnergyMeter {
 public:
  // `derived_power`: a series to be set from the counter's differences; kNoSeries: there is none.
  explicit EnergyMeter(std::uint32_t energy = kNoSeries,
                       std::uint32_t derived_power = kNoSeries) noexcept
      : energy_(energy), power_(derived_power) {}

  // A reading of the counter. `watts`: what a power sensor says, or negative if there is none. A
  // counter that has not moved for 3 s although power is drawn is stale: "stuck".
  void note(double joules, double watts, std::int64_t now_ns, Board& board) noexcept;
  // The device slept or was away: no difference across that.
  void forget() noexcept { has_last_ = false; }

 private:
  std::uint32_t energy_;
  std::uint32_t power_;
  bool has_last_ = false;
  double joules_ = 0;          // when it last moved ...
  std::int64_t moved_ns_ = 0;  // ... and that was then
};

}  // namespace genscope::probe::drm
