#include "report/styles/performance_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "report/span_dump.h"
#include "report/styles/layout.h"
#include "trace/arguments.h"

namespace genscope::report {
namespace {

bool shown(SpanKind kind) { return kind == SpanKind::load || kind == SpanKind::stage; }

struct Row {
  std::int64_t first_ns = 0;  // on the first process's scale
  std::optional<double> cpu_delta, gpu_delta, gpu_peak;
};
using Rows = std::map<std::pair<std::string, SpanKind>, Row>;

void add(std::optional<double>& sum, std::optional<double> value) {
  if (value) sum = sum.value_or(0) + *value;
}

// Whether a span lies in another one that is shown. Deeper nesting than this is nobody's.
bool inside_shown(const Trace& trace, std::size_t span) {
  constexpr int kDeepest = 256;
  std::uint32_t at = trace.spans.parent[span];
  for (int level = 0; at != kNone && level < kDeepest; ++level) {
    if (shown(trace.kind(at))) return true;
    at = trace.spans.parent[at];
  }
  return false;
}

// Collects the rows of one trace; returns the time of the outermost spans.
std::int64_t collect(const Trace& trace, std::int64_t offset_ns, Rows& rows) {
  std::int64_t outermost_ns = 0;
  for (std::size_t i = 0; i < trace.spans.size(); ++i) {
    if (!shown(trace.kind(i))) continue;
    const std::int64_t begin = wrapping_add(trace.spans.begin_ns[i], offset_ns);
    const auto [place, is_new] = rows.try_emplace({trace.span_name(i), trace.kind(i)});
    Row& row = place->second;
    row.first_ns = is_new ? begin : std::min(row.first_ns, begin);
    const auto number = [&](std::string_view key) {
      return trace::number_argument(trace, trace.span_args, i, key);
    };
    add(row.cpu_delta, number("cpu_delta_bytes"));
    add(row.gpu_delta, number("gpu_delta_bytes"));
    if (const auto peak = number("gpu_peak_bytes")) {
      row.gpu_peak = std::max(row.gpu_peak.value_or(*peak), *peak);
    }
    if (!inside_shown(trace, i)) {
      outermost_ns = wrapping_add(outermost_ns, trace.spans.duration_ns[i]);
    }
  }
  return outermost_ns;
}

std::optional<double> sampled_peak(const Analysis& analysis, const StageRow& stage) {
  for (const StageUse& use : analysis.resources.stages) {
    if (use.name == stage.name && use.kind == stage.kind) return use.gpu_memory_bytes.max;
  }
  return std::nullopt;
}

}  // namespace

std::string performance_summary(const Run& run, const Analysis& analysis) {
  Rows rows;
  std::int64_t total_ns = 0;
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    const bool known = t < analysis.clock_offset_ns.size();
    total_ns = wrapping_add(total_ns,
                            collect(run.traces[t], known ? analysis.clock_offset_ns[t] : 0, rows));
  }
  std::vector<std::pair<const Row*, const StageRow*>> ordered;
  for (const StageRow& stage : analysis.stages) {
    const auto found = rows.find({stage.name, stage.kind});
    if (found != rows.end()) ordered.emplace_back(&found->second, &stage);
  }
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) {
    return a.first->first_ns < b.first->first_ns;
  });

  std::string out =
      document_head("PERFORMANCE SUMMARY",
                    "Operation                      Time (s)     CPU (MB)        GPU (MB)        "
                    "GPU Peak");
  for (const auto& [row, stage] : ordered) {
    const auto peak = row->gpu_peak ? row->gpu_peak : sampled_peak(analysis, *stage);
    out += fmt::format("{} {:>10.3f}  {:>13}  {:>13}  {:>10}\n", document_name(stage->name),
                       to_seconds(stage->total_ns), signed_mb(row->cpu_delta),
                       signed_mb(row->gpu_delta), plain_mb(peak));
  }
  return out + fmt::format("{}\n{:<30} {:>10.3f}s\n{}\n", std::string(kDocumentWidth, '-'), "TOTAL",
                           to_seconds(total_ns), std::string(kDocumentWidth, '='));
}

}  // namespace genscope::report
