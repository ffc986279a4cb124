// Any bytes as a report of Inferix's profiler: read or refused with a sentence, and what is read
// makes figures.
#include <cmath>

#include <genscope/analyze.h>
#include <genscope/compat/inferix.h>
#include "genscope/report.h"
#include "genscope/store.h"

#include "check_trace.h"
#include "input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace genscope;
  static const std::string path = fuzz::scratch() + "/profiling_report_x.json";
  fuzz::write(path, std::as_bytes(std::span(data, size)));
  const auto report = read_inferix_report(path);
  if (!report.ok()) {
    GENSCOPE_FUZZ_CHECK(report.error().message.starts_with(path));
    return 0;
  }
  for (const InferixReport::GpuSample& sample : report->gpu) {
    GENSCOPE_FUZZ_CHECK(std::isfinite(sample.at_seconds));
  }
  const auto imported = import_inferix_report(path);
  GENSCOPE_FUZZ_CHECK(imported.ok());
  fuzz::check_trace(imported->trace);
  GENSCOPE_FUZZ_CHECK(write_trace(imported->trace, fuzz::scratch() + "/trace-1-0.gst").ok());
  Aggregator aggregator;
  aggregator.add(rank_figures(*report));
  aggregator.add(rank_figures(*report));
  const Aggregate sum = aggregator.finish();
  GENSCOPE_FUZZ_CHECK(sum.ranks == 2);
  for (const AcrossRanks& row : sum.figures) GENSCOPE_FUZZ_CHECK(row.min <= row.max);
  std::size_t written = 0;
  const Sink sink = [&](std::string_view piece) { written += piece.size(); };
  aggregate_text(sum, {}, sink);
  aggregate_markdown(sum, sink);
  aggregate_json(sum, sink);
  GENSCOPE_FUZZ_CHECK(written > 0);
  return 0;
}
