#include "report/json_sections.h"

#include <string>

namespace genscope::report {
namespace {

constexpr const char* kNoProbes = "no probe sampled this run";

std::string reason_of(const SeriesRow* series) {
  if (series == nullptr) return "no probe reads it here";
  if (!series->reason.empty()) return std::string(name(series->status)) + ": " + series->reason;
  return std::string(
      name(series->status == SampleStatus::ok ? SampleStatus::pending : series->status));
}

// One figure of one series, or null with the reason under `<where>.<key>`.
class Figures {
 public:
  Figures(const EntityRow& row, std::string where, Json& absent)
      : row_(row), where_(std::move(where)), absent_(absent) {}

  void add(Json& out, const char* key, const char* metric, double SeriesRow::*figure) {
    const std::optional<double> value = row_.value(metric, figure);
    out[key] = value ? Json(*value) : Json(nullptr);
    if (!value) absent_[where_ + "." + key] = reason_of(row_.find(metric));
  }
  // The same for whole numbers: nanoseconds, bytes, counts.
  void add_whole(Json& out, const char* key, const char* metric, double SeriesRow::*figure) {
    add(out, key, metric, figure);
    if (!out[key].is_null()) out[key] = static_cast<std::int64_t>(out[key].get<double>());
  }
  void add_null(Json& out, const char* key, const std::string& reason) {
    out[key] = nullptr;
    absent_[where_ + "." + key] = reason;
  }

