// A server that we start in a process group of its own and stop with everything in it.
#pragma once

#include <sys/types.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <genscope/bench.h>

#include "base/file.h"
#include "bench/http/address.h"

namespace genscope::bench {

class ServerProcess {
 public:
  // Runs `command` by `sh -c`. Its output is read; the last lines are kept.
  static Result<std::unique_ptr<ServerProcess>> start(
      const std::string& command, const std::string& cwd,
      const std::vector<std::pair<std::string, std::string>>& env);
  ~ServerProcess();  // stop(0)

  // How it ended, as a failure: crash or exit_nonzero (also for 0: it should not have ended).
  // Nothing while it runs.
  std::optional<Failure> ended();
  // TERM to the group; KILL after `grace_s`. Waits for it.
  void stop(double grace_s);
  std::string last_lines() const;  // of what it printed, printable

 private:
  ServerProcess() = default;
  void read_output();

  pid_t pid_ = -1;  // and of its group
  std::optional<int> status_;
  base::UniqueFd output_, wake_read_, wake_write_;
  mutable std::mutex mutex_;
  std::string tail_;
  std::thread reader_;
};

// Whether something takes connections there, now.
bool accepts_connections(const Address& address, int timeout_ms);
// A port of the loopback address that nobody listens on.
Result<std::uint16_t> free_port();

}  // namespace genscope::bench
