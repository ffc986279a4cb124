// Samples read back from the counters and events of a trace.
//
// One pass over the events collects who was measured and what was said of each series; one over the
// names tells which counters are readings; one over the counters sorts their rows by series. A
// trace without a sampler costs the look at its names only.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "genscope/trace.h"
#include "trace/event_arguments.h"
#include "trace/sample_names.h"

namespace genscope {
namespace trace {
namespace {

constexpr std::size_t kMostOwnText = 200;  // of an id, unit or description of a program's metric

template <class Value, std::size_t kCount>
Value value_called(std::string_view word, Value otherwise) {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (name(static_cast<Value>(i)) == word) return static_cast<Value>(i);
  }
  return otherwise;
}

class SampleDecoder {
 public:
  explicit SampleDecoder(Trace& trace) : trace_(trace) { trace.samples = {}; }

  void decode() {
    read_events();
    if (entities_.empty() && !has_allocator()) return;
    find_series();
    add_silent_series();
    sort_rows();
  }

 private:
  struct Said {  // of a series, by events
    std::string_view source;
    OwnMetric own;
    bool is_own = false;
    SampleStatus status = SampleStatus::ok;
    std::int64_t status_at_ns = 0;
    std::string_view reason;
  };

  bool has_allocator() const {
    return std::any_of(trace_.names.begin(), trace_.names.end(),
                       [](const Name& one) { return one.text.starts_with(kAllocatorPrefix); });
  }

  void read_events() {
    each_sampler_event(trace_, [&](std::int64_t at_ns, std::string_view what,
                                   const EventArguments& args) { read_event(at_ns, what, args); });
  }

  void read_event(std::int64_t at_ns, std::string_view what, const EventArguments& args) {
    if (what == "entity") {
      read_entity(args);
    } else if (what == "series") {
      Said& said = said_[args.text("counter")];
      said.source = args.text("source");
      said.own = {std::string(args.text("unit").substr(0, kMostOwnText)),
                  std::string(args.text("kind")),
                  std::string(args.text("description").substr(0, kMostOwnText))};
      said.is_own = !said.own.kind.empty();
    } else if (what == "status") {
      Said& said = said_[args.text("counter")];
      said.status =
          value_called<SampleStatus, kSampleStatuses>(args.text("status"), SampleStatus::error);
      said.status_at_ns = at_ns;
      said.reason = args.text("reason");
    } else if (what == "process") {
      read_process(at_ns, args);
    } else if (!args.text("entity").empty()) {
      trace_.samples.events.push_back({at_ns, std::string(args.text("entity")), std::string(what),
                                       std::string(args.text("detail"))});
    }
  }

  void read_entity(const EventArguments& args) {
    Entity entity;
    entity.id = args.text("id");
    entity.name = args.text("name");
    entity.kind = entity_kind(args.text("kind"));
    std::string_view facts = args.text("facts");
    while (!facts.empty()) {
      const std::string_view fact = facts.substr(0, facts.find('\n'));
      facts.remove_prefix(std::min(facts.size(), fact.size() + 1));
      const std::size_t equals = fact.find('=');
      if (equals == std::string_view::npos) continue;
      entity.facts.emplace_back(fact.substr(0, equals), fact.substr(equals + 1));
    }
    const std::uint32_t place = place_of(args.text("id"));
    trace_.samples.entities[place] = std::move(entity);
  }

  // Of the entity that counters call `id`; a new one if it is.
  std::uint32_t place_of(std::string_view id) {
    const auto next = static_cast<std::uint32_t>(trace_.samples.entities.size());
    const auto [at, is_new] = entities_.try_emplace(std::string(id), next);
    if (is_new) trace_.samples.entities.emplace_back();
    return at->second;
  }

  void read_process(std::int64_t at_ns, const EventArguments& args) {
    ProcessSample sample;
    sample.at_ns = at_ns;
    sample.entity = args.text("entity");
    const auto pid = [&](const char* key) {
      return static_cast<std::uint32_t>(std::clamp(args.number(key).value_or(0), 0.0, 4e9));
    };
    sample.pid = pid("pid");
    sample.parent = pid("parent");
    sample.name = args.text("name");
    const auto figure = [&](const char* key) {
      const std::optional<double> value = args.number(key);
      return value && *value >= 0 ? value : std::nullopt;
    };
    sample.cpu_ns = figure("cpu_ns");
    sample.rss_bytes = figure("rss_bytes");
    sample.gpu_memory_bytes = figure("gpu_memory_bytes");
    trace_.samples.processes.push_back(std::move(sample));
  }

  // A counter is a sample when its name is "<entity>/<metric>" with both known.
  std::uint32_t entity_called(std::string_view id) {
    const auto known = entities_.find(std::string(id));
    if (known != entities_.end()) return known->second;
    if (!id.starts_with(kAllocatorPrefix)) return kNone;
    const std::uint32_t place = place_of(id);
    Entity& allocator = trace_.samples.entities[place];
    allocator.kind = EntityKind::allocator;
    allocator.id = id;
    allocator.name = id.substr(kAllocatorPrefix.size());
    return place;
  }

