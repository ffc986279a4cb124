#include "report/format.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <ctime>
#include <string_view>

namespace genscope::report {
namespace {

// Three significant digits of a value in [0, 1000).
std::string three_digits(double value) {
  if (value < 9.995) return fmt::format("{:.2f}", value);
  if (value < 99.95) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

// Rounded to three digits it would read "1000".
bool fills_unit(double value) { return value >= 999.5; }

std::tm utc(std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  gmtime_r(&time, &parts);
  return parts;
}

// Floor division, so that times before 1970 keep a positive fraction.
std::int64_t whole_seconds(std::int64_t unix_ns) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  return unix_ns / kSecond - (unix_ns % kSecond < 0 ? 1 : 0);
}

}  // namespace

std::string duration(double ns, bool tight) {
  constexpr std::array<std::string_view, 4> kUnits = {"ns", "us", "ms", "s"};
  const std::string_view space = tight ? "" : " ";
  if (ns < 0) return "-" + duration(-ns, tight);
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

std::string count(std::uint64_t n) {
  std::string digits = fmt::format("{}", n);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string counted(std::uint64_t n, const char* singular, const char* plural) {
  return fmt::format("{} {}", count(n), n == 1 ? singular : plural);
}

std::string watts(double value) { return fmt::format("{:.3g} W", value); }

std::size_t text_width(int asked) noexcept {
  constexpr int kNarrowest = 40;
  return static_cast<std::size_t>(std::max(asked, kNarrowest));
}

std::string bytes(std::uint64_t n) {
  constexpr std::array<std::string_view, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (n < 1024) return fmt::format("{} B", n);
  double value = static_cast<double>(n) / 1024;
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && value >= 1000) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", three_digits(value), kUnits[unit]);
}

std::string percent(double ratio) {
  return fills_unit(ratio * 100) ? fmt::format("{:.0f}%", ratio * 100)
                                 : three_digits(ratio * 100) + "%";
}

std::string energy(double joules) {
  constexpr double kWattHour = 3600;
  if (joules >= kWattHour) return fmt::format("{:.3g} Wh", joules / kWattHour);
  return joules >= 1000 ? fmt::format("{:.0f} J", joules) : fmt::format("{:.3g} J", joules);
}

std::string number(double value) { return fmt::format("{:.6g}", value); }

std::string utc_time(std::int64_t unix_ns) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", utc(whole_seconds(unix_ns)));
}

std::string rfc3339(std::int64_t unix_ns) {
  const std::int64_t seconds = whole_seconds(unix_ns);
  const std::int64_t fraction = unix_ns % 1'000'000'000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:09}Z", utc(seconds),
                     fraction < 0 ? fraction + 1'000'000'000 : fraction);
}

}  // namespace genscope::report
