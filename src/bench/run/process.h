// One run of a program: started in a process group of its own, timed, waited for, and asked what it
// used. Everything around the time itself is kept small: a benchmark pays it at each iteration.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/file.h"
#include "bench/run/spawn.h"

namespace genscope::bench {

enum class ShowOutput : std::uint8_t { none, errors, all };

struct Spawn : Launch {
  std::optional<double> timeout_s;
  ShowOutput show = ShowOutput::none;
};

struct Ended {
  int spawn_error = 0;  // errno; then nothing else is known
  // The end is when we were woken, less how long we then waited for a CPU ourselves.
  std::int64_t started_ns = 0, ended_ns = 0;
  int status = 0;  // as waitpid() has it
  bool timed_out = false, cancelled = false;
  rusage usage{};
  // Greatest resident memory; 0 if it was not above our own. The kernel counts what a program was
  // before exec(), which is us.
  std::uint64_t rss_peak_bytes = 0;
  std::optional<std::uint64_t> read_bytes, write_bytes;  // to and from disks, children included
  // Of its first thread: on a CPU, and ready but waiting for one.
  std::optional<double> first_thread_cpu_s, first_thread_wait_s;
  std::string errors;  // the end of its stderr, at most kErrorsKept bytes
};
inline constexpr std::size_t kErrorsKept = 4096;

class ProcessRunner {
 public:
  ProcessRunner();
  ProcessRunner(const ProcessRunner&) = delete;
  ProcessRunner& operator=(const ProcessRunner&) = delete;
  // Waits for the program's end; after the time-out, or cancel(), its group gets SIGTERM and soon
  // SIGKILL.
  Ended run(const Spawn& spawn);

 private:
  int start(const Spawn& spawn, int& pid);
  void wait(int pid, const Spawn& spawn, Ended& ended);
  void end_group(int pid, int pidfd);
  void drain(std::string& errors);
  // How long this thread has waited for a CPU in its life; 0 where the kernel does not say.
  std::int64_t own_wait_ns();

  base::UniqueFd own_schedstat_;
  int own_thread_ = 0;  // that it is of
  base::UniqueFd null_, errors_read_, errors_write_;
  bool counts_blocks_;  // see Ended::read_bytes
  Spawner spawner_;
  std::uint64_t own_peak_bytes_ = 0;  // at least: it only grows
};

}  // namespace genscope::bench
