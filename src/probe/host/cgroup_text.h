// Where a process's cgroups are: from the texts of /proc/PID/cgroup and /proc/PID/mountinfo.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace genscope::probe {

// The cgroup of one controller.
struct CgroupPlace {
  bool v2 = false;
  std::string mount;   // the folder of the hierarchy's top that we can see
  std::string folder;  // of the process: `mount` or below it
  std::string path;    // as /proc/PID/cgroup names it
};

struct CgroupPlaces {
  std::string version;  // "v1", "v2", "hybrid"; empty: no cgroup is mounted
  std::optional<CgroupPlace> memory, cpu, cpuacct, cpuset;
  std::optional<CgroupPlace> unified;  // where there is a v2 mount
};

// Mount points below /sys move to `sys_root`. Takes any bytes.
//
// A mount may show part of a hierarchy only (a container without a cgroup namespace): then its
// root is a prefix of the path, and is taken off. A path that is not below the root, or that leads
// out of our namespace ("/../..") is not visible: the mount's top is the nearest there is.
CgroupPlaces find_cgroups(std::string_view cgroup_text, std::string_view mountinfo_text,
                          const std::string& sys_root);

// "max", or the number of microseconds of each period, as in cpu.max: cores, or 0 for no limit.
// False if it is neither.
bool parse_cpu_max(std::string_view text, double& cores) noexcept;

// A limit in bytes: "max" and the values that v1 shows for "none" give none.
struct MemoryLimit {
  bool limited = false;
  double bytes = 0;
};
bool parse_memory_limit(std::string_view text, MemoryLimit& limit) noexcept;

}  // namespace genscope::probe
