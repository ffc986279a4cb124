#include "analyze/stages.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

namespace genscope::analysis {
namespace {

std::vector<std::optional<std::int64_t>> device_time(const Run& run, const RowTable& rows) {
  std::vector<std::optional<std::int64_t>> sums(rows.size());
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    const Trace& trace = run.traces[t];
    for (std::size_t d = 0; d < trace.device.size(); ++d) {
      const std::uint32_t span = trace.device.span[d];
      if (span >= trace.spans.size()) continue;
      std::optional<std::int64_t>& sum = sums[rows.rows_of(t)[trace.spans.name[span]]];
      sum = add(sum.value_or(0), std::max<std::int64_t>(trace.device.duration_ns[d], 0));
    }
  }
  return sums;
}

StageRow make_row(const RowTable::Key& key, const RowSums& sums, DurationSet durations,
                  std::int64_t wall_ns) {
  StageRow row;
  row.name = key.name;
  row.kind = key.kind;
  row.count = sums.count;
  row.total_ns = sums.total_ns;
  row.self_ns = std::max<std::int64_t>(sums.self_ns, 0);
  row.failed = sums.failed;
  row.unfinished = sums.unfinished;
  if (wall_ns > 0) row.share = static_cast<double>(sums.total_ns) / static_cast<double>(wall_ns);
  if (sums.count == 0) return row;
  row.min_ns = sums.min_ns;
  row.max_ns = sums.max_ns;
  row.mean_ns = static_cast<double>(sums.sum_ns) / static_cast<double>(sums.count);
  row.p50_ns = durations.percentile(50);
  row.p95_ns = durations.percentile(95);
  row.p99_ns = durations.percentile(99);
  return row;
}

}  // namespace

std::vector<RowSums> sum_rows(const Run& run, const RowTable& rows) {
  std::vector<RowSums> sums(rows.size());
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    add_spans(run.traces[t], rows.rows_of(t), sums);
  }
  return sums;
}

std::vector<StageRow> stage_table(const Run& run, const RowTable& rows,
                                  const std::vector<RowSums>& sums, const Durations& durations,
                                  std::int64_t wall_ns) {
  const std::vector<std::optional<std::int64_t>> device = device_time(run, rows);
  std::vector<StageRow> table;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (sums[row].count + sums[row].unfinished == 0) continue;
    table.push_back(make_row(rows.key(row), sums[row], durations.of(row), wall_ns));
    table.back().device_ns = device[row];
  }
  const auto place = [](const StageRow& row) {
    return std::tuple(row.kind == SpanKind::none, row.kind, -row.total_ns,
                      std::string_view(row.name));
  };
  std::sort(table.begin(), table.end(),
            [&](const StageRow& a, const StageRow& b) { return place(a) < place(b); });
  return table;
}

}  // namespace genscope::analysis
