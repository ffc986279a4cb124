// Samples: what a probe measured, of what, in which unit, and how sure it is.
//
// Place in the flow: probe.h makes readings, a SampleSink takes them (record.h has one that writes
// them into the trace), analyze.h reads them back. Data only.
//
// A value that is not known is absent with a reason: never 0, never NaN. So a Reading has a status,
// and `value` means something only when that is ok.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace genscope {

enum class SampleStatus : std::uint8_t {
  ok,
  stale,          // the source goes on repeating an old value
  pending,        // no value yet: a difference needs two readings, a driver needs time
  not_supported,  // this device, driver or kernel does not have it
  not_permitted,  // it has it, and we may not read it
  absent,         // the source is not there: no such file, library or device
  lost,           // the device was there and has gone
  suspended,      // the device sleeps, and reading would wake it
  implausible,    // a value came that cannot be true; it is not aggregated
  error,          // the source failed in another way
};
inline constexpr std::size_t kSampleStatuses = 10;
// The lower-case word: "ok", "not_supported", ...
std::string_view name(SampleStatus status) noexcept;

enum class MetricKind : std::uint8_t {
  gauge,    // a level: aggregate as min, max, time-weighted mean
  counter,  // only grows, until a reset: differences and rates mean something
  bits,     // a set of flags in an integer: aggregate as OR and time per bit
};

// One row of the table of metrics (docs/metrics.md). The unit ends the id.
struct Metric {
  std::string_view id;           // "power_watts"; unique
  std::string_view unit;         // "W"
  std::string_view description;  // one line
  MetricKind kind = MetricKind::gauge;
  double low = 0;      // plausible range, inclusive: outside it a reading is implausible
  double high = 1e18;  // (below 2^60, so that every counter of bytes or nanoseconds fits)
};

// Every built-in metric, in the order of docs/metrics.md.
std::span<const Metric> all_metrics() noexcept;
// The built-in metric of that id, or null.
const Metric* find_metric(std::string_view id) noexcept;

// What is measured. `id` is stable over re-enumeration, restarts and boots where the thing itself
// is: the UUID of a GPU, else its PCI address; "tree"; "machine".
enum class EntityKind : std::uint8_t {
  machine,       // the host
  process_tree,  // the watched command and all its descendants
  cgroup,
  cpu_package,
  gpu,
  gpu_instance,  // a MIG slice
  sampler,       // genscope itself
  other,         // of a user's own probe
};
inline constexpr std::size_t kEntityKinds = 8;
std::string_view name(EntityKind kind) noexcept;  // "machine", "process_tree", ...

struct Entity {
  EntityKind kind = EntityKind::other;
  std::string id;
  std::string name;  // for people: "NVIDIA H100 80GB HBM3"
  // What does not change: {"vendor", "nvidia"}, {"pci", "0000:01:00.0"}, {"driver", "550.54"}.
  std::vector<std::pair<std::string, std::string>> facts;
};

struct Reading {
  double value = 0;  // meaningful when status is ok; for implausible the raw value, for the log
  SampleStatus status = SampleStatus::pending;
  const char* reason = nullptr;  // why not ok: a literal, or null when the status says it all
  std::int64_t at_ns = 0;        // CLOCK_MONOTONIC, when it was read
};

// A process as a probe of processes sees it; fixed size, so that a tick allocates nothing.
struct ProcessRow {
  std::uint32_t pid = 0;
  std::uint32_t parent = 0;
  std::uint64_t start = 0;  // field 22 of its stat file: with the pid a stable identity; 0 unknown
  char name[32] = {};       // as in comm; zero-terminated
  bool visible = true;      // false: outside our pid namespace, known to a driver only
  Reading cpu_ns;
  Reading rss_bytes;
  Reading gpu_memory_bytes;
  Reading gpu_busy_ratio;
};

// Takes what a Sampler reads. Called on the sampler's thread only; must not block, and should not
// allocate after the series are known.
class SampleSink {
 public:
  virtual ~SampleSink() = default;
  // A new entity, or one whose facts changed. `entity` is its number from now on.
  virtual void add_entity(std::uint32_t entity, const Entity& what) noexcept = 0;
  // A new series of readings. `source` says where they come from: "nvml field 186 scope 0".
  virtual void add_series(std::uint32_t series, std::uint32_t entity, const Metric& metric,
                          std::string_view source) noexcept = 0;
  virtual void add_reading(std::uint32_t series, const Reading& reading) noexcept = 0;
  // Something happened to an entity: "device_lost", "probe_slowed", "process_started".
  virtual void add_event(std::uint32_t entity, std::string_view name,
                         std::string_view detail) noexcept = 0;
  // The processes of an entity (of the tree, of a GPU) as they are now; replaces the last list.
  virtual void set_processes(std::uint32_t entity, std::span<const ProcessRow> rows) noexcept = 0;
};

}  // namespace genscope
