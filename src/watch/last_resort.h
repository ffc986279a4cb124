// What cannot be caught (an exception where none may pass, since memory ran out) ends this process;
// but not before the command, and with its exit code.
#pragma once

#include <sys/types.h>

namespace genscope::watch {

// From here on. The command is `pid`.
void stay_until_it_ends(pid_t pid);
// It has ended, and was waited for.
void leave_with(int exit_code);

}  // namespace genscope::watch
