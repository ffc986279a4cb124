// What the samples of a run add up to: of each entity its series, energy, processes, allocators.
//
// A part of analyze.h, which says what holds for all of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <genscope/trace.h>

namespace genscope {

// All readings of one metric of one entity. A process that samples itself had a life before: its
// counters are told from the first reading on, so that they are of the run.
struct SeriesRow {
  std::shared_ptr<const Metric> metric;  // of the table, or the program's own; never null
  std::string source;                    // where they come from: "nvml field 186 scope 0"
  std::uint64_t count = 0;  // good readings; the next line is over these, 0 if there is none
  double min = 0, max = 0, first = 0, last = 0;
  double mean = 0;             // weighted by time
  double growth = 0;           // of a counter: the sum of its steps up; resets add nothing
  std::uint64_t resets = 0;    // of a counter: steps down
  std::uint64_t bits = 0;      // of a set of flags: every flag that was seen
  double flagged_seconds = 0;  // of throttle_reasons: time with a flag that is a fault
  double covered_seconds = 0;  // for which there are readings
  double span_seconds = 0;     // from the first reading to the last, gaps included, as `growth` is
  // The last status that was not ok, if the series has no value or lost it; ok otherwise.
  SampleStatus status = SampleStatus::ok;
  std::string reason;
};

enum class EnergyMethod : std::uint8_t {
  none,        // nothing to tell it from
  counter,     // the device's own counter
  integrated,  // its power, integrated over time
};
std::string_view name(EnergyMethod method) noexcept;

// Energy of a device over a time. Seconds that nothing covers are said, not guessed.
struct Energy {
  std::optional<double> joules;
  EnergyMethod method = EnergyMethod::none;
  double covered_seconds = 0;
  double uncovered_seconds = 0;
  std::uint64_t resets = 0;
  std::string note;  // a doubt: the counter stood still, or disagrees with the power
};

struct EntityRow {
  Entity entity;
  std::uint32_t trace = 0;  // index into Run::traces
  std::vector<SeriesRow> series;
  std::optional<Energy> energy;  // of what can have energy: GPUs and CPU packages

  // The series of that metric, or null.
  const SeriesRow* find(std::string_view metric) const noexcept;
  // A figure of a series that has one: value(row, &SeriesRow::max).
  std::optional<double> value(std::string_view metric, double SeriesRow::*figure) const noexcept;
  // A fact of the entity; empty if it has none of that name.
  std::string fact(std::string_view key) const;
};

// A process of the watched tree, or one that used a GPU, at its most.
struct ProcessUse {
  std::string entity;  // id of what it was seen in: "tree", or a GPU
  std::uint32_t pid = 0, parent = 0;
  std::string name;
  std::optional<double> cpu_ns, rss_bytes, gpu_memory_bytes;
};

struct TelemetryEvent {
  std::int64_t at_ns = 0;  // since Analysis::begin_ns
  std::string entity;
  std::string name;  // "device_lost"
  std::string detail;
};

// A caching allocator taken apart. Absent: cannot be told from what was fed in.
struct AllocatorParts {
  std::optional<double> cache_slack_bytes;   // reserved - allocated: cache, not fragmentation
  std::optional<double> rounding_bytes;      // allocated - requested: internal fragmentation
  std::optional<double> pending_free_bytes;  // active - allocated: waits for a stream
  std::optional<double> pinned_bytes;        // inactive split: external fragmentation proper
  std::optional<double> releasable_bytes;    // reserved - active - inactive split
  std::optional<double> outside_bytes;       // seen by the driver, not by the allocator
};
struct AllocatorRow {
  std::string device;
  // At the moment of the highest reservation.
  std::optional<double> requested_bytes, allocated_bytes, active_bytes, reserved_bytes,
      inactive_split_bytes;
  std::optional<double> retries, ooms;  // over the run
  AllocatorParts parts;
};

struct Telemetry {
  std::vector<EntityRow> entities;  // in the order in which they appeared
  std::vector<ProcessUse> processes;
  std::vector<TelemetryEvent> events;
  std::vector<AllocatorRow> allocators;

  // The first entity of that kind, or null.
  const EntityRow* first(EntityKind kind) const noexcept;
  // Sum of the energy of all devices that have it; absent if none has.
  std::optional<double> joules() const noexcept;
};

// Whether a series is one of the program's own: of a probe of its own, or of its service's
// requests. What it means is not known here, so that reports list it as it is.
bool is_own(const EntityRow& entity, const SeriesRow& series) noexcept;

// What can be told of an allocator from its figures; `driver_bytes`: what the driver says that the
// process holds on that device, if known.
AllocatorParts take_apart(const AllocatorRow& row, std::optional<double> driver_bytes) noexcept;

}  // namespace genscope
