#include "analyze/resources/resources.h"

#include "analyze/resources/device_work.h"
#include "analyze/resources/energy_use.h"
#include "analyze/resources/machine_use.h"
#include "analyze/resources/memory_growth.h"
#include "analyze/resources/pauses.h"
#include "analyze/resources/points_of.h"
#include "analyze/resources/readings.h"
#include "analyze/resources/slow_step.h"
#include "analyze/resources/span_clock.h"
#include "analyze/resources/stage_use.h"
#include "analyze/resources/stretches.h"
#include "analyze/resources/throttling.h"
#include "analyze/resources/time_split.h"
#include "analyze/resources/utilisation.h"

namespace genscope::analysis {

Resources summarize_resources(const Run& run, const RowTable& rows, const Clocks& clocks,
                              const TelemetryResult& sampled, const StepSeries& steps,
                              const Analysis& analysis) {
  Resources resources;
  const Readings readings = gather_readings(run, clocks, analysis.telemetry, sampled);
  const Settings& settings = analysis.settings;
  if (readings.any) {
    const MeteredRows metered =
        find_metered_rows(run, rows, clocks, readings.host_of_trace, readings.hosts.size());
    resources.stages = use_of_stages(metered, readings, analysis.stages);
    resources.growth = memory_growth(readings, metered, steady_stretch(steps),
                                     interval(analysis.begin_ns, analysis.wall_ns));
    resources.energy =
        energy_per_unit(readings, metered, analysis, things_made(run, settings, analysis));
    resources.throttling = throttle_shares(readings, metered.steps);
    if (!readings.gpus.empty()) resources.gpus_used = readings.used.size();
  }
  resources.utilisation = utilisation(analysis, settings, readings, steps, count_forwards(run));
  add_device_work(run, clocks, resources);
  if (!resources.devices.empty()) resources.gpus_used = resources.devices.size();
  double busy_ns = 0;
  for (const DeviceTimeline& device : resources.devices) {
    busy_ns += static_cast<double>(device.busy_ns);
  }
  resources.span_clock = find_span_clock(run, analysis, busy_ns);
  resources.time = time_split(run, clocks, analysis.telemetry);
  if (const EntityRow* const tree = analysis.telemetry.first(EntityKind::process_tree)) {
    resources.pauses = find_pauses(points_of(run, clocks, tree->entity.id, "cpu_ns"));
  }
  resources.slow_step = slow_step(run, clocks, steps, analysis);
  resources.gpu = gpu_use(run, clocks, steps, analysis, resources);
  resources.host = host_use(run, clocks, steps, analysis.telemetry, analysis.wall_ns);
  resources.allocator = allocator_use(run, clocks, analysis.telemetry);
  return resources;
}

}  // namespace genscope::analysis
