#include "probe/nvidia/probe.h"

#include <algorithm>
#include <cstdio>

#include "base/clock.h"
#include "probe/builtin.h"
#include "probe/nvidia/gpus.h"

namespace genscope::probe::nvml {

namespace {

using Condition = Device::Condition;
using Kind = Verdict::Kind;

constexpr std::int64_t kLookForLostNs = 30 * kSecond;
constexpr std::int64_t kFirstBackOffNs = 30 * kSecond;
constexpr std::int64_t kLastBackOffNs = 600 * kSecond;
constexpr std::int64_t kInstanceLookNs = 5 * kSecond;
constexpr std::int64_t kPauseNs = 2 * kSecond;  // longest wait for the helper's call in flight
constexpr const char* kBroken = "the NVIDIA library keeps losing its state: it is left alone";

std::uint32_t read_pid_max(const ProbeOptions& options, base::Files& files) {
  double value = 0;
  base::KeptFile file(options.proc_root + "/sys/kernel/pid_max", files);
  const bool good = file.read_number(value) == 0 && value >= 1 && value <= 4'194'304;
  return good ? static_cast<std::uint32_t>(value) : 4'194'304;
}

class NvmlProbe final : public Probe {
 public:
  NvmlProbe(const ProbeOptions& options, base::Files& files, Clock clock)
      : options_(options),
        shared_{&options_, &files, &library_, &helper_, clock, read_pid_max(options, files)},
        gpus_(shared_) {}
  ~NvmlProbe() override { helper_.stop(); }

  std::string_view name() const noexcept override { return "nvml"; }
  ProbeState open(Board& board) override;
  void sample(Tier tier, std::int64_t now_ns, Board& board) noexcept override;
  bool wants_rescan() const noexcept override { return rescan_ && now_ns_ >= hold_ns_; }

 private:
  ProbeState open_paused(Board& board);
  ProbeState judge() const;
  void sample_device(Device& device, Tier tier, Board& board) noexcept;
  bool ready(Device& device, Tier tier, Board& board) noexcept;
  void lose(Device& device, Board& board) noexcept;
  void lost_state(Board& board) noexcept;
  void schedule_looks() noexcept;

  ProbeOptions options_;
  Library library_;  // outlives the devices: they give back what they hold
  Helper helper_;
  Shared shared_;
  Gpus gpus_;
  ProbeState state_;
  std::int64_t now_ns_ = 0;
  bool rescan_ = false;
  std::int64_t hold_ns_ = 0;  // no rescan before

