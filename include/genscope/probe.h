// Probes: sources of samples, and the one thread that reads them.
//
//   genscope::Sampler sampler;
//   sampler.add(*genscope::make_probe("process"));
//   sampler.add(std::make_unique<MyProbe>());
//   sampler.start();
//   ...
//   const genscope::Snapshot now = sampler.snapshot();
//
// Place in the flow: beside record.h. A Sampler gives its readings to a SampleSink, keeps the
// latest of each and a bounded history.
//
// Threads: a Probe is used by one thread at a time: open() on the thread that calls start(), the
// rest on the sampler's. Sampler's own members may be called from any thread.
//
// Failure: a source that is missing, denied or broken yields readings that say so; nothing here
// throws, and no probe ever waits for a device longer than its contract says.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <genscope/error.h>
#include <genscope/trace.h>

namespace genscope {

// How often a series is read. Costs rise from top to bottom, and so do the periods.
enum class Tier : std::uint8_t {
  fast,       // 100 ms: microseconds a reading
  normal,     // 1 s: files of the system, clocks, temperatures
  slow,       // 5 s: process lists, limits
  on_demand,  // only when asked: Sampler::request()
};
inline constexpr std::size_t kTiers = 4;
std::string_view name(Tier tier) noexcept;

// Whether a source can be used here, and if not, why and what would help.
struct ProbeState {
  enum class Kind : std::uint8_t { works, absent, denied, broken } kind = Kind::works;
  std::string reason;  // one sentence; may be set when it works, as a remark
  std::string remedy;  // one sentence; empty if there is none
};
std::string_view name(ProbeState::Kind kind) noexcept;

// Where a probe puts what it finds. Capacity is fixed when the sampler starts: what does not fit is
// dropped and counted in SamplerStats. Every method but the add_ ones is free of allocation.
class Board {
 public:
  virtual ~Board() = default;

  // These two allocate: from open(), or when something new is found. The number of the entity; the
  // old one if `entity.id` is known (then name and facts are replaced).
  virtual std::uint32_t add_entity(const Entity& entity) = 0;
  // The number of the series; the old one if this entity has that metric already. `metric` must
  // outlive the sampler: take it from all_metrics() or make it static.
  virtual std::uint32_t add_series(std::uint32_t entity, const Metric& metric, Tier tier,
                                   std::string_view source) = 0;

