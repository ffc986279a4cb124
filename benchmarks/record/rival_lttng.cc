#include <cstdlib>
#include <filesystem>
#include <string>

#include "record/rivals.h"

#if GENSCOPE_BENCH_LTTNG
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wshadow"
#include <unistd.h>

#include "harness/measure.h"
#include "record/lttng_provider.h"

namespace bench {
namespace {

bool run(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}
std::string trace_folder() {
  return std::filesystem::temp_directory_path() / ("genscope-lttng-" + std::to_string(::getpid()));
}

}  // namespace

bool lttng_available() { return run("command -v lttng") && run("command -v lttng-sessiond"); }

void lttng_span(std::uint64_t n) {
  while (n-- > 0) {
    lttng_ust_tracepoint(genscope_bench, begin, 7);
    clobber();
    lttng_ust_tracepoint(genscope_bench, end, 7);
  }
}

LttngSession::LttngSession() {
  run("lttng-sessiond --daemonize");
  active_ = run("lttng create genscope_bench --output=" + trace_folder()) &&
            run("lttng enable-channel --userspace --subbuf-size=4M --num-subbuf=8 channel0") &&
            run("lttng enable-event --userspace --channel=channel0 'genscope_bench:*'") &&
            run("lttng start");
  if (active_) ::sleep(1);  // until the daemon has told this process
}

LttngSession::~LttngSession() {
  run("lttng destroy genscope_bench");
  std::filesystem::remove_all(trace_folder());
}

}  // namespace bench

#else

namespace bench {
bool lttng_available() { return false; }
void lttng_span(std::uint64_t) {}
LttngSession::LttngSession() = default;
LttngSession::~LttngSession() = default;
}  // namespace bench

#endif
