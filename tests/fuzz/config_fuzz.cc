// Settings files: any text gives settings in range, or one error that names the file.
#include <genscope/compat/monitor_config.h>
#include <genscope/config.h>

#include "check_trace.h"

namespace {

void check_monitor_config(std::string_view text) {
  const auto config = genscope::parse_monitor_config(text, "fuzz.yaml");
  if (!config.ok()) {
    GENSCOPE_FUZZ_CHECK(config.error().message.starts_with("fuzz.yaml:"));
    return;
  }
  GENSCOPE_FUZZ_CHECK(config->device <= 1023 && config->batch_size.value_or(1) >= 1);
  GENSCOPE_FUZZ_CHECK(config->memory_monitor_batches <= 1'000'000);
  GENSCOPE_FUZZ_CHECK(config->profiling.budget > 0 && config->profiling.budget <= 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_monitor_config(text);
  const genscope::Result<genscope::Config> config = genscope::parse_config(text, "fuzz.yaml");
  if (!config.ok()) {
    GENSCOPE_FUZZ_CHECK(config.error().message.starts_with("fuzz.yaml:"));
    return 0;
  }
  for (const double interval :
       {config->display_interval, config->gpu_monitor_interval, config->cpu_monitor_interval}) {
    GENSCOPE_FUZZ_CHECK(interval >= 0.001 && interval <= 3600);
    GENSCOPE_FUZZ_CHECK(genscope::periods(interval).fast_ns >= 1'000'000);
  }
  GENSCOPE_FUZZ_CHECK(config->budget > 0 && config->budget <= 1);
  GENSCOPE_FUZZ_CHECK(config->max_data_points >= 1);
  GENSCOPE_FUZZ_CHECK(config->probes.size() <= 64 && config->session_tags.size() <= 64);
  for (const std::string& name : genscope::probes(*config)) GENSCOPE_FUZZ_CHECK(!name.empty());
  return 0;
}