 private:
  const EntityRow& row_;
  std::string where_;
  Json& absent_;
};

Json energy_json(const EntityRow& row, const std::string& where, Json& absent) {
  Json out;
  const Energy energy = row.energy.value_or(Energy());
  out["joules"] = energy.joules ? Json(*energy.joules) : Json(nullptr);
  if (!energy.joules) absent[where + ".energy.joules"] = "neither energy nor power was read";
  out["method"] = name(energy.method);
  out["covered_seconds"] = energy.covered_seconds;
  out["uncovered_seconds"] = energy.uncovered_seconds;
  out["resets"] = energy.resets;
  if (!energy.note.empty()) out["note"] = energy.note;
  return out;
}

void add_energy(Json& out, const EntityRow& row, const std::string& where, Json& absent) {
  out["energy"] = energy_json(row, where, absent);
  out["energy_joules"] = out["energy"]["joules"];
}

Json gpu_json(const EntityRow& gpu, std::size_t index, Json& absent) {
  const std::string where = "gpus[" + std::to_string(index) + "]";
  Figures figures(gpu, where, absent);
  Json out;
  out["id"] = gpu.entity.id;
  out["kind"] = name(gpu.entity.kind);
  out["vendor"] = text_or_null(gpu.fact("vendor"));
  out["name"] = text_or_null(gpu.entity.name);
  figures.add_whole(out, "memory_total_bytes", "memory_total_bytes", &SeriesRow::last);
  figures.add_whole(out, "memory_peak_bytes", "memory_used_bytes", &SeriesRow::max);
  figures.add(out, "busy_mean_ratio", "busy_ratio", &SeriesRow::mean);
  figures.add(out, "busy_max_ratio", "busy_ratio", &SeriesRow::max);
  figures.add(out, "power_mean_watts", "power_watts", &SeriesRow::mean);
  figures.add(out, "power_max_watts", "power_watts", &SeriesRow::max);
  figures.add(out, "power_limit_watts", "power_limit_watts", &SeriesRow::last);
  add_energy(out, gpu, where, absent);
  figures.add(out, "temperature_max_celsius", "temperature_celsius", &SeriesRow::max);
  figures.add(out, "clock_core_mean_mhz", "clock_core_mhz", &SeriesRow::mean);
  figures.add_whole(out, "tree_memory_peak_bytes", "tree_memory_bytes", &SeriesRow::max);
  const SeriesRow* const throttle = gpu.find("throttle_reasons");
  if (throttle != nullptr && throttle->covered_seconds > 0) {
    out["throttled_ratio"] = throttle->flagged_seconds / throttle->covered_seconds;
    out["throttle_reasons"] = throttle->bits;
  } else {
    figures.add_null(out, "throttled_ratio", reason_of(throttle));
    figures.add_null(out, "throttle_reasons", reason_of(throttle));
  }
  return out;
}

}  // namespace

Json process_json(const Analysis& analysis, bool any_process, Json& absent) {
  Json out;
  out["wall_ns"] = any_process ? Json(analysis.wall_ns) : Json(nullptr);
  if (!any_process) absent["process.wall_ns"] = "no process recorded anything";
  const EntityRow* const tree = analysis.telemetry.first(EntityKind::process_tree);
  if (tree == nullptr) {
    for (const char* key :
         {"cpu_ns", "peak_rss_bytes", "peak_rss_anon_bytes", "peak_threads", "peak_processes",
          "major_faults", "minor_faults", "io_read_bytes", "io_write_bytes"}) {
      out[key] = nullptr;
      absent[std::string("process.") + key] = kNoProbes;
    }
    return out;
  }
  Figures figures(*tree, "process", absent);
  figures.add_whole(out, "cpu_ns", "cpu_ns", &SeriesRow::max);
  figures.add_whole(out, "peak_rss_bytes", "rss_bytes", &SeriesRow::max);
  figures.add_whole(out, "peak_rss_anon_bytes", "rss_anon_bytes", &SeriesRow::max);
  figures.add_whole(out, "peak_threads", "threads", &SeriesRow::max);
  figures.add_whole(out, "peak_processes", "processes", &SeriesRow::max);
  figures.add_whole(out, "major_faults", "major_faults", &SeriesRow::max);
  figures.add_whole(out, "minor_faults", "minor_faults", &SeriesRow::max);
  figures.add_whole(out, "io_read_bytes", "io_read_bytes", &SeriesRow::max);
  figures.add_whole(out, "io_write_bytes", "io_write_bytes", &SeriesRow::max);
  return out;
}

Json gpus_json(const Telemetry& telemetry, Json& absent) {
  if (telemetry.entities.empty()) {
    absent["gpus"] = kNoProbes;
    return nullptr;
  }
  Json out = Json::array();
  for (const EntityRow& row : telemetry.entities) {
    const EntityKind kind = row.entity.kind;
    if (kind != EntityKind::gpu && kind != EntityKind::gpu_instance) continue;
    out.push_back(gpu_json(row, out.size(), absent));
  }
  if (out.empty()) absent["gpus"] = "no GPU was found; genscope doctor says why";
  return out;
}

Json system_json(const Telemetry& telemetry, Json& absent) {
  const EntityRow* const machine = telemetry.first(EntityKind::machine);
  if (machine == nullptr) {
    absent["system"] = kNoProbes;
    return nullptr;
  }
  Figures figures(*machine, "system", absent);
  Json out;
  figures.add_whole(out, "cpu_count", "cpu_count", &SeriesRow::last);
  figures.add(out, "cpu_busy_mean_ratio", "cpu_busy_ratio", &SeriesRow::mean);
  figures.add_whole(out, "memory_total_bytes", "memory_total_bytes", &SeriesRow::last);
  figures.add_whole(out, "memory_available_min_bytes", "memory_available_bytes", &SeriesRow::min);
  figures.add_whole(out, "swap_used_max_bytes", "swap_used_bytes", &SeriesRow::max);
  figures.add(out, "load_1m_max", "load_1m", &SeriesRow::max);
  figures.add_whole(out, "pressure_cpu_some_ns", "pressure_cpu_some_ns", &SeriesRow::growth);
  figures.add_whole(out, "pressure_memory_some_ns", "pressure_memory_some_ns", &SeriesRow::growth);
  figures.add_whole(out, "pressure_io_some_ns", "pressure_io_some_ns", &SeriesRow::growth);
  figures.add_whole(out, "disk_read_bytes", "disk_read_bytes", &SeriesRow::growth);
  figures.add_whole(out, "disk_write_bytes", "disk_write_bytes", &SeriesRow::growth);
  figures.add_whole(out, "net_receive_bytes", "net_receive_bytes", &SeriesRow::growth);
  figures.add_whole(out, "net_send_bytes", "net_send_bytes", &SeriesRow::growth);
  return out;
}

Json cgroup_json(const Telemetry& telemetry, Json& absent) {
  const EntityRow* const group = telemetry.first(EntityKind::cgroup);
  if (group == nullptr) {
    absent["cgroup"] = telemetry.entities.empty() ? kNoProbes : "no control group was found";
    return nullptr;
  }
  Figures figures(*group, "cgroup", absent);
  Json out;
  out["path"] = text_or_null(group->fact("path"));
  out["version"] = text_or_null(group->fact("version"));
  figures.add_whole(out, "memory_limit_bytes", "memory_limit_bytes", &SeriesRow::last);
  figures.add_whole(out, "memory_used_max_bytes", "memory_used_bytes", &SeriesRow::max);
  figures.add_whole(out, "memory_oom_kills", "memory_oom_kills", &SeriesRow::growth);
  figures.add(out, "cpu_limit_cores", "cpu_limit_cores", &SeriesRow::last);
  figures.add_whole(out, "cpu_throttled_ns", "cpu_throttled_ns", &SeriesRow::growth);
  return out;
}

Json cpu_packages_json(const Telemetry& telemetry, Json& absent) {
  Json out = Json::array();
  for (const EntityRow& row : telemetry.entities) {
    if (row.entity.kind != EntityKind::cpu_package) continue;
    const std::string where = "cpu_packages[" + std::to_string(out.size()) + "]";
    Json package;
    package["id"] = row.entity.id;
    package["name"] = text_or_null(row.entity.name);
    add_energy(package, row, where, absent);
    out.push_back(std::move(package));
  }
  return out;
}

Json allocators_json(const Telemetry& telemetry, Json& absent) {
  Json out = Json::array();
  const auto put = [&](Json& row, const char* key, const std::optional<double>& value) {
    row[key] = value ? Json(static_cast<std::int64_t>(*value)) : Json(nullptr);
    if (!value) absent[std::string("allocators.") + key] = "null where it was not fed in";
  };
  for (const AllocatorRow& row : telemetry.allocators) {
    Json one;
    one["device"] = row.device;
    put(one, "requested_bytes", row.requested_bytes);
    put(one, "allocated_bytes", row.allocated_bytes);
    put(one, "active_bytes", row.active_bytes);
    put(one, "reserved_bytes", row.reserved_bytes);
    put(one, "inactive_split_bytes", row.inactive_split_bytes);
    put(one, "retries", row.retries);
    put(one, "ooms", row.ooms);
    put(one, "cache_slack_bytes", row.parts.cache_slack_bytes);
    put(one, "rounding_bytes", row.parts.rounding_bytes);
    put(one, "pending_free_bytes", row.parts.pending_free_bytes);
    put(one, "pinned_bytes", row.parts.pinned_bytes);
    put(one, "releasable_bytes", row.parts.releasable_bytes);
    put(one, "outside_bytes", row.parts.outside_bytes);
    out.push_back(std::move(one));
  }
  return out;
}

Json own_metrics_json(const Telemetry& telemetry, Json& absent) {
  Json out = Json::array();
  for (const EntityRow& entity : telemetry.entities) {
    for (const SeriesRow& row : entity.series) {
      if (!is_own(entity, row)) continue;
      const auto figure = [&](double value) { return row.count > 0 ? Json(value) : Json(nullptr); };
      if (row.count == 0) {
        absent["own_metrics[" + std::to_string(out.size()) + "]"] = reason_of(&row);
      }
      out.push_back({{"entity", entity.entity.id},
                     {"entity_name", text_or_null(entity.entity.name)},
                     {"metric", row.metric->id},
                     {"unit", row.metric->unit},
                     {"kind", name(row.metric->kind)},
                     {"description", text_or_null(std::string(row.metric->description))},
                     {"source", text_or_null(row.source)},
                     {"count", row.count},
                     {"first", figure(row.first)},
                     {"last", figure(row.last)},
                     {"min", figure(row.min)},
                     {"mean", figure(row.mean)},
                     {"max", figure(row.max)}});
    }
  }
  return out;
}

Json processes_json(const Telemetry& telemetry) {
  Json out = Json::array();
  const auto whole = [](const std::optional<double>& value) {
    return value ? Json(static_cast<std::int64_t>(*value)) : Json(nullptr);
  };
  for (const ProcessUse& use : telemetry.processes) {
    out.push_back({{"entity", use.entity},
                   {"pid", use.pid},
                   {"parent", use.parent},
                   {"name", text_or_null(use.name)},
                   {"cpu_ns", whole(use.cpu_ns)},
                   {"peak_rss_bytes", whole(use.rss_bytes)},
                   {"peak_gpu_memory_bytes", whole(use.gpu_memory_bytes)}});
  }
  return out;
}

Json telemetry_events_json(const Telemetry& telemetry) {
  Json out = Json::array();
  for (const TelemetryEvent& event : telemetry.events) {
    out.push_back({{"at_ns", event.at_ns},
                   {"entity", event.entity},
                   {"name", event.name},
                   {"detail", event.detail}});
  }
  return out;
}

}  // namespace genscope::report
