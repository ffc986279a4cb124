#include "watch/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

namespace genscope::watch {
namespace {

struct Scaled {
  double divisor;
  const char* unit;
};

Scaled byte_unit(double bytes) {
  constexpr std::array<const char*, 6> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double divisor = 1;
  std::size_t i = 0;
  // 999.5 would be shown as 1000: the next unit has it as 0.98.
  while (i + 1 < kUnits.size() && bytes / divisor >= 999.5) {
    divisor *= 1024;
    ++i;
  }
  return {divisor, kUnits[i]};
}

std::string in_unit(double bytes, const Scaled& scale) {
  return scale.divisor == 1 ? fmt::format("{:.0f}", bytes) : figure(bytes / scale.divisor);
}

}  // namespace

std::optional<double> known(const Reading& reading) {
  if (reading.status != SampleStatus::ok || !std::isfinite(reading.value)) return std::nullopt;
  return reading.value;
}

std::optional<double> value_of(const Snapshot& snapshot, std::uint32_t entity,
                               std::string_view metric) {
  const Snapshot::Series* series = snapshot.find(entity, metric);
  return series == nullptr ? std::nullopt : known(series->reading);
}

std::optional<double> rate_of(const Snapshot& snapshot, std::uint32_t entity,
                              std::string_view metric) {
  const Snapshot::Series* series = snapshot.find(entity, metric);
  return series == nullptr ? std::nullopt : known(series->rate);
}

std::optional<std::uint32_t> first_of(const Snapshot& snapshot, EntityKind kind) {
  for (std::uint32_t i = 0; i < snapshot.entities.size(); ++i) {
    if (snapshot.entities[i].kind == kind) return i;
  }
  return std::nullopt;
}

std::string figure(double value) {
  const double size = std::abs(value);
  if (size < 5e-7) return "0";
  if (size >= 99.95) return fmt::format("{:.0f}", value);
  if (size >= 9.995) return fmt::format("{:.1f}", value);
  if (size >= 0.9995) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3g}", value);
}

std::string bytes_text(std::optional<double> bytes) {
  if (!bytes) return kUnknown;
  const Scaled scale = byte_unit(*bytes);
  return fmt::format("{} {}", in_unit(*bytes, scale), scale.unit);
}

std::string bytes_of_text(std::optional<double> part, std::optional<double> whole) {
  if (!whole) return bytes_text(part);
  const Scaled scale = byte_unit(*whole);
  return fmt::format("{}/{} {}", part ? in_unit(*part, scale) : kUnknown, in_unit(*whole, scale),
                     scale.unit);
}

std::string percent_text(std::optional<double> ratio) {
  if (!ratio) return kUnknown;
  const double percent = *ratio * 100;
  if (percent > 0 && percent < 9.95) return fmt::format("{:.1f}%", percent);
  return fmt::format("{:.0f}%", percent);
}

std::string seconds_text(double seconds) {
  if (seconds < 0.0009995) return fmt::format("{} us", figure(seconds * 1e6));
  if (seconds < 0.9995) return fmt::format("{} ms", figure(seconds * 1e3));
  if (seconds < 119.95) return fmt::format("{} s", figure(seconds));
  return clock_text(seconds);
}

std::string clock_text(double seconds) {
  constexpr double kLongest = 1e9;
  const auto whole = static_cast<std::int64_t>(std::clamp(seconds, 0.0, kLongest));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string watts_text(std::optional<double> watts) {
  return watts ? fmt::format("{} W", figure(*watts)) : kUnknown;
}

std::string joules_text(double joules) {
  constexpr double kWattHour = 3600;
  std::string text = joules < 999.5 ? fmt::format("{} J", figure(joules))
                     : joules < 1e6 ? fmt::format("{} kJ", figure(joules / 1e3))
                                    : fmt::format("{} MJ", figure(joules / 1e6));
  if (joules < kWattHour) return text;
  return joules < 1000 * kWattHour
             ? fmt::format("{} ({} Wh)", text, figure(joules / kWattHour))
             : fmt::format("{} ({} kWh)", text, figure(joules / kWattHour / 1e3));
}

std::string throttle_words(double bits) {
  // Numbers as in docs/metrics.md; idle, application clocks, sync boost and display are no faults.
  constexpr std::array<std::pair<std::uint64_t, const char*>, 7> kWords = {{{0x4, "power cap"},
                                                                            {0x8, "slowdown"},
                                                                            {0x20, "hot"},
                                                                            {0x40, "too hot"},
                                                                            {0x80, "power brake"},
                                                                            {0x200, "current"},
                                                                            {0x400, "throttled"}}};
  if (!(bits >= 1 && bits <= 9007199254740992.0)) return "";
  const auto set = static_cast<std::uint64_t>(bits);
  std::string words;
  for (const auto& [bit, word] : kWords) {
    if ((set & bit) == 0) continue;
    if (!words.empty()) words += ", ";
    words += word;
  }
  return words;
}

}  // namespace genscope::watch
