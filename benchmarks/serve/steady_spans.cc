// steady_spans RATE SECONDS: so many spans a second for so long, in steps of a stage as a pipeline
// has them; then prints how many it made. What benchmarks/serve/soak.py looks at.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <genscope/record.h>

int main(int argc, char** argv) {
  using Clock = std::chrono::steady_clock;
  const std::int64_t rate = argc > 1 ? std::atoll(argv[1]) : 10'000;
  const std::int64_t seconds = argc > 2 ? std::atoll(argv[2]) : 60;
  constexpr std::int64_t kStepsPerSecond = 100;
  const std::int64_t steps = seconds * kStepsPerSecond;
  const std::int64_t inner = rate / kStepsPerSecond - 1;  // the step itself is one
  std::uint64_t made = 2;                                 // the session and the stage
  {
    genscope::Session session{"steady"};
    genscope::Stage stage{"denoising", {{"steps", steps}}};
    const Clock::time_point began = Clock::now();
    for (std::int64_t i = 0; i < steps; ++i) {
      {
        genscope::Step step{i};
        for (std::int64_t n = 0; n < inner; ++n) {
          GENSCOPE_SPAN("layer");
        }
      }
      made += static_cast<std::uint64_t>(inner) + 1;
      genscope::counter("loss", 1.0 / static_cast<double>(i + 1));
      std::this_thread::sleep_until(began +
                                    std::chrono::milliseconds((i + 1) * 1000 / kStepsPerSecond));
    }
  }
  std::printf("%llu\n", static_cast<unsigned long long>(made));
  return 0;
}
