// Why a run does not count.
#pragma once

#include <optional>
#include <string>

#include <genscope/bench.h>

#include "bench/run/process.h"

namespace genscope::bench {

// How often the kernel has killed a process of our cgroup, or of the machine where that cannot be
// read, for want of memory. Nothing if neither can be read.
std::optional<std::uint64_t> count_oom_kills(const std::string& proc_root = "/proc",
                                             const std::string& sys_root = "/sys");

struct JudgeEnd {
  bool shell = false;           // then 128 + N is the end by signal N of what the shell ran
  bool ignore_failure = false;  // another exit code than 0 is fine
  std::optional<double> timeout_s = {};
  bool oom_killed = false;  // the kernel killed somebody meanwhile
};
std::optional<Failure> failure_of(const Ended& ended, const JudgeEnd& how);

}  // namespace genscope::bench
