// Series of several samplers (the trees of ranks, GPUs) are added up to one per host by a merge: at
// each reading of any, the newest value of each of the others counts, if it is not older than a
// gap. Readings that are less than half a usual distance apart are one point, so two samplers at 10
// Hz give ten points a second and not twenty.
//
// A sampler within a tree that is watched from outside would count its processes twice: the inner
// tree is dropped, found by the parents that the process lists name.
#include "analyze/resources/readings.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "analyze/resources/points_of.h"
#include "analyze/time.h"

namespace genscope::analysis {
namespace {

constexpr std::string_view kTree = "tree";  // id of every watched tree

constexpr std::array<std::string_view, kReads> kReadMetrics = {"cpu_ns",
                                                               "rss_bytes",
                                                               "busy_ratio",
                                                               "memory_used_bytes",
                                                               "tree_memory_bytes",
                                                               "power_watts",
                                                               "throttle_reasons",
                                                               "throttle_power_ns",
                                                               "throttle_thermal_ns",
                                                               "throttle_other_ns"};

std::vector<std::uint32_t> hosts_of(const Run& run) {
  std::vector<std::uint32_t> host_of(run.traces.size());
  std::map<std::string_view, std::uint32_t> known;
  std::uint32_t next = 0;
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    const std::string& boot = run.traces[t].process.boot_id;
    host_of[t] = boot.empty() ? next : known.try_emplace(boot, next).first->second;
    next += host_of[t] == next ? 1 : 0;
  }
  return host_of;
}

void gather(const Trace& trace, std::int64_t offset_ns,
            const std::vector<EntityReadings*>& entities) {
  for (const SampleSeries& series : trace.samples.series) {
    const auto metric = std::find(kReadMetrics.begin(), kReadMetrics.end(), series.metric->id);
    if (metric == kReadMetrics.end()) continue;
    const std::string& id = trace.samples.entities[series.entity].id;
    for (EntityReadings* const entity : entities) {
      if (entity->entity->entity.id != id) continue;
      entity->points[static_cast<std::size_t>(metric - kReadMetrics.begin())] =
          points_in(trace, series, offset_ns);
    }
  }
}

std::size_t readings_in(const EntityReadings& entity) {
  std::size_t count = 0;
  for (const Points& points : entity.points) count += points.at_ns.size();
  return count;
}

double highest(const Points& points) {
  return points.value.empty() ? 0 : *std::max_element(points.value.begin(), points.value.end());
}

// Of two samplers that watched the same device of one host, the one with more readings.
void keep_one_each(std::vector<EntityReadings>& gpus) {
  std::map<std::pair<std::uint32_t, std::string_view>, std::size_t> best;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const auto [at, is_new] = best.try_emplace({gpus[i].host, gpus[i].entity->entity.id}, i);
    if (!is_new && readings_in(gpus[i]) > readings_in(gpus[at->second])) at->second = i;
  }
  std::vector<std::size_t> kept;
  for (const auto& [key, place] : best) kept.push_back(place);
  std::sort(kept.begin(), kept.end());
  std::vector<EntityReadings> one_each;
  for (const std::size_t place : kept) one_each.push_back(std::move(gpus[place]));
  gpus = std::move(one_each);
}

// A program that samples itself may run under `genscope run`, whose tree contains it.
void drop_inner_trees(std::vector<EntityReadings>& trees, const Telemetry& telemetry) {
  constexpr int kDeepest = 64;  // generations of processes
  std::map<std::string, std::string> parent_of;
  for (const ProcessUse& use : telemetry.processes) {
    if (use.entity == kTree) parent_of[std::to_string(use.pid)] = std::to_string(use.parent);
  }
  const auto inner = [&](const EntityReadings& tree) {
    const std::string root = tree.entity->fact("pid");
    std::string pid = root;
    for (int i = 0; i < kDeepest && !pid.empty(); ++i) {
      for (const EntityReadings& other : trees) {
        if (&other == &tree || other.host != tree.host || other.entity->fact("pid") != pid)
          continue;
        if (pid != root || &other < &tree) return true;  // of two with one root, the first
      }
      const auto up = parent_of.find(pid);
      pid = up == parent_of.end() ? "" : up->second;
    }
    return false;
  };
  std::vector<bool> dropped;
  for (const EntityReadings& tree : trees) dropped.push_back(inner(tree));
  std::vector<EntityReadings> kept;
  for (std::size_t i = 0; i < trees.size(); ++i) {
    if (!dropped[i]) kept.push_back(std::move(trees[i]));
  }
  trees = std::move(kept);
}

std::vector<std::uint32_t> used_gpus(const std::vector<EntityReadings>& gpus,
                                     const Telemetry& telemetry) {
  std::set<std::uint32_t> ours;
  std::set<std::string_view> listed;  // GPUs with a process of ours
  for (const ProcessUse& use : telemetry.processes) {
    if (use.entity == kTree) ours.insert(use.pid);
  }
  for (const ProcessUse& use : telemetry.processes) {
    if (use.entity != kTree && ours.contains(use.pid)) listed.insert(use.entity);
  }
  std::vector<std::uint32_t> held, busy, all;
  for (std::uint32_t i = 0; i < gpus.size(); ++i) {
    all.push_back(i);
    if (highest(gpus[i].of(Read::tree_memory)) > 0 || listed.contains(gpus[i].entity->entity.id)) {
      held.push_back(i);
    }
    if (highest(gpus[i].of(Read::busy_ratio)) > 0) busy.push_back(i);
  }
  if (!held.empty()) return held;
  return busy.empty() ? all : busy;
}

