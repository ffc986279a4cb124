#include "analyze/telemetry.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "analyze/sample_events.h"
#include "analyze/series.h"
#include "analyze/time.h"
#include "trace/metrics.h"

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

namespace analysis {
namespace {

EntityKind kind_of(std::string_view word) {
  for (std::size_t i = 0; i < kEntityKinds; ++i) {
    if (name(static_cast<EntityKind>(i)) == word) return static_cast<EntityKind>(i);
  }
  return EntityKind::other;
}

SampleStatus status_of(std::string_view word) {
  for (std::size_t i = 0; i < kSampleStatuses; ++i) {
    if (name(static_cast<SampleStatus>(i)) == word) return static_cast<SampleStatus>(i);
  }
  return SampleStatus::error;
}

bool has_energy(EntityKind kind) {
  return kind == EntityKind::gpu || kind == EntityKind::cpu_package;
}

// What one trace says of its samples, before the samples themselves.
class TraceTelemetry {
 public:
  TraceTelemetry(const Trace& trace, std::uint32_t index, std::int64_t offset_ns,
                 std::int64_t begin_ns)
      : trace_(trace), index_(index), offset_ns_(offset_ns), begin_ns_(begin_ns) {}

  void collect(TelemetryResult& result) {
    read_events(result.telemetry);
    if (entities_.empty() && !has_allocator()) {
      result.names.emplace_back();
      return;
    }
    find_series();
    gather();
    finish(result);
  }

 private:
  struct Status {
    std::int64_t at_ns = 0;
    SampleStatus status = SampleStatus::ok;
    std::string reason;
  };
  struct Found {
    std::size_t entity;  // index into entities_; kAllocator
    const Metric* metric;
    std::string counter;
    SeriesTally tally;
  };
  static constexpr std::size_t kAllocator = static_cast<std::size_t>(-1);

  bool has_allocator() const {
    return std::any_of(trace_.names.begin(), trace_.names.end(),
                       [](const Name& name) { return name.text.starts_with(kAllocatorPrefix); });
  }

  void read_events(Telemetry& telemetry) {
    visit_sample_events(trace_, [&](std::int64_t at, std::string_view what, const EventArgs& args) {
      if (what == "entity") {
        read_entity(args);
      } else if (what == "series") {
        sources_[std::string(args.text("counter"))] = args.text("source");
      } else if (what == "status") {
        statuses_[std::string(args.text("counter"))] = {at, status_of(args.text("status")),
                                                        std::string(args.text("reason"))};
      } else if (what == "process") {
        read_process(args, telemetry);
      } else if (!args.text("entity").empty()) {
        telemetry.events.push_back({subtract(add(at, offset_ns_), begin_ns_),
                                    std::string(args.text("entity")), std::string(what),
                                    std::string(args.text("detail"))});
      }
    });
  }

  void read_entity(const EventArgs& args) {
    EntityRow row;
    row.trace = index_;
    row.entity.id = args.text("id");
    row.entity.name = args.text("name");
    row.entity.kind = kind_of(args.text("kind"));
    std::string_view facts = args.text("facts");
    while (!facts.empty()) {
      const std::string_view fact = facts.substr(0, facts.find('\n'));
      facts.remove_prefix(std::min(facts.size(), fact.size() + 1));
      const std::size_t equals = fact.find('=');
      if (equals == std::string_view::npos) continue;
      row.entity.facts.emplace_back(fact.substr(0, equals), fact.substr(equals + 1));
    }
    for (EntityRow& known : entities_) {
      if (known.entity.id != row.entity.id) continue;
      known = std::move(row);
      return;
    }
    entities_.push_back(std::move(row));
  }

  static void read_process(const EventArgs& args, Telemetry& telemetry) {
    ProcessUse use;
    use.entity = args.text("entity");
    use.pid = static_cast<std::uint32_t>(std::clamp(args.number("pid", 0), 0.0, 4e9));
    use.parent = static_cast<std::uint32_t>(std::clamp(args.number("parent", 0), 0.0, 4e9));
    use.name = args.text("name");
    const auto figure = [&](const char* key) -> std::optional<double> {
      const double value = args.number(key, -1);
      return value < 0 ? std::nullopt : std::optional<double>(value);
    };
    use.cpu_ns = figure("cpu_ns");
    use.rss_bytes = figure("rss_bytes");
    use.gpu_memory_bytes = figure("gpu_memory_bytes");
    const auto larger = [](std::optional<double>& a, const std::optional<double>& b) {
      if (b && (!a || *b > *a)) a = b;
    };
    for (ProcessUse& known : telemetry.processes) {
      if (known.pid != use.pid || known.entity != use.entity) continue;
      known.name = use.name;
      larger(known.cpu_ns, use.cpu_ns);
      larger(known.rss_bytes, use.rss_bytes);
      larger(known.gpu_memory_bytes, use.gpu_memory_bytes);
      return;
    }
    telemetry.processes.push_back(std::move(use));
  }

