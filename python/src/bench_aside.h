// Measuring commands while Python looks for Ctrl-C.
#pragma once

#include <genscope/bench.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "calls.h"

namespace genscope::python {

// Runs `work` on another thread; this one, which has the GIL, looks for Ctrl-C meanwhile. For
// commands only: functions of Python run on the thread that asked.
template <class Work>
void run_aside(Raised& raised, Work work) {
  std::mutex mutex;
  std::condition_variable over;
  bool done = false;
  std::thread thread([&] {
    work();
    const std::lock_guard lock(mutex);
    done = true;
    over.notify_all();
  });
  for (bool ended = false; !ended;) {
    {
      const WithoutGil released;
      std::unique_lock lock(mutex);
      ended = over.wait_for(lock, std::chrono::milliseconds(50), [&] { return done; });
    }
    if (!raised.any() && PyErr_CheckSignals() != 0) {
      raised.take();
      bench::cancel();
    }
  }
  const WithoutGil released;
  thread.join();
  if (raised.any()) bench::forget_cancel();
}

}  // namespace genscope::python
