// The host probes against the machine itself and against ps, free and psutil.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <cmath>
#include <cstdio>
#include <thread>

#include "genscope/probe.h"
#include "probe/builtin.h"
#include "probe/test_board.h"
#include "support.h"

namespace genscope {
namespace {

using probe::TestBoard;
using testing::kSanitized;
using testing::scaled;

// One probe and what it reads.
class Watch {
 public:
  explicit Watch(std::string_view name, const ProbeOptions& options = {})
      : probe_(make_probe(name, options).value()), state_(probe_->open(board_)) {}
  explicit Watch(pid_t pid) : Watch("process", options_of(pid)) {}

  void sample(Tier tier) { probe_->sample(tier, base::monotonic_ns(), board_); }
  double get(const char* metric, Tier tier = Tier::fast) {
    sample(tier);
    const Reading reading = board_.get(board_.entities.at(0).id, metric);
    EXPECT_EQ(reading.status, SampleStatus::ok)
        << metric << ": " << (reading.reason != nullptr ? reading.reason : "");
    return reading.value;
  }
  const ProbeState& state() const { return state_; }
  TestBoard& board() { return board_; }

 private:
  static ProbeOptions options_of(pid_t pid) {
    ProbeOptions options;
    options.pid = pid;
    return options;
  }
  TestBoard board_;
  std::unique_ptr<Probe> probe_;
  ProbeState state_;
};

std::string output_of(const std::string& command) {
  std::string text;
  FILE* const pipe = ::popen(command.c_str(), "r");
  char buffer[256];
  while (pipe != nullptr && std::fgets(buffer, sizeof buffer, pipe) != nullptr) text += buffer;
  return pipe != nullptr && ::pclose(pipe) == 0 ? text : "";
}

// A child that runs `body`, says that it is ready, and waits until it is killed.
class Helper {
 public:
  template <class Body>
  explicit Helper(Body body) {
    int ready[2];
    if (::pipe(ready) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      body();
      if (::write(ready[1], "r", 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    ::close(ready[1]);
    char byte = 0;
    while (::read(ready[0], &byte, 1) < 0 && errno == EINTR) {
    }
    ::close(ready[0]);
  }
  ~Helper() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

double self_cpu_ns() { return static_cast<double>(base::clock_ns(CLOCK_PROCESS_CPUTIME_ID)); }

void burn_cpu_ns(std::int64_t ns) {
  const std::int64_t until = base::clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
  while (base::clock_ns(CLOCK_THREAD_CPUTIME_ID) < until) {
  }
}

TEST(LiveProcess, CpuOfABurnerIsItsThreadsTime) {
  Watch watch(0);
  constexpr std::int64_t kEach = 300'000'000;
  const double before = watch.get("cpu_ns"), clock_before = self_cpu_ns();
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back([] { burn_cpu_ns(kEach); });
  for (std::thread& thread : threads) thread.join();
  const double clock = self_cpu_ns() - clock_before;
  const double used = watch.get("cpu_ns") - before;
  EXPECT_GE(used, 3 * kEach);
  EXPECT_NEAR(used, clock, 0.02 * clock);
}

TEST(LiveProcess, SplitsAnonymousAndFileMemory) {
  if (testing::kThreadSanitizer) GTEST_SKIP() << "tsan's shadow is anonymous memory too";
  const testing::TempDir dir;
  const std::size_t kAnonymous = scaled(300) << 20, kFile = scaled(200) << 20;
  const std::string path = dir / "weights";
  {
    const std::vector<char> block(1 << 20, 'w');
    std::ofstream out(path, std::ios::binary);
    for (std::size_t n = 0; n < kFile; n += block.size()) out.write(block.data(), 1 << 20);
  }
  const auto touch = [](char* data, std::size_t size, bool write) {
    volatile char* const bytes = data;
    for (std::size_t i = 0; i < size; i += 4096) {
      const char byte = bytes[i];
      if (write) bytes[i] = static_cast<char>(byte + 1);
    }
  };
  // Told apart from what the program has anyway by a second helper that maps nothing.
  const Helper plain([] {});
  const Helper helper([&] {
    const int fd = ::open(path.c_str(), O_RDONLY);
    void* const file = ::mmap(nullptr, kFile, PROT_READ, MAP_SHARED, fd, 0);
    void* const anonymous =
        ::mmap(nullptr, kAnonymous, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (file == MAP_FAILED || anonymous == MAP_FAILED) ::_exit(1);
    touch(static_cast<char*>(file), kFile, false);
    touch(static_cast<char*>(anonymous), kAnonymous, true);
  });
  Watch watch(helper.pid()), empty(plain.pid());
  const auto more = [&](const char* metric) { return watch.get(metric) - empty.get(metric); };
  // The two helpers differ by a few pages of their own; counters of a CPU may lag by a batch.
  const double slack = 2 << 20;
  const auto anonymous = static_cast<double>(kAnonymous), file = static_cast<double>(kFile);
  EXPECT_NEAR(more("rss_anon_bytes"), anonymous, 0.01 * anonymous + (kSanitized ? slack : 0));
  EXPECT_NEAR(more("rss_file_bytes"), file, 0.01 * file + (kSanitized ? slack : 0));
  EXPECT_NEAR(watch.get("rss_bytes"), watch.get("rss_anon_bytes") + watch.get("rss_file_bytes"), 1);
}

TEST(LiveProcess, RssIsThatOfPs) {
  const Helper helper([] {});
  Watch watch(helper.pid());
  const std::string text = output_of("ps -o rss= -p " + std::to_string(helper.pid()));
  if (text.empty()) GTEST_SKIP() << "no ps here";
  // 64 KiB: counters of a CPU may lag by a batch.
  EXPECT_NEAR(watch.get("rss_bytes"), std::stod(text) * 1024, 64 << 10);
}

TEST(LiveProcess, AgreesWithPsutil) {
  const Helper helper([] { burn_cpu_ns(120'000'000); });
  Watch watch(helper.pid());
  const std::string script =
      " -c 'import sys, psutil; p = psutil.Process(int(sys.argv[1])); m = p.memory_info();"
      " t = p.cpu_times(); print(m.rss, m.shared, t.user + t.system, p.num_threads())' ";
  std::string text;
  for (const char* const python : {"python3", "/usr/bin/python3"}) {
    if (!text.empty()) break;
    text = output_of(python + script + std::to_string(helper.pid()) + " 2>/dev/null");
  }
  if (text.empty()) GTEST_SKIP() << "no Python with psutil here (Debian: python3-psutil)";
  double rss = 0, shared = 0, cpu = 0, threads = 0;
  ASSERT_EQ(std::sscanf(text.c_str(), "%lf %lf %lf %lf", &rss, &shared, &cpu, &threads), 4) << text;
  EXPECT_NEAR(watch.get("rss_bytes"), rss, 64 << 10);
  EXPECT_NEAR(watch.get("rss_file_bytes"), shared, 64 << 10);
  EXPECT_NEAR(watch.get("cpu_ns"), cpu * 1e9, 20e6) << "psutil sees ticks of 10 ms";
  EXPECT_EQ(watch.get("threads", Tier::normal), threads);
}

TEST(LiveProcess, CountsShortChildrenOnceWhoeverSawThem) {
  // Each lives about as long as the pause between two readings: many are born and reaped in
  // between.
  const int kChildren = static_cast<int>(scaled(200));
  constexpr std::int64_t kEach = 25'000'000;
  testing::TempDir dir;
  testing::SharedWords words(dir / "words", 2);  // go, CPU of all children in ns
  const Helper helper([&] {
    if (::fork() != 0) return;
    // The parent of the many: two at a time.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (words[0].load() == 0) ::usleep(1000);
    int running = 0;
    for (int i = 0; i < kChildren; ++i) {
      if (::fork() == 0) {
        burn_cpu_ns(kEach);
        ::_exit(0);
      }
      if (++running >= 2) {
        ::wait(nullptr);
        --running;
      }
    }
    while (::wait(nullptr) > 0) {
    }
    rusage used{};
    ::getrusage(RUSAGE_CHILDREN, &used);
    const auto ns = [](const timeval& t) { return t.tv_sec * 1'000'000'000 + t.tv_usec * 1000; };
    words[1].store(static_cast<std::uint64_t>(ns(used.ru_utime) + ns(used.ru_stime)));
    for (;;) ::pause();
  });
  Watch watch(helper.pid());
  const double before = watch.get("cpu_ns", Tier::normal);
  words[0].store(1);
  double last = before;
  for (int tick = 0; words[1].load() == 0; ++tick) {
    const double now = watch.get("cpu_ns", tick % 5 == 0 ? Tier::normal : Tier::fast);
    ASSERT_GE(now, last) << "CPU time went back";
    last = now;
    ::usleep(20'000);
  }
  const auto truth = static_cast<double>(words[1].load());
  const double counted = watch.get("cpu_ns", Tier::normal) - before;
  EXPECT_GE(truth, static_cast<double>(kChildren) * static_cast<double>(kEach));
  // What the parent itself spent on forking is in `counted` too, and it is no child's.
  EXPECT_NEAR(counted, truth, 0.05 * truth + (kSanitized ? 0.5 * truth : 0));
  EXPECT_GE(counted, 0.99 * truth - 20e6);
}

TEST(LiveProcess, KeepsTheTimeOfOrphans) {
  const Helper helper([] {
    if (::fork() != 0) return;
    if (::fork() == 0) {  // an orphan soon
      ::usleep(300'000);
      burn_cpu_ns(200'000'000);
      ::usleep(300'000);
      ::_exit(0);
    }
    ::usleep(200'000);
    ::_exit(0);
  });
  Watch watch(helper.pid());
  double last = 0, processes = 3;
  // Until the orphan has ended: the root and its zombie child are left.
  for (int i = 0; i < 1000 && processes > 1; ++i) {
    const double now = watch.get("cpu_ns", Tier::normal);
    ASSERT_GE(now, last);
    last = now;
    processes = watch.get("processes", Tier::normal);
    ::usleep(20'000);
  }
  EXPECT_EQ(processes, 1);
  EXPECT_GE(watch.get("cpu_ns", Tier::normal), 200e6);
}

TEST(LiveProcess, SaysThatAProcessHasEnded) {
  pid_t pid = 0;
  std::unique_ptr<Watch> watch;
  {
    const Helper helper([] { burn_cpu_ns(20'000'000); });
    pid = helper.pid();
    watch = std::make_unique<Watch>(pid);
    EXPECT_GT(watch->get("rss_bytes"), 0);
  }
  EXPECT_GE(watch->get("cpu_ns"), 20e6) << "what it used stays true";
  EXPECT_EQ(watch->board().get("tree", "rss_bytes").status, SampleStatus::lost);
  EXPECT_EQ(Watch(pid).state().kind, ProbeState::Kind::absent);
}

TEST(LiveSystem, MemoryIsThatOfFree) {
  Watch watch("system");
  ASSERT_EQ(watch.state().kind, ProbeState::Kind::works);
  // The figures move while others work: ours before and after must enclose theirs, give or take.
  const double before = watch.get("memory_available_bytes", Tier::normal);
  const std::string text = output_of("free -b");
  const double after = watch.get("memory_available_bytes", Tier::normal);
  const std::size_t line = text.find("Mem:");
  if (line == std::string::npos) GTEST_SKIP() << "no free here";
  double total = 0, available = 0;
  ASSERT_EQ(std::sscanf(text.c_str() + line, "Mem: %lf %*f %*f %*f %*f %lf", &total, &available),
            2);
  EXPECT_EQ(watch.get("memory_total_bytes", Tier::normal), total);
  const double slack = std::abs(after - before) + (64 << 20);
  EXPECT_NEAR(available, before, slack);
}

TEST(LiveSystem, EverySeriesHasAValueOrAReason) {
  for (const char* const name : {"system", "cgroup", "rapl"}) {
    Watch watch(name);
    if (watch.state().kind != ProbeState::Kind::works) {
      EXPECT_FALSE(watch.state().reason.empty()) << name;
      continue;
    }
    for (int i = 0; i < 2; ++i) {
      for (const Tier tier : {Tier::fast, Tier::normal, Tier::slow}) watch.sample(tier);
      ::usleep(50'000);
    }
    for (const TestBoard::Series& series : watch.board().series) {
      EXPECT_GT(series.sets, 0) << series.metric->id;
      EXPECT_TRUE(series.reading.status == SampleStatus::ok || series.reading.reason != nullptr)
          << series.metric->id;
    }
  }
}

}  // namespace
}  // namespace genscope
