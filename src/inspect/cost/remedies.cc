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
  // Of a group one remedy takes the place of the other.
  enum class Group : std::uint8_t { own, weights, offload } group = Group::own;
};

Remedy offload(Offload kind, const char* what) {
  return {what,
          [kind](Trial& trial) {
            if (trial.plan.workload.offload >= kind) return false;
            trial.plan.workload.offload = kind;
            return true;
          },
          Remedy::Group::offload};
}

Remedy weights(const CostSpec& spec, Dtype dtype, const char* what) {
  const double stored = spec.weight_bytes > 0
                            ? 8 * static_cast<double>(spec.weight_bytes) /
                                  static_cast<double>(std::max<std::uint64_t>(spec.parameters, 1))
                            : bits_per_element(Dtype::bf16);
  return {what,
          [stored, dtype](Trial& trial) {
            Workload& w = trial.plan.workload;
            const double now = w.dtype ? bits_per_element(*w.dtype) : stored;
            if (bits_per_element(dtype) >= now) return false;
            w.dtype = dtype;
            return true;
          },
          Remedy::Group::weights};
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

bool share_a_group(const std::vector<const Remedy*>& set) {
  for (const Remedy* a : set) {
    for (const Remedy* b : set) {
      if (a != b && a->group == b->group && a->group != Remedy::Group::own) return true;
    }
  }
  return false;
}

// The first combinations of two or three that fit, of which no part does.
void add_pairs_and_triples(const std::vector<const Remedy*>& remedies, const Plan& plan,
                           double peak, double limit,
                           const std::function<double(const Trial&)>& peak_of,
                           std::vector<std::string>& lines) {
  constexpr std::size_t kMost = 3;  // lines
  using Set = std::vector<const Remedy*>;
  std::vector<Set> found;
  const auto attempt = [&](const Set& set) {
    if (found.size() == kMost) return;
    const bool larger = std::any_of(found.begin(), found.end(), [&](const Set& part) {
      return std::includes(set.begin(), set.end(), part.begin(), part.end());
    });
    if (larger || share_a_group(set)) return;
    Trial trial{plan};
    double before = peak;
    for (const Remedy* remedy : set) {
      if (!remedy->apply(trial)) return;  // one takes the other's place
      const double after = peak_of(trial);
      if (after >= before && remedy != set.front()) return;
      before = std::min(before, after);
    }
    if (peak_of(trial) > limit) return;
    std::vector<std::string> words;
    for (const Remedy* remedy : set) words.push_back(remedy->what);
    lines.push_back(fmt::format("together: {}: {} less, {} in all: fits", fmt::join(words, ", "),
                                gib(peak - peak_of(trial)), gib(peak_of(trial))));
    found.push_back(set);
  };
  for (std::size_t i = 0; i < remedies.size(); ++i) {
    for (std::size_t j = i + 1; j < remedies.size(); ++j) attempt({remedies[i], remedies[j]});
  }
  for (std::size_t i = 0; i < remedies.size(); ++i) {
    for (std::size_t j = i + 1; j < remedies.size(); ++j) {
      for (std::size_t k = j + 1; k < remedies.size(); ++k) {
        attempt({remedies[i], remedies[j], remedies[k]});
      }
    }
  }
}

}  // namespace

std::vector<std::string> remedies_for(const CostSpec& spec, const Plan& plan, const Work& work,
                                      double limit_bytes, bool has_link) {
  std::vector<std::string> lines;
  const double peak = memory_of(spec, plan, work).peak;
  if (peak <= limit_bytes) return lines;
  const auto peak_of = [&](const Trial& trial) {
    return memory_of(spec, trial.plan, work, trial.tiled).peak;
  };
  std::vector<const Remedy*> useful;  // that do not fit alone
  const std::vector<Remedy> all = all_remedies(spec, has_link);
  for (const Remedy& remedy : all) {
    Trial alone{plan};
    if (!remedy.apply(alone)) continue;
    const double then = peak_of(alone);
    if (then > limit_bytes) useful.push_back(&remedy);
    if (then >= peak) continue;
    lines.push_back(fmt::format("{}: {} less, {} in all{}", remedy.what, gib(peak - then),
                                gib(then), then <= limit_bytes ? ": fits" : ""));
  }
  const std::size_t single = lines.size();
  add_pairs_and_triples(useful, plan, peak, limit_bytes, peak_of, lines);
  const bool one_fits = std::any_of(
      lines.begin(), lines.end(), [](const std::string& line) { return line.ends_with(": fits"); });
  if (one_fits || lines.size() > single) return lines;
  Trial together{plan};
  std::vector<std::string> used;
  for (const Remedy& remedy : all) {
    const double before = peak_of(together);
    if (!remedy.apply(together)) continue;
    if (peak_of(together) < before) used.push_back(remedy.what);
    if (peak_of(together) > limit_bytes) continue;
    lines.push_back(fmt::format("together: {}: {} less, {} in all: fits", fmt::join(used, ", "),
                                gib(peak - peak_of(together)), gib(peak_of(together))));
    return lines;
  }
  lines.emplace_back("nothing of this is enough: take a larger device");
  return lines;
}

}  // namespace genscope::inspect
