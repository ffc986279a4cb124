// bench_record_read: a trace of ten million spans is written, then read and summarised.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <genscope/analyze.h>
#include <genscope/record.h>
#include <genscope/store.h>

#include "harness/measure.h"
#include "harness/table.h"

namespace {

using namespace bench;

constexpr int kNames = 32;

// session > stage > step > block with irregular work in the blocks, at a pace that the drain
// thread keeps up with.
void record(std::uint64_t spans) {
  static const auto names = [] {
    std::vector<std::string> list;
    for (int i = 0; i < kNames; ++i) list.push_back("block." + std::to_string(i));
    return list;
  }();
  std::uint64_t n = 0;
  while (n < spans) {
    const genscope::Stage stage("denoising");
    n++;
    for (int step = 0; step < 30 && n < spans; ++step) {
      const genscope::Step s(step);
      n++;
      for (int b = 0; b < 24 && n < spans; ++b) {
        const genscope::Span block(genscope::SpanKind::forward, names[(n * 7) % kNames]);
        n++;
        irregular_work();
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const std::uint64_t spans = options.quick ? 500'000 : 10'000'000;
  const std::string dir =
      std::filesystem::temp_directory_path() / ("genscope-bench-" + std::to_string(::getpid()));
  Table table;
  std::string packed_dir;
  for (const bool pack : {true, false}) {
    genscope::SessionOptions o;
    o.out = dir;
    o.pack = pack;
    std::string run_dir;
    const std::uint64_t count = pack ? spans : spans / 10;
    {
      const genscope::Session session(pack ? "packed" : "raw", o);
      run_dir = session.run_dir();
      std::thread other([&] { record(count / 2); });
      record(count / 2);
      other.join();
    }
    std::uint64_t bytes = 0;
    for (const auto& e : std::filesystem::directory_iterator(run_dir)) {
      if (e.path().extension() == ".gst") bytes += e.file_size();
    }
    const double each = static_cast<double>(bytes) / static_cast<double>(count);
    const double bar = pack ? 5 : 16.5;
    table.add({pack ? "bytes a span on disk, packed" : "bytes a span on disk, raw", each, "bytes",
               "", 0, pack ? "<= 5" : "16 (+ frames)", each <= bar, ""});
    if (pack) packed_dir = run_dir;
  }
  // In children, so that the peak memory is the reader's alone.
  std::vector<double> rates, memory;
  for (int r = 0; r < (options.quick ? 1 : 5); ++r) {
    int pipe_fds[2];
    if (::pipe(pipe_fds) != 0) return 1;
    const pid_t child = ::fork();
    if (child == 0) {
      const std::uint64_t from = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
      const auto run = genscope::read_run(packed_dir);
      if (!run.ok()) ::_exit(1);
      const genscope::Analysis analysis = genscope::analyze(*run);
      const std::uint64_t to = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
      rusage usage{};
      ::getrusage(RUSAGE_SELF, &usage);
      const double result[3] = {static_cast<double>(to - from),
                                static_cast<double>(usage.ru_maxrss) * 1024,
                                static_cast<double>(analysis.recorder.spans)};
      const bool wrote = ::write(pipe_fds[1], result, sizeof result) == sizeof result;
      ::_exit(wrote ? 0 : 1);
    }
    double result[3] = {};
    const bool got = ::read(pipe_fds[0], result, sizeof result) == sizeof result;
    ::close(pipe_fds[0]);
    ::close(pipe_fds[1]);
    ::waitpid(child, nullptr, 0);
    if (!got || result[2] < static_cast<double>(spans)) {
      std::printf("the reader found %.0f of %llu spans\n", result[2],
                  static_cast<unsigned long long>(spans));
      return 1;
    }
    rates.push_back(result[2] / result[0] * 1e3);
    memory.push_back(result[1] / result[2]);
  }
  const double rate = median(rates), each = median(memory);
  table.add({"read and summarise, one core", rate, "M spans/s", "", 0, ">= 8", rate >= 8, ""});
  table.add({"peak memory of that", each, "bytes/span", "", 0, "< 100", each < 100, ""});
  std::filesystem::remove_all(dir);
  table.finish(options.json);
  return 0;
}
