// producer RUN_DIR SPANS: one thread records SPANS spans after its first, between two calls of
// getpgid(0), which a system-call trace shows.
#include <genscope/record.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const long spans = std::atol(argv[2]);
  genscope::SessionOptions options;
  options.run_dir = argv[1];
  const genscope::Session session("producer", options);
  if (!session.active()) return 3;
  std::thread([=] {
    const auto some = [](long n) {
      for (long i = 0; i < n; ++i) {
        GENSCOPE_STAGE("stage", GENSCOPE_ARG("i", i));
        GENSCOPE_SPAN("span");
        const genscope::Stage named("named");
      }
    };
    some(1);
    ::getpgid(0);
    some(spans / 3);
    ::getpgid(0);
  }).join();
  return 0;
}
