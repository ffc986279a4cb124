// kill_me RUN_DIR COUNTERS SPANS_PER_SECOND THREADS [HOW]
// Records until it is killed. After the end of each span its thread stores the number of spans it
// has finished into COUNTERS, a file that the test maps too. HOW: after half a second abort, exec,
// or wait for a signal (term: with a handler that exits).
#include <fcntl.h>
#include <genscope/record.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

using Counter = std::atomic<std::uint64_t>;

void work(Counter& counter, int number, double per_second) {
  using Clock = std::chrono::steady_clock;
  genscope::name_thread("w" + std::to_string(number));
  const auto gap = std::chrono::duration<double>(1 / per_second);
  const auto begin = Clock::now();
  for (std::uint64_t n = 1;; ++n) {
    {
      GENSCOPE_STAGE("stage");
      GENSCOPE_SPAN("work", GENSCOPE_ARG("n", n));
    }
    counter.store(2 * n, std::memory_order_release);
    const auto next = begin + gap * static_cast<double>(n);
    if (per_second < 10'000) {
      std::this_thread::sleep_until(next);
    } else {
      while (Clock::now() < next) {
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const int threads = std::atoi(argv[4]);
  const double rate = std::atof(argv[3]) / threads / 2;  // two spans at a time
  const std::string how = argc > 5 ? argv[5] : "";
  const int fd = ::open(argv[2], O_RDWR);
  void* const memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return 3;
  auto* const counters = static_cast<Counter*>(memory);
  genscope::SessionOptions options;
  options.run_dir = argv[1];
  const genscope::Session session("kill-me", options);
  if (!session.active()) return 4;
  if (how == "term") ::signal(SIGTERM, [](int) { std::exit(0); });
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([=] { work(counters[i], i, rate); });
  }
  std::this_thread::sleep_for(
      std::chrono::milliseconds(how.empty() || how == "term" ? 600'000 : 500));
  if (how == "abort") std::abort();
  if (how == "exec") ::execl("/bin/true", "true", nullptr);
  if (how == "_exit") ::_exit(0);
  return 5;
}
