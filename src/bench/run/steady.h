// When a unit is warm, and when it has been asked often enough.
#pragma once

#include <cstddef>
#include <span>

namespace genscope::bench {

// Faster than the iteration before by more than 3 %: the next one may be faster still.
bool still_warming(double before_s, double now_s) noexcept;
// At least `least` iterations, and their median is known to 2 %.
bool enough_iterations(std::span<const double> times, std::size_t least);

}  // namespace genscope::bench
