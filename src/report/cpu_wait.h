// How long the run waited for a CPU: one figure for the headline and for the first screen.
#pragma once

#include <optional>

#include <genscope/analyze.h>

namespace genscope::report {

// The share of the run's time in which it waited for a CPU: of the whole run where its threads were
// sampled, else of the command's main thread, as the kernel counted it at the end.
struct CpuWait {
  std::optional<double> share;
  bool of_main_thread = false;
};
CpuWait cpu_wait(const Run& run, const Analysis& analysis);

}  // namespace genscope::report
