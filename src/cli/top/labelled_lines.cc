#include "cli/top/labelled_lines.h"

#include <fmt/format.h>

#include "watch/figures.h"
#include "watch/gpu_lines.h"

namespace genscope::cli::top {

using watch::Line;
using watch::Look;
using watch::Style;

Line labelled(const Look& look, std::string_view label) {
  Line line(look);
  line.add(label, Style::dim).to_column(kLabel);
  return line;
}

std::string unknown_text(const Reading* reading) {
  constexpr std::size_t kReason = 40;
  const std::string reason = reading == nullptr ? "not read" : why(*reading);
  return fmt::format("{} ({})", watch::kUnknown, watch::cut(watch::clean(reason), kReason));
}

std::string value_text(std::string_view word, const Reading* reading,
                       const std::function<std::string(double)>& text) {
  const std::optional<double> value = reading == nullptr ? std::nullopt : watch::known(*reading);
  return fmt::format("{}{}{}", word, word.empty() ? "" : " ",
                     value ? text(*value) : unknown_text(reading));
}

const Reading* reading_of(const Snapshot& snapshot, std::uint32_t entity, std::string_view metric) {
  const Snapshot::Series* series = snapshot.find(entity, metric);
  return series == nullptr ? nullptr : &series->reading;
}

const Reading* rate_reading_of(const Snapshot& snapshot, std::uint32_t entity,
                               std::string_view metric) {
  const Snapshot::Series* series = snapshot.find(entity, metric);
  if (series == nullptr) return nullptr;
  // A counter that cannot be read says more than its rate that is therefore pending.
  return watch::known(series->reading) ? &series->rate : &series->reading;
}

Style by_level(std::optional<double> ratio) {
  if (!ratio) return Style::dim;
  return *ratio > 0.95 ? Style::bad : *ratio > 0.8 ? Style::warn : Style::good;
}

void add_bar(Line& line, const Look& look, std::optional<double> ratio) {
  if (ratio) line.add_whole(watch::bar_text(*ratio, kBar, look.unicode), by_level(ratio));
}

void add_trail(Line& line, const Look& look, const Frame& frame, std::uint32_t entity,
               std::string_view metric) {
  const auto trail = frame.trails.find(frame.snapshot.entities[entity].id + std::string(metric));
  if (trail == frame.trails.end() || trail->second.size() < 2) return;
  line.add_whole(trail->second.draw(kTrail, 1, look.unicode), Style::good);
}

}  // namespace genscope::cli::top
