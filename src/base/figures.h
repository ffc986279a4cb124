// Figures as people read them: one way to write a duration, bytes, a ratio, energy.
#pragma once

#include <cstdint>
#include <string>

namespace genscope::base {

// Three significant digits: "0", "0.0123", "1.50", "98.7", "1234".
std::string figure(double value);

// Three significant digits and the unit that fits: "0 ns", "12.3 us", "1.00 ms", "98.7 s". From
// 1000 s on, whole seconds with separators. `tight` leaves out the space, for tables.
std::string duration(double ns, bool tight = false);
inline std::string duration(std::int64_t ns, bool tight = false) {
  return duration(static_cast<double>(ns), tight);
}
// "0:07", "12:34", "1:02:03": for what ticks.
std::string clock_time(double seconds);

// "512 B", "1.50 KiB", "12.3 GiB".
std::string bytes(std::uint64_t n);
// Both in the unit of the second: "1.20/80.0 GiB".
std::string bytes_of(std::uint64_t part, std::uint64_t whole);

// Three significant digits at most, two decimals at most: "100%", "45.2%", "4.52%", "0.05%".
std::string percent(double ratio);
// The same in four columns, for what changes every second: "45%", "4.5%".
std::string short_percent(double ratio);

// Three significant digits: "312 W".
std::string watts(double value);
// "0.25 J", "3000 J"; from an hour of a watt on in watt-hours: "1.5 Wh".
std::string energy(double joules);

// "1,234,567".
std::string count(std::uint64_t n);
// "1 span", "2 spans", "1,000 spans".
std::string counted(std::uint64_t n, const char* singular, const char* plural);

}  // namespace genscope::base
