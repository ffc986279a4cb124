// Figures as people read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace genscope::report {

// Three significant digits and the unit that fits: "0 ns", "12.3 us", "1.00 ms", "98.7 s". From
// 1000 s on, whole seconds with separators. `tight` leaves out the space, for tables.
std::string duration(double ns, bool tight = false);
inline std::string duration(std::int64_t ns, bool tight = false) {
  return duration(static_cast<double>(ns), tight);
}

// Three significant digits: "312 W".
std::string watts(double value);

// "1,234,567".
std::string count(std::uint64_t n);

// "1 span", "2 spans", "1,000 spans".
std::string counted(std::uint64_t n, const char* singular, const char* plural);

// "512 B", "1.50 KiB", "12.3 GiB".
std::string bytes(std::uint64_t n);

// Three significant digits at most, two decimals at most: "100%", "45.2%", "4.52%", "0.05%".
std::string percent(double ratio);

// "0.25 J", "3000 J"; from an hour of a watt on in watt-hours: "1.5 Wh".
std::string energy(double joules);

// How many columns a text may use: what was asked for, at least 40.
std::size_t text_width(int asked) noexcept;

// A measured value of unknown unit, up to 6 significant digits: "0.125", "1e+20", "nan".
std::string number(double value);

// "2023-11-14 22:13:20 UTC".
std::string utc_time(std::int64_t unix_ns);

// RFC 3339 with nanoseconds: "2023-11-14T22:13:20.123456789Z".
std::string rfc3339(std::int64_t unix_ns);

}  // namespace genscope::report
