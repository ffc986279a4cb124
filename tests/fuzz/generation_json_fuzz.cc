// Exported generations: any text gives metrics, or one error that names the file; what was read can
// be written and read again.
#include <genscope/monitor.h>

#include <cmath>

#include "check_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = genscope::parse_generation_metrics(text, "fuzz.json");
  if (!read.ok()) {
    GENSCOPE_FUZZ_CHECK(read.error().message.starts_with("fuzz.json:"));
    return 0;
  }
  for (const double seconds : read->step_times) GENSCOPE_FUZZ_CHECK(std::isfinite(seconds));
  for (const genscope::GenerationMetrics& metrics : read->history) {
    GENSCOPE_FUZZ_CHECK(std::isfinite(metrics.total_generation_time));
    const std::string again = "{\"current_metrics\":" + to_json(metrics) + "}";
    const auto second = genscope::parse_generation_metrics(again, "again.json");
    GENSCOPE_FUZZ_CHECK(second.ok() && second->current_metrics);
    GENSCOPE_FUZZ_CHECK(second->current_metrics->status == metrics.status);
    GENSCOPE_FUZZ_CHECK(!to_text(metrics).empty());
    (void)compare_generations(metrics, *second->current_metrics);
  }
  return 0;
}
