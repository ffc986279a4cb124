// bench_load: does the load generator send when it should? 5,000 requests per second, Poisson,
// against a server on the loopback address that counts what it answers; and the same over TLS.
//
// "Sent" is when the last byte of a request was with the kernel. The bar is on our own lateness, so
// it is broken by a machine that does not run us; the note has what else ran.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "analyze/statistics/statistics.h"
#include "bench/count_server.h"
#include "bench/http/load.h"
#include "harness/measure.h"
#include "harness/table.h"

namespace {

namespace gb = genscope::bench;

double load_average() {
  double one = 0;
  return getloadavg(&one, 1) == 1 ? one : 0;
}

double at(const std::vector<double>& values, double p) {
  return genscope::stats::quantile(values, p).value_or(-1);
}

void run_rate(double rate, gb::Arrivals arrivals, bool tls, double seconds, bool promised,
              bench::Table& table) {
  bench::CountServer server(tls);
  gb::LoadOptions options;
  options.http.insecure = tls;
  options.http.url =
      (tls ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(server.port()) + "/";
  options.arrivals = arrivals;
  options.rate = rate;
  options.duration_s = seconds;
  const std::uint64_t cpu_before = bench::clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  const auto run = gb::run_load(options);
  const std::uint64_t cpu = bench::clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_before;
  if (!run) {
    std::fprintf(stderr, "%s\n", run.error().message.c_str());
    std::exit(1);
  }
  std::vector<double> late_ms;
  std::uint64_t failed = 0;
  for (const gb::LoadRequest& request : run->requests) {
    late_ms.push_back(static_cast<double>(request.sent_ns - request.scheduled_ns) * 1e-6);
    failed += request.failure ? 1 : 0;
  }
  char name[96], note[96];
  std::snprintf(name, sizeof name, "%s%s %.0f/s", tls ? "https " : "",
                std::string(gb::name(arrivals)).c_str(), rate);
  std::snprintf(note, sizeof note, "load average %.1f on %ld CPUs", load_average(),
                sysconf(_SC_NPROCESSORS_ONLN));
  const double p99 = at(late_ms, 0.99);
  const std::string prefix = name;
  table.add({prefix + ": late p50", at(late_ms, 0.5), "ms", "", 0, "", true, ""});
  table.add({prefix + ": late p99", p99, "ms", "", 0, promised ? "at most 1 ms" : "",
             !promised || p99 <= 1, note});
  table.add({prefix + ": late max", at(late_ms, 1), "ms", "", 0, "", true, ""});
  const auto sent = static_cast<double>(run->requests.size());
  const auto counted = static_cast<double>(server.requests()) - 1;  // the warm-up
  table.add({prefix + ": requests", sent, "", "server's count", counted > 0 ? sent / counted : 0,
             "equal", sent == counted && failed == 0, std::to_string(failed) + " failed"});
  table.add({prefix + ": CPU of a request", static_cast<double>(cpu) * 1e-3 / sent, "us", "", 0, "",
             true, "send, receive, judge"});
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options = bench::parse(argc, argv);
  bench::Table table;
  const double seconds = options.quick ? 1 : 10;
  run_rate(1000, gb::Arrivals::poisson, false, seconds, false, table);
  run_rate(5000, gb::Arrivals::poisson, false, seconds, !options.quick, table);
  run_rate(5000, gb::Arrivals::constant, false, seconds, !options.quick, table);
  run_rate(5000, gb::Arrivals::poisson, true, seconds, !options.quick, table);
  return table.finish(options.json) == 0 ? 0 : 1;
}
