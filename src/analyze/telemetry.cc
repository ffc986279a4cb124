// Each series is added up on its own, linear in its readings. CPU time and memory of the watched
// tree are then raised to what the kernel counted, where the run knows it: between two readings
// memory may have been higher, and after the last one more CPU time was used.
//
// What a process that samples itself had used before its first reading is taken off its counters.
//
// Energy of stages: a device's energy is a curve that can be asked for any interval. A span's
// interval is asked for, unless its parent is of the same row, whose energy holds it already. Rows
// that are shorter than three readings, and kinds that are too many, get none.
#include "analyze/telemetry.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analyze/series.h"
#include "analyze/time.h"

namespace genscope {

const SeriesRow* EntityRow::find(std::string_view metric) const noexcept {
  for (const SeriesRow& row : series) {
    if (row.metric->id == metric) return &row;
  }
  return nullptr;
}

std::optional<double> EntityRow::value(std::string_view metric,
                                       double SeriesRow::*figure) const noexcept {
  const SeriesRow* const row = find(metric);
  if (row == nullptr || row->count == 0) return std::nullopt;
  return row->*figure;
}

std::string EntityRow::fact(std::string_view key) const {
  for (const auto& [name, value] : entity.facts) {
    if (name == key) return value;
  }
  return "";
}

const EntityRow* Telemetry::first(EntityKind kind) const noexcept {
  for (const EntityRow& row : entities) {
    if (row.entity.kind == kind) return &row;
  }
  return nullptr;
}

std::optional<double> Telemetry::joules() const noexcept {
  std::optional<double> sum;
  for (const EntityRow& row : entities) {
    if (row.energy && row.energy->joules) sum = sum.value_or(0) + *row.energy->joules;
  }
  return sum;
}

bool is_own(const EntityRow& entity, const SeriesRow& series) noexcept {
  return entity.entity.kind == EntityKind::other || find_metric(series.metric->id) == nullptr;
}

namespace analysis {
namespace {

bool has_energy(EntityKind kind) {
  return kind == EntityKind::gpu || kind == EntityKind::cpu_package;
}

void add_process(const ProcessSample& sample, Telemetry& telemetry) {
  const auto larger = [](std::optional<double>& a, const std::optional<double>& b) {
    if (b && (!a || *b > *a)) a = b;
  };
  for (ProcessUse& known : telemetry.processes) {
    if (known.pid != sample.pid || known.entity != sample.entity) continue;
    known.name = sample.name;
    larger(known.cpu_ns, sample.cpu_ns);
    larger(known.rss_bytes, sample.rss_bytes);
    larger(known.gpu_memory_bytes, sample.gpu_memory_bytes);
    return;
  }
  telemetry.processes.push_back({sample.entity, sample.pid, sample.parent, sample.name,
                                 sample.cpu_ns, sample.rss_bytes, sample.gpu_memory_bytes});
}

// The samples of one trace, summed up.
class TraceTelemetry {
 public:
  TraceTelemetry(const Trace& trace, std::uint32_t index, std::int64_t offset_ns,
                 std::int64_t begin_ns)
      : trace_(trace), index_(index), offset_ns_(offset_ns), begin_ns_(begin_ns) {}

  void collect(TelemetryResult& result) {
    Telemetry& telemetry = result.telemetry;
    const Samples& samples = trace_.samples;
    add_processes(telemetry);
    for (const SampleEvent& event : samples.events) {
      if (event.name == "thread") continue;  // they are figures: TimeSplit::threads
      telemetry.events.push_back({subtract(add(event.at_ns, offset_ns_), begin_ns_), event.entity,
                                  event.name, event.detail});
    }
    add_entities(telemetry);
    joules_.resize(samples.entities.size());
    watts_.resize(samples.entities.size());
    for (const SampleSeries& series : samples.series) {
      if (row_of_[series.entity] != kNone) add_series(series, result);
    }
    add_energies(result);
    add_allocators(telemetry);
  }

 private:
  // Whether the sampler is in the process that it watches: then this had a life before the run.
  bool watches_itself(const Entity& entity) const {
    if (entity.kind != EntityKind::process_tree) return false;
    const std::string own = std::to_string(trace_.process.pid);
    return std::any_of(entity.facts.begin(), entity.facts.end(),
                       [&](const auto& fact) { return fact.first == "pid" && fact.second == own; });
  }

