// Order statistics of all pairwise differences of two samples, without listing them.
#pragma once

#include <cstdint>
#include <span>

namespace genscope::stats {

// The n * m values after[j] - before[i], each rounded to a double. Keeps views of both, which are
// sorted ascending, finite and not empty. A difference beyond the range of a double is infinite.
//
// Invariant: rounding keeps order, so the rounded differences rise with j and fall with i, and the
// pairs at or below a value form a staircase that one walk of n + m steps counts.
class Differences {
 public:
  Differences(std::span<const double> before, std::span<const double> after) noexcept
      : before_(before), after_(after) {}
  std::uint64_t size() const noexcept { return before_.size() * after_.size(); }
  std::uint64_t at_most(double value) const noexcept;  // how many are
  // The difference at `place` (from 1) of the sorted ones: at most 64 walks, since that many
  // halvings leave one double.
  double at(std::uint64_t place) const noexcept;
  double median() const noexcept;

 private:
  std::span<const double> before_, after_;
};

}  // namespace genscope::stats
