#include "compat/styles/live_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "analyze/operations.h"
#include "compat/styles/layout.h"
#include "report/printable.h"

namespace genscope::compat::styles {
namespace {

constexpr std::size_t kBatchesShown =
    5;  // of an epoch: memory_monitor_batches of training monitors

std::string batch_text(const analysis::Batches::Batch& batch) {
  std::string line =
      fmt::format("  Batch {:.0f}: {:.3f}s", batch.index, to_seconds(batch.duration_ns));
  if (batch.gpu_bytes) line += fmt::format(", GPU {:.1f}MB", to_mb(*batch.gpu_bytes));
  if (batch.cpu_bytes) line += fmt::format(", CPU {:.1f}MB", to_mb(*batch.cpu_bytes));
  if (batch.loss) line += fmt::format(", loss={:.6f}", *batch.loss);
  return line + "\n";
}

std::string end_lines(const analysis::Batches& batches) {
  std::string out;
  if (batches.epoch_ns) {
    out += fmt::format("  Epoch end: {:.3f}s total", to_seconds(*batches.epoch_ns));
    if (batches.gpu_bytes) out += fmt::format(", GPU {:.1f}MB", to_mb(*batches.gpu_bytes));
    if (batches.gpu_reserved_bytes) {
      out += fmt::format(", {:.0f}MB reserved", to_mb(*batches.gpu_reserved_bytes));
    }
    if (batches.gpu_peak_bytes)
      out += fmt::format(", peak {:.0f}MB", to_mb(*batches.gpu_peak_bytes));
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
  for (const analysis::Batches& batches : analysis::batches_of(run, kBatchesShown)) {
    for (const analysis::Batches::Batch& batch : batches.first) out += batch_text(batch);
    if (batches.count > kBatchesShown) out += "  ...\n";
    out += end_lines(batches);
  }
  return out.empty() ? "No epochs or batches were recorded.\n" : out;
}

std::string profiling_metrics(const Run& run, const Analysis& analysis) {
  std::string out = fmt::format("=== Profiling Metrics ({}) ===\n",
                                report::printable(run.id.empty() ? run.name : run.id));
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

}  // namespace genscope::compat::styles
