// ModelBook: decides which models are in the memory of which device. It loads nothing itself.
//
//   ModelBook book;
//   book.add_device({.name = "cuda:0", .bytes = 24 * kGiB});
//   const auto sdxl = book.add_model({.name = "sdxl", .bytes = 7 * kGiB});
//   book.request(now_ns, {.model = *sdxl});
//   for (const ModelAction& action : book.take_actions()) { ... book.finished(now_ns, action, {});
//   }
//
// Place in the flow: the decisions below ModelManager (models.h), which adds threads and callbacks.
// Use it directly for an event loop of your own, or to try settings in a simulation.
//
// Threads: none, and no clock: each call says what time it is. Times are nanoseconds on any scale
// and never go back.
//
// What it keeps to:
//   1. The bytes reserved on a device never grow above its budget. A load that takes more than was
//      reserved, or use by others, can leave it above: nothing is then added until it is below.
//   2. A model that is leased or pinned is never evicted.
//   3. Each request gets exactly one answer: a grant or a failure.
//   4. A request whose model fits does not wait for ever while leases are given back and loads end:
//      once it is overdue, no new lease is given on what stands in its way.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <genscope/error.h>
#include <genscope/internal/optimize/async/timers.h>  // kNever

namespace genscope::optimize {

inline constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
inline constexpr std::uint32_t kAnyDevice = 0xFFFFFFFF;

enum class ModelState : std::uint8_t {
  absent,
  loading,
  ready,
  falling_asleep,
  sleeping,
  waking,
  unloading,
  failed,  // the last load failed; tried again after a while
};
std::string_view name(ModelState state) noexcept;

// A state between ready and absent. Level 1 is usually "weights in host memory", level 2 "weights
// dropped, process and graphs kept".
struct SleepLevel {
  std::uint64_t device_bytes = 0;  // still taken on the device
  std::uint64_t host_bytes = 0;    // taken from BookOptions::host_bytes
};

struct ModelSpec {
  std::string name = {};
  // What it takes on the device. 0: unknown; its first load then has the device's free memory to
  // itself, and what it took is remembered.
  std::uint64_t bytes = 0;
  // At most BookOptions::group_limit models of a group are on one device. Empty: no group.
  std::string group = {};
  int priority = 0;                // the lowest goes first when room is needed
  std::int64_t keep_alive_ns = 0;  // unloaded after as long without use; 0: stays
  std::int64_t load_ns = 0;        // a first guess; 0: from its bytes. Later it is measured
  bool pinned = false;
  std::string then = {};  // a model that is wanted next: prefetched when this is leased
  std::vector<SleepLevel> sleep = {};  // empty: it cannot sleep
};

struct DeviceSpec {
  std::string name = {};
  std::uint64_t bytes = 0;             // what models may take at most
  std::uint64_t activation_bytes = 0;  // kept free for the work itself
  // Leases at a time. 0: no limit. 1: a lane.
  std::uint32_t slots = 0;
  // Nothing runs while a model is loaded. Swaps then wait until the queue of what is there is
  // empty.
  bool load_stops_work = false;
  double load_bytes_per_second = 2.0 * static_cast<double>(kGiB);  // until loads were measured
};

// All but `drain` are for comparison, on one device: they promise nothing about waits.
enum class QueueOrder : std::uint8_t {
  fifo,               // as they came
  collate,            // what is in memory first; the oldest after `patience_ns`
  collate_residency,  // the same, and a model stays for `residency_factor` x its load time
  drain,              // the default: see src/optimize/models/plan.cc
};
enum class EvictBy : std::uint8_t { least_recent, reload_cost };

struct BookOptions {
  QueueOrder order = QueueOrder::drain;
  EvictBy evict_by = EvictBy::reload_cost;
  double residency_factor = 4;
  // A request that waited as long is overdue. 0: residency_factor x the longest load known.
  std::int64_t patience_ns = 0;
  double declared_margin = 1.1;  // reserved for a load: declared bytes x this
  std::uint32_t disk_readers = 2;
  std::uint64_t host_bytes = 0;  // for models that sleep in host memory
  std::uint32_t group_limit = 1;
  std::uint32_t replicate_after = 3;  // arrivals in a row that a second device would serve sooner
  std::int64_t use_half_life_ns = 600'000'000'000;
  std::int64_t prefetch_ns = 60'000'000'000;  // a hint that could not be followed by then is void
  std::int64_t backoff_ns = 1'000'000'000;    // after a failed load; doubles each time
  std::int64_t backoff_max_ns = 60'000'000'000;
  std::size_t why_entries = 256;
};

struct RequestSpec {
  std::uint32_t model = 0;
  int priority = 0;
  std::int64_t deadline_ns = kNever;
  std::uint32_t device = kAnyDevice;
};

// Why a request was refused.
enum class LeaseRefusal : std::uint8_t {
  none,
  deadline,   // it came before the model was ready
  cancelled,  // the request was withdrawn
  broken,     // the model could not be loaded, now or a moment ago
  no_room,    // it does not fit, or ran out of memory twice
  closed,     // the manager is closing
};
std::string_view name(LeaseRefusal refusal) noexcept;

// What to do next. load, wake, sleep and unload are answered with finished().
struct ModelAction {
  enum class Kind : std::uint8_t { load, wake, sleep, unload, abort, grant, fail };
  Kind kind = Kind::load;
  std::uint32_t model = 0;
  std::uint32_t device = 0;
  std::uint32_t level = 0;                    // of sleep and wake
  std::uint64_t request = 0;                  // of grant and fail; the id of the lease
  std::uint64_t bytes = 0;                    // of load: reserved for it
  LeaseRefusal refusal = LeaseRefusal::none;  // of fail
  Error error = {};
};
std::string_view name(ModelAction::Kind kind) noexcept;

struct ActionOutcome {
  enum class Kind : std::uint8_t { ok, failed, out_of_memory, aborted };
  Kind kind = Kind::ok;
  std::uint64_t bytes = 0;   // of a load: what it took; 0: not measured
  std::int64_t took_ns = 0;  // 0: since its action was decided
  std::string message = {};
};

struct LedgerRow {
  std::string model = {}, device = {};
  ModelState state = ModelState::absent;
  std::uint32_t level = 0;
  std::uint64_t reserved_bytes = 0, host_bytes = 0;
  std::uint64_t declared_bytes = 0, learned_bytes = 0;  // 0: unknown
  std::uint32_t leases = 0;
  bool pinned = false;
  std::uint64_t waiting = 0;  // requests for the model, on any device
  std::int64_t load_ns = 0;   // measured or guessed
};

struct DeviceRow {
  std::string device = {};
  std::uint64_t bytes = 0, activation_bytes = 0, foreign_bytes = 0;
  std::uint64_t budget_bytes = 0, reserved_bytes = 0;
  std::uint32_t leases = 0;
};

struct Ledger {
  std::vector<DeviceRow> devices;
  std::vector<LedgerRow> models;  // without those that are absent and have nobody waiting
  std::uint64_t host_bytes = 0, host_reserved_bytes = 0;
};
// A few lines for a person.
std::string to_text(const Ledger& ledger);

// Why a model left, or did not come.
struct WhyEntry {
  std::int64_t at_ns = 0;
  std::string model = {}, device = {};
  std::string what = {};  // evicted, slept, idle, asked, aborted, failed, out_of_memory, prefetch
  std::string for_model = {};  // who needed the room; empty: nobody
  std::string text = {};       // the whole of it in a sentence
};

struct BookStats {
  std::uint64_t requests = 0, granted = 0, granted_at_once = 0, failed = 0, cancelled = 0;
  std::uint64_t expired = 0;  // their deadline came first; part of failed
  std::uint64_t loads = 0, unloads = 0, sleeps = 0, wakes = 0, evictions = 0;
  std::uint64_t load_failures = 0, ooms = 0, oom_retries = 0, aborts = 0, prefetches = 0;
  std::uint64_t waiting = 0, leases = 0;
  std::int64_t load_ns = 0;      // spent in loads and wakes
  std::int64_t wait_ns = 0;      // of granted requests
  std::int64_t max_wait_ns = 0;  // of granted requests
};

class ModelBook {
 public:
  explicit ModelBook(const BookOptions& options = {});
  ~ModelBook();
  ModelBook(ModelBook&&) noexcept;
  ModelBook& operator=(ModelBook&&) noexcept;

