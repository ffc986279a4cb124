// What cancel() wakes.
#pragma once

namespace genscope::bench {

// Readable once cancel() was called; -1 if there is none to be had. Made at the first call.
int cancel_fd() noexcept;

}  // namespace genscope::bench