  void add_processes(Telemetry& telemetry) const {
    std::vector<std::string_view> own_trees;
    for (const Entity& entity : trace_.samples.entities) {
      if (watches_itself(entity)) own_trees.push_back(entity.id);
    }
    std::optional<double> before_ns;  // CPU time of the process at its first reading
    for (ProcessSample sample : trace_.samples.processes) {
      const bool own = sample.pid == trace_.process.pid && sample.cpu_ns &&
                       std::ranges::count(own_trees, sample.entity) > 0;
      if (own) {
        before_ns = before_ns.value_or(*sample.cpu_ns);
        sample.cpu_ns = std::max(0.0, *sample.cpu_ns - *before_ns);
      }
      add_process(sample, telemetry);
    }
  }

  void add_entities(Telemetry& telemetry) {
    row_of_.assign(trace_.samples.entities.size(), kNone);
    for (std::size_t e = 0; e < row_of_.size(); ++e) {
      const Entity& entity = trace_.samples.entities[e];
      if (entity.kind == EntityKind::allocator) continue;
      row_of_[e] = static_cast<std::uint32_t>(telemetry.entities.size());
      EntityRow& row = telemetry.entities.emplace_back();
      row.entity = entity;
      row.trace = index_;
    }
  }

  void add_series(const SampleSeries& series, TelemetryResult& result) {
    const CounterColumns& counters = trace_.counters;
    SeriesTally tally;
    for (const std::uint32_t i : series.rows) tally.see(add(counters.at_ns[i], offset_ns_));
    for (const std::uint32_t i : series.rows) {
      tally.add(*series.metric, add(counters.at_ns[i], offset_ns_), counters.value[i]);
    }
    SeriesRow row = tally.row(series.metric);
    if (series.metric->kind == MetricKind::counter &&
        watches_itself(trace_.samples.entities[series.entity])) {
      const double before = row.first;
      for (double* const figure : {&row.min, &row.max, &row.first, &row.last, &row.mean}) {
        *figure -= before;
      }
    }
    row.source = series.source;
    if (series.status != SampleStatus::ok &&
        (row.count == 0 || add(series.status_at_ns, offset_ns_) > tally.last_ns())) {
      row.status = series.status;
      row.reason = series.reason;
    }
    const std::string_view metric = series.metric->id;
    if (metric == "energy_joules") joules_[series.entity] = tally.take_points();
    if (metric == "power_watts") watts_[series.entity] = tally.take_points();
    if (metric == "probe_cpu_ns" && row.count > 0) {
      result.probe_cpu_ns =
          std::max<std::int64_t>(result.probe_cpu_ns, 0) + static_cast<std::int64_t>(row.max);
      add_steady_cost(series, result);
    }
    result.telemetry.entities[row_of_[series.entity]].series.push_back(std::move(row));
  }

  // The sampler's first reading of its clock comes after the probes were opened and read once.
  void add_steady_cost(const SampleSeries& series, TelemetryResult& result) {
    const CounterColumns& counters = trace_.counters;
    const std::uint32_t first = series.rows.front(), last = series.rows.back();
    const std::int64_t span_ns = subtract(counters.at_ns[last], counters.at_ns[first]);
    constexpr std::int64_t kLeastSteadyNs =
        1'000'000'000;  // a run that is over at once has no share
    if (span_ns < kLeastSteadyNs) return;
    result.probe_steady_ratio =
        result.probe_steady_ratio.value_or(0) +
        (counters.value[last] - counters.value[first]) / static_cast<double>(span_ns);
  }

  void add_energies(TelemetryResult& result) {
    for (std::size_t e = 0; e < row_of_.size(); ++e) {
      if (row_of_[e] == kNone) continue;
      EntityRow& row = result.telemetry.entities[row_of_[e]];
      if (!has_energy(row.entity.kind)) continue;
      DeviceEnergy energy = choose_energy(joules_[e], watts_[e]);
      row.energy =
          energy.curve.between(add(trace_.begin_ns, offset_ns_), add(trace_.end_ns, offset_ns_));
      row.energy->note = energy.note;
      if (energy.curve.empty()) continue;
      result.energies.push_back(std::move(energy));
      result.energy_entities.push_back(row_of_[e]);
    }
  }

