// bench_record_survival: kill -9 at random instants, high rates, threads that come and go.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <genscope/record.h>
#include <genscope/store.h>

#include "harness/measure.h"
#include "harness/table.h"

namespace {

using namespace bench;

struct Counters {
  std::atomic<std::uint64_t> finished[2];
};

// Records at `rate` spans a second and thread until killed, counting each span after its end.
[[noreturn]] void victim(const std::string& dir, std::uint64_t rate, Counters& counters) {
  genscope::SessionOptions o;
  o.out = dir;
  const genscope::Session session("victim", o);
  const auto body = [&](int t) {
    genscope::name_thread(t == 0 ? "victim 0" : "victim 1");
    const std::uint64_t start = clock_ns(CLOCK_MONOTONIC);
    for (std::uint64_t n = 0;;) {
      const std::uint64_t due = (clock_ns(CLOCK_MONOTONIC) - start) * rate / 1'000'000'000;
      for (; n < due; ++n) {
        {
          GENSCOPE_SPAN("finished");
          clobber();
        }
        counters.finished[t].store(n + 1, std::memory_order_release);
      }
      if (rate < 1'000'000) ::usleep(50);
    }
  };
  std::thread other([&] { body(1); });
  body(0);
  std::abort();
}

void kill_rows(const std::string& dir, const Options& options, Table& table) {
  std::mt19937 random(20261115);
  for (const std::uint64_t rate : {200u, 100'000u, 2'000'000u}) {
    const int trials = options.quick ? 2 : 20;
    std::uint64_t lost = 0, recorded = 0;
    for (int trial = 0; trial < trials; ++trial) {
      auto* const counters = static_cast<Counters*>(::mmap(
          nullptr, sizeof(Counters), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
      const std::string runs = dir + "/kill-" + std::to_string(rate) + "-" + std::to_string(trial);
      const pid_t child = ::fork();
      if (child == 0) victim(runs, rate, *counters);
      while (counters->finished[0].load() == 0 || counters->finished[1].load() == 0) ::usleep(200);
      ::usleep(static_cast<useconds_t>(random() % 400'000));
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
      std::uint64_t finished = 0;
      for (const auto& run_dir : std::filesystem::directory_iterator(runs)) {
        const auto run = genscope::read_run(run_dir.path().string());
        if (!run.ok()) {
          std::printf("%s\n", run.error().message.c_str());
          continue;
        }
        for (const genscope::Trace& t : run->traces) {
          for (std::size_t i = 0; i < t.spans.size(); ++i) {
            finished +=
                t.span_name(i) == "finished" && (t.spans.flags[i] & genscope::kSpanUnfinished) == 0;
          }
        }
      }
      const std::uint64_t made = counters->finished[0].load() + counters->finished[1].load();
      if (made > finished) lost += made - finished;
      recorded += finished;
      ::munmap(counters, sizeof(Counters));
      std::filesystem::remove_all(runs);
    }
    table.add({"kill -9 at " + std::to_string(rate) + " spans/s x 2 threads",
               static_cast<double>(lost), "spans lost", "", 0, "0", lost == 0,
               std::to_string(trials) + " trials, " + std::to_string(recorded) + " spans"});
  }
}

struct Outcome {
  std::uint64_t made = 0, read = 0, told = 0;
  double rss_growth_mib = 0;
};

double rss_mib() {
  std::ifstream in("/proc/self/statm");
  double total = 0, resident = 0;
  in >> total >> resident;
  return resident * 4096 / (1 << 20);
}

template <class Work>
Outcome record_and_read(const std::string& dir, Work work) {
  genscope::SessionOptions o;
  o.out = dir;
  Outcome out;
  std::string run_dir;
  {
    const genscope::Session session("bench", o);
    run_dir = session.run_dir();
    out.made = work(out);
  }
  const auto run = genscope::read_run(run_dir);
  if (run.ok()) {
    for (const genscope::Trace& t : run->traces) {
      out.read += t.spans.size() - 1;  // less the session
      for (const auto& track : t.tracks) out.told += track.dropped_spans;
    }
  }
  std::filesystem::remove_all(run_dir);
  return out;
}

void add(Table& table, const std::string& name, const Outcome& o, const char* bar, bool kept) {
  const std::uint64_t missing = o.made - o.read;
  table.add({name, static_cast<double>(missing), "spans lost", "", 0, bar, kept,
             std::to_string(o.made) + " made, " + std::to_string(o.told) + " counted as lost"});
}

void paced(std::uint64_t rate, double seconds, int index) {
  pin_to_core(index);
  const std::uint64_t start = clock_ns(CLOCK_MONOTONIC);
  const auto total = static_cast<std::uint64_t>(static_cast<double>(rate) * seconds);
  for (std::uint64_t n = 0; n < total;) {
    const std::uint64_t due = (clock_ns(CLOCK_MONOTONIC) - start) * rate / 1'000'000'000;
    for (; n < due && n < total; ++n) {
      GENSCOPE_SPAN("paced");
      clobber();
    }
  }
}

void rate_rows(const std::string& dir, const Options& options, Table& table) {
  const double seconds = options.quick ? 0.3 : 3;
  for (const int threads : {1, 2}) {
    const Outcome o = record_and_read(dir, [&](Outcome&) {
      std::vector<std::thread> list;
      for (int t = 0; t < threads; ++t) list.emplace_back([&, t] { paced(5'000'000, seconds, t); });
      for (auto& t : list) t.join();
      return static_cast<std::uint64_t>(5'000'000 * seconds) * static_cast<std::uint64_t>(threads);
    });
    add(table, "5 M spans/s a thread, " + std::to_string(threads) + " thread(s)", o,
        "0, or counted exactly", o.read + o.told == o.made);
  }
}

void churn_rows(const std::string& dir, const Options& options, Table& table) {
  const int threads = options.quick ? 100 : 1000;
  const Outcome churn = record_and_read(dir, [&](Outcome&) {
    for (int i = 0; i < threads; ++i) {
      std::thread([] {
        for (int n = 0; n < 100; ++n) {
          GENSCOPE_SPAN("short-lived");
          clobber();
        }
      }).join();
    }
    return static_cast<std::uint64_t>(threads) * 100;
  });
  add(table, std::to_string(threads) + " threads that come and go", churn, "0",
      churn.read == churn.made);

  const int seconds = options.quick ? 2 : 60;
  const Outcome steady = record_and_read(dir, [&](Outcome& out) {
    std::atomic<std::uint64_t> made{0};
    std::atomic<bool> stop{false};
    std::vector<std::thread> list;
    for (int t = 0; t < 8; ++t) {
      list.emplace_back([&] {
        std::uint64_t n = 0;
        while (!stop.load(std::memory_order_relaxed)) {
          for (int k = 0; k < 100; ++k, ++n) {
            GENSCOPE_SPAN("steady");
            irregular_work();
          }
          ::usleep(1000);
        }
        made += n;
      });
    }
    ::usleep(static_cast<useconds_t>(seconds) * 200'000);
    const double early = rss_mib();
    for (int s = 0; s < seconds * 8; ++s) ::usleep(100'000);
    out.rss_growth_mib = rss_mib() - early;
    stop = true;
    for (auto& t : list) t.join();
    return made.load();
  });
  add(table, "8 threads for " + std::to_string(seconds) + " s", steady, "0",
      steady.read == steady.made);
  table.add({"memory growth over the last 80 % of that", steady.rss_growth_mib, "MiB", "", 0,
             "flat (< 4 MiB)", steady.rss_growth_mib < 4, ""});
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const std::string dir =
      std::filesystem::temp_directory_path() / ("genscope-bench-" + std::to_string(::getpid()));
  std::filesystem::create_directories(dir);
  Table table;
  kill_rows(dir, options, table);
  rate_rows(dir, options, table);
  churn_rows(dir, options, table);
  std::filesystem::remove_all(dir);
  table.finish(options.json);
  return 0;
}
