#include "watch/figures.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/figures.h"

namespace genscope::watch {
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

std::string bytes_text(std::optional<double> bytes) {
  return bytes ? base::bytes(static_cast<std::uint64_t>(std::max(*bytes, 0.0))) : kUnknown;
}

std::string bytes_of_text(std::optional<double> part, std::optional<double> whole) {
  if (!whole) return bytes_text(part);
  const auto all = static_cast<std::uint64_t>(std::max(*whole, 0.0));
  const auto some = static_cast<std::uint64_t>(std::max(part.value_or(0), 0.0));
  return part ? base::bytes_of(some, all) : std::string(kUnknown) + "/" + base::bytes(all);
}

std::string percent_text(std::optional<double> ratio) {
  return ratio ? base::short_percent(*ratio) : kUnknown;
}

std::string seconds_text(double seconds) {
  return seconds < 119.95 ? base::duration(seconds * 1e9) : base::clock_time(seconds);
}

std::string watts_text(std::optional<double> watts) {
  return watts ? base::watts(*watts) : kUnknown;
}

}  // namespace genscope::watch