  // Figures of one report of an allocator belong together: they are taken as they came.
  void add_allocators(Telemetry& telemetry) const {
    std::vector<std::pair<std::uint32_t, const SampleSeries*>> readings;
    for (const SampleSeries& series : trace_.samples.series) {
      if (row_of_[series.entity] != kNone) continue;
      for (const std::uint32_t i : series.rows) readings.emplace_back(i, &series);
    }
    if (readings.empty()) return;
    std::sort(readings.begin(), readings.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    AllocatorTally tally;
    for (const auto& [row, series] : readings) {
      tally.add(trace_.samples.entities[series->entity].name, series->metric->id,
                trace_.counters.value[row]);
    }
    tally.finish(telemetry);
  }

  const Trace& trace_;
  const std::uint32_t index_;
  const std::int64_t offset_ns_, begin_ns_;
  std::vector<std::uint32_t> row_of_;   // per entity: into Telemetry; kNone: an allocator
  std::vector<Points> joules_, watts_;  // per entity
};

// Kinds whose energy means something to a person; the others are too many and too short.
bool shows_energy(SpanKind kind) {
  switch (kind) {
    case SpanKind::session:
    case SpanKind::load:
    case SpanKind::stage:
    case SpanKind::step:
    case SpanKind::request:
    case SpanKind::batch:
    case SpanKind::epoch:
      return true;
    default:
      return false;
  }
}

// Between two samples a process may have had more memory, and after the last one have used more
// CPU; the kernel has seen it.
void raise_to(std::string_view metric, double value, Telemetry& telemetry) {
  for (EntityRow& row : telemetry.entities) {
    if (row.entity.kind != EntityKind::process_tree) continue;
    for (SeriesRow& series : row.series) {
      if (series.metric->id != metric || series.count == 0) continue;
      series.max = std::max(series.max, value);
    }
  }
}

}  // namespace

TelemetryResult collect_telemetry(const Run& run, const Clocks& clocks) {
  TelemetryResult result;
  for (std::uint32_t t = 0; t < run.traces.size(); ++t) {
    TraceTelemetry(run.traces[t], t, clocks.offset_ns[t], clocks.begin_ns).collect(result);
  }
  Telemetry& telemetry = result.telemetry;
  if (run.max_rss_bytes) raise_to("rss_bytes", static_cast<double>(*run.max_rss_bytes), telemetry);
  if (run.cpu_ns) raise_to("cpu_ns", static_cast<double>(*run.cpu_ns), telemetry);
  std::stable_sort(telemetry.events.begin(), telemetry.events.end(),
                   [](const auto& a, const auto& b) { return a.at_ns < b.at_ns; });
  return result;
}

void add_stage_energy(const Run& run, const RowTable& rows, const Clocks& clocks,
                      std::span<const DeviceEnergy> energies, std::vector<StageRow>& stages) {
  if (energies.empty()) return;
  std::int64_t period = 0;
  for (const DeviceEnergy& energy : energies) period = std::max(period, energy.curve.period_ns());
  std::map<std::tuple<std::string_view, SpanKind, bool>, StageRow*> of_key;
  for (StageRow& row : stages) {
    // Fewer than three readings would be a guess.
    if (!shows_energy(row.kind) || row.total_ns < 3 * period) continue;
    of_key[{row.name, row.kind, row.folded > 0}] = &row;
  }
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    const Trace& trace = run.traces[t];
    std::vector<StageRow*> of_name(trace.names.size(), nullptr);
    for (std::size_t n = 0; n < trace.names.size(); ++n) {
      const RowTable::Key& key = rows.key(rows.rows_of(t)[n]);
      const auto found = of_key.find({key.name, key.kind, key.folded > 0});
      if (found != of_key.end()) of_name[n] = found->second;
    }
    for (std::size_t i = 0; i < trace.spans.size(); ++i) {
      StageRow* const row = of_name[trace.spans.name[i]];
      if (row == nullptr) continue;
      const std::uint32_t parent = trace.spans.parent[i];
      // What lies within a span of the same row is in its energy already.
      if (parent < trace.spans.size() && of_name[trace.spans.name[parent]] == row) continue;
      const Interval time =
          interval(add(trace.spans.begin_ns[i], clocks.offset_ns[t]), trace.spans.duration_ns[i]);
      for (const DeviceEnergy& energy : energies) {
        const Energy used = energy.curve.between(time.begin, time.end);
        if (used.joules) row->energy_joules = row->energy_joules.value_or(0) + *used.joules;
      }
    }
  }
}

}  // namespace analysis
}  // namespace genscope
