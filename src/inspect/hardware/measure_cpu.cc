#include <fmt/format.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <thread>

#include <genscope/predict.h>

#include "inspect/hardware/gemm.h"

namespace genscope {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

struct FreeAligned {
  void operator()(float* p) const { ::operator delete[](p, std::align_val_t{64}); }
};
using Floats = std::unique_ptr<float[], FreeAligned>;

// Filled by the thread that uses it, so that the memory is near its core.
Floats floats(std::size_t count, float value) {
  Floats memory(static_cast<float*>(::operator new[](count * sizeof(float), std::align_val_t{64})));
  std::fill_n(memory.get(), count, value);
  return memory;
}

// CPUs that this process may use; its cgroup's quota is not asked.
unsigned cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return static_cast<unsigned>(std::max(count, 1));
}

double thread_cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// By which clock: of the wall, or each thread's own, which stands still while others have the CPU.
enum class By { wall, cpu_time };

// The rate of all CPUs together. `make` gives each thread a function that does one round and
// returns how much that was. All begin together and go on until the time is over.
template <class Make>
double rate(double seconds, By by, Make make) {
  const unsigned threads = cpus();
  std::atomic<unsigned> ready{0};
  std::atomic<bool> go{false}, stop{false};
  std::vector<double> rates(threads, 0);
  std::vector<std::thread> pool;
  for (unsigned i = 0; i < threads; ++i) {
    pool.emplace_back([&, i] {
      auto round = make();
      round();  // faults pages in, wakes wide units up
      ready.fetch_add(1);
      while (!go.load(std::memory_order_acquire)) std::this_thread::yield();
      const double cpu_begin = thread_cpu_seconds();
      const auto wall_begin = Clock::now();
      double sum = 0;
      do sum += round();
      while (!stop.load(std::memory_order_relaxed));
      const double elapsed = by == By::wall ? Seconds(Clock::now() - wall_begin).count()
                                            : thread_cpu_seconds() - cpu_begin;
      rates[i] = elapsed > 0 ? sum / elapsed : 0;
    });
  }
  while (ready.load() < threads) std::this_thread::yield();
  go.store(true, std::memory_order_release);
  std::this_thread::sleep_for(Seconds(seconds));
  stop.store(true, std::memory_order_relaxed);
  for (std::thread& thread : pool) thread.join();
  double sum = 0;
  for (const double r : rates) sum += r;
  return sum;
}

// A block of A of 96 rows stays in the second cache, a strip of B in the first.
double gemm_flops(double seconds) {
  return rate(seconds, By::cpu_time, [] {
    const inspect::GemmKernel kernel = inspect::gemm_kernel();
    constexpr std::size_t kDepth = 256;
    const std::size_t panels = 96 / kernel.rows, strips = 192 / kernel.columns;
    const auto a = std::make_shared<Floats>(floats(panels * kernel.rows * kDepth, 1e-3F));
    const auto b = std::make_shared<Floats>(floats(strips * kernel.columns * kDepth, 1e-3F));
    const auto c =
        std::make_shared<Floats>(floats(panels * kernel.rows * strips * kernel.columns, 0));
    return [=] {
      const std::size_t size = kernel.rows * kernel.columns;
      for (std::size_t j = 0; j < strips; ++j) {
        for (std::size_t i = 0; i < panels; ++i) {
          kernel.run(kDepth, a->get() + i * kernel.rows * kDepth,
                     b->get() + j * kernel.columns * kDepth, c->get() + (j * panels + i) * size);
        }
      }
      return 2.0 * static_cast<double>(panels * strips * size * kDepth);
    };
  });
}

// Copies beyond every cache; a byte read and a byte written count as two.
double copy_bytes(double seconds) {
  const std::size_t all = std::size_t{128} << 20;
  const std::size_t count = all / cpus() / sizeof(float);
  return rate(seconds, By::wall, [count] {
    const auto from = std::make_shared<Floats>(floats(count, 1));
    const auto to = std::make_shared<Floats>(floats(count, 0));
    return [=] {
      std::memcpy(to->get(), from->get(), count * sizeof(float));
      asm volatile("" : : "r"(to->get()) : "memory");  // the copy is wanted
      return 2.0 * static_cast<double>(count * sizeof(float));
    };
  });
}

std::string cpu_name() {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/cpuinfo", "re"),
                                                             std::fclose);
  char line[512];
  while (file && std::fgets(line, sizeof line, file.get()) != nullptr) {
    std::string_view text(line);
    if (!text.starts_with("model name")) continue;
    text.remove_prefix(std::min(text.find(": ") + 2, text.size()));
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
    if (!text.empty()) return std::string(text);
  }
  return "CPU";
}

}  // namespace

Hardware measure_cpu(double seconds) {
  constexpr double kLongest = 60, kTeraFlops = 1e12, kGigaBytes = 1e9;
  const double half = std::clamp(seconds, 0.02, kLongest) / 2;
  Hardware cpu;
  cpu.name = cpu_name();
  cpu.bf16_tflops = gemm_flops(half) / kTeraFlops;
  cpu.bandwidth_gbs = copy_bytes(half) / kGigaBytes;
  const double pages = static_cast<double>(sysconf(_SC_PHYS_PAGES));
  const double page = static_cast<double>(sysconf(_SC_PAGESIZE));
  cpu.memory_gib = pages > 0 ? pages * page / (1024.0 * 1024 * 1024) : 0;
  cpu.source =
      fmt::format("measured here on {} threads: fp32 matrix product ({}) by CPU time, memory copy",
                  cpus(), inspect::gemm_kernel().name);
  cpu.measured = true;
  return cpu;
}

}  // namespace genscope