  std::uint32_t add_series(std::string_view counter, std::uint32_t name) {
    const SampleName parts = split_sample_name(counter);
    if (parts.metric.empty()) return kNone;
    const auto said = said_.find(counter);
    const bool own = said != said_.end() && said->second.is_own;
    std::shared_ptr<const Metric> metric =
        metric_of(parts.metric, own ? &said->second.own : nullptr);
    if (metric == nullptr) return kNone;
    const std::uint32_t entity = entity_called(parts.entity);
    if (entity == kNone) return kNone;
    SampleSeries series;
    series.entity = entity;
    series.metric = std::move(metric);
    series.name = name;
    if (said != said_.end()) {
      series.source = said->second.source;
      series.status = said->second.status;
      series.status_at_ns = said->second.status_at_ns;
      series.reason = said->second.reason;
    }
    trace_.samples.series.push_back(std::move(series));
    return static_cast<std::uint32_t>(trace_.samples.series.size() - 1);
  }

  void find_series() {
    std::vector<std::uint32_t>& series = trace_.samples.series_of_name;
    series.assign(trace_.names.size(), kNone);
    for (std::uint32_t n = 0; n < trace_.names.size(); ++n) {
      if (trace_.names[n].kind != SpanKind::none) continue;
      const std::string_view counter = trace_.names[n].text;
      if (split_sample_name(counter).metric.empty()) continue;
      const auto [known, is_new] = series_of_.try_emplace(counter, kNone);
      if (is_new) known->second = add_series(counter, n);
      series[n] = known->second;
    }
  }

  // A series that never had a value has no counter, but it has a status.
  void add_silent_series() {
    std::vector<std::string_view> silent;
    for (const auto& [counter, said] : said_) {
      if (said.status != SampleStatus::ok && !series_of_.contains(counter))
        silent.push_back(counter);
    }
    std::sort(silent.begin(), silent.end());
    for (const std::string_view counter : silent) {
      const SampleName parts = split_sample_name(counter);
      if (entities_.contains(std::string(parts.entity))) add_series(counter, kNone);
    }
  }

  void sort_rows() {
    Samples& samples = trace_.samples;
    const CounterColumns& counters = trace_.counters;
    const auto each = [&](auto&& act) {
      for (std::uint32_t i = 0; i < counters.size(); ++i) {
        const std::uint32_t series = samples.series_of_name[counters.name[i]];
        if (series != kNone && std::isfinite(counters.value[i])) act(series, i);
      }
    };
    std::vector<std::uint32_t> count(samples.series.size(), 0);
    each([&](std::uint32_t series, std::uint32_t) { ++count[series]; });
    for (std::size_t s = 0; s < count.size(); ++s) samples.series[s].rows.reserve(count[s]);
    each([&](std::uint32_t series, std::uint32_t row) {
      samples.series[series].rows.push_back(row);
    });
    // Samplers write in the order of time; a trace that was put together by others may not.
    const auto earlier = [&](std::uint32_t a, std::uint32_t b) {
      return counters.at_ns[a] < counters.at_ns[b];
    };
    for (SampleSeries& series : samples.series) {
      if (std::is_sorted(series.rows.begin(), series.rows.end(), earlier)) continue;
      std::stable_sort(series.rows.begin(), series.rows.end(), earlier);
    }
  }

  Trace& trace_;
  std::unordered_map<std::string, std::uint32_t> entities_;        // as counters call them
  std::unordered_map<std::string_view, Said> said_;                // by counter; texts of the trace
  std::unordered_map<std::string_view, std::uint32_t> series_of_;  // by counter
};

// A metric and the texts that it points to.
struct KeptMetric {
  std::string id, unit, description;
  Metric metric;
};

}  // namespace

EntityKind entity_kind(std::string_view word) noexcept {
  return value_called<EntityKind, kEntityKinds>(word, EntityKind::other);
}

std::shared_ptr<const Metric> metric_of(std::string_view id, const OwnMetric* own) {
  if (const Metric* const known = find_metric(id)) {
    return {std::shared_ptr<const void>(), known};  // of the table, which is never freed
  }
  if (own == nullptr || id.empty() || id.size() > kMostOwnText) return nullptr;
  auto kept = std::make_shared<KeptMetric>();
  kept->id = id;
  kept->unit = own->unit;
  kept->description = own->description;
  kept->metric = {kept->id, kept->unit, kept->description,
                  value_called<MetricKind, kMetricKinds>(own->kind, MetricKind::gauge)};
  return {kept, &kept->metric};
}

}  // namespace trace

void decode_samples(Trace& trace) { trace::SampleDecoder(trace).decode(); }

bool is_sampler_event(const Trace& trace, std::size_t event) noexcept {
  const std::uint32_t name = trace.events.name[event];
  return name < trace.names.size() && trace::is_sampler_event(trace.names[name].text);
}

}  // namespace genscope
