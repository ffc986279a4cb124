#include "monitor/settings/placement.h"

#include "inspect/cost/memory.h"
#include "inspect/cost/plan.h"

namespace genscope::monitor {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;
constexpr std::uint64_t kLeastSide = 256;  // no model draws well below

struct Step {
  Offload offload;
  bool tiled;
};
constexpr Step kSteps[] = {{Offload::none, false}, {Offload::none, true},   {Offload::model, false},
                           {Offload::model, true}, {Offload::group, false}, {Offload::group, true}};

Result<double> peak_of(const CostSpec& spec, Workload workload, const Step& step) {
  workload.offload = step.offload;
  const Result<inspect::Plan> plan = inspect::make_plan(spec, workload);
  if (!plan) return plan.error();
  const inspect::Work work = plan->denoiser->work(spec.dimensions, plan->extent);
  return inspect::memory_of(spec, *plan, work, step.tiled).peak;
}

}  // namespace

Result<Placement> place(const CostSpec& spec, const Workload& workload, const Hardware& gpu) {
  Placement placement;
  placement.limit_bytes = kUsableShare * gpu.memory_gib * kGib;
  Workload now = workload;
  bool first = true;
  while (true) {
    for (const Step& step : kSteps) {
      if (step.offload != Offload::none && !(gpu.link_gbs > 0)) continue;
      const Result<double> peak = peak_of(spec, now, step);
      if (!peak) return peak.error();
      if (first) placement.plain_peak_bytes = *peak;
      first = false;
      placement.offload = step.offload;
      placement.tiled = step.tiled;
      placement.width = now.width;
      placement.height = now.height;
      placement.peak_bytes = *peak;
      placement.fits = *peak <= placement.limit_bytes;
      if (placement.fits) return placement;
    }
    if (now.width < 2 * kLeastSide || now.height < 2 * kLeastSide) return placement;
    now.width /= 2;
    now.height /= 2;
  }
}

}  // namespace genscope::monitor
