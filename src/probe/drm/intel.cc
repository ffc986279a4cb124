// Intel, driver i915 or xe: hwmon, frequencies and throttle reasons of each GT. Memory figures need
// a query on the device node, which is not opened; busy time comes from the processes' fdinfo.
#include <algorithm>
#include <filesystem>

#include "probe/drm/energy.h"
#include "probe/drm/text.h"
#include "probe/drm/vendors.h"
#include "trace/metrics.h"

namespace genscope::probe::drm {
namespace {

using trace::metric;
using Form = Sensor::Form;

constexpr std::size_t kMaxGts = 8;

// The integrated GPU has sat at this address since there is one.
bool is_integrated(const Card& card) { return known_unified(card) || card.pci == "0000:00:02.0"; }

// A GT is a part of the GPU with engines and a clock of its own.
struct Gt {
  std::string path;      // the folder of its frequencies
  std::string source;    // the same, below the card or the device
  std::string throttle;  // the folder of its throttle reasons ...
  std::string prefix;    // ... and what their names start with
  bool media = false;
};

std::vector<Gt> gts_of_xe(const Card& card, base::Files& files) {
  std::vector<Gt> gts;
  for (const std::string& tile : list(card.device)) {
    if (!tile.starts_with("tile")) continue;
    for (const std::string& name : list(card.device + "/" + tile)) {
      const std::string folder = tile + "/" + name;
      const std::string path = card.device + "/" + folder;
      if (!name.starts_with("gt") || !exists(path + "/freq0") || gts.size() == kMaxGts) continue;
      const bool renders = exists(path + "/engines/rcs") || exists(path + "/engines/ccs");
      const bool media = !renders && (exists(path + "/engines/vcs") ||
                                      read_text(path + "/gtidle/name", files).ends_with("-mc"));
      gts.push_back(
          {path + "/freq0", folder + "/freq0", path + "/freq0/throttle", "reason_", media});
    }
  }
  return gts;
}

// The second GT of i915, if any, is the media GT of Meteor Lake.
std::vector<Gt> gts_of_i915(const Card& card) {
  std::vector<Gt> gts;
  for (const std::string& name : list(card.path + "/gt")) {
    if (!name.starts_with("gt") || gts.size() == kMaxGts) continue;
    const std::string path = card.path + "/gt/" + name;
    gts.push_back({path, "gt/" + name, path, "throttle_reason_", !gts.empty()});
  }
  return gts;
}

// On a discrete card the GPU sits behind a switch of its own, and its own function always says
// 2.5 GT/s x1. The link to the slot is that of the switch: two folders up. Empty: not found.
std::string slot_folder(const Card& card, base::Files& files) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(card.device, error);
  if (error) return {};
  const std::string bridge = real.parent_path().parent_path().string();
  std::uint32_t vendor = 0, kind = 0;
  if (!parse_hex(read_text(bridge + "/vendor", files), vendor) || vendor != kIntel) return {};
  if (!parse_hex(read_text(bridge + "/class", files), kind) || kind >> 8 != 0x0604) return {};
  return bridge;
}

// Why one GT is held down.
class ThrottleGroup {
 public:
  ThrottleGroup(const Gt& gt, base::Files& files) {
    const auto file = [&](const std::string& name) {
      return base::KeptFile(gt.throttle + "/" + name, files);
    };
    for (const std::string& name : list(gt.throttle)) {
      const std::string_view tail =
          std::string_view(name).substr(name.starts_with(gt.prefix) ? gt.prefix.size() : 0);
      if (tail == "status") {
        status_ = file(name);
      } else if (tail == "reasons") {
        list_ = file(name);
      } else if (name.starts_with(gt.prefix)) {
        rows_.push_back({file(name), throttle_bit(tail)});
      }
    }
  }
  bool empty() const noexcept { return list_.path().empty() && rows_.empty(); }

