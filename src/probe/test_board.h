// A Board that keeps what it is given, for the tests of probes.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "genscope/probe.h"

namespace genscope::probe {

class TestBoard final : public Board {
 public:
  struct Series {
    std::uint32_t entity;
    const Metric* metric;
    Tier tier;
    std::string source;
    Reading reading;
    int sets = 0;  // how often it was set
  };
  struct Event {
    std::uint32_t entity;
    std::string name, detail;
  };
  std::vector<Entity> entities;
  std::vector<Series> series;
  std::vector<Event> events;
  std::map<std::uint32_t, std::vector<ProcessRow>> processes;

  std::uint32_t add_entity(const Entity& entity) override {
    for (std::size_t i = 0; i < entities.size(); ++i) {
      if (entities[i].id != entity.id) continue;
      entities[i] = entity;
      return static_cast<std::uint32_t>(i);
    }
    entities.push_back(entity);
    return static_cast<std::uint32_t>(entities.size() - 1);
  }
  std::uint32_t add_series(std::uint32_t entity, const Metric& metric, Tier tier,
                           std::string_view source) override {
    for (std::size_t i = 0; i < series.size(); ++i) {
      if (series[i].entity == entity && series[i].metric->id == metric.id) {
        return static_cast<std::uint32_t>(i);
      }
    }
    series.push_back({entity, &metric, tier, std::string(source), {}, 0});
    return static_cast<std::uint32_t>(series.size() - 1);
  }
  void set(std::uint32_t index, double value) noexcept override {
    if (index >= series.size()) return;
    Series& row = series[index];
    const bool plausible = value >= row.metric->low && value <= row.metric->high;
    row.reading = {value, plausible ? SampleStatus::ok : SampleStatus::implausible, nullptr, 0};
    row.sets++;
  }
  void set(std::uint32_t index, SampleStatus status, const char* reason) noexcept override {
    if (index >= series.size()) return;
    series[index].reading = {0, status, reason, 0};
    series[index].sets++;
  }
  void set_all(std::uint32_t entity, SampleStatus status, const char* reason) noexcept override {
    for (std::size_t i = 0; i < series.size(); ++i) {
      if (series[i].entity == entity) set(static_cast<std::uint32_t>(i), status, reason);
    }
  }
  void event(std::uint32_t entity, std::string_view name,
             std::string_view detail) noexcept override {
    events.push_back({entity, std::string(name), std::string(detail)});
  }
  void set_processes(std::uint32_t entity, std::span<const ProcessRow> rows) noexcept override {
    processes[entity].assign(rows.begin(), rows.end());
  }

  // The entity of that id, or of that kind and place among its kind; -1 if there is none.
  int entity(std::string_view id) const {
    for (std::size_t i = 0; i < entities.size(); ++i) {
      if (entities[i].id == id) return static_cast<int>(i);
    }
    return -1;
  }
  // The series of a metric; null if it was not added.
  const Series* find(std::string_view entity_id, std::string_view metric) const {
    for (const Series& row : series) {
      if (entities[row.entity].id == entity_id && row.metric->id == metric) return &row;
    }
    return nullptr;
  }
  // The last reading; status absent, reason "no series", if there is no such series.
  Reading get(std::string_view entity_id, std::string_view metric) const {
    const Series* row = find(entity_id, metric);
    return row != nullptr ? row->reading : Reading{0, SampleStatus::absent, "no series", 0};
  }
};

}  // namespace genscope::probe
