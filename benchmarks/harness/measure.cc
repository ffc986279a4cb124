#include "harness/measure.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <thread>

#include "genscope/internal/hot.h"

namespace bench {

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  const std::size_t n = v.size();
  return n % 2 == 1 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
}

double percentile(std::vector<double>& v, double p) {
  const auto k = static_cast<std::ptrdiff_t>(p * static_cast<double>(v.size() - 1));
  std::nth_element(v.begin(), v.begin() + k, v.end());
  return v[static_cast<std::size_t>(k)];
}

double tsc_pair_ns() {
  constexpr std::uint64_t kPairs = 150'000;
  const std::uint64_t from = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  for (std::uint64_t i = 0; i < kPairs; ++i) {
    const std::uint64_t a = genscope::internal::fast_ticks();
    clobber();
    const std::uint64_t b = genscope::internal::fast_ticks();
    asm volatile("" ::"r"(a), "r"(b));
  }
  return static_cast<double>(clock_ns(CLOCK_THREAD_CPUTIME_ID) - from) / double{kPairs};
}

void pin_to_core(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(core) % std::max(1u, std::thread::hardware_concurrency()), &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

void irregular_work() {
  static thread_local std::uint64_t s = 88172645463325252ull;
  s ^= s << 13;
  s ^= s >> 7;
  s ^= s << 17;
  for (std::uint64_t k = (s >> 20) & 2047; k > 0; --k) clobber();
}

Cost measure(const Load& load, Body body) {
  const auto threads = static_cast<std::size_t>(load.threads);
  std::vector<double> cpu(threads), yard(threads);
  std::vector<double> ns, ratio, process;
  std::barrier<> go(load.threads + 1), done(load.threads + 1);
  std::atomic<bool> stop{false};
  std::vector<std::thread> workers;
  for (int t = 0; t < load.threads; ++t) {
    workers.emplace_back([&, t] {
      pin_to_core(t);
      for (;;) {
        go.arrive_and_wait();
        if (stop.load()) return;
        const double before = tsc_pair_ns();
        const std::uint64_t from = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        body(load.count);
        const std::uint64_t to = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        yard[static_cast<std::size_t>(t)] = 0.5 * (before + tsc_pair_ns());
        cpu[static_cast<std::size_t>(t)] =
            static_cast<double>(to - from) / static_cast<double>(load.count);
        done.arrive_and_wait();
      }
    });
  }
  for (int r = -1; r < load.repetitions; ++r) {
    const std::uint64_t from = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    go.arrive_and_wait();
    done.arrive_and_wait();
    load.drain();
    double spent = static_cast<double>(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - from);
    if (r < 0) continue;
    double c = 0, y = 0;
    for (std::size_t t = 0; t < threads; ++t) {
      c += cpu[t] / load.threads;
      y += yard[t] / load.threads;
      spent -= 2 * 150'000 * yard[t];  // the yardsticks themselves
    }
    ns.push_back(c);
    ratio.push_back(c / y);
    process.push_back(spent / static_cast<double>(load.count) / load.threads / y);
  }
  stop = true;
  go.arrive_and_wait();
  for (auto& w : workers) w.join();
  const auto [low, high] = std::minmax_element(ratio.begin(), ratio.end());
  return {median(ns), median(ratio), median(process), *low, *high};
}

}  // namespace bench
