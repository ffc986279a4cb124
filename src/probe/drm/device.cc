#include "probe/drm/device.h"

#include <unistd.h>

#include <cerrno>

#include "base/clock.h"
#include "trace/metrics.h"

namespace genscope::probe::drm {
namespace {

constexpr std::int64_t kSlowNs = 250'000'000;  // a tick that takes longer ...
constexpr int kSlowTicks = 3;                  // ... so many times in a row
constexpr std::int64_t kSlowPause = 20;        // earns a pause of so many times its length

bool may_read(std::string_view runtime_status) noexcept {
  return runtime_status == "active" || runtime_status == "unsupported";
}

}  // namespace

GpuDevice::GpuDevice(Card card, bool unified, const ProbeOptions& options, base::Files& files)
    : card_(std::move(card)),
      unified_(unified),
      options_(options),
      files_(files),
      presence_(card_.device + "/uevent"),
      runtime_status_(card_.device + "/power/runtime_status", files) {}

void GpuDevice::open(Board& board) {
  Entity entity;
  entity.kind = EntityKind::gpu;
  entity.id = card_.pci;
  entity.name = name_of(card_);
  entity.facts = {{"vendor", card_.vendor_id == kAmd ? "amd" : "intel"},
                  {"driver", card_.driver.empty() ? "unknown" : card_.driver},
                  {"pci", card_.pci},
                  {"pci_id", pci_id(card_)},
                  {"memory", unified_ ? "unified" : "dedicated"},
                  {"card", card_.name}};
  entity_ = board.add_entity(entity);
  char buffer[64];
  std::string_view text;
  const int error = runtime_status_.read(buffer, text);
  if (error == 0 ? !may_read(text) : error != ENOENT) state_ = State::asleep;
  add_sensors(board);
  add_process_series(board);
}

void GpuDevice::add_process_series(Board& board) {
  if (!options_.gpu_processes) return;
  constexpr std::string_view kSource = "fdinfo of the watched tree";
  if (options_.gpu_memory) {
    process_series_.tree_memory =
        board.add_series(entity_, trace::metric("tree_memory_bytes"), Tier::normal, kSource);
  }
  if (options_.gpu_utilization) {
    process_series_.tree_busy =
        board.add_series(entity_, trace::metric("tree_busy_ratio"), Tier::normal, kSource);
  }
}

bool GpuDevice::add(Tier tier, const Metric& metric, Sensor::Spec spec, std::string_view source,
                    Board& board) {
  if (!exists(spec.path)) return false;
  const std::uint32_t series = board.add_series(entity_, metric, tier, source);
  sensors_[static_cast<std::size_t>(tier)].emplace_back(spec, series, files_);
  return true;
}

void GpuDevice::add_absent(Tier tier, const Metric& metric, SampleStatus status, const char* reason,
                           Board& board) {
  const std::uint32_t series = board.add_series(entity_, metric, tier, "none");
  absent_.push_back({series, status, reason});
  board.set(series, status, reason);
}

void GpuDevice::add_link_sensors(const std::string& folder, Board& board) {
  add(Tier::slow, trace::metric("pcie_generation"),
      {.path = folder + "/current_link_speed", .form = Sensor::Form::link_generation},
      "current_link_speed", board);
  add(Tier::slow, trace::metric("pcie_lanes"), {.path = folder + "/current_link_width"},
      "current_link_width", board);
}

std::string GpuDevice::labelled(std::string_view kind, std::string_view label) const {
  if (card_.hwmon.empty()) return {};
  for (const std::string& name : list(card_.hwmon)) {
    if (!name.starts_with(kind) || !name.ends_with("_label")) continue;
    if (read_text(hwmon(name), files_) == label) return name.substr(0, name.size() - 6);
  }
  return {};
}

void GpuDevice::sample(Tier tier, std::int64_t now_ns, Board& board) noexcept {
  if (state_ == State::lost) {
    if (tier == Tier::normal) board.set_all(entity_, SampleStatus::lost, "the device has gone");
    return;
  }
  if (now_ns < quiet_until_ns_) return;
  if (quiet_until_ns_ != 0) wake(board);
  const std::int64_t begin_ns = base::monotonic_ns();
  if (!check_awake(tier, now_ns, board)) return;
  for (Sensor& sensor : sensors_[static_cast<std::size_t>(tier)]) {
    if (notice_loss(sensor.sample(now_ns, board), now_ns, board)) return;
  }
  if (notice_loss(sample_more(tier, now_ns, board), now_ns, board)) return;
  note_duration(base::monotonic_ns() - begin_ns, now_ns, board);
}

bool GpuDevice::check_awake(Tier tier, std::int64_t now_ns, Board& board) noexcept {
  // In a tree that is not the kernel's own, files stay readable after their folder has gone.
  if (tier == Tier::normal && ::access(presence_.c_str(), F_OK) != 0) {
    lose(now_ns, board);
    return false;
  }
  char buffer[64];
  std::string_view text;
  const int error = runtime_status_.read(buffer, text);
  if (notice_loss(error, now_ns, board)) return false;
  if (error != 0 && error != ENOENT) {
    hold(SampleStatus::error, "whether it sleeps could not be read", tier, board);
    return false;
  }
  if (error == 0 && !may_read(text)) {
    hold(SampleStatus::suspended, "the GPU sleeps; reading would wake it", tier, board);
    return false;
  }
  if (state_ == State::asleep) wake(board);
  return true;
}

void GpuDevice::hold(SampleStatus status, const char* reason, Tier tier, Board& board) noexcept {
  // Once when it starts, then at the normal pace: all series at the fast one would be noise.
  if (held_ && tier != Tier::normal) return;
  held_ = true;
  state_ = State::asleep;
  board.set_all(entity_, status, reason);
}

void GpuDevice::wake(Board& board) noexcept {
  state_ = State::awake;
  held_ = false;
  quiet_until_ns_ = 0;
  for (const Absent& row : absent_) board.set(row.series, row.status, row.reason);
  on_wake();
}

bool GpuDevice::notice_loss(int error, std::int64_t now_ns, Board& board) noexcept {
  bool gone = error == ENODEV;
  if (error == ENOENT) {
    const base::UniqueFd presence(files_.open(presence_.c_str()));
    gone = !presence.valid();
  }
  if (gone) lose(now_ns, board);
  return gone;
}

void GpuDevice::lose(std::int64_t now_ns, Board& board) noexcept {
  state_ = State::lost;
  lost_ns_ = now_ns;
  for (auto& tier : sensors_) tier.clear();
  runtime_status_.close();
  board.set_all(entity_, SampleStatus::lost, "the device has gone");
  board.set_processes(entity_, {});
  board.event(entity_, "device_lost", card_.pci);
}

bool GpuDevice::answers() noexcept {
  if (state_ == State::asleep) return true;
  for (auto& tier : sensors_) {
    for (Sensor& sensor : tier) {
      const int error = sensor.ask();
      if (error != ENOENT) return error != ENODEV;
    }
  }
  return true;
}

void GpuDevice::note_duration(std::int64_t took_ns, std::int64_t now_ns, Board& board) noexcept {
  slow_ = took_ns > kSlowNs ? slow_ + 1 : 0;
  if (slow_ < kSlowTicks) return;
  slow_ = 0;
  quiet_until_ns_ = now_ns + kSlowPause * took_ns;
  board.set_all(entity_, SampleStatus::stale, "the driver answers too slowly; read less often");
  board.event(entity_, "source_slow", card_.pci);
}

}  // namespace genscope::probe::drm
