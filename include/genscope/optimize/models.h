// ModelManager: keeps models in memory for those who use them. DeviceManager: what devices there
// are and how full they are.
//
//   ModelManager manager;
//   manager.add_device({.name = "gpu0", .bytes = 20 * kGiB});
//   manager.add({.name = "sdxl", .bytes = 7 * kGiB},
//               {.load = [](const LoadCall&) -> Result<ModelPointer> { return load_sdxl(); }});
//   Result<ModelLease> lease = manager.lease("sdxl", {.timeout_ns = 30'000'000'000});
//   if (lease) lease->get<Sdxl>().generate(prompt);    // stays in memory until the lease goes
//
// Place in the flow: over ModelBook (model_book.h), which decides; this adds threads, callbacks
// and spans (record.h): kind load for loads and wakes, kind task for "unload", "sleep" and "wait".
//
// Threads: all of it may be called from any thread. load, unload, sleep, wake, size and warmup run
// on threads of the manager, never two of them at once for one model on one device; at most one
// load or wake a device and two loads from disk in all. A lease callback runs on the thread that
// brought the answer, without a lock: it may call the manager, and should be brief.
//
// Ownership: a lease holds its model and what is behind the manager, so it may outlive the manager.
//
// Failure: a callback that throws has failed: std::bad_alloc, like an Error of code no_space, means
// out of memory; then what is not in use is evicted and the load is tried once more.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <genscope/error.h>
#include <genscope/optimize/model_book.h>
#include <genscope/probe.h>

namespace genscope::optimize {

using ModelPointer = std::shared_ptr<void>;

struct LoadCall {
  std::string_view model, device;
  std::uint64_t reserved_bytes = 0;
  // Asked when nobody waits for the model any more. A load that gives up then returns any Error.
  std::stop_token stop;
};

// What the manager calls. Only `load` is needed.
struct ModelHooks {
  std::function<Result<ModelPointer>(const LoadCall&)> load;
  // The last reference is let go when it returns. Without it: let go, and that is all.
  std::function<Status(const ModelPointer&, std::string_view device)> unload = {};
  // To ModelSpec::sleep[level - 1], and back. Both or neither.
  std::function<Status(const ModelPointer&, std::uint32_t level)> sleep = {};
  std::function<Status(const ModelPointer&, std::uint32_t level)> wake = {};
  // What it takes on the device, asked after a load. 0: unknown.
  std::function<std::uint64_t(const ModelPointer&)> size = {};
  // After a load, before the first lease; not part of the load time that decisions use.
  std::function<Status(const ModelPointer&)> warmup = {};
};

struct ManagerOptions {
  BookOptions book = {};
  // Bytes in use on a device, read before and after each transfer: what a model takes where no
  // `size` says so, and what an unload left behind. DeviceManager::used_bytes does it.
  std::function<std::optional<std::uint64_t>(std::string_view device)> used_bytes = {};
  std::size_t transfer_entries = 256;  // kept for transfers()
};

struct LeaseOptions {
  std::int64_t timeout_ns = kNever;
  int priority = 0;
  std::string_view device = {};  // empty: any
  std::stop_token stop = {};
};

// A transfer that ended, with the device's own figures around it.
struct TransferRow {
  ModelAction::Kind kind = ModelAction::Kind::load;
  std::string model = {}, device = {};
  bool ok = false;
  std::int64_t took_ns = 0;
  std::optional<std::uint64_t> before_bytes = {}, after_bytes = {};  // in use on the device
};

// What an unload freed less than the load had taken, as the device saw both. Others that allocate
// meanwhile show up here, too: look at it when it grows.
struct LeakRow {
  std::string model = {}, device = {};
  std::uint64_t bytes = 0;
};

struct Reconciliation {
  std::string device = {};
  bool applied = false;  // false: a transfer is under way, and figures mean little
  std::uint64_t free_bytes = 0, reserved_bytes = 0;
  std::uint64_t foreign_before_bytes = 0, foreign_after_bytes = 0;
  std::uint64_t budget_before_bytes = 0, budget_after_bytes = 0;
};

namespace internal_models {
struct Core;
}

// The right to use a model. Movable; gives itself back when it goes.
class ModelLease {
 public:
  ModelLease() = default;
  ModelLease(ModelLease&& other) noexcept;
  ModelLease& operator=(ModelLease&& other) noexcept;
  ~ModelLease();

