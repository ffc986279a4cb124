// A row's sums come from the one pass over the spans (row_sums.h), its percentiles from all its
// durations (durations.h). What other clocks say of it, a device's or a log's, is counted apart,
// since genscope never adds times of two clocks.
#include "analyze/stages.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

namespace genscope::analysis {
namespace {

// What clocks other than the host's say of each row.
struct OtherClocks {
  std::optional<std::int64_t> device_ns;
  std::uint64_t device_spans = 0, log_spans = 0, imported_spans = 0;
};

bool is_key(const Trace& trace, std::size_t arg, std::string_view key) {
  return trace.span_args.type[arg] == ArgType::text &&
         trace.names[trace.span_args.key[arg]].text == key;
}

void count_log_spans(const Trace& trace, std::span<const std::uint32_t> row_of_name,
                     std::vector<OtherClocks>& clocks) {
  const bool any = std::any_of(trace.names.begin(), trace.names.end(),
                               [](const Name& name) { return name.text == "source"; });
  if (!any) return;
  for (std::size_t i = 0; i < trace.span_args.size(); ++i) {
    const std::uint32_t span = trace.span_args.owner[i];
    if (span >= trace.spans.size() || !is_key(trace, i, "source")) continue;
    if (trace.texts[trace.span_args.bits[i]] != "log") continue;
    ++clocks[row_of_name[trace.spans.name[span]]].log_spans;
  }
}

std::vector<OtherClocks> other_clocks(const Run& run, const RowTable& rows) {
  std::vector<OtherClocks> clocks(rows.size());
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    const Trace& trace = run.traces[t];
    for (std::size_t d = 0; d < trace.device.size(); ++d) {
      const std::uint32_t span = trace.device.span[d];
      if (span >= trace.spans.size()) continue;
      OtherClocks& row = clocks[rows.rows_of(t)[trace.spans.name[span]]];
      row.device_ns =
          add(row.device_ns.value_or(0), std::max<std::int64_t>(trace.device.duration_ns[d], 0));
      ++row.device_spans;
    }
    count_log_spans(trace, rows.rows_of(t), clocks);
    if (trace.process.clock != "imported") continue;
    for (const std::uint32_t name : trace.spans.name)
      ++clocks[rows.rows_of(t)[name]].imported_spans;
  }
  return clocks;
}

StageRow make_row(const RowTable::Key& key, const RowSums& sums, DurationSet durations,
                  std::int64_t wall_ns) {
  StageRow row;
  row.name = key.name;
  row.kind = key.kind;
  row.folded = key.folded;
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
  const std::vector<OtherClocks> clocks = other_clocks(run, rows);
  std::vector<StageRow> table;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (sums[row].count + sums[row].unfinished == 0) continue;
    table.push_back(make_row(rows.key(row), sums[row], durations.of(row), wall_ns));
    table.back().device_ns = clocks[row].device_ns;
    table.back().device_spans = clocks[row].device_spans;
    table.back().log_spans = clocks[row].log_spans;
    table.back().imported_spans = clocks[row].imported_spans;
  }
  const auto place = [](const StageRow& row) {
    return std::tuple(row.kind == SpanKind::none, row.kind, row.folded > 0, -row.total_ns,
                      std::string_view(row.name));
  };
  std::sort(table.begin(), table.end(),
            [&](const StageRow& a, const StageRow& b) { return place(a) < place(b); });
  return table;
}

}  // namespace genscope::analysis
