// Whether a process still records. The kernel drops the lock of its live buffer when it ends, so
// the lock is asked, never the pid: pids come again, in every container the same ones.
#pragma once

#include <string>

#include "genscope/error.h"

namespace genscope::store {

// Whether somebody records into that run now. An error: it cannot be found out (no descriptors).
Result<bool> is_recorded(const std::string& run_dir);

// Whether every trace of that run was closed by its recorder; none is missing a last frame.
bool all_closed(const std::string& run_dir);

// Whether the recorder that has this live file open, as its exclusive lock tells, is alive.
bool lock_is_held(int live_fd) noexcept;

// Whether a recorder is out of this kernel's sight, so that there is no lock to ask about. It
// counts as alive while it writes, up to a pause of 15 minutes, until it closes its trace.
bool is_elsewhere(const std::string& host, const std::string& boot_id);
bool lately_written(const std::string& path) noexcept;

std::string this_boot();

}  // namespace genscope::store
