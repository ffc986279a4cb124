#include "base/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace genscope::base {
namespace {

// Three significant digits of a value in [0, 1000).
std::string three_digits(double value) {
  if (value < 9.995) return fmt::format("{:.2f}", value);
  if (value < 99.95) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

// Rounded to three digits it would read "1000".
bool fills_unit(double value) { return value >= 999.5; }

}  // namespace

std::string figure(double value) {
  const double size = std::abs(value);
  if (size < 5e-7) return "0";
  if (size >= 99.95) return fmt::format("{:.0f}", value);
  if (size >= 9.995) return fmt::format("{:.1f}", value);
  if (size >= 0.9995) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3g}", value);
}

std::string duration(double ns, bool tight) {
  constexpr std::array<std::string_view, 4> kUnits = {"ns", "us", "ms", "s"};
  const std::string_view space = tight ? "" : " ";
  if (ns < 0) return fmt::format("-{}", duration(-ns, tight));
  if (!std::isfinite(ns) || ns > 1e27) return fmt::format("{:.3g}{}s", ns / 1e9, space);
  if (!fills_unit(ns) && ns == std::floor(ns)) return fmt::format("{:.0f}{}ns", ns, space);
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && fills_unit(ns)) {
    ns /= 1000;
    ++unit;
  }
  const std::string digits =
      fills_unit(ns) ? count(static_cast<std::uint64_t>(ns + 0.5)) : three_digits(ns);
  return fmt::format("{}{}{}", digits, space, kUnits[unit]);
}

std::string clock_time(double seconds) {
  constexpr double kLongest = 1e9;
  const auto whole = static_cast<std::int64_t>(std::clamp(seconds, 0.0, kLongest));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

namespace {

struct ByteUnit {
  double divisor;
  std::string_view name;
};
ByteUnit byte_unit(std::uint64_t n) {
  constexpr std::array<std::string_view, 7> kUnits = {"B",   "KiB", "MiB", "GiB",
                                                      "TiB", "PiB", "EiB"};
  double divisor = 1;
  std::size_t i = 0;
  while (i + 1 < kUnits.size() &&
         (i == 0 ? n >= 1024 : fills_unit(static_cast<double>(n) / divisor))) {
    divisor *= 1024;
    ++i;
  }
  return {divisor, kUnits[i]};
}

std::string in_unit(std::uint64_t n, const ByteUnit& unit) {
  const double value = static_cast<double>(n) / unit.divisor;
  if (unit.divisor == 1) return fmt::format("{}", n);
  return fills_unit(value) ? fmt::format("{:.0f}", value) : three_digits(value);
}

}  // namespace

std::string bytes(std::uint64_t n) {
  const ByteUnit unit = byte_unit(n);
  return fmt::format("{} {}", in_unit(n, unit), unit.name);
}

std::string bytes_of(std::uint64_t part, std::uint64_t whole) {
  const ByteUnit unit = byte_unit(whole);
  return fmt::format("{}/{} {}", in_unit(part, unit), in_unit(whole, unit), unit.name);
}

std::string percent(double ratio) {
  return fills_unit(ratio * 100) ? fmt::format("{:.0f}%", ratio * 100)
                                 : three_digits(ratio * 100) + "%";
}

std::string short_percent(double ratio) {
  const double percent = ratio * 100;
  return fmt::format("{:.{}f}%", percent, percent > 0 && percent < 9.95 ? 1 : 0);
}

std::string watts(double value) { return fmt::format("{:.3g} W", value); }

std::string energy(double joules) {
  constexpr double kWattHour = 3600;
  if (joules >= kWattHour) return fmt::format("{:.3g} Wh", joules / kWattHour);
  return joules >= 1000 ? fmt::format("{:.0f} J", joules) : fmt::format("{:.3g} J", joules);
}

std::string count(std::uint64_t n) {
  std::string digits = fmt::format("{}", n);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string counted(std::uint64_t n, const char* singular, const char* plural) {
  return fmt::format("{} {}", count(n), n == 1 ? singular : plural);
}

}  // namespace genscope::base