void combine_hosts(Readings& readings) {
  using Get = const Points& (*)(const EntityReadings&);
  const auto together = [](const std::vector<const EntityReadings*>& of, Get get, Combine how) {
    std::vector<const Points*> series;
    for (const EntityReadings* one : of) series.push_back(&get(*one));
    return combine(series, how);
  };
  for (std::uint32_t h = 0; h < readings.hosts.size(); ++h) {
    std::vector<const EntityReadings*> trees, gpus;
    for (const EntityReadings& tree : readings.trees) {
      if (tree.host == h) trees.push_back(&tree);
    }
    for (const std::uint32_t g : readings.used) {
      if (readings.gpus[g].host == h) gpus.push_back(&readings.gpus[g]);
    }
    HostSeries& host = readings.hosts[h];
    std::vector<CpuRates> rates;
    for (const EntityReadings* tree : trees) {
      rates.push_back(cpu_rates(tree->of(Read::cpu_ns), host.cpus));
    }
    host.cpu = sum_of(rates, host.cpus);
    host.rss_bytes = together(
        trees, [](const auto& e) -> const Points& { return e.of(Read::rss_bytes); }, Combine::sum);
    host.gpu_busy = together(
        gpus, [](const auto& e) -> const Points& { return e.of(Read::busy_ratio); }, Combine::mean);
    host.gpu_memory = together(
        gpus, [](const auto& e) -> const Points& { return e.memory(); }, Combine::sum);
    host.gpu_power = together(
        gpus, [](const auto& e) -> const Points& { return e.of(Read::power_watts); }, Combine::sum);
  }
}

void add_energies(const Telemetry& telemetry, const TelemetryResult& sampled, Readings& readings) {
  std::set<std::pair<std::uint32_t, std::string_view>> taken;
  for (std::size_t i = 0; i < sampled.energies.size(); ++i) {
    const EntityRow& row = telemetry.entities[sampled.energy_entities[i]];
    const std::uint32_t host = readings.host_of_trace[row.trace];
    if (!taken.insert({host, row.entity.id}).second) continue;
    readings.hosts[host].energies.push_back(&sampled.energies[i].curve);
    readings.any = true;
  }
}

}  // namespace

const Points& EntityReadings::memory() const noexcept {
  const Points& tree = of(Read::tree_memory);
  return tree.at_ns.empty() ? of(Read::memory_used) : tree;
}

Points combine(std::span<const Points* const> series, Combine how) {
  std::vector<const Points*> some;
  for (const Points* points : series) {
    if (!points->at_ns.empty()) some.push_back(points);
  }
  if (some.empty()) return {};
  if (some.size() == 1) return *some.front();
  std::int64_t distance = 0;
  for (const Points* points : some) distance = std::max(distance, usual_distance(points->at_ns));
  const auto oldest = static_cast<std::int64_t>(static_cast<double>(distance) * kGapFactor);

  Points out;
  std::vector<std::size_t> next(some.size(), 0);
  while (true) {
    std::int64_t first = kLatest;
    for (std::size_t s = 0; s < some.size(); ++s) {
      if (next[s] < some[s]->at_ns.size()) first = std::min(first, some[s]->at_ns[next[s]]);
    }
    if (first == kLatest) return out;
    const std::int64_t until = add(first, distance / 2);
    double sum = 0;
    std::size_t count = 0;
    for (std::size_t s = 0; s < some.size(); ++s) {
      const std::vector<std::int64_t>& at = some[s]->at_ns;
      while (next[s] < at.size() && at[next[s]] <= until) ++next[s];
      if (next[s] == 0 || subtract(until, at[next[s] - 1]) > oldest) continue;
      sum += some[s]->value[next[s] - 1];
      ++count;
    }
    out.at_ns.push_back(first);
    out.value.push_back(how == Combine::mean ? sum / static_cast<double>(count) : sum);
  }
}

Readings gather_readings(const Run& run, const Clocks& clocks, const Telemetry& telemetry,
                         const TelemetryResult& sampled) {
  Readings readings;
  readings.host_of_trace = hosts_of(run);
  const std::uint32_t hosts =
      readings.host_of_trace.empty()
          ? 0
          : 1 + *std::max_element(readings.host_of_trace.begin(), readings.host_of_trace.end());
  readings.hosts.resize(hosts);
  const bool whole_gpus = telemetry.first(EntityKind::gpu) != nullptr;
  for (const EntityRow& row : telemetry.entities) {
    const EntityKind gpu = whole_gpus ? EntityKind::gpu : EntityKind::gpu_instance;
    const std::uint32_t host = readings.host_of_trace[row.trace];
    if (row.entity.kind == gpu) readings.gpus.push_back({&row, host, {}});
    if (row.entity.kind == EntityKind::process_tree) readings.trees.push_back({&row, host, {}});
    if (row.entity.kind == EntityKind::machine) {
      readings.hosts[host].cpus = row.value("cpu_count", &SeriesRow::max);
    }
  }
  for (std::uint32_t t = 0; t < run.traces.size(); ++t) {
    std::vector<EntityReadings*> here;
    for (std::vector<EntityReadings>* const all : {&readings.trees, &readings.gpus}) {
      for (EntityReadings& one : *all) {
        if (one.entity->trace == t) here.push_back(&one);
      }
    }
    gather(run.traces[t], clocks.offset_ns[t], here);
  }
  keep_one_each(readings.gpus);
  drop_inner_trees(readings.trees, telemetry);
  readings.used = used_gpus(readings.gpus, telemetry);
  for (const EntityReadings& one : readings.trees) readings.any |= readings_in(one) > 0;
  for (const EntityReadings& one : readings.gpus) readings.any |= readings_in(one) > 0;
  combine_hosts(readings);
  add_energies(telemetry, sampled, readings);
  return readings;
}

}  // namespace genscope::analysis
