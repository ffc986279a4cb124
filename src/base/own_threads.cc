// A thread's clock may be read by any other thread while it lives. A slot is freed under the lock
// that the reader takes, so no clock of a thread that has gone is read. The lock is held for a few
// system calls, by threads of ours alone.
#include "base/own_threads.h"

#include <pthread.h>
#include <time.h>

#include <array>
#include <atomic>
#include <mutex>
#include <new>

#include "base/clock.h"

namespace genscope::base {
namespace {

constexpr int kSlots = 64;

struct Slot {
  bool used = false;
  clockid_t clock = 0;
  std::int64_t begin_ns = 0;  // what it had used when it told
};
constinit std::mutex g_mutex;
constinit std::array<Slot, kSlots> g_slots;
constinit std::int64_t g_ended_ns = 0;
constinit std::atomic<bool> g_whole_process{false};

// A forked child has none of these threads, and perhaps a lock that nobody will give back.
void forget_in_child() {
  new (&g_mutex) std::mutex;
  g_slots = {};
  g_ended_ns = 0;
  g_whole_process.store(false, std::memory_order_relaxed);
}

}  // namespace

OwnThread::OwnThread() noexcept {
  static const bool prepared = pthread_atfork(nullptr, nullptr, forget_in_child) == 0;
  clockid_t clock = 0;
  if (!prepared || pthread_getcpuclockid(pthread_self(), &clock) != 0) return;
  const std::lock_guard lock(g_mutex);
  for (int i = 0; i < kSlots && slot_ < 0; ++i) {
    Slot& slot = g_slots[static_cast<std::size_t>(i)];
    if (slot.used) continue;
    slot = {true, clock, clock_ns(CLOCK_THREAD_CPUTIME_ID)};
    slot_ = i;
  }
}

OwnThread::~OwnThread() {
  if (slot_ < 0) return;
  const std::lock_guard lock(g_mutex);
  Slot& slot = g_slots[static_cast<std::size_t>(slot_)];
  g_ended_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - slot.begin_ns;
  slot.used = false;
}

void whole_process_is_own() noexcept { g_whole_process.store(true, std::memory_order_relaxed); }

std::int64_t own_cpu_ns() noexcept {
  if (g_whole_process.load(std::memory_order_relaxed)) return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  const std::lock_guard lock(g_mutex);
  std::int64_t sum = g_ended_ns;
  for (const Slot& slot : g_slots) {
    if (slot.used) sum += clock_ns(slot.clock) - slot.begin_ns;
  }
  return sum;
}

}  // namespace genscope::base
