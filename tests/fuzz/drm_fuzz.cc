// What GPUs and their drivers write: the gpu_metrics blob, fdinfo, and the small texts of sysfs.
// First byte: which of them; the rest is the input.
#include <cmath>

#include "input.h"
#include "probe/drm/fdinfo.h"
#include "probe/drm/gpu_metrics.h"
#include "probe/drm/text.h"
#include "trace/metrics.h"

namespace {

using namespace genscope;
using namespace genscope::probe::drm;

void check(bool condition) {
  if (!condition) std::abort();
}

constexpr std::uint64_t kAllBits = trace::kThrottleFaults | trace::kThrottleIdle;

void check_blob(std::string_view text) {
  GpuMetrics metrics;
  const bool whole = decode_gpu_metrics(text, metrics);
  check(whole || !metrics.known);
  for (const auto& value :
       {metrics.temperature_celsius, metrics.busy_ratio, metrics.power_watts, metrics.energy_joules,
        metrics.clock_core_mhz, metrics.link_lanes, metrics.xgmi_receive_bytes}) {
    check(!value || (metrics.known && std::isfinite(*value) && *value >= 0));
  }
  check((metrics.throttle_reasons.value_or(0) & ~kAllBits) == 0);
}

bool inside(std::string_view part, std::string_view text) {
  return part.empty() ||
         (part.data() >= text.data() && part.data() + part.size() <= text.data() + text.size());
}

void check_fdinfo(std::string_view text) {
  Fdinfo info;
  const bool found = parse_fdinfo(text, info);
  check(inside(info.driver, text) && inside(info.pdev, text));
  check(found || (!info.client_id && !info.local_bytes));
  for (const Fdinfo::Engine& engine : info.engines) check(engine.capacity > 0);
}

void check_texts(std::string_view text) {
  double value = 0;
  if (parse_starred_mhz(text, value)) check(std::isfinite(value) && value >= 0);
  double highest = 0;
  if (parse_highest_mhz(text, highest)) check(std::isfinite(highest) && highest >= 0);
  double generation = 0;
  if (parse_link_generation(text, generation)) check(generation >= 1 && generation <= 7);
  check((throttle_bits(text) & ~kAllBits) == 0);
  std::uint32_t number = 0;
  parse_hex(text, number);
  check(inside(uevent_value(text, "PCI_SLOT_NAME"), text));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  const std::uint8_t which = in.take<std::uint8_t>();
  const auto bytes = in.bytes(in.left());
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (which % 3 == 0) check_blob(text);
  if (which % 3 == 1) check_fdinfo(text);
  if (which % 3 == 2) check_texts(text);
  return 0;
}
