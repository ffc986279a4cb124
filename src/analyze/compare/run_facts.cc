// A key is believed from the first that says it: what was read from the hardware, then the
// manifest, then the program's own settings. Both sides' keys are sorted, so comparing them is a
// merge. A key is decisive only where both sides say it, and differently: not to say is no
// difference.
#include "analyze/compare/run_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "analyze/settings.h"

namespace genscope::analysis {
namespace {

// "flux.safetensors" of "/models/flux.safetensors".
std::string last_part(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return std::string(path.substr(path.find_last_of('/') + 1));
}

class Collector {
 public:
  // The first that says a key is believed; an empty text says nothing.
  void add(std::string_view key, const std::string& text) {
    if (text.empty()) return;
    SettingPlace place = place_of(key);
    std::string identity = place.key == "model" ? last_part(text) : text;
    facts_.try_emplace(std::move(place.key),
                       RunFact{text, std::move(identity), place.place, place.decisive});
  }
  void add(std::string_view key, std::optional<double> value) {
    if (value) add(key, fmt::format("{}", *value));
  }
  RunFacts take() { return std::move(facts_); }

 private:
  RunFacts facts_;
};

// "2 x NVIDIA H100, NVIDIA A100": in the order of names, each device once.
std::string gpu_names(const Telemetry& telemetry) {
  std::set<std::string> ids;
  std::map<std::string, int> counts;
  for (const EntityRow& row : telemetry.entities) {
    if (row.entity.kind != EntityKind::gpu || !ids.insert(row.entity.id).second) continue;
    ++counts[row.entity.name];
  }
  std::string text;
  for (const auto& [name, count] : counts) {
    if (!text.empty()) text += ", ";
    text += count > 1 ? fmt::format("{} x {}", count, name) : name;
  }
  return text;
}

void add_hardware(const Telemetry& telemetry, Collector& facts) {
  facts.add("gpu", gpu_names(telemetry));
  if (const EntityRow* const gpu = telemetry.first(EntityKind::gpu)) {
    facts.add("driver", gpu->fact("driver"));
    facts.add("cuda", gpu->fact("cuda"));
    facts.add("gpu_architecture", gpu->fact("architecture"));
    facts.add("gpu_multiprocessors", gpu->fact("multiprocessors"));
    facts.add("gpu_memory_bytes", gpu->value("memory_total_bytes", &SeriesRow::max));
    facts.add("gpu_memory_bytes", gpu->fact("memory_bytes"));  // of an imported trace
    facts.add("gpu_power_limit_watts", gpu->value("power_limit_watts", &SeriesRow::max));
  }
  if (const EntityRow* const machine = telemetry.first(EntityKind::machine)) {
    for (const char* key : {"cpu", "cpus", "kernel"}) facts.add(key, machine->fact(key));
    facts.add("memory_bytes", machine->value("memory_total_bytes", &SeriesRow::max));
  }
  if (const EntityRow* const group = telemetry.first(EntityKind::cgroup)) {
    facts.add("memory_limit_bytes", group->value("memory_limit_bytes", &SeriesRow::max));
    facts.add("cpu_limit_cores", group->value("cpu_limit_cores", &SeriesRow::max));
  }
}

void add_manifest(const Run& run, Collector& facts) {
  std::string command;
  for (const std::string& word : run.command) command += (command.empty() ? "" : " ") + word;
  facts.add("command", command);
  facts.add("host", run.host);
  std::set<std::string> versions;
  std::optional<int> world;
  for (const Trace& trace : run.traces) {
    versions.insert(trace.process.version);
    if (trace.process.world_size) world = trace.process.world_size;
  }
  std::string all;
  for (const std::string& version : versions) {
    if (!version.empty()) all += (all.empty() ? "" : ", ") + version;
  }
  facts.add("genscope", all);
  if (world) facts.add("ranks", static_cast<double>(*world));
}

void add_models(const Analysis& analysis, Collector& facts) {
  std::set<std::string> models;
  for (const ModelRow& row : analysis.models) {
    models.insert(fmt::format("{} ({} parameters)", row.name, row.parameters));
  }
  std::string all;
  for (const std::string& model : models) all += (all.empty() ? "" : ", ") + model;
  facts.add("models", all);
}

// `genscope run` keeps this of every run, and of its list of variables those that are set: where
// both runs have it, a variable that one does not name was not set there.
constexpr std::string_view kWatched = "launch_blocking";
bool is_variable(std::string_view key) {
  return std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::vector<Difference>& list_of(Place place, Comparison& result) {
  switch (place) {
    case Place::environment:
      return result.environment;
    case Place::workload:
      return result.workload;
    case Place::other:
      break;
  }
  return result.other;
}

// "20 / 30": all values that a run's requests had.
std::string values_of(const MixedSetting& mixed) {
  std::string text;
  for (const SettingUse& use : mixed.values) {
    text += (text.empty() ? "" : " / ") + setting_text(use.value);
  }
  return text;
}

void decisive_first(std::vector<Difference>& list) {
  std::stable_partition(list.begin(), list.end(), [](const Difference& d) { return d.decisive; });
}

}  // namespace

RunFacts facts_of_run(const Run& run, const Analysis& analysis,
                      std::optional<std::uint64_t> steps_per_loop) {
  Collector facts;
  add_hardware(analysis.telemetry, facts);
  add_manifest(run, facts);
  for (const MixedSetting& mixed : analysis.settings_that_differ)
    facts.add(mixed.key, values_of(mixed));
  for (const auto& [key, value] : analysis.settings) facts.add(key, setting_text(value));
  add_models(analysis, facts);
  if (steps_per_loop) facts.add("steps", static_cast<double>(*steps_per_loop));
  return facts.take();
}

RunFacts merge_facts(std::span<const RunFacts* const> runs, std::vector<Conflict>& conflicts) {
  RunFacts merged;
  std::map<std::string, std::pair<std::set<std::string>, std::set<std::string>>> values;
  for (const RunFacts* const run : runs) {
    for (const auto& [key, fact] : *run) {
      const auto [at, is_new] = merged.try_emplace(key, fact);
      auto& [texts, identities] = values[key];
      identities.insert(fact.identity);
      if (!texts.insert(fact.text).second || is_new) continue;
      at->second.text += " / " + fact.text;
    }
  }
  for (auto& [key, fact] : merged) {
    const std::set<std::string>& identities = values[key].second;
    fact.identity.clear();
    for (const std::string& each : identities) {
      fact.identity += (fact.identity.empty() ? "" : " / ") + each;
    }
    if (fact.decisive && identities.size() > 1) conflicts.push_back({key, fact.text, fact.place});
  }
  return merged;
}

bool says_workload(const RunFacts& facts) {
  return std::any_of(facts.begin(), facts.end(), [](const auto& fact) {
    return fact.second.place == Place::workload && fact.second.decisive;
  });
}

void compare_facts(const RunFacts& before, const RunFacts& after, Comparison& result) {
  const bool watched = before.contains(kWatched) && after.contains(kWatched);
  const RunFact unset{"unset", "unset", Place::environment, true};
  const auto add = [&](const std::string& key, const RunFact* first, const RunFact* second) {
    const RunFact& known = first != nullptr ? *first : *second;
    if (watched && known.place == Place::environment && is_variable(key)) {
      if (first == nullptr) first = &unset;
      if (second == nullptr) second = &unset;
    }
    if (first != nullptr && second != nullptr && first->text == second->text) return;
    Difference difference{key, {}, {}, false};
    if (first != nullptr) difference.before = first->text;
    if (second != nullptr) difference.after = second->text;
    difference.decisive = known.decisive && first != nullptr && second != nullptr &&
                          first->identity != second->identity;
    list_of(known.place, result).push_back(std::move(difference));
  };
  auto a = before.begin(), b = after.begin();
  while (a != before.end() || b != after.end()) {
    const bool only_a = b == after.end() || (a != before.end() && a->first < b->first);
    const bool only_b = a == before.end() || (b != after.end() && b->first < a->first);
    add(only_b ? b->first : a->first, only_b ? nullptr : &a->second, only_a ? nullptr : &b->second);
    if (!only_b) ++a;
    if (!only_a) ++b;
  }
  decisive_first(result.environment);
  decisive_first(result.workload);
  result.env_changes = static_cast<std::uint64_t>(
      std::count_if(result.environment.begin(), result.environment.end(),
                    [](const Difference& difference) { return difference.decisive; }));
}

}  // namespace genscope::analysis
