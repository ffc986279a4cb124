// All pairs: few cells such that every two values of two axes that occur together in some cell do
// so in a chosen one. Most faults come from one setting or from two that meet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <genscope/bench.h>

namespace genscope::bench {

// Places in `rows`, in the order chosen. All rows have the same names in the same order.
std::vector<std::size_t> pairwise(const std::vector<const Params*>& rows, std::uint64_t seed);

}  // namespace genscope::bench
