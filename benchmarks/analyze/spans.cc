// bench_analyze_spans: what the analysis, the facts and the rules cost for runs of a million and of
// ten million spans, in CPU time of one core and in memory per span.
#include <cstdio>
#include <cstdlib>
#include <string>

#include <genscope/advise.h>
#include <genscope/analyze.h>
#include <genscope/trace.h>

#include "counted_new.h"
#include "harness/measure.h"
#include "harness/pipeline_run.h"
#include "harness/table.h"

namespace {

using namespace bench;
using namespace genscope;

constexpr double kSecondsBar = 5, kBytesBar = 200;

struct Cost {
  double seconds = 0, bytes = 0;
};

template <class Body>
Cost cost_of(int repetitions, Body&& body) {
  std::vector<double> times;
  const std::size_t before = held_bytes;
  peak_bytes = held_bytes;
  for (int i = 0; i < repetitions; ++i) {
    const std::uint64_t from = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    body();
    times.push_back(static_cast<double>(clock_ns(CLOCK_THREAD_CPUTIME_ID) - from) * 1e-9);
  }
  return {median(times), static_cast<double>(peak_bytes - before)};
}

// Returns the seconds of the whole.
double measure_run(std::size_t spans, int repetitions, double smaller, Table& table) {
  const std::size_t before = held_bytes;
  const Run run = pipeline_run(spans);
  const auto count = static_cast<double>(run.traces[0].spans.size());
  const double held = static_cast<double>(held_bytes - before) / count;
  Analysis analysis;
  const Cost analyzed = cost_of(repetitions, [&] { analysis = analyze(run); });
  Facts facts;
  const Cost facts_cost = cost_of(repetitions, [&] { facts = facts_of(analysis); });
  std::size_t fired = 0;
  const Cost rules = cost_of(repetitions, [&] { fired = advise(facts).findings.size(); });
  const double whole = analyzed.seconds + facts_cost.seconds + rules.seconds;

  char name[64], note[96], bar[32];
  const auto label = [&](const char* what) {
    std::snprintf(name, sizeof name, "%s, %.0e spans", what, static_cast<double>(spans));
    return std::string(name);
  };
  std::snprintf(note, sizeof note, "%.0f ns a span", analyzed.seconds / count * 1e9);
  table.add({label("analyze"), analyzed.seconds, "s", "", 0, "", true, note});
  std::snprintf(note, sizeof note, "%zu facts", facts.all().size());
  table.add({label("facts"), facts_cost.seconds, "s", "", 0, "", true, note});
  std::snprintf(note, sizeof note, "%zu of %zu fired", fired, built_in_rules().size());
  table.add({label("rules"), rules.seconds * 1e3, "ms", "", 0, "", true, note});
  const bool large = spans >= 10'000'000;
  std::snprintf(bar, sizeof bar, "< %g s", kSecondsBar);
  const double growth = smaller > 0 ? whole / smaller : 0;
  table.add({label("all of it"), whole, "s", smaller > 0 ? "a tenth of the spans" : "", growth,
             large ? bar : "", !large || whole < kSecondsBar, ""});
  const double bytes = held + std::max(analyzed.bytes, facts_cost.bytes) / count;
  std::snprintf(bar, sizeof bar, "< %g", kBytesBar);
  std::snprintf(note, sizeof note, "%.0f of them the run itself", held);
  table.add({label("memory"), bytes, "B/span", "", 0, bar, bytes < kBytesBar, note});
  return whole;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  Table table;
  const std::size_t large = options.quick ? 100'000 : 10'000'000;
  const double smaller = measure_run(large / 10, 5, 0, table);
  measure_run(large, 3, smaller, table);
  table.finish(options.json);
  return 0;
}
