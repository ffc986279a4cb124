// What a run says of how it was made: by its manifest, its program, its machine.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <genscope/analyze.h>

#include "analyze/compare/setting_place.h"

namespace genscope::analysis {

struct RunFact {
  std::string text;
  // What has to differ for the difference to be decisive; of a model its name without the folder,
  // since the same model lies elsewhere on another machine.
  std::string identity;
  Place place = Place::other;
  bool decisive = false;
};
using RunFacts = std::map<std::string, RunFact, std::less<>>;

// Of two sources that say the same key, the first of: probes, manifest, program, spans.
// `steps_per_loop`: what was counted, for a program that does not say its steps.
RunFacts facts_of_run(const Run& run, const Analysis& analysis,
                      std::optional<std::uint64_t> steps_per_loop);

// Of the runs of a side: what all that say a key say, or "20 / 30". Adds to `conflicts` the keys in
// which they differ decisively, with their values.
struct Conflict {
  std::string key, values;
  Place place = Place::other;
};
RunFacts merge_facts(std::span<const RunFacts* const> runs, std::vector<Conflict>& conflicts);

// Whether a fact says how much work the run did.
bool says_workload(const RunFacts& facts);

// Fills environment, workload, other and env_changes: decisive ones first, then by key.
void compare_facts(const RunFacts& before, const RunFacts& after, Comparison& result);

}  // namespace genscope::analysis