  // Numbers count from 0. invalid_argument for an empty or taken name, or a device of no bytes.
  Result<std::uint32_t> add_device(const DeviceSpec& spec);
  Result<std::uint32_t> add_model(const ModelSpec& spec);
  Result<std::uint32_t> find_model(std::string_view name) const;  // not_found names the nearest
  Result<std::uint32_t> find_device(std::string_view name) const;

  // Asks for a lease. The answer is an action, grant or fail, with this id.
  std::uint64_t request(std::int64_t now_ns, const RequestSpec& spec);
  // The request is withdrawn and gets no answer; false if it was answered before.
  bool cancel(std::int64_t now_ns, std::uint64_t request);
  void release(std::int64_t now_ns, std::uint64_t lease);

  // Loads it when that harms nobody who waits. A hint: it may come to nothing.
  void prefetch(std::int64_t now_ns, std::uint32_t model, std::uint32_t device = kAnyDevice);
  // A pinned model is not evicted; it is loaded by a prefetch or by its first lease.
  void pin(std::int64_t now_ns, std::uint32_t model, bool pinned);
  // Unloads it wherever it is, as soon as it is not leased.
  void unload(std::int64_t now_ns, std::uint32_t model);
  // What others take on the device: lowers the budget. Models that no longer fit are evicted.
  void set_foreign(std::int64_t now_ns, std::uint32_t device, std::uint64_t bytes);
  // The holder of a lease ran out of memory: everything on that device that is not leased or
  // pinned is evicted. False if there was nothing to evict.
  bool out_of_memory(std::int64_t now_ns, std::uint64_t lease);

  void finished(std::int64_t now_ns, const ModelAction& action, const ActionOutcome& outcome);
  // For deadlines, residency, keep-alive and backoff: call it at next_time(), or later.
  void tick(std::int64_t now_ns);
  std::int64_t next_time() const;  // kNever: nothing is due

  std::vector<ModelAction> take_actions();  // in the order in which they were decided

  std::size_t model_count() const;
  std::size_t device_count() const;
  const std::string& model_name(std::uint32_t model) const;
  const std::string& device_name(std::uint32_t device) const;
  Ledger ledger() const;
  std::vector<WhyEntry> why() const;  // oldest first, bounded
  BookStats stats() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace genscope::optimize
