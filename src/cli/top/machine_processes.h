// Every process of this machine, as /proc shows it.
#pragma once

#include <string>
#include <vector>

#include <genscope/trace.h>

namespace genscope::cli::top {

// One file read a process. Kernel threads are left out; what is gone meanwhile, too.
std::vector<ProcessRow> machine_processes(const std::string& proc_root);

}  // namespace genscope::cli::top
