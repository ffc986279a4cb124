#include "monitor/epoch/lines.h"

#include <fmt/format.h>

namespace genscope::monitor {
namespace {

double mb(std::uint64_t bytes) { return static_cast<double>(bytes) / (1024 * 1024); }

}  // namespace

std::string batch_line(std::uint64_t batch, std::int64_t duration_ns,
                       std::optional<std::uint64_t> gpu_bytes,
                       std::optional<std::uint64_t> cpu_bytes, std::optional<double> loss) {
  std::string line = fmt::format("  Batch {}: {:.3f}s", batch, in_seconds(duration_ns));
  if (gpu_bytes) line += fmt::format(", GPU {:.1f}MB", mb(*gpu_bytes));
  if (cpu_bytes) line += fmt::format(", CPU {:.1f}MB", mb(*cpu_bytes));
  if (loss) line += fmt::format(", loss={:.6f}", *loss);
  return line + "\n";
}

std::string epoch_lines(std::int64_t duration_ns, const GpuMemory& gpu,
                        std::optional<std::uint64_t> gpu_peak, const BatchSums& batches) {
  std::string lines = fmt::format("  Epoch end: {:.3f}s total", in_seconds(duration_ns));
  if (gpu.used_bytes) lines += fmt::format(", GPU {:.1f}MB", mb(*gpu.used_bytes));
  if (gpu.reserved_bytes) lines += fmt::format(", {:.0f}MB reserved", mb(*gpu.reserved_bytes));
  if (gpu_peak) lines += fmt::format(", peak {:.0f}MB", mb(*gpu_peak));
  lines += "\n";
  if (batches.count > 0) {
    lines += fmt::format("  Batch timing: avg={:.3f}s, min={:.3f}s, max={:.3f}s\n",
                         *batches.mean_seconds(), *batches.min_seconds(), *batches.max_seconds());
  }
  return lines;
}

}  // namespace genscope::monitor
