// What the parts of top's screen share: labelled lines, and values that say why they are missing.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cli/top/frame.h"
#include "watch/cells.h"

namespace genscope::cli::top {

inline constexpr std::size_t kLabel = 8;   // columns of the label and the blanks after it
inline constexpr std::size_t kBar = 12;    // of a bar, brackets included
inline constexpr std::size_t kTrail = 16;  // of a sparkline

// A line that begins with a label.
watch::Line labelled(const watch::Look& look, std::string_view label);

// "n/a (why)": of a series, or of one that is not there.
std::string unknown_text(const Reading* reading);

// "busy 85%", or "busy n/a (not supported)".
std::string value_text(std::string_view word, const Reading* reading,
                       const std::function<std::string(double)>& text);

// The reading of that entity's metric, or of its rate per second; null if there is no such series.
const Reading* reading_of(const Snapshot& snapshot, std::uint32_t entity, std::string_view metric);
const Reading* rate_reading_of(const Snapshot& snapshot, std::uint32_t entity,
                               std::string_view metric);

// The colour for a level: full is bad.
watch::Style by_level(std::optional<double> ratio);

// Appends bar, percentage or amount, and sparkline of a level.
void add_bar(watch::Line& line, const watch::Look& look, std::optional<double> ratio);
void add_trail(watch::Line& line, const watch::Look& look, const Frame& frame, std::uint32_t entity,
               std::string_view metric);

}  // namespace genscope::cli::top