  // 0 or an errno. The single files are read only when the status says that there is a reason.
  int read(std::uint64_t& bits) noexcept {
    if (!list_.path().empty()) {
      char buffer[512];
      std::string_view text;
      const int error = list_.read(buffer, text);
      if (error == 0) bits |= throttle_bits(text);
      return error;
    }
    double on = 1;
    if (!status_.path().empty()) {
      if (const int error = status_.read_number(on); error != 0) return error;
    }
    if (on == 0) return 0;
    std::uint64_t found = 0;
    for (Row& row : rows_) {
      double value = 0;
      if (const int error = row.file.read_number(value); error != 0) return error;
      if (value != 0) found |= row.bits;
    }
    if (found == 0 && !status_.path().empty()) found = trace::kThrottleOther;
    bits |= found;
    return 0;
  }

 private:
  struct Row {
    base::KeptFile file;
    std::uint64_t bits;
  };
  base::KeptFile status_;
  base::KeptFile list_;
  std::vector<Row> rows_;
};

class IntelDevice final : public GpuDevice {
 public:
  using GpuDevice::GpuDevice;

 protected:
  void add_sensors(Board& board) override;
  int sample_more(Tier tier, std::int64_t now_ns, Board& board) noexcept override;
  void on_wake() noexcept override { energy_.forget(); }

 private:
  void add_memory(Board& board);
  void add_power(Board& board);
  void add_energy(Board& board);
  void add_power_limit(Board& board);
  void add_temperatures(Board& board);
  void add_clocks(const std::vector<Gt>& gts, Board& board);
  void add_throttle(const std::vector<Gt>& gts, Board& board);
  void add_link(Board& board);
  void find_channels();
  int read_energy(double& joules) noexcept;
  int sample_energy(std::int64_t now_ns, Board& board) noexcept;
  int sample_throttle(std::int64_t now_ns, Board& board) noexcept;

