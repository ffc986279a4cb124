#include "report/styles/live_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/printable.h"
#include "report/span_dump.h"
#include "report/styles/layout.h"
#include "trace/arguments.h"

namespace genscope::report {
namespace {

constexpr std::size_t kBatchesShown = 5;  // of an epoch: document 004's memory_monitor_batches

struct Batches {
  std::string lines;
  std::size_t count = 0;
  std::int64_t total_ns = 0, min_ns = 0, max_ns = 0;
};

std::optional<double> number(const Trace& trace, std::size_t span, std::string_view key) {
  return trace::number_argument(trace, trace.span_args, span, key);
}

void add_batch(const Trace& trace, std::size_t span, Batches& batches) {
  const std::int64_t ns = trace.spans.duration_ns[span];
  batches.min_ns = batches.count == 0 ? ns : std::min(batches.min_ns, ns);
  batches.max_ns = std::max(batches.max_ns, ns);
  batches.total_ns = wrapping_add(batches.total_ns, ns);
  if (batches.count++ >= kBatchesShown) {
    if (batches.count == kBatchesShown + 1) batches.lines += "  ...\n";
    return;
  }
  const double index =
      number(trace, span, "index").value_or(static_cast<double>(batches.count - 1));
  std::string line = fmt::format("  Batch {:.0f}: {:.3f}s", index, to_seconds(ns));
  if (const auto gpu = number(trace, span, "gpu_bytes")) {
    line += fmt::format(", GPU {:.1f}MB", to_mb(*gpu));
  }
  if (const auto cpu = number(trace, span, "cpu_bytes")) {
    line += fmt::format(", CPU {:.1f}MB", to_mb(*cpu));
  }
  if (const auto loss = number(trace, span, "loss")) line += fmt::format(", loss={:.6f}", *loss);
  batches.lines += line + "\n";
}

std::string end_lines(const Trace& trace, std::uint32_t epoch, const Batches& batches) {
  std::string out;
  if (epoch != kNone) {
    out += fmt::format("  Epoch end: {:.3f}s total", to_seconds(trace.spans.duration_ns[epoch]));
    if (const auto gpu = number(trace, epoch, "gpu_bytes")) {
      out += fmt::format(", GPU {:.1f}MB", to_mb(*gpu));
    }
    if (const auto reserved = number(trace, epoch, "gpu_reserved_bytes")) {
      out += fmt::format(", {:.0f}MB reserved", to_mb(*reserved));
    }
    if (const auto peak = number(trace, epoch, "gpu_peak_bytes")) {
      out += fmt::format(", peak {:.0f}MB", to_mb(*peak));
    }
    out += "\n";
  }
  if (batches.count > 0) {
    const double mean = to_seconds(batches.total_ns) / static_cast<double>(batches.count);
    out += fmt::format("  Batch timing: avg={:.3f}s, min={:.3f}s, max={:.3f}s\n", mean,
                       to_seconds(batches.min_ns), to_seconds(batches.max_ns));
  }
  return out;
}

// The sum, or the largest, of what GPUs last said.
struct GpuFigures {
  std::optional<double> used, total, busy, celsius;
};

void most(std::optional<double>& largest, std::optional<double> value) {
  if (value) largest = std::max(largest.value_or(*value), *value);
}

GpuFigures gpu_figures(const Telemetry& telemetry) {
  GpuFigures figures;
  for (const EntityRow& row : telemetry.entities) {
    if (row.entity.kind != EntityKind::gpu) continue;
    const auto used = row.value("memory_used_bytes", &SeriesRow::last);
    const auto total = row.value("memory_total_bytes", &SeriesRow::last);
    if (used) figures.used = figures.used.value_or(0) + *used;
    if (total) figures.total = figures.total.value_or(0) + *total;
    most(figures.busy, row.value("busy_ratio", &SeriesRow::last));
    most(figures.celsius, row.value("temperature_celsius", &SeriesRow::last));
  }
  return figures;
}

std::string memory_text(std::optional<double> used, std::optional<double> total) {
  if (!used) return {};
  std::string text = fmt::format("Memory {:.0f}MB", to_mb(*used));
  if (total && *total > 0) {
    text += fmt::format(" / {:.0f}MB ({:.1f}%)", to_mb(*total), 100 * *used / *total);
  }
  return text;
}

// "GPU: " and the parts that are known; nothing if none is.
std::string line_of(const char* label, const std::vector<std::string>& parts) {
  std::string line;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    line += (line.empty() ? std::string(label) + ": " : ", ") + part;
  }
  return line.empty() ? line : line + "\n";
}

}  // namespace

std::string batch_lines(const Run& run, const Analysis& /*analysis*/) {
  std::string out;
  for (const Trace& trace : run.traces) {
    // Batches stand behind their epoch; those of no epoch come together, last.
    std::vector<std::pair<std::uint32_t, Batches>> epochs;
    std::vector<std::size_t> place(trace.spans.size(), 0);
    Batches loose;
    for (std::size_t i = 0; i < trace.spans.size(); ++i) {
      if (trace.kind(i) == SpanKind::epoch) {
        place[i] = epochs.size();
        epochs.emplace_back(static_cast<std::uint32_t>(i), Batches{});
      } else if (trace.kind(i) == SpanKind::batch) {
        const std::uint32_t parent = trace.spans.parent[i];
        const bool in_epoch =
            parent != kNone && parent < i && trace.kind(parent) == SpanKind::epoch;
        add_batch(trace, i, in_epoch ? epochs[place[parent]].second : loose);
      }
    }
    for (const auto& [epoch, batches] : epochs) {
      out += batches.lines + end_lines(trace, epoch, batches);
    }
    out += loose.lines + end_lines(trace, kNone, loose);
  }
  return out.empty() ? "No epochs or batches were recorded.\n" : out;
}

std::string profiling_metrics(const Run& run, const Analysis& analysis) {
  std::string out = fmt::format("=== Profiling Metrics ({}) ===\n",
                                printable(run.id.empty() ? run.name : run.id));
  const GpuFigures gpu = gpu_figures(analysis.telemetry);
  out += line_of("GPU", {memory_text(gpu.used, gpu.total),
                         gpu.busy ? fmt::format("Util {:.1f}%", 100 * *gpu.busy) : "",
                         gpu.celsius ? fmt::format("Temp {:.1f}\u00B0C", *gpu.celsius) : ""});
  if (const EntityRow* machine = analysis.telemetry.first(EntityKind::machine)) {
    const auto busy = machine->value("cpu_busy_ratio", &SeriesRow::last);
    out += line_of("CPU", {busy ? fmt::format("{:.1f}%", 100 * *busy) : "",
                           memory_text(machine->value("memory_used_bytes", &SeriesRow::last),
                                       machine->value("memory_total_bytes", &SeriesRow::last))});
  }
  return out;
}

}  // namespace genscope::report
