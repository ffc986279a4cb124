// Why a side is slower, by the stages that both recorded. The time of a unit is the mean of its
// samples here, not their median: means add up.
#include <map>
#include <set>

#include <genscope/bench.h>

#include "analyze/verdict/verdict.h"

namespace genscope::bench {
namespace {

struct StageSums {
  double total = 0;  // latency
  std::map<std::string, StagePart> parts;
  bool complete = true;  // every sample has stages
};

// Of each unit that counts.
std::vector<StageSums> stage_sums(const Cell& cell, char slot) {
  std::vector<StageSums> units;
  for (const Unit& unit : cell.units) {
    if (unit.slot != slot || unit.failure) continue;
    StageSums sums;
    double count = 0;
    std::map<std::string, double> steps;
    for (const Sample& sample : unit.samples) {
      const auto latency = sample.metrics.find("latency_s");
      if (sample.failure || latency == sample.metrics.end()) continue;
      ++count;
      sums.total += latency->second;
      sums.complete &= !sample.stages.empty();
      for (const auto& [stage, part] : sample.stages) {
        sums.parts[stage].seconds += part.seconds;
        sums.parts[stage].steps += part.steps;
      }
    }
    if (count == 0) continue;
    sums.total /= count;
    for (auto& [stage, part] : sums.parts) {
      part.seconds /= count;
      part.steps /= static_cast<std::uint64_t>(count);
    }
    units.push_back(std::move(sums));
  }
  return units;
}

bool all_complete(const std::vector<StageSums>& units) {
  for (const StageSums& unit : units) {
    if (!unit.complete) return false;
  }
  return !units.empty();
}

void add_column(const std::vector<StageSums>& units, const std::string& stage,
                std::vector<double>& seconds, std::vector<double>& steps) {
  for (const StageSums& unit : units) {
    const auto part = unit.parts.find(stage);
    seconds.push_back(part == unit.parts.end() ? 0 : part->second.seconds);  // it did not happen
    if (part != unit.parts.end() && part->second.steps > 0) {
      steps.push_back(static_cast<double>(part->second.steps));
    }
  }
}

}  // namespace

std::optional<Attribution> attribute_stages(const Cell& before, char before_slot, const Cell& after,
                                            char after_slot, bool paired, double confidence) {
  const std::vector<StageSums> b = stage_sums(before, before_slot);
  const std::vector<StageSums> a = stage_sums(after, after_slot);
  if (!all_complete(b) || !all_complete(a)) return std::nullopt;
  std::vector<double> before_total, after_total;
  for (const StageSums& unit : b) before_total.push_back(unit.total);
  for (const StageSums& unit : a) after_total.push_back(unit.total);
  // In the order of a pipeline, then by name.
  std::vector<std::string> order = {"load",       "text_encode", "vae_encode", "denoise",
                                    "vae_decode", "post",        "save"};
  std::set<std::string> found;
  for (const auto* side : {&b, &a}) {
    for (const StageSums& unit : *side) {
      for (const auto& [stage, part] : unit.parts) found.insert(stage);
    }
  }
  std::vector<PartSamples> parts;
  const auto add = [&](const std::string& stage) {
    PartSamples part;
    part.name = stage;
    add_column(b, stage, part.before, part.before_steps);
    add_column(a, stage, part.after, part.after_steps);
    if (part.before_steps.size() != b.size() || part.after_steps.size() != a.size()) {
      part.before_steps.clear();
      part.after_steps.clear();
    }
    parts.push_back(std::move(part));
  };
  for (const std::string& stage : order) {
    if (found.erase(stage) > 0) add(stage);
  }
  for (const std::string& stage : found) add(stage);
  return attribute(before_total, after_total, parts, paired && b.size() == a.size(), confidence);
}

}  // namespace genscope::bench
