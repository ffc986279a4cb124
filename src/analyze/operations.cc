// One pass over the spans adds up what the program said of each operation; the times are those of
// the stage table, which counts what overlaps once. The time of the outermost ones is what the
// texts call total: an operation within another is part of it.
#include "analyze/operations.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analyze/time.h"
#include "trace/arguments.h"

namespace genscope::analysis {
namespace {

std::optional<double> said(const Trace& trace, std::size_t span, std::string_view key) {
  return trace::number_argument(trace, trace.span_args, span, key);
}

bool is_operation(SpanKind kind) { return kind == SpanKind::load || kind == SpanKind::stage; }

// Deeper nesting than this is nobody's.
bool within_operation(const Trace& trace, std::size_t span) {
  constexpr int kDeepest = 256;
  std::uint32_t at = trace.spans.parent[span];
  for (int level = 0; at != kNone && level < kDeepest; ++level) {
    if (is_operation(trace.kind(at))) return true;
    at = trace.spans.parent[at];
  }
  return false;
}

void add_to(std::optional<double>& sum, std::optional<double> value) {
  if (value) sum = sum.value_or(0) + *value;
}

using OperationMap = std::map<std::pair<std::string_view, SpanKind>, Operation>;

void add_operations(const Trace& trace, std::int64_t offset_ns, OperationMap& rows,
                    std::int64_t& outermost_ns) {
  for (std::size_t i = 0; i < trace.spans.size(); ++i) {
    if (!is_operation(trace.kind(i))) continue;
    const auto [place, is_new] = rows.try_emplace({trace.span_name(i), trace.kind(i)});
    Operation& row = place->second;
    const std::int64_t begin = add(trace.spans.begin_ns[i], offset_ns);
    row.first_ns = is_new ? begin : std::min(row.first_ns, begin);
    add_to(row.cpu_delta_bytes, said(trace, i, "cpu_delta_bytes"));
    add_to(row.gpu_delta_bytes, said(trace, i, "gpu_delta_bytes"));
    if (const auto peak = said(trace, i, "gpu_peak_bytes")) {
      row.gpu_peak_bytes = std::max(row.gpu_peak_bytes.value_or(*peak), *peak);
    }
    if (!within_operation(trace, i)) outermost_ns = add(outermost_ns, trace.spans.duration_ns[i]);
  }
}

void add_batch(const Trace& trace, std::size_t span, std::size_t first, Batches& batches) {
  const std::int64_t ns = trace.spans.duration_ns[span];
  batches.min_ns = batches.count == 0 ? ns : std::min(batches.min_ns, ns);
  batches.max_ns = std::max(batches.max_ns, ns);
  batches.total_ns = add(batches.total_ns, ns);
  if (batches.count < first) {
    batches.first.push_back(
        {said(trace, span, "index").value_or(static_cast<double>(batches.count)), ns,
         said(trace, span, "gpu_bytes"), said(trace, span, "cpu_bytes"),
         said(trace, span, "loss")});
  }
  ++batches.count;
}

}  // namespace

Operations operations_of(const Run& run, const Analysis& analysis) {
  Operations out;
  OperationMap rows;
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    const bool known = t < analysis.clock_offset_ns.size();
    add_operations(run.traces[t], known ? analysis.clock_offset_ns[t] : 0, rows, out.outermost_ns);
  }
  for (const StageRow& stage : analysis.stages) {
    const auto found = rows.find({stage.name, stage.kind});
    if (found == rows.end()) continue;
    out.rows.push_back(found->second);
    out.rows.back().stage = &stage;
  }
  std::stable_sort(out.rows.begin(), out.rows.end(),
                   [](const Operation& a, const Operation& b) { return a.first_ns < b.first_ns; });
  return out;
}

std::vector<Batches> batches_of(const Run& run, std::size_t first) {
  std::vector<Batches> out;
  for (const Trace& trace : run.traces) {
    Batches loose;
    std::vector<std::size_t> place(trace.spans.size(), 0);  // of an epoch, in `out`
    for (std::size_t i = 0; i < trace.spans.size(); ++i) {
      if (trace.kind(i) == SpanKind::epoch) {
        place[i] = out.size();
        Batches& epoch = out.emplace_back();
        epoch.epoch_ns = trace.spans.duration_ns[i];
        epoch.gpu_bytes = said(trace, i, "gpu_bytes");
        epoch.gpu_reserved_bytes = said(trace, i, "gpu_reserved_bytes");
        epoch.gpu_peak_bytes = said(trace, i, "gpu_peak_bytes");
      } else if (trace.kind(i) == SpanKind::batch) {
        const std::uint32_t parent = trace.spans.parent[i];
        const bool in_epoch =
            parent != kNone && parent < i && trace.kind(parent) == SpanKind::epoch;
        add_batch(trace, i, first, in_epoch ? out[place[parent]] : loose);
      }
    }
    if (loose.count > 0) out.push_back(std::move(loose));
  }
  return out;
}

}  // namespace genscope::analysis