  // A counter is a sample when its name is "<entity>/<metric>" with both known.
  void find_series() {
    of_name_.assign(trace_.names.size(), -1);
    for (std::size_t n = 0; n < trace_.names.size(); ++n) {
      const std::string& text = trace_.names[n].text;
      const std::size_t slash = text.rfind('/');
      if (slash == std::string::npos || trace_.names[n].kind != SpanKind::none) continue;
      const Metric* const metric = find_metric(std::string_view(text).substr(slash + 1));
      if (metric == nullptr) continue;
      const std::string_view id = std::string_view(text).substr(0, slash);
      std::size_t entity = 0;
      while (entity < entities_.size() && entities_[entity].entity.id != id) ++entity;
      if (entity == entities_.size()) {
        if (!text.starts_with(kAllocatorPrefix)) continue;
        entity = kAllocator;
      }
      of_name_[n] = static_cast<std::int32_t>(found_.size());
      found_.push_back({entity, metric, text, {}});
    }
    // A series that never had a value has no counter, but it has a status.
    std::set<std::string> seen;  // copies: found_ grows below
    for (const Found& found : found_) seen.insert(found.counter);
    for (const auto& [counter, status] : statuses_) {
      if (seen.contains(counter)) continue;
      const std::size_t slash = counter.rfind('/');
      if (slash == std::string::npos) continue;
      const Metric* const metric = find_metric(std::string_view(counter).substr(slash + 1));
      for (std::size_t e = 0; metric != nullptr && e < entities_.size(); ++e) {
        if (entities_[e].entity.id == std::string_view(counter).substr(0, slash)) {
          found_.push_back({e, metric, counter, {}});
        }
      }
    }
  }

  void gather() {
    const CounterColumns& counters = trace_.counters;
    const auto each = [&](auto&& act) {
      for (std::size_t i = 0; i < counters.size(); ++i) {
        const std::int32_t series = of_name_[counters.name[i]];
        if (series < 0 || !std::isfinite(counters.value[i])) continue;
        act(found_[static_cast<std::size_t>(series)], add(counters.at_ns[i], offset_ns_),
            counters.value[i]);
      }
    };
    each([](Found& found, std::int64_t at, double) { found.tally.see(at); });
    each([&](Found& found, std::int64_t at, double value) {
      found.tally.add(*found.metric, at, value);
      if (found.entity == kAllocator) allocators_.add(found.counter, value);
    });
  }

  void finish(TelemetryResult& result) {
    std::vector<Points> joules(entities_.size()), watts(entities_.size());
    for (Found& found : found_) {
      if (found.entity == kAllocator) continue;
      SeriesRow row = found.tally.row(*found.metric);
      const auto source = sources_.find(found.counter);
      if (source != sources_.end()) row.source = source->second;
      const auto status = statuses_.find(found.counter);
      if (status != statuses_.end() &&
          (row.count == 0 || add(status->second.at_ns, offset_ns_) > found.tally.last_ns())) {
        row.status = status->second.status;
        row.reason = status->second.reason;
      }
      if (found.metric->id == "energy_joules") joules[found.entity] = found.tally.take_points();
      if (found.metric->id == "power_watts") watts[found.entity] = found.tally.take_points();
      if (found.metric->id == "probe_cpu_ns" && row.count > 0) {
        result.probe_cpu_ns =
            std::max<std::int64_t>(result.probe_cpu_ns, 0) + static_cast<std::int64_t>(row.max);
      }
      entities_[found.entity].series.push_back(std::move(row));
    }
    for (std::size_t e = 0; e < entities_.size(); ++e) {
      if (!has_energy(entities_[e].entity.kind)) continue;
      DeviceEnergy energy = choose_energy(joules[e], watts[e]);
      entities_[e].energy = Energy();
      if (!energy.curve.empty()) {
        result.energies.push_back(energy);
        result.energy_entities.push_back(result.telemetry.entities.size() + e);
      }
      energy_of_.push_back({result.telemetry.entities.size() + e, std::move(energy)});
    }
    for (EntityRow& row : entities_) result.telemetry.entities.push_back(std::move(row));
    for (auto& [entity, energy] : energy_of_) {
      EntityRow& row = result.telemetry.entities[entity];
      row.energy =
          energy.curve.between(add(trace_.begin_ns, offset_ns_), add(trace_.end_ns, offset_ns_));
      row.energy->note = energy.note;
    }
    allocators_.finish(result.telemetry);
    result.names.push_back({std::move(of_name_)});
  }

  const Trace& trace_;
  const std::uint32_t index_;
  const std::int64_t offset_ns_, begin_ns_;
  std::vector<EntityRow> entities_;
  std::map<std::string, std::string, std::less<>> sources_;
  std::map<std::string, Status, std::less<>> statuses_;
  std::vector<Found> found_;
  std::vector<std::int32_t> of_name_;
  std::vector<std::pair<std::size_t, DeviceEnergy>> energy_of_;
  AllocatorTally allocators_;
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

// Between two samples a process may have had more; the kernel has seen it.
void raise_peak_memory(std::uint64_t max_rss_bytes, Telemetry& telemetry) {
  for (EntityRow& row : telemetry.entities) {
    if (row.entity.kind != EntityKind::process_tree) continue;
    for (SeriesRow& series : row.series) {
      if (series.metric->id != "rss_bytes" || series.count == 0) continue;
      series.max = std::max(series.max, static_cast<double>(max_rss_bytes));
    }
  }
}

}  // namespace

TelemetryResult collect_telemetry(const Run& run, const Clocks& clocks) {
  TelemetryResult result;
  for (std::uint32_t t = 0; t < run.traces.size(); ++t) {
    TraceTelemetry(run.traces[t], t, clocks.offset_ns[t], clocks.begin_ns).collect(result);
  }
  if (run.max_rss_bytes) raise_peak_memory(*run.max_rss_bytes, result.telemetry);
  std::stable_sort(result.telemetry.events.begin(), result.telemetry.events.end(),
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
