// Fewer points of a series, without losing its peaks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <genscope/trace.h>

namespace genscope::report {

// Where the readings of each name are: rows of trace.counters, in their order.
std::vector<std::vector<std::uint32_t>> readings_by_name(const Trace& trace);

// At most `points` of `places`, which index `values`: the least and the greatest of each of
// points/2 stretches of equally many readings, in their order. All of them if they are few enough
// or `points` is 0; the greatest of all if `points` is 1.
std::vector<std::uint32_t> thinned(std::span<const std::uint32_t> places,
                                   std::span<const double> values, std::uint64_t points);

}  // namespace genscope::report
