// The names of the text styles.
#include <array>
#include <string>
#include <vector>

#include <genscope/report.h>

#include "base/suggest.h"
#include "report/printable.h"

namespace genscope {
namespace {

constexpr std::array<std::string_view, kTextStyles> kNames = {
    "standard", "performance_summary", "aggregate_statistics", "batch_lines", "profiling_metrics"};

}  // namespace

std::string_view name(TextStyle style) noexcept {
  const auto index = static_cast<std::size_t>(style);
  return index < kNames.size() ? kNames[index] : kNames[0];
}

Result<TextStyle> text_style(std::string_view name) {
  std::vector<std::string> known;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<TextStyle>(i);
    known.emplace_back(kNames[i]);
  }
  const std::string_view word = name.substr(0, 64);
  std::string message = "no text style is called '" + report::printable(word) + "'";
  const std::string meant = base::nearest(word, known);
  if (!meant.empty()) message += "; did you mean '" + meant + "'?";
  message += "; there are:";
  for (const std::string& each : known) message += " " + each;
  return Error{ErrorCode::invalid_argument, message};
}

}  // namespace genscope
