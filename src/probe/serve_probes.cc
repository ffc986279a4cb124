// The child's side of a remote probe: reads, and writes what it read to a pipe.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/own_threads.h"
#include "genscope/probe.h"
#include "probe/sampling_loop.h"
#include "probe/wire.h"

namespace genscope {

int serve_probes(const std::vector<std::string>& names, const ProbeOptions& options,
                 const SamplerOptions& sampling, int fd) {
  // Ctrl-C is for the command that is watched; this process ends with its parent.
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGQUIT, SIG_IGN);
  ::signal(SIGPIPE, SIG_IGN);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);

  base::whole_process_is_own();
  probe::WireWriter writer;
  SamplerOptions own = sampling;
  own.sink = &writer;
  own.history = false;
  probe::SamplingLoop loop(own);
  for (const std::string& name : names) {
    Result<std::unique_ptr<Probe>> made = make_probe(name, options);
    if (!made) return 2;
    loop.add(std::move(*made));
  }
  const auto flush = [&] {
    const int failed = base::write_all(fd, writer.out().data(), writer.out().size());
    writer.out().clear();
    return failed == 0;
  };
  loop.open(base::monotonic_ns());
  for (const ProbeReport& report : loop.reports()) writer.add_state(report.name, report.state);
  std::int64_t next = loop.run_due(base::monotonic_ns());
  while (flush()) {
    const std::int64_t left = next - base::monotonic_ns();
    // A pipe that nobody reads any more polls as an error at once.
    pollfd gone{fd, 0, 0};
    const timespec pause{left > 0 ? left / 1'000'000'000 : 0, left > 0 ? left % 1'000'000'000 : 0};
    if (::ppoll(&gone, 1, &pause, nullptr) > 0) break;
    const std::int64_t now = base::monotonic_ns();
    if (now >= next) next = loop.run_due(now);
  }
  return 0;
}

}  // namespace genscope
