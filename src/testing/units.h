// Units that tests count in.
#pragma once

#include <cstdint>
#include <limits>

namespace genscope::testing {

inline constexpr std::int64_t kMs = 1'000'000;  // nanoseconds
inline constexpr std::int64_t kSecond = 1'000 * kMs;
inline constexpr double kGiB = 1024.0 * 1024 * 1024;
inline constexpr double kLargest = std::numeric_limits<double>::max();
inline constexpr double kTiniest = std::numeric_limits<double>::denorm_min();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace genscope::testing
