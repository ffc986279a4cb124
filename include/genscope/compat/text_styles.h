// Text reports of a run as other monitors' users know them, letter by letter: `genscope report
// --style NAME`. Of fixed width, without colour, and only what those monitors print.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <genscope/error.h>
#include <genscope/report.h>

namespace genscope {

enum class TextStyle : std::uint8_t {
  standard,              // ours: report_text()
  performance_summary,   // training monitors: operations with time, CPU and GPU memory
  aggregate_statistics,  // training monitors: repeated operations with count, total, mean, min, max
  batch_lines,           // training monitors: the first batches of each epoch, and its end
  profiling_metrics,     // Inferix: the last readings of GPUs and machine
};
inline constexpr std::size_t kTextStyles = 5;
std::string_view name(TextStyle style) noexcept;  // "standard", "performance_summary", ...
// The style of that name; invalid_argument with the nearest one if there is none.
Result<TextStyle> text_style(std::string_view name);

// report_text() in that style. `advice` and `options` are for `standard`.
void report_text(const Run& run, const Analysis& analysis, const Advice& advice, TextStyle style,
                 const TextOptions& options, const Sink& sink);

}  // namespace genscope
