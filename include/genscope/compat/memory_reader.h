// Memory as the monitors read it: of this process, and of one GPU.
//
//   auto memory = genscope::make_memory_reader({.device = 1});
//   genscope::PerformanceMonitor monitor({.memory = memory});
//
// A program whose framework keeps its own books (a caching allocator) derives a MemoryReader of its
// own: only the allocator knows what the program holds, and the true peak between two readings.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace genscope {

// One GPU's memory now, in bytes. Absent: the source does not tell it.
struct GpuMemory {
  std::optional<std::uint64_t> used_bytes;      // held by the program, or in use on the device
  std::optional<std::uint64_t> reserved_bytes;  // held from the driver, cache included
  std::optional<std::uint64_t> peak_bytes;      // the most of used_bytes since reset_gpu_peak()
};

// Called by the threads that are measured, several at a time, with locks of the monitor held: no
// call may enter a monitor, and a lock that a call takes must not be held by who calls a monitor.
class MemoryReader {
 public:
  virtual ~MemoryReader() = default;
  // Resident memory of this process.
  virtual std::optional<std::uint64_t> cpu_bytes() noexcept = 0;
  // Whether gpu() is worth a call; does not change.
  virtual bool has_gpu() const noexcept { return false; }
  virtual GpuMemory gpu() noexcept { return {}; }
  // From now on peak_bytes counts anew. Monitors call it when an operation begins, and keep the
  // peaks of the operations around it themselves; nobody else may.
  virtual void reset_gpu_peak() noexcept {}
  // Why there are no GPU figures, in one sentence; empty if there are.
  virtual std::string gpu_reason() const { return "the memory reader knows no GPU"; }
};

struct MemoryReaderOptions {
  bool gpu = true;  // false: look for none, load no driver's library
  int device = 0;   // which GPU, counted as the probes find them: NVIDIA, then AMD, then Intel
};

// The process by /proc/self/statm, about a microsecond a reading; the GPU by its driver, so that
// used_bytes is the whole device's and there is no peak but what readings show. Without a GPU
// nothing is asked of any driver again.
std::shared_ptr<MemoryReader> make_memory_reader(const MemoryReaderOptions& options = {});

// The same, made once per device for the whole process.
std::shared_ptr<MemoryReader> default_memory_reader(int device = 0);

}  // namespace genscope
