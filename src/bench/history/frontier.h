// The largest value of a parameter that still fits: doubling, then bisection. Running out of memory
// is a measurement here, not an error.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <genscope/bench.h>

namespace genscope::bench {

struct FrontierTry {
  std::int64_t value = 0;
  std::optional<Failure> failure;  // absent: it fits
  std::optional<double> peak, latency_s;
};

struct FrontierRange {
  std::int64_t low = 1, high = 64, step = 1;  // values are low, low + step, ...
};
// "1..64", "256..4096:64"; an error says what is wrong.
Result<FrontierRange> parse_range(std::string_view text);

struct Frontier {
  std::vector<FrontierTry> tries;            // as they were made
  std::optional<std::int64_t> largest;       // that fits, each time it was tried
  std::optional<std::int64_t> smallest_not;  // the next one, which does not
  std::optional<double> peak, limit;         // of `largest`; what it must stay below
  std::vector<std::string> violations;       // what a larger value should not do, in sentences
  bool cancelled = false;
};

// Calls `attempt` at most about 2 log2(values) + 3 times. The last two are the frontier's sides
// again: what fits once and fails once is told.
Frontier find_frontier(const FrontierRange& range,
                       const std::function<FrontierTry(std::int64_t)>& attempt);

// Whether it says that memory ran out.
bool is_out_of_memory(const Failure& failure) noexcept;

// What a peak of this metric has to stay below on this machine: the memory of its first GPU, of the
// machine, or of the container. Nothing where it is not known.
std::optional<double> memory_limit(std::string_view metric, const Environment& environment,
                                   const std::string& sys_root = "/sys");

// For `--json`.
std::string frontier_json(const Frontier& found, const std::string& parameter,
                          const std::string& metric, const Environment& environment);

}  // namespace genscope::bench
