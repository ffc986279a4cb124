// Measuring on a noisy machine: every repetition brackets its own yardstick, a pair of time-stamp
// reads on the same thread, and reports thread-CPU time as a multiple of it. Medians of ratios are
// stable where nanoseconds drift by a quarter with the host's clock.
#pragma once

#include <ctime>

#include <cstdint>
#include <functional>
#include <vector>

namespace bench {

inline void clobber() { asm volatile("" ::: "memory"); }

inline std::uint64_t clock_ns(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(t.tv_nsec);
}

double median(std::vector<double> values);
double percentile(std::vector<double>& values, double p);

// CPU nanoseconds of one pair of time-stamp reads, on this thread, now.
double tsc_pair_ns();

using Body = void (*)(std::uint64_t count);

struct Cost {
  double thread_ns = 0;      // producer CPU per item
  double thread_ratio = 0;   // in yardsticks
  double process_ratio = 0;  // CPU of the whole process until drained, in yardsticks
  double ratio_low = 0, ratio_high = 0;
};

struct Load {
  int threads = 1;
  std::uint64_t count = 1'000'000;  // items a thread and repetition
  int repetitions = 9;
  std::function<void()> drain = [] {};  // after each repetition, inside the process's bill
};

// One warm-up, then the median over the repetitions. Threads are pinned to cores in turn.
Cost measure(const Load& load, Body body);

void pin_to_core(int core);

// Irregular work of 0.1 to 2 us, so that recorded sizes and times are not flattered by identical
// durations.
void irregular_work();

}  // namespace bench
