// bench_report: CPU time of one core to write the HTML report of a run that is in memory and summed
// up, and the size of the file.
#include <string>

#include <genscope/advise.h>
#include <genscope/analyze.h>
#include <genscope/report.h>

#include "harness/measure.h"
#include "harness/pipeline_run.h"
#include "harness/table.h"

namespace {

using namespace bench;

constexpr double kSecondsBar = 2, kBytesBar = 8e6;

void measure_report(std::size_t spans, Table& table) {
  const genscope::Run run = pipeline_run(spans);
  const genscope::Analysis analysis = genscope::analyze(run);
  const genscope::Advice advice = genscope::advise(genscope::facts_of(analysis));
  std::vector<double> seconds;
  double bytes = 0;
  for (int i = 0; i < 5; ++i) {
    const std::uint64_t from = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    bytes = 0;
    genscope::report_html(run, analysis, advice, [&](std::string_view part) {
      bytes += static_cast<double>(part.size());
    });
    seconds.push_back(static_cast<double>(clock_ns(CLOCK_THREAD_CPUTIME_ID) - from) * 1e-9);
  }
  const std::string what = std::to_string(spans) + " spans";
  table.add(
      {"write, " + what, median(seconds), "s", "", 0, "2 s", median(seconds) <= kSecondsBar, ""});
  table.add({"report.html, " + what, bytes / 1e6, "MB", "", 0, "8 MB", bytes <= kBytesBar, ""});
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  Table table;
  for (const std::size_t spans : {100'000, 1'000'000}) {
    measure_report(options.quick ? spans / 10 : spans, table);
  }
  table.finish(options.json);
  return 0;
}