  struct Channel {
    base::KeptFile file;
    std::string name;  // "energy2_input (pkg)"
    int rank;          // the least is what we want
  };
  std::vector<Channel> channels_;
  Channel* channel_ = nullptr;  // the one in use
  EnergyMeter energy_;
  std::uint32_t energy_series_ = kNoSeries;
  std::uint32_t power_series_ = kNoSeries;  // derived
  Patience energy_patience_;
  std::vector<ThrottleGroup> throttle_;
  std::uint32_t throttle_series_ = kNoSeries;
  Patience throttle_patience_;
};

void IntelDevice::add_sensors(Board& board) {
  const bool xe = card().driver == "xe";
  const std::vector<Gt> gts = xe ? gts_of_xe(card(), files()) : gts_of_i915(card());
  if (options().gpu_memory) add_memory(board);
  if (options().gpu_utilization) {
    process_series_.busy =
        board.add_series(entity(), metric("busy_ratio"), Tier::normal,
                         "fdinfo of the processes we may read: the render or the compute engine");
  }
  if (options().gpu_power) add_power(board);
  if (options().gpu_temperature) add_temperatures(board);
  add_clocks(gts, board);
  add_throttle(gts, board);
  add_link(board);
}

void IntelDevice::add_memory(Board& board) {
  const char* const reason =
      unified() ? "the GPU shares the system's memory"
                : "the driver tells only who opens the device node, which might wake it";
  add_absent(Tier::slow, metric("memory_total_bytes"), SampleStatus::not_supported, reason, board);
  add_absent(Tier::fast, metric("memory_used_bytes"), SampleStatus::not_supported, reason, board);
}

void IntelDevice::find_channels() {
  if (card().hwmon.empty()) return;
  for (const std::string& name : list(card().hwmon)) {
    if (!name.starts_with("energy") || !name.ends_with("_input")) continue;
    const std::string label = read_text(hwmon(name.substr(0, name.size() - 6) + "_label"), files());
    const int rank = label.empty() || label == "card" ? 0 : label == "pkg" ? 1 : 2;
    channels_.push_back({base::KeptFile(hwmon(name), files()),
                         label.empty() ? name : name + " (" + label + ")", rank});
  }
  std::stable_sort(channels_.begin(), channels_.end(),
                   [](const Channel& a, const Channel& b) { return a.rank < b.rank; });
}

void IntelDevice::add_energy(Board& board) {
  find_channels();
  if (channels_.empty()) {
    add_absent(Tier::fast, metric("energy_joules"), SampleStatus::absent,
               "the driver has no energy file", board);
    return;
  }
  double ignored = 0;
  if (awake_at_open()) (void)read_energy(ignored);
  const std::string source = channel_ != nullptr ? channel_->name : "energy of the card or the pkg";
  energy_series_ = board.add_series(entity(), metric("energy_joules"), Tier::fast, source);
  if (exists(hwmon("power1_input"))) return;
  power_series_ =
      board.add_series(entity(), metric("power_watts"), Tier::fast, "difference of " + source);
}

void IntelDevice::add_power(Board& board) {
  add_energy(board);
  energy_ = EnergyMeter(energy_series_, power_series_);
  if (power_series_ == kNoSeries &&
      !add(Tier::fast, metric("power_watts"), {.path = hwmon("power1_input"), .scale = 1e-6},
           "power1_input", board)) {
    add_absent(Tier::fast, metric("power_watts"), SampleStatus::absent,
               "the driver has neither a power nor an energy file", board);
  }
  add_power_limit(board);
}

void IntelDevice::add_power_limit(Board& board) {
  for (const char* const name :
       {"power1_max", "power2_max", "power1_cap", "power2_cap", "power1_crit", "power2_crit"}) {
    if (add(Tier::slow, metric("power_limit_watts"),
            {.path = hwmon(name), .scale = 1e-6, .form = Form::limit}, name, board)) {
      return;
    }
  }
}

void IntelDevice::add_temperatures(Board& board) {
  std::string chip = labelled("temp", "pkg");
  if (chip.empty() && !exists(hwmon("temp1_label"))) chip = "temp1";  // i915 has one, unlabelled
  const auto add_input = [&](const Metric& row, const std::string& sensor) {
    return add(Tier::normal, row,
               {.path = hwmon(sensor + "_input"), .scale = 1e-3, .form = Form::temperature},
               sensor + "_input", board);
  };
  if (!add_input(metric("temperature_celsius"), chip)) {
    add_absent(Tier::normal, metric("temperature_celsius"), SampleStatus::absent,
               "the driver has no temperature file", board);
  }
  if (const std::string vram = labelled("temp", "vram"); !vram.empty()) {
    add_input(metric("temperature_memory_celsius"), vram);
  }
  add(Tier::slow, metric("temperature_limit_celsius"),
      {.path = hwmon(chip + "_crit"), .scale = 1e-3, .form = Form::limit}, chip + "_crit", board);
  if (exists(hwmon("fan1_max"))) {
    add(Tier::normal, metric("fan_ratio"),
        {.path = hwmon("fan1_input"), .divisor_path = hwmon("fan1_max")}, "fan1_input", board);
  }
}

void IntelDevice::add_clocks(const std::vector<Gt>& gts, Board& board) {
  const bool xe = card().driver == "xe";
  const auto add_file = [&](Tier tier, const Metric& row, const Gt& gt, const char* name) {
    return add(tier, row, {.path = gt.path + "/" + name}, gt.source + "/" + name, board);
  };
  bool core = false, media = false;
  if (!xe) {
    core = add(Tier::normal, metric("clock_core_mhz"), {.path = card().path + "/gt_act_freq_mhz"},
               "gt_act_freq_mhz", board);
    if (core) {
      add(Tier::slow, metric("clock_core_max_mhz"), {.path = card().path + "/gt_RP0_freq_mhz"},
          "gt_RP0_freq_mhz", board);
    }
  }
  for (const Gt& gt : gts) {
    const char* const now = xe ? "act_freq" : "rps_act_freq_mhz";
    if (gt.media) {
      media = media || add_file(Tier::normal, metric("clock_media_mhz"), gt, now);
    } else if (!core) {
      core = add_file(Tier::normal, metric("clock_core_mhz"), gt, now);
      add_file(Tier::slow, metric("clock_core_max_mhz"), gt, xe ? "rp0_freq" : "rps_RP0_freq_mhz");
    }
  }
  if (!core) {
    add_absent(Tier::normal, metric("clock_core_mhz"), SampleStatus::absent,
               "the driver has no frequency file", board);
  }
}

void IntelDevice::add_throttle(const std::vector<Gt>& gts, Board& board) {
  for (const Gt& gt : gts) {
    ThrottleGroup group(gt, files());
    if (!group.empty()) throttle_.push_back(std::move(group));
  }
  if (throttle_.empty()) {
    add_absent(Tier::normal, metric("throttle_reasons"), SampleStatus::not_supported,
               "the driver has no throttle reasons", board);
    return;
  }
  throttle_series_ = board.add_series(entity(), metric("throttle_reasons"), Tier::normal,
                                      "throttle reasons of each GT");
}

void IntelDevice::add_link(Board& board) {
  if (!exists(card().device + "/current_link_speed")) return;
  if (const std::string slot = slot_folder(card(), files()); !slot.empty()) {
    add_link_sensors(slot, board);
    return;
  }
  for (const Metric* row : {&metric("pcie_generation"), &metric("pcie_lanes")}) {
    add_absent(Tier::slow, *row, SampleStatus::not_supported,
               "the GPU's own function always says 2.5 GT/s x1, and its switch was not found",
               board);
  }
}

// Chooses the channel at the first reading that is not 0: some have a counter that never moves.
// Joules stay negative while all of them read 0.
int IntelDevice::read_energy(double& joules) noexcept {
  joules = -1;
  double microjoules = 0;
  if (channel_ != nullptr) {
    const int error = channel_->file.read_number(microjoules);
    if (error == 0) joules = microjoules * 1e-6;
    return error;
  }
  int first_error = 0;
  for (Channel& channel : channels_) {
    const int error = channel.file.read_number(microjoules);
    if (error != 0 && first_error == 0) first_error = error;
    if (error != 0 || !(microjoules > 0)) continue;
    channel_ = &channel;
    joules = microjoules * 1e-6;
    return 0;
  }
  return first_error;
}

int IntelDevice::sample_energy(std::int64_t now_ns, Board& board) noexcept {
  if (energy_series_ == kNoSeries || !energy_patience_.may_read(now_ns)) return 0;
  double joules = -1;
  const int error = read_energy(joules);
  if (!energy_patience_.note(error, now_ns, energy_series_, board)) {
    const Failure failure = failure_of(error);
    if (failure.status != SampleStatus::ok) {
      board.set(power_series_, failure.status, failure.reason);
    }
  } else if (joules < 0) {
    constexpr const char* kReason = "the energy counter stands at 0";
    board.set(energy_series_, SampleStatus::not_supported, kReason);
    board.set(power_series_, SampleStatus::not_supported, kReason);
  } else {
    energy_.note(joules, -1, now_ns, board);
  }
  return error;
}

int IntelDevice::sample_throttle(std::int64_t now_ns, Board& board) noexcept {
  if (throttle_.empty() || !throttle_patience_.may_read(now_ns)) return 0;
  std::uint64_t bits = 0;
  int error = 0;
  for (ThrottleGroup& group : throttle_) {
    if (error = group.read(bits); error != 0) break;
  }
  if (throttle_patience_.note(error, now_ns, throttle_series_, board)) {
    board.set(throttle_series_, static_cast<double>(bits));
  }
  return error;
}

int IntelDevice::sample_more(Tier tier, std::int64_t now_ns, Board& board) noexcept {
  if (tier == Tier::fast) return sample_energy(now_ns, board);
  if (tier == Tier::normal) return sample_throttle(now_ns, board);
  return 0;
}

}  // namespace

std::unique_ptr<GpuDevice> make_intel_device(Card card, const ProbeOptions& options,
                                             base::Files& files) {
  const bool integrated = is_integrated(card);
  return std::make_unique<IntelDevice>(std::move(card), integrated, options, files);
}

}  // namespace genscope::probe::drm
