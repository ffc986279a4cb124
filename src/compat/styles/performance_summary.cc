#include "compat/styles/performance_summary.h"

#include <fmt/format.h>

#include <optional>

#include "analyze/operations.h"
#include "compat/styles/layout.h"

namespace genscope::compat::styles {
namespace {

std::optional<double> sampled_peak(const Analysis& analysis, const StageRow& stage) {
  for (const StageUse& use : analysis.resources.stages) {
    if (use.name == stage.name && use.kind == stage.kind) return use.gpu_memory_bytes.max;
  }
  return std::nullopt;
}

}  // namespace

std::string performance_summary(const Run& run, const Analysis& analysis) {
  const analysis::Operations operations = analysis::operations_of(run, analysis);
  std::string out =
      document_head("PERFORMANCE SUMMARY",
                    "Operation                      Time (s)     CPU (MB)        GPU (MB)        "
                    "GPU Peak");
  for (const analysis::Operation& row : operations.rows) {
    const auto peak = row.gpu_peak_bytes ? row.gpu_peak_bytes : sampled_peak(analysis, *row.stage);
    out += fmt::format("{} {:>10.3f}  {:>13}  {:>13}  {:>10}\n", document_name(row.stage->name),
                       to_seconds(row.stage->total_ns), signed_mb(row.cpu_delta_bytes),
                       signed_mb(row.gpu_delta_bytes), plain_mb(peak));
  }
  return out + fmt::format("{}\n{:<30} {:>10.3f}s\n{}\n", std::string(kDocumentWidth, '-'), "TOTAL",
                           to_seconds(operations.outermost_ns), std::string(kDocumentWidth, '='));
}

}  // namespace genscope::compat::styles
