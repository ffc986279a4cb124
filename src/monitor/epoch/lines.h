// What an EpochPerformanceMonitor prints, in the words of older monitors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <genscope/memory_reader.h>

#include "monitor/epoch/book.h"

namespace genscope::monitor {

// "  Batch 0: 0.538s, GPU 23.1MB, CPU 1648.9MB, loss=0.009458"; what is not known is left out.
std::string batch_line(std::uint64_t batch, std::int64_t duration_ns,
                       std::optional<std::uint64_t> gpu_bytes,
                       std::optional<std::uint64_t> cpu_bytes, std::optional<double> loss);
// "  Epoch end: 4.774s total, GPU 14.4MB, 3236MB reserved, peak 2880MB" and
// "  Batch timing: avg=0.201s, min=0.082s, max=0.538s".
std::string epoch_lines(std::int64_t duration_ns, const GpuMemory& gpu,
                        std::optional<std::uint64_t> gpu_peak, const BatchSums& batches);

}  // namespace genscope::monitor
