// burst RUN_DIR SPANS [MILLISECONDS]
// Two threads record SPANS spans each, spread over MILLISECONDS. Prints what it knows at the end:
//   made=<spans begun> recorded=<spans that were taken> lost=<as the recorder counts> active=<0|1>
// and, after the close, error=<text>. Always exits 0: what happens to the trace is not its affair.
#include <genscope/record.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const long spans = std::atol(argv[2]);
  const auto pause = std::chrono::microseconds(argc > 3 ? std::atol(argv[3]) * 1000 / 100 : 0);
  std::atomic<long> made{0}, recorded{0};
  genscope::SessionOptions options;
  options.run_dir = argv[1];
  genscope::Session session("burst", options);
  const auto work = [&] {
    for (long i = 0; i < spans; ++i) {
      if (pause.count() > 0 && i % (spans / 100) == 0) std::this_thread::sleep_for(pause);
      const genscope::Stage stage("burst", {{"i", i * 12'345}});
      made++;
      recorded += stage.recorded() ? 1 : 0;
    }
  };
  std::thread a(work), b(work);
  a.join();
  b.join();
  genscope::flush();  // a disk that is full is noticed when it is written to
  const genscope::RecorderStats stats = genscope::recorder_stats();
  std::printf("made=%ld recorded=%ld lost=%lu active=%d\n", made.load(), recorded.load(),
              static_cast<unsigned long>(stats.dropped_spans), session.active() ? 1 : 0);
  session.close();
  std::printf("error=%s\n", session.error().c_str());
  return 0;
}
