// One GPU, or one MIG instance: what it can be asked, the series that its answers go to, and what
// is known about each call.
//
// Threads: everything but Call::run() on the sampler's thread. A call that blocks is made by the
// helper and read back when it is done (helper.h).
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "genscope/probe.h"
#include "probe/nvidia/call_state.h"
#include "probe/nvidia/calls.h"
#include "probe/nvidia/fields.h"
#include "probe/nvidia/gpm.h"
#include "probe/nvidia/helper.h"
#include "probe/nvidia/identity.h"
#include "probe/nvidia/process_list.h"
#include "probe/nvidia/sleep.h"

namespace genscope::probe::nvml {

using Clock = std::int64_t (*)() noexcept;

// What all devices share; outlives them.
struct Shared {
  const ProbeOptions* options = nullptr;
  base::Files* files = nullptr;
  const Library* library = nullptr;
  Helper* helper = nullptr;
  Clock clock = nullptr;  // measures how long a call takes
  std::uint32_t pid_max = 4'194'304;
};

class Device {
 public:
  static constexpr std::int64_t kSlowCallNs = 250'000'000;

  enum class Condition : std::uint8_t {
    live,
    asleep,   // runtime-suspended: not touched
    lost,     // was there; not touched until it is found again
    refused,  // the driver counts it and gives no handle
    removed,  // a MIG instance that is no more
  };

  Device(const Shared& shared, EntityKind kind, std::string id);

  // Takes over what the driver says about it now, tries every call once, adds entity and series.
  // The helper must be paused. False: the device went away meanwhile.
  bool open(Board& board, DeviceHandle handle, Entity entity, std::int64_t now_ns);
  // Adds entity and series of a device that cannot be asked: `condition` is not live.
  void add_unasked(Board& board, Entity entity, Condition condition, SampleStatus status,
                   const char* reason);
  // Stops touching it.
  void abandon(Board& board, Condition condition, SampleStatus status, const char* reason) noexcept;
  SampleStatus why() const noexcept { return why_; }
  const char* reason() const noexcept { return reason_; }
  // Its readings, while it is not live: said again, for the record.
  void restate(Board& board) const noexcept { board.set_all(entity, why_, reason_); }
  // After it has slept. Says again what it never gives.
  void wake(Board& board) noexcept;

  // Gives back what it holds in the driver; before the library is shut down.
  void release() noexcept { gpm_.close(); }

  // Reads that tier. Kind lost or reinitialize: the caller must act; else the device is fine.
  Verdict::Kind sample(Tier tier, std::int64_t now_ns, Board& board) noexcept;

  // Of a MIG instance: its parent and numbers, before open().
  void set_parent(Device& of, std::uint32_t gpu_instance) noexcept {
    parent = &of;
    gpu_instance_ = gpu_instance;
  }

  const std::string id;
  const EntityKind kind;
  Identity identity;
  std::uint32_t entity = kNoSeries;
  DeviceHandle handle = nullptr;
  Condition condition = Condition::refused;
  Device* parent = nullptr;
  SleepWatch sleep;
  MigInstances instances;          // as of the last enumeration
  bool instances_changed = false;  // they are others now
  std::int64_t look_again_ns = 0;  // while lost or refused
  const char* lost_by = "";        // the function that said that the device is lost

 private:
  struct Call final : Job {
    void run() noexcept override {
      made = device->touch_.load(std::memory_order_relaxed);
      if (made) device->fetch(ask, asked_ns);
    }
    Device* device = nullptr;
    Ask ask = Ask::memory;
    bool wanted = false;
    bool on_helper = false;
    bool made = false;  // by the helper, at its last turn
    std::int64_t asked_ns = 0;
    CallState state;
    std::array<std::uint32_t, kMaxNumbers> series{};
    Numbers numbers;  // of plain calls; of the others only the code
  };

  Call& call(Ask ask) noexcept { return calls_[static_cast<std::size_t>(ask)]; }
  const Api& api() const noexcept { return shared_.library->api(); }

  void reset() noexcept;
  void add_field_series(Board& board);
  void add_plain_series(Board& board, std::int64_t now_ns);
  void add_special_series(Board& board, std::int64_t now_ns);
  bool replaced_by_field(Ask ask) const noexcept;
  void never(Board& board, std::uint32_t series, const char* reason);

  bool prepare(Call& call, std::int64_t now_ns) noexcept;
  void fetch(Ask ask, std::int64_t now_ns) noexcept;
  Return fetch_busy_stamp() noexcept;
  Verdict::Kind publish(Call& call, std::int64_t now_ns, Board& board) noexcept;
  Verdict::Kind publish_plain(Call& call, std::int64_t now_ns, Board& board) noexcept;
  Verdict::Kind publish_fields(Call& call, std::int64_t now_ns, Board& board) noexcept;
  Verdict::Kind publish_counters(Call& call, std::int64_t now_ns, Board& board) noexcept;
  Verdict::Kind publish_busy_stamp(Call& call, std::int64_t now_ns, Board& board) noexcept;
  Verdict::Kind publish_instances(Call& call, std::int64_t now_ns) noexcept;
  void say(Call& call, const Verdict& verdict, Board& board) noexcept;
  void set(Board& board, const Metric& metric, std::uint32_t series, double value,
           std::int64_t now_ns) noexcept;
  Verdict::Kind sample_inline(Call& call, std::int64_t now_ns, Board& board) noexcept;
  Verdict::Kind sample_on_helper(Call& call, std::int64_t now_ns, Board& board) noexcept;
  FieldSet& fields(Ask ask) noexcept;

  const Shared& shared_;
  std::uint32_t gpu_instance_ = kAllOnes32;
  SampleStatus why_ = SampleStatus::absent;
  const char* reason_ = nullptr;
  std::atomic<bool> touch_{false};  // false: the helper leaves it alone too
  std::array<Call, kAsks> calls_;
  Versions versions_;
  FieldSet fields_[3];  // by tier
  ProcessLists processes_;
  Gpm gpm_;
  std::vector<std::pair<std::uint32_t, const char*>> never_;  // series that it does not have

  std::vector<Sample> busy_samples_;  // of the driver's own record of busy time, for its stamps
  std::uint64_t busy_stamp_us_ = 0;
  StampWatch busy_watch_;
  bool busy_stale_ = false;
  MigInstances instances_now_;

  double power_watts_ = 0;
  double energy_joules_ = -1;  // -1: not read yet
  std::int64_t energy_moved_ns_ = 0;
};

}  // namespace genscope::probe::nvml