  explicit operator bool() const noexcept { return core_ != nullptr; }
  const ModelPointer& model() const noexcept { return model_; }
  template <class T>
  T& get() const noexcept {
    return *static_cast<T*>(model_.get());
  }
  const std::string& name() const noexcept { return name_; }
  const std::string& device() const noexcept { return device_; }
  std::int64_t waited_ns() const noexcept { return waited_ns_; }
  void release() noexcept;
  // The work ran out of memory: evicts what is not in use there and waits until it has gone. True:
  // something went, so try once more.
  bool out_of_memory();

 private:
  friend struct internal_models::Core;
  std::shared_ptr<internal_models::Core> core_;
  std::uint64_t id_ = 0;
  ModelPointer model_;
  std::string name_, device_;
  std::int64_t waited_ns_ = 0;
};

// A lease, or why not.
struct LeaseAnswer {
  ModelLease lease = {};
  LeaseRefusal refusal = LeaseRefusal::none;
  Error error = {};
};

class ModelManager {
 public:
  explicit ModelManager(const ManagerOptions& options = {});
  ~ModelManager();  // close()
  ModelManager(const ModelManager&) = delete;
  ModelManager& operator=(const ModelManager&) = delete;

  Status add_device(const DeviceSpec& spec);
  Status add(const ModelSpec& spec, ModelHooks hooks);

  // Waits until the model is in memory.
  Result<ModelLease> lease(std::string_view model, const LeaseOptions& options = {});
  // Calls `then` exactly once, with the lease or the reason; perhaps before it returns. The number
  // is for cancel().
  std::uint64_t lease(std::string_view model, const LeaseOptions& options,
                      std::function<void(LeaseAnswer)> then);
  // The request is answered with LeaseRefusal::cancelled, now; false if it was answered before.
  bool cancel(std::uint64_t request);

  Status pin(std::string_view model, bool pinned = true);  // pins and prefetches
  Status prefetch(std::string_view model, std::string_view device = {});
  Status unload(std::string_view model);

  // What the device itself says: memory that is neither free nor ours belongs to others.
  Result<Reconciliation> reconcile(std::string_view device, std::uint64_t free_bytes);

  Ledger ledger() const;
  std::vector<WhyEntry> why() const;
  BookStats stats() const;
  std::vector<TransferRow> transfers() const;  // oldest first, bounded
  std::vector<LeakRow> leaks() const;          // one a model and device: the last unload's

  // Waits until no transfer is under way or due.
  void settle();
  // Refuses who waits and whoever comes, lets transfers end and unloads what is not leased; what is
  // leased goes with its lease. Called twice it does nothing.
  void close();

 private:
  std::shared_ptr<internal_models::Core> core_;
};

// A device as the probes see it. What could not be read is absent, and `reason` says why.
struct DeviceInfo {
  std::string id = {};      // "cpu", or the GPU's own: its UUID, else its PCI address
  std::string name = {};    // for people
  std::string vendor = {};  // nvidia, amd, intel, or empty
  bool gpu = false;
  std::optional<std::uint64_t> total_bytes = {}, used_bytes = {}, free_bytes = {};
  std::string reason = {};
};

// The GPUs of this machine and its CPU, which is always there: its memory is the machine's, or what
// the control group leaves. Reads when asked, on the thread that asks.
class DeviceManager {
 public:
  explicit DeviceManager(const ProbeOptions& options = probe_options_from_environment());
  ~DeviceManager();
  DeviceManager(const DeviceManager&) = delete;
  DeviceManager& operator=(const DeviceManager&) = delete;

  std::vector<DeviceInfo> devices();  // GPUs first
  // By id, or "gpu0", "gpu1", ... in the order of devices(), or "cpu".
  Result<DeviceInfo> device(std::string_view id);
  std::optional<std::uint64_t> used_bytes(std::string_view id);

  // Sources that do not work here.
  struct Absent {
    std::string source = {}, reason = {}, remedy = {};
  };
  std::vector<Absent> absent();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace genscope::optimize
