// ranks_of_a_run N: N processes that mark steps of 200 ms and their layers, and wait meanwhile, as
// a host does whose GPUs work; until they are killed.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

#include <genscope/record.h>

namespace {

constexpr int kLayers = 48;
constexpr std::int64_t kSteps = 50;

[[noreturn]] void be_rank(int rank, int count) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  setenv("RANK", std::to_string(rank).c_str(), 1);
  setenv("WORLD_SIZE", std::to_string(count).c_str(), 1);
  genscope::Session session{"ranks"};
  for (;;) {
    genscope::Stage stage{"denoising", {{"steps", kSteps}}};
    for (std::int64_t i = 0; i < kSteps; ++i) {
      genscope::Step step{i};
      for (int layer = 0; layer < kLayers; ++layer) {
        GENSCOPE_SPAN("layer");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      genscope::counter("loss", 1.0 / static_cast<double>(i + 1));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 64;
  for (int rank = 0; rank < count; ++rank) {
    if (fork() == 0) be_rank(rank, count);
  }
  while (wait(nullptr) > 0) {
  }
  return 0;
}
