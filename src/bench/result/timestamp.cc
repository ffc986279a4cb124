#include "bench/result/timestamp.h"

#include <charconv>
#include <chrono>

#include "report/format.h"

namespace genscope::bench {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// Takes `count` digits from the front.
bool take_digits(std::string_view& text, std::size_t count, int& out) {
  if (text.size() < count || text[0] == '-') return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + count, out);
  if (error != std::errc() || end != text.data() + count) return false;
  text.remove_prefix(count);
  return true;
}

bool take_char(std::string_view& text, char c) {
  if (text.empty() || text[0] != c) return false;
  text.remove_prefix(1);
  return true;
}

// ".5" -> 500,000,000; digits after the ninth are dropped.
bool take_fraction(std::string_view& text, std::int64_t& ns) {
  if (!take_char(text, '.')) return true;
  std::int64_t unit = kSecond / 10;
  std::size_t n = 0;
  for (; n < text.size() && text[n] >= '0' && text[n] <= '9'; ++n, unit /= 10) {
    ns += (text[n] - '0') * unit;
  }
  text.remove_prefix(n);
  return n > 0;
}

// "Z" or "+02:00", in seconds.
bool take_offset(std::string_view& text, std::int64_t& seconds) {
  if (take_char(text, 'Z') || take_char(text, 'z')) return true;
  const bool minus = !text.empty() && text[0] == '-';
  if (!take_char(text, '+') && !take_char(text, '-')) return false;
  int hours = 0, minutes = 0;
  if (!take_digits(text, 2, hours) || !take_char(text, ':') || !take_digits(text, 2, minutes)) {
    return false;
  }
  seconds = (hours * 60 + minutes) * 60 * (minus ? -1 : 1);
  return hours < 24 && minutes < 60;
}

}  // namespace

std::string timestamp(std::int64_t unix_ns) { return report::rfc3339(unix_ns); }

std::string timestamp_now() {
  return timestamp(std::chrono::duration_cast<std::chrono::nanoseconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count());
}

std::optional<std::int64_t> parse_timestamp(std::string_view text) noexcept {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  std::int64_t fraction = 0, offset = 0;
  if (!take_digits(text, 4, year) || !take_char(text, '-') || !take_digits(text, 2, month) ||
      !take_char(text, '-') || !take_digits(text, 2, day)) {
    return std::nullopt;
  }
  if (!take_char(text, 'T') && !take_char(text, ' ')) return std::nullopt;
  if (!take_digits(text, 2, hour) || !take_char(text, ':') || !take_digits(text, 2, minute) ||
      !take_char(text, ':') || !take_digits(text, 2, second) || !take_fraction(text, fraction) ||
      !take_offset(text, offset) || !text.empty()) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  if (year < 1678 || year > 2261) return std::nullopt;  // what 64 bits of nanoseconds hold
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return (days * 86'400 + hour * 3'600 + minute * 60 + second - offset) * kSecond + fraction;
}

}  // namespace genscope::bench
