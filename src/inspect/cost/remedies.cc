#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "inspect/cost/memory.h"

namespace genscope::inspect {
namespace {

// A plan, and what is done to the VAE.
struct Trial {
  Plan plan;
  bool tiled = false;
};

struct Remedy {
  std::string what;                   // "fp8 weights (--dtype f8_e4m3)"
  std::function<bool(Trial&)> apply;  // false: it changes nothing here
};

Remedy offload(Offload kind, const char* what) {
  return {what, [kind](Trial& trial) {
            if (trial.plan.workload.offload >= kind) return false;
            trial.plan.workload.offload = kind;
            return true;
          }};
}

Remedy weights(const CostSpec& spec, Dtype dtype, const char* what) {
  const double stored = spec.weight_bytes > 0
                            ? 8 * static_cast<double>(spec.weight_bytes) /
                                  static_cast<double>(std::max<std::uint64_t>(spec.parameters, 1))
                            : bits_per_element(Dtype::bf16);
  return {what, [stored, dtype](Trial& trial) {
            Workload& w = trial.plan.workload;
            const double now = w.dtype ? bits_per_element(*w.dtype) : stored;
            if (bits_per_element(dtype) >= now) return false;
            w.dtype = dtype;
            return true;
          }};
}

Remedy tiles() {
  return {"VAE tiling", [](Trial& trial) { return !std::exchange(trial.tiled, true); }};
}

Remedy one_at_a_time() {
  return {"batch 1", [](Trial& trial) { return std::exchange(trial.plan.workload.batch, 1) != 1; }};
}

// Half of each side, in whole patches; not below what any model still draws.
Remedy smaller() {
  return {"half the width and height", [](Trial& trial) {
            constexpr double kLeast = 256;
            Plan& plan = trial.plan;
            if (plan.clip.width < 2 * kLeast || plan.clip.height < 2 * kLeast) return false;
            for (double* side :
                 {&plan.clip.width, &plan.clip.height, &plan.extent.width, &plan.extent.height}) {
              *side /= 2;
            }
            return true;
          }};
}

Remedy fewer_frames() {
  return {"half the frames", [](Trial& trial) {
            Plan& plan = trial.plan;
            if (plan.clip.latent_frames < 3) return false;
            plan.extent.frames = plan.clip.latent_frames =
                std::floor(plan.clip.latent_frames / 2) + 1;
            return true;
          }};
}

std::vector<Remedy> all_remedies(const CostSpec& spec, bool has_link) {
  std::vector<Remedy> all = {one_at_a_time(), tiles()};
  if (has_link) all.push_back(offload(Offload::model, "model offload (--offload model)"));
  all.push_back(weights(spec, Dtype::f8_e4m3, "fp8 weights (--dtype f8_e4m3)"));
  all.push_back(weights(spec, Dtype::q8_0, "GGUF q8_0 weights (--dtype q8_0)"));
  all.push_back(weights(spec, Dtype::q4_k, "GGUF q4_k weights (--dtype q4_k)"));
  if (has_link) all.push_back(offload(Offload::group, "group offload (--offload group)"));
  all.push_back(fewer_frames());
  all.push_back(smaller());
  return all;
}

}  // namespace

std::vector<std::string> remedies_for(const CostSpec& spec, const Plan& plan, const Work& work,
                                      double limit_bytes, bool has_link) {
  std::vector<std::string> lines;
  const double peak = memory_of(spec, plan, work).peak;
  if (peak <= limit_bytes) return lines;
  bool one_fits = false;
  Trial together{plan};
  std::vector<std::string> used;
  std::string joint;  // the first set, in order, that fits
  for (const Remedy& remedy : all_remedies(spec, has_link)) {
    Trial alone{plan};
    if (!remedy.apply(alone)) continue;
    const double then = memory_of(spec, alone.plan, work, alone.tiled).peak;
    const bool fits = then <= limit_bytes;
    one_fits = one_fits || fits;
    if (then < peak) {
      lines.push_back(fmt::format("{}: {} less, {} in all{}", remedy.what, gib(peak - then),
                                  gib(then), fits ? ": fits" : ""));
    }
    const double before = memory_of(spec, together.plan, work, together.tiled).peak;
    if (!joint.empty() || !remedy.apply(together)) continue;
    const double after = memory_of(spec, together.plan, work, together.tiled).peak;
    if (after < before) used.push_back(remedy.what);
    if (after <= limit_bytes) {
      joint = fmt::format("together: {}: {} less, {} in all: fits", fmt::join(used, ", "),
                          gib(peak - after), gib(after));
    }
  }
  if (!one_fits) {
    lines.push_back(joint.empty() ? "nothing of this is enough: take a larger device" : joint);
  }
  return lines;
}

}  // namespace genscope::inspect
