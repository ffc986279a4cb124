// CPU cores in use over time, from counters of CPU time.
#pragma once

#include <optional>
#include <vector>

#include "analyze/energy.h"

namespace genscope::analysis {

// Stretches between two readings and the cores that were in use, in the order of time.
struct CpuRates {
  Points middle;                        // of each stretch, and the cores
  std::vector<std::int64_t> length_ns;  // of each stretch
};

// Of one tree. `cpus`: how many the machine has; absent: not known.
//
// The time of a child that ended is added when its parent's counter is read the next time, so a
// counter may grow by a second's worth within a millisecond. What cannot have been used within a
// stretch was used before it: such a stretch is joined with those before until the cores in use are
// no more than there are. A stretch far shorter than usual is joined, too. So no rate is above
// `cpus`, and the sum of rate times length is the counter's growth wherever there was time enough.
// Steps down, and distances of over ten times the usual, give nothing.
CpuRates cpu_rates(const Points& counter, std::optional<double> cpus);

// Of several trees together: cut where any of them was read, and added up, at most `cpus`.
CpuRates sum_of(const std::vector<CpuRates>& trees, std::optional<double> cpus);

}  // namespace genscope::analysis
