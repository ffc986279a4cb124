#include "psutil.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace bench {
namespace {

// The fast tier ten times a second, the normal one once, on absolute deadlines, as our sampler.
constexpr const char* kScript = R"(
import sys, time, psutil
pid, seconds = int(sys.argv[1]), float(sys.argv[2])
root = psutil.Process(pid)
tree = [root] + root.children(recursive=True)
def fast():
    cpu = rss = shared = 0
    for p in tree:
        try:
            with p.oneshot():
                t, m = p.cpu_times(), p.memory_info()
        except psutil.Error:
            continue
        cpu += t.user + t.system + t.children_user + t.children_system
        rss += m.rss
        shared += m.shared
    return cpu, rss, shared
def normal():
    global tree
    tree = [root] + root.children(recursive=True)
    threads = read = written = 0
    for p in tree:
        try:
            with p.oneshot():
                threads += p.num_threads()
                p.name(), p.ppid()
            io = p.io_counters()
        except psutil.Error:
            continue
        read += io.read_bytes
        written += io.write_bytes
def run(ticks):
    due = time.monotonic()
    for tick in range(ticks):
        fast()
        if tick % 10 == 0:
            normal()
        due += 0.1
        time.sleep(max(0, due - time.monotonic()))
run(10)
wall, cpu = time.monotonic(), time.process_time()
run(int(seconds * 10))
print((time.process_time() - cpu) / (time.monotonic() - wall))
)";

// Starts it; `out` is where its output can be read.
pid_t start(const std::string& python, const char* script, const std::string& pid,
            const std::string& seconds, int& out) {
  int ends[2];
  if (::pipe(ends) != 0) return -1;
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], 1);
    ::close(ends[0]);
    ::close(ends[1]);
    ::execlp(python.c_str(), python.c_str(), "-c", script, pid.c_str(), seconds.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(ends[1]);
  out = ends[0];
  return child;
}

}  // namespace

bool Psutil::find(std::string& python) {
  for (const char* const candidate : {"python3", "/usr/bin/python3"}) {
    int out = -1, status = 1;
    const pid_t child = start(candidate, "import psutil", "", "", out);
    if (child < 0) continue;
    ::waitpid(child, &status, 0);
    ::close(out);
    python = candidate;
    if (status == 0) return true;
  }
  return false;
}

Psutil::Psutil(const std::string& python, pid_t root, double seconds)
    : pid_(start(python, kScript, std::to_string(root), std::to_string(seconds), out_)) {}

double Psutil::finish() {
  std::string text;
  char buffer[64];
  for (ssize_t n; out_ >= 0 && (n = ::read(out_, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(n));
  }
  int status = 1;
  ::waitpid(pid_, &status, 0);
  ::close(out_);
  return status == 0 && !text.empty() ? std::strtod(text.c_str(), nullptr) : -1;
}

}  // namespace bench
