#include "harness/child.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bench {

Spent in_child(const std::function<bool()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body() ? 0 : 1);
  int status = 0;
  rusage usage{};
  ::wait4(child, &status, 0, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  Spent cost;
  cost.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  cost.peak_bytes = static_cast<double>(usage.ru_maxrss) * 1024;
  cost.worked = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return cost;
}

}  // namespace bench
