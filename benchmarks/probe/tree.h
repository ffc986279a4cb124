// Idle processes to watch.
#pragma once

#include <sys/types.h>

namespace bench {

// A process with `count` - 1 children, all asleep. Ends them with itself.
class SleepingTree {
 public:
  explicit SleepingTree(int count);
  ~SleepingTree();
  SleepingTree(const SleepingTree&) = delete;
  SleepingTree& operator=(const SleepingTree&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

}  // namespace bench