  bool reinitialize_ = false;
  std::int64_t reinitialized_ns_ = 0;  // when last; 0: never
  std::int64_t back_off_ns_ = 0;
  std::int64_t broken_until_ns_ = 0;   // 0: not broken
  std::int64_t instance_look_ns_ = 0;  // not before
};

ProbeState NvmlProbe::open(Board& board) {
  if (now_ns_ == 0) now_ns_ = shared_.clock();
  if (!helper_.pause(kPauseNs)) {  // a call hangs in the driver
    hold_ns_ = now_ns_ + kLookForLostNs;
    return state_;
  }
  rescan_ = false;
  state_ = open_paused(board);
  schedule_looks();
  helper_.resume();
  if (library_.initialized()) helper_.start();
  return state_;
}

ProbeState NvmlProbe::open_paused(Board& board) {
  ProbeState state = library_.load(options_.nvml_library);
  if (state.kind != ProbeState::Kind::works) return state;
  if (gpus_.add_sleepers(board)) {
    return {ProbeState::Kind::works, "every NVIDIA GPU is suspended, and is left asleep", ""};
  }
  if (reinitialize_) {
    for (const auto& device : gpus_.all()) {
      device->release();
      device->handle = nullptr;
    }
    library_.shutdown();
    reinitialize_ = false;
    reinitialized_ns_ = now_ns_;
  }
  state = library_.init();
  if (state.kind != ProbeState::Kind::works) {
    if (!gpus_.all().empty()) lost_state(board);
    return state;
  }
  broken_until_ns_ = 0;
  gpus_.enumerate(board, now_ns_);
  return judge();
}

ProbeState NvmlProbe::judge() const {
  if (gpus_.counted() == 0 && gpus_.readable() == 0) {
    return {ProbeState::Kind::absent, "the NVIDIA driver shows no GPU", ""};
  }
  const char* const refusal = gpus_.refusal();
  if (refusal == nullptr) return {};
  const std::string remedy = "Allow reading and writing /dev/nvidia*, or see nvidia-smi -q.";
  if (gpus_.readable() > 0) return {ProbeState::Kind::works, refusal, remedy};
  return {ProbeState::Kind::denied, refusal, remedy};
}

void NvmlProbe::schedule_looks() noexcept {
  for (const auto& device : gpus_.all()) {
    const bool denied = device->why() == SampleStatus::not_permitted;
    device->look_again_ns = now_ns_ + (denied ? kPermissionRetryNs : kLookForLostNs);
  }
}

void NvmlProbe::sample(Tier tier, std::int64_t now_ns, Board& board) noexcept {
  now_ns_ = now_ns;
  if (reinitialize_) {  // the library is not to be touched before open() has started it anew
    if (now_ns >= broken_until_ns_) rescan_ = true;
    if (tier != Tier::normal) return;
    for (const auto& device : gpus_.all()) {
      if (device->condition == Condition::live) {
        board.set_all(device->entity, SampleStatus::error, kBroken);
      }
    }
    return;
  }
  if (tier == Tier::on_demand) return;
  for (const auto& device : gpus_.all()) {
    sample_device(*device, tier, board);
    if (reinitialize_) return;
  }
}

// Whether the device may be touched now. Says why not, once a normal tick.
bool NvmlProbe::ready(Device& device, Tier tier, Board& board) noexcept {
  Device& root = device.parent != nullptr ? *device.parent : device;
  const bool normal = tier == Tier::normal;
  switch (device.condition) {
    case Condition::removed:
      return false;
    case Condition::lost:
    case Condition::refused:
      if (normal) device.restate(board);
      if (device.parent == nullptr && now_ns_ >= device.look_again_ns) rescan_ = true;
      return false;
    case Condition::asleep:
      if (root.sleep.asleep(true)) {
        if (normal) device.restate(board);
        return false;
      }
      if (device.handle == nullptr || !library_.initialized()) {
        rescan_ = true;  // never asked so far
        return false;
      }
      device.wake(board);
      board.event(device.entity, "device_awake", "");
      return true;
    case Condition::live:
      break;
  }
  if (root.condition == Condition::lost) {
    device.abandon(board, Condition::lost, root.why(), root.reason());
    return false;
  }
  if (!root.sleep.asleep(normal)) return true;
  device.abandon(board, Condition::asleep, SampleStatus::suspended, kAsleep);
  board.event(device.entity, "device_suspended", "");
  return false;
}

void NvmlProbe::sample_device(Device& device, Tier tier, Board& board) noexcept {
  if (!ready(device, tier, board)) return;
  const Kind kind = device.sample(tier, now_ns_, board);
  if (device.parent != nullptr) {
    // The handle of an instance dies when its GPU is divided anew.
    if (kind == Kind::lost || kind == Kind::reinitialize) device.parent->instances_changed = true;
  } else if (kind == Kind::lost) {
    lose(device, board);
  } else if (kind == Kind::reinitialize) {
    lost_state(board);
  }
  const Device& root = device.parent != nullptr ? *device.parent : device;
  if (root.instances_changed && now_ns_ >= instance_look_ns_) {
    instance_look_ns_ = now_ns_ + kInstanceLookNs;
    rescan_ = true;
  }
}

void NvmlProbe::lose(Device& device, Board& board) noexcept {
  char detail[160];
  std::snprintf(detail, sizeof detail, "%s said so; looked for every 30 s", device.lost_by);
  device.abandon(board, Condition::lost, SampleStatus::lost,
                 "the GPU has fallen off the bus or needs a reset");
  device.look_again_ns = now_ns_ + kLookForLostNs;
  board.event(device.entity, "device_lost", detail);
}

// The first time it is started anew at once; if that does not last, later each time.
void NvmlProbe::lost_state(Board& board) noexcept {
  const bool again = reinitialized_ns_ != 0 && now_ns_ - reinitialized_ns_ < kLastBackOffNs;
  if (!again) {
    back_off_ns_ = 0;
  } else {
    back_off_ns_ = back_off_ns_ == 0 ? kFirstBackOffNs : std::min(2 * back_off_ns_, kLastBackOffNs);
  }
  reinitialize_ = true;
  broken_until_ns_ = now_ns_ + back_off_ns_;
  rescan_ = back_off_ns_ == 0;
  for (const auto& device : gpus_.all()) {
    if (device->condition != Condition::live) continue;
    board.set_all(device->entity, SampleStatus::error,
                  again ? kBroken : "the NVIDIA library lost its state and is started anew");
  }
}

}  // namespace

std::unique_ptr<Probe> make_probe(const ProbeOptions& options, base::Files& files, Clock clock) {
  return std::make_unique<NvmlProbe>(options, files, clock);
}

}  // namespace genscope::probe::nvml

namespace genscope::probe {

std::unique_ptr<Probe> make_nvml_probe(const ProbeOptions& options, base::Files& files) {
  return nvml::make_probe(options, files, &base::monotonic_ns);
}

}  // namespace genscope::probe
