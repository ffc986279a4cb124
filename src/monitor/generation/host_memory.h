// Memory of this process, of the machine and of the GPU, for those who ask now and then.
//
// The process's and the machine's are files of /proc. The GPU's come from the built-in probes, with
// all but memory switched off, on the thread that asks; a machine without a GPU is found out once,
// and then costs nothing.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <genscope/probe.h>

#include "base/file_reader.h"
#include "monitor/memory/gpu_board.h"
#include "monitor/memory/process_memory.h"

namespace genscope::monitor {

// The most that was seen of each, in bytes; absent if nothing was.
struct MemoryPeaks {
  std::optional<double> rss, gpu_used, gpu_total;
};

struct MachineMemory {
  double used_bytes = 0, total_bytes = 0;  // used: total less available
};

struct GpuIdentity {
  std::string name, driver;
  std::string absent;  // why there is none; empty if there is one
};

// Threads: any.
class HostMemory {
 public:
  // `gpu`: whether to look for one.
  HostMemory(const ProbeOptions& options, bool gpu);
  ~HostMemory();

  std::optional<double> rss_bytes() noexcept;
  std::optional<MachineMemory> system() noexcept;
  // Opens the GPU at the first call. `device` is "cuda:1" and the like; empty: the first.
  GpuIdentity gpu(const std::string& device);
  // Raises the peaks to what is in use now. Without `wait`, a GPU that another thread is reading
  // right now is left out.
  void read(const std::string& device, bool wait, MemoryPeaks& peaks) noexcept;

 private:
  void open_gpu();
  std::size_t chosen(const std::string& device) const noexcept;

  ProbeOptions options_;
  const bool want_gpu_;
  std::mutex files_mutex_;
  base::KeptFile meminfo_;
  ProcessMemory process_;
  std::mutex gpu_mutex_;
  bool gpu_open_ = false;
  std::unique_ptr<GpuBoard> board_;
  std::vector<std::unique_ptr<Probe>> probes_;
  std::string gpu_absent_;
};

}  // namespace genscope::monitor
