// A lock for a few dozen instructions: one exchange to take it, a plain store to give it back.
// Whoever does not get it spins shortly, then lets others run, then sleeps for 50 us at a time: the
// holder was interrupted, and a store cannot wake anybody.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace genscope::optimize::cache {

class ShortLock {
 public:
  bool try_lock() noexcept {
    return !held_.load(std::memory_order_relaxed) &&
           !held_.exchange(true, std::memory_order_acquire);
  }
  void lock() noexcept {
    if (held_.exchange(true, std::memory_order_acquire)) [[unlikely]]
      wait();
  }
  void unlock() noexcept { held_.store(false, std::memory_order_release); }

 private:
  [[gnu::noinline]] void wait() noexcept {
    for (unsigned tries = 0; !try_lock(); ++tries) {
      if (tries < 64) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
      } else if (tries < 80) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
  }
  std::atomic<bool> held_{false};
};

}  // namespace genscope::optimize::cache
