// Figures as people read them in the live block and the summary, and readings as figures.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <genscope/probe.h>

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

// Three significant digits: "0", "0.0123", "1.50", "98.7", "1234".
std::string figure(double value);
// "512 B", "1.50 KiB", "12.3 GiB"; nothing is "n/a".
std::string bytes_text(std::optional<double> bytes);
// Both in the unit of the second: "1.20/80.0 GiB"; what is not known is "n/a".
std::string bytes_of_text(std::optional<double> part, std::optional<double> whole);
// "45%"; below 10 % with one digit more: "4.5%".
std::string percent_text(std::optional<double> ratio);
// "850 ms", "1.23 s", "12:34", "1:02:03".
std::string seconds_text(double seconds);
// "0:07", "12:34", "1:02:03": for what ticks.
std::string clock_text(double seconds);
std::string watts_text(std::optional<double> watts);
// "950 J", "1.23 kJ", and from a Wh on that too: "5.40 kJ (1.50 Wh)".
std::string joules_text(double joules);

// The words for throttle_reasons that hold a device down against its will, or "" if none does.
std::string throttle_words(double bits);

}  // namespace genscope::watch