  // A value, read now. Out of the metric's range it becomes implausible.
  virtual void set(std::uint32_t series, double value) noexcept = 0;
  // No value, and why. `reason` must be a literal.
  virtual void set(std::uint32_t series, SampleStatus status,
                   const char* reason = nullptr) noexcept = 0;
  // The same for every series of an entity: a device that is lost or asleep.
  virtual void set_all(std::uint32_t entity, SampleStatus status,
                       const char* reason = nullptr) noexcept = 0;
  virtual void event(std::uint32_t entity, std::string_view name,
                     std::string_view detail) noexcept = 0;
  // At most kMaxProcessRows are kept: pass the ones that matter first.
  virtual void set_processes(std::uint32_t entity, std::span<const ProcessRow> rows) noexcept = 0;
};
inline constexpr std::uint32_t kNoSeries = 0xFFFFFFFF;  // from add_series when full; set ignores it
inline constexpr std::size_t kMaxProcessRows = 64;

// A source of samples. Write your own, and give it to Sampler::add.
class Probe {
 public:
  virtual ~Probe() = default;
  virtual std::string_view name() const noexcept = 0;  // "nvml"; one word
  // Finds what there is, adds entities and series. May allocate and take its time.
  virtual ProbeState open(Board& board) = 0;
  // Reads every series of that tier and sets it. No exceptions, no allocation, bounded in time:
  // what may block longer than some milliseconds belongs on a thread of the probe's own, which
  // hands over its last value. `now_ns` is the tick's time, CLOCK_MONOTONIC.
  virtual void sample(Tier tier, std::int64_t now_ns, Board& board) noexcept = 0;
  // True when open() should be called again (devices came or went). Asked after each normal tick;
  // the call that follows may allocate.
  virtual bool wants_rescan() const noexcept { return false; }
};

// What the built-in probes need to know.
struct ProbeOptions {
  std::string proc_root = "/proc";
  std::string sys_root = "/sys";
  std::string nvml_library;  // path; empty: libnvidia-ml.so.1 as the loader finds it
  // Root of the watched tree; 0: this process.
  std::int32_t pid = 0;
  bool children = true;  // watch its descendants too
  // Watched GPUs show these; what is off is not even asked for.
  bool gpu_memory = true;
  bool gpu_utilization = true;
  bool gpu_temperature = true;
  bool gpu_power = true;
  bool gpu_processes = true;
  bool gpu_counters = false;  // NVIDIA GPM (SM and tensor activity): shares counters with DCGM
};
// The defaults, with GENSCOPE_PROC_ROOT, GENSCOPE_SYS_ROOT and GENSCOPE_NVML_LIBRARY applied.
ProbeOptions probe_options_from_environment();

struct ProbeInfo {
  std::string_view name;
  std::string_view summary;  // one line
  bool loads_driver_code;    // a fault in a vendor's library would be a fault of this process
  bool watches_gpus;
};
// Every built-in probe: process, system, cgroup, rapl, nvml, amdgpu, intel.
std::span<const ProbeInfo> all_probes() noexcept;
// The names of those that watch GPUs, in the same order, and whether `name` is one.
std::span<const std::string_view> gpu_probes() noexcept;
bool is_gpu_probe(std::string_view name) noexcept;
// By name; invalid_argument with the nearest name if there is none such.
Result<std::unique_ptr<Probe>> make_probe(std::string_view name, const ProbeOptions& options = {});

struct SamplerOptions;

// A probe whose work is done by another process, so that a vendor's library that crashes or hangs
// takes nobody along. `command` must call serve_probes() with its stdout as `fd`. When it dies its
// entities are lost, and it is started again, later each time. open() waits for its first words at
// most `patience_ns`; what comes later is taken in when it comes.
std::unique_ptr<Probe> make_remote_probe(std::vector<std::string> command,
                                         std::int64_t patience_ns = 300'000'000);
// The other side: opens those probes, writes what they read to `fd` until nobody reads it, and
// returns an exit code.
int serve_probes(const std::vector<std::string>& names, const ProbeOptions& options,
                 const SamplerOptions& sampling, int fd);

struct SamplerOptions {
  std::int64_t fast_ns = 100'000'000;
  std::int64_t normal_ns = 1'000'000'000;
  std::int64_t slow_ns = 5'000'000'000;
  // Share of one core that all probes together may take. Above it the dearest is read less often.
  double budget_ratio = 0.001;
  std::size_t max_entities = 128;
  std::size_t max_series = 1024;
  bool history = false;        // keep a bounded history of each series: 56 KiB a series
  SampleSink* sink = nullptr;  // takes every reading; must outlive stop()
};

struct SamplerStats {
  std::uint64_t ticks = 0;
  std::uint64_t missed_ticks = 0;  // skipped because the thread was late by a period or more
  std::int64_t cpu_ns = 0;         // of the sampler's thread
  std::uint64_t refused = 0;       // entities and series that did not fit
  std::uint64_t slowed = 0;        // times the governor lengthened a period
};

// What was last read, as a copy.
struct Snapshot {
  struct Series {
    std::uint32_t entity = 0;
    const Metric* metric = nullptr;
    Tier tier = Tier::fast;
    std::string source;
    Reading reading;
    // Per second, of a counter; its own status (pending until there are two readings).
    Reading rate;
  };
  struct Processes {
    std::uint32_t entity = 0;
    std::vector<ProcessRow> rows;
  };
  std::int64_t at_ns = 0;
  std::vector<Entity> entities;
  std::vector<Series> series;
  std::vector<Processes> processes;

  // The series of that entity and metric, or null.
  const Series* find(std::uint32_t entity, std::string_view metric) const noexcept;
};

// What doctor shows of one probe.
struct ProbeReport {
  std::string name;
  ProbeState state;
  std::size_t entities = 0;
  std::size_t series = 0;
  std::int64_t open_ns = 0;                  // wall time of open()
  std::int64_t tier_cpu_ns[kTiers] = {};     // CPU of one sample, median; 0: not run
  std::int64_t tier_period_ns[kTiers] = {};  // in effect
};

class Sampler {
 public:
  explicit Sampler(const SamplerOptions& options = {});
  ~Sampler();  // stops
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  // Before start().
  void add(std::unique_ptr<Probe> probe);
  // Opens every probe, reads all tiers once, and starts the thread. Fails only if no thread can be
  // made; probes that do not work are in reports().
  Status start();
  // Reads all tiers a last time and ends the thread.
  void stop() noexcept;
  // Reads that tier at the next occasion, at once: for the start and end of a stage.
  void request(Tier tier) noexcept;

  Snapshot snapshot() const;
  // The last `seconds` of a series, at most `points` of them, oldest first; empty without history.
  struct Point {
    std::int64_t begin_ns, end_ns;
    double min, max, mean;
  };
  std::vector<Point> history(std::uint32_t series, double seconds, std::size_t points) const;
  std::vector<ProbeReport> reports() const;
  SamplerStats stats() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace genscope
