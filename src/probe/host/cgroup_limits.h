// The limits that hold for a cgroup: the least over it and all its ancestors that can be seen.
#pragma once

#include <vector>

#include "base/file_reader.h"
#include "genscope/probe.h"
#include "probe/host/cgroup_text.h"

namespace genscope::probe {

class CgroupLimits {
 public:
  CgroupLimits() = default;
  // `online` lists the CPUs of the machine.
  CgroupLimits(const CgroupPlaces& places, const std::string& online, base::Files& files);

  void sample_memory(Board& board, std::uint32_t series) noexcept;
  void sample_cpu(Board& board, std::uint32_t series) noexcept;

 private:
  struct Quota {  // of v1
    base::KeptFile quota, period;
  };
  // The least quota in cores; 0: none. An errno if a limit may exist that cannot be read.
  int least_quota(double& cores) noexcept;
  int read_cores(base::KeptFile& file, double& cores) noexcept;
  int read_cores(Quota& files, double& cores) noexcept;
  // CPUs of the cpuset; 0: it has all, or none is known.
  std::uint32_t cpuset_cpus() noexcept;

  std::vector<base::KeptFile> memory_;   // memory.max, memory.high, memory.limit_in_bytes
  std::vector<base::KeptFile> cpu_max_;  // v2
  std::vector<Quota> quotas_;            // v1
  std::vector<base::KeptFile> cpusets_;  // nearest first
  base::KeptFile online_;
  bool has_cpu_ = false;
};

}  // namespace genscope::probe
