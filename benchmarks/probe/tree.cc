#include "tree.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bench {
namespace {

[[noreturn]] void sleep_with(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  while (::getppid() == parent) ::pause();
  ::_exit(0);
}

}  // namespace

SleepingTree::SleepingTree(int count) {
  int ready[2];
  if (::pipe(ready) != 0) return;
  const pid_t self = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    const pid_t root = ::getpid();
    for (int i = 1; i < count; ++i) {
      if (::fork() == 0) sleep_with(root);
    }
    const char done = 1;
    if (::write(ready[1], &done, 1) != 1) ::_exit(1);
    sleep_with(self);
  }
  char done = 0;
  while (::read(ready[0], &done, 1) < 0) {
  }
  ::close(ready[0]);
  ::close(ready[1]);
}

SleepingTree::~SleepingTree() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

}  // namespace bench
