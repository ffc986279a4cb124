#include "ranks.h"

#include <genscope/record.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace tinydiff {
namespace {

pthread_barrier_t* g_barrier = nullptr;  // in memory that all ranks share

constexpr int kExitRankLost = 1;

pthread_barrier_t* make_barrier(int count) {
  void* const memory = mmap(nullptr, sizeof(pthread_barrier_t), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* const barrier = static_cast<pthread_barrier_t*>(memory);
  pthread_barrierattr_t shared;
  pthread_barrierattr_init(&shared);
  pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(barrier, &shared, static_cast<unsigned>(count));
  pthread_barrierattr_destroy(&shared);
  return barrier;
}

}  // namespace

void meet() {
  if (g_barrier == nullptr) return;
  GENSCOPE_SPAN("all_reduce");
  pthread_barrier_wait(g_barrier);
}

int run_ranks(int count, const std::function<int()>& body) {
  g_barrier = make_barrier(count);
  if (g_barrier == nullptr) {
    std::perror("tinydiff: no memory for the ranks to meet in");
    return kExitRankLost;
  }
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < count; ++rank) {
    const pid_t pid = fork();
    if (pid == 0) {
      setenv("RANK", std::to_string(rank).c_str(), 1);
      setenv("WORLD_SIZE", std::to_string(count).c_str(), 1);
      std::exit(body());
    }
    if (pid > 0) ranks.push_back(pid);
  }
  if (ranks.size() < static_cast<std::size_t>(count)) {  // those that are there would wait for ever
    std::perror("tinydiff: cannot start the ranks");
    for (const pid_t pid : ranks) kill(pid, SIGKILL);
  }
  int worst = 0;
  for (const pid_t pid : ranks) {
    int status = 0;
    waitpid(pid, &status, 0);
    worst = std::max(worst, WIFEXITED(status) ? WEXITSTATUS(status) : kExitRankLost);
  }
  return worst;
}

}  // namespace tinydiff
