// measure() with a clock of the test's.
#pragma once

#include <functional>
#include <span>
#include <string>

#include <genscope/bench.h>

namespace genscope::bench {

struct MeasureClock {
  std::function<std::int64_t()> monotonic_ns, unix_ns;
};

Cell measure_by(const MeasureClock& clock, std::string id, const Params& params,
                std::span<const Side> sides, const MeasureOptions& options,
                const OnProgress& progress);

std::vector<Cell> measure_in_turns_by(const MeasureClock& clock, std::span<const Part> parts,
                                      const MeasureOptions& options, const OnProgress& progress);

}  // namespace genscope::bench
