#include "report/format.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

namespace genscope::report {
namespace {

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

std::size_t text_width(int asked) noexcept {
  constexpr int kNarrowest = 40;
  return static_cast<std::size_t>(std::max(asked, kNarrowest));
}

std::string cores(double value) {
  return value == std::floor(value) ? fmt::format("{:.0f}", value) : base::figure(value);
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
