// The text styles: their names, and which function writes which.
#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include <genscope/compat/text_styles.h>

#include "base/suggest.h"
#include "compat/styles/layout.h"
#include "compat/styles/live_lines.h"
#include "compat/styles/performance_summary.h"
#include "report/printable.h"

namespace genscope {
namespace compat::styles {
namespace {

// A row per name and kind that ran more than once, in the order of the analysis; sessions left out.
std::string aggregate_statistics(const Analysis& analysis) {
  std::string out = document_head(
      "AGGREGATE STATISTICS (for repeated operations)",
      "Operation                      Count    Total (s)    Mean (s)     Min (s)      Max (s)");
  for (const StageRow& row : analysis.stages) {
    if (row.count < 2 || row.kind == SpanKind::session) continue;
    out += fmt::format("{} {:<8} {:<12} {:<12.3f} {:<12.3f} {:.3f}\n", document_name(row.name),
                       row.count, fmt::format("{:>6.3f}", to_seconds(row.total_ns)),
                       to_seconds(row.mean_ns), to_seconds(row.min_ns), to_seconds(row.max_ns));
  }
  return out + std::string(kDocumentWidth, '=') + "\n";
}

}  // namespace
}  // namespace compat::styles

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

void report_text(const Run& run, const Analysis& analysis, const Advice& advice, TextStyle style,
                 const TextOptions& options, const Sink& sink) {
  switch (style) {
    case TextStyle::performance_summary:
      return sink(compat::styles::performance_summary(run, analysis));
    case TextStyle::aggregate_statistics:
      return sink(compat::styles::aggregate_statistics(analysis));
    case TextStyle::batch_lines:
      return sink(compat::styles::batch_lines(run, analysis));
    case TextStyle::profiling_metrics:
      return sink(compat::styles::profiling_metrics(run, analysis));
    case TextStyle::standard:
      break;
  }
  report_text(run, analysis, advice, options, sink);
}

}  // namespace genscope
