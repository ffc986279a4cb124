// Figures as people read them in the live block and the summary, and readings as figures.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <genscope/probe.h>

#include "base/figures.h"
#include "trace/metrics.h"

namespace genscope::watch {

inline constexpr const char* kUnknown = "n/a";

// The value if it is one; nothing for every status but ok.
std::optional<double> known(const Reading& reading);
// Of the series of that entity and metric: its reading, or its rate per second.
std::optional<double> value_of(const Snapshot& snapshot, std::uint32_t entity,
                               std::string_view metric);
std::optional<double> rate_of(const Snapshot& snapshot, std::uint32_t entity,
                              std::string_view metric);
// The first entity of that kind, if there is one.
std::optional<std::uint32_t> first_of(const Snapshot& snapshot, EntityKind kind);

using base::clock_time;
using base::figure;
using trace::throttle_words;
// As base/figures.h has them; nothing is "n/a".
std::string bytes_text(std::optional<double> bytes);
// Both in the unit of the second: "1.20/80.0 GiB"; what is not known is "n/a".
std::string bytes_of_text(std::optional<double> part, std::optional<double> whole);
std::string percent_text(std::optional<double> ratio);
// "850 ms", "1.23 s", "12:34", "1:02:03".
std::string seconds_text(double seconds);
std::string watts_text(std::optional<double> watts);

}  // namespace genscope::watch
