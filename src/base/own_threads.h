// Processor time of genscope's own threads in this process: what it costs the program it lives in.
//
// Each thread of ours that works while the program runs (sampler, drain) tells when it begins; its
// time counts from then on, and stays counted when it has ended.
#pragma once

#include <cstdint>

namespace genscope::base {

// On the stack of a thread of ours, for as long as it works.
class OwnThread {
 public:
  OwnThread() noexcept;
  ~OwnThread();
  OwnThread(const OwnThread&) = delete;
  OwnThread& operator=(const OwnThread&) = delete;

 private:
  int slot_ = -1;  // none was free: the thread is not counted
};

// This process is all ours, so that its own clock is the sum: `genscope run` and its helpers.
void whole_process_is_own() noexcept;

// The sum over all threads that said so, or of the whole process. From any thread.
std::int64_t own_cpu_ns() noexcept;

}  // namespace genscope::base
