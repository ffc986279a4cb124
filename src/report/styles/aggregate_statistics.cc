#include "report/styles/aggregate_statistics.h"

#include <fmt/format.h>

#include "report/styles/layout.h"

namespace genscope::report {

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

}  // namespace genscope::report
