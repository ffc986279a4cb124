// AMD: files of amdgpu and its hwmon first; the gpu_metrics blob for what they lack. The file
// pcie_bw is never read: the kernel sleeps a second in it.
#include <cerrno>

#include "probe/drm/energy.h"
#include "probe/drm/gpu_metrics.h"
#include "probe/drm/vendors.h"
#include "trace/metrics.h"

namespace genscope::probe::drm {
namespace {

using trace::metric;
using Form = Sensor::Form;

// An APU has a second voltage, that of its north bridge.
bool is_apu(const Card& card, base::Files& files) {
  if (known_unified(card)) return true;
  return !card.hwmon.empty() && read_text(card.hwmon + "/in1_label", files) == "vddnb";
}

class AmdDevice final : public GpuDevice {
 public:
  AmdDevice(Card card, bool unified, const ProbeOptions& options, base::Files& files)
      : GpuDevice(std::move(card), unified, options, files),
        blob_(this->card().device + "/gpu_metrics", this->files()) {}

 protected:
  void add_sensors(Board& board) override;
  int sample_more(Tier tier, std::int64_t now_ns, Board& board) noexcept override;
  void on_wake() noexcept override { energy_.forget(); }

 private:
  using Value = std::optional<double> GpuMetrics::*;
  struct FromBlob {
    Tier tier;
    std::uint32_t series;
    Value value;
  };
  // A metric by the first file that is there, else from the blob, else absent for `reason`.
  struct Choice {
    Tier tier;
    const Metric& metric;
    Sensor::Spec spec;
    std::string_view source;
    Value value = nullptr;
    const char* reason = nullptr;  // null: without a source there is no series
  };

  void add_first(const Choice& choice, Board& board);
  void add_memory(Board& board);
  void add_busy(Board& board);
  void add_power(Board& board);
  void add_temperatures(Board& board);
  void add_temperature(const Metric& row, const std::string& sensor, Value value,
                       const char* reason, Board& board);
  void add_fan(Board& board);
  void add_clocks(Board& board);
  void add_blob_series(Board& board);
  void look_at_blob() noexcept;
  bool refused(const std::string& path);
  bool blob_wanted(Tier tier) const noexcept;
  int read_blob(GpuMetrics& metrics) noexcept;
  void set_blob_failure(Tier tier, Failure failure, Board& board) noexcept;
  void set_from_blob(Tier tier, const GpuMetrics& metrics, std::int64_t now_ns,
                     Board& board) noexcept;
  void set_energy(const GpuMetrics& metrics, std::int64_t now_ns, Board& board) noexcept;

  std::string file(std::string_view name) const { return card().device + "/" + std::string(name); }

  base::KeptFile blob_;
  bool has_blob_ = false;
  GpuMetrics at_open_;  // what the blob held then; empty while the device slept
  Patience patience_;
  std::vector<FromBlob> from_blob_;
  std::uint32_t throttle_series_ = kNoSeries;
  std::uint32_t energy_series_ = kNoSeries;
  enum class Has : std::uint8_t { unknown, yes, no } blob_energy_ = Has::unknown;
  EnergyMeter energy_;
  double memory_total_ = 0;
  double shared_total_ = 0;
  double watts_ = 0;
};

void AmdDevice::add_sensors(Board& board) {
  has_blob_ = exists(blob_.path());
  if (has_blob_ && awake_at_open()) look_at_blob();
  if (options().gpu_memory) add_memory(board);
  if (options().gpu_utilization) add_busy(board);
  if (options().gpu_power) add_power(board);
  if (options().gpu_temperature) add_temperatures(board);
  add_clocks(board);
  add_blob_series(board);
  add_link_sensors(card().device, board);
}

void AmdDevice::look_at_blob() noexcept {
  GpuMetrics metrics;
  if (read_blob(metrics) == 0) at_open_ = metrics;
}

void AmdDevice::add_first(const Choice& choice, Board& board) {
  if (!choice.spec.path.empty() &&
      add(choice.tier, choice.metric, choice.spec, choice.source, board)) {
    return;
  }
  // Of a blob that could not be looked at yet it is only known that it might have the value.
  const bool unseen = has_blob_ && at_open_.format == 0 && choice.reason != nullptr;
  if (choice.value != nullptr && (unseen || at_open_.*choice.value)) {
    const std::uint32_t series =
        board.add_series(entity(), choice.metric, choice.tier, "gpu_metrics");
    from_blob_.push_back({choice.tier, series, choice.value});
  } else if (choice.reason != nullptr) {
    add_absent(choice.tier, choice.metric, SampleStatus::absent, choice.reason, board);
  }
}

void AmdDevice::add_memory(Board& board) {
  constexpr const char* kReason = "the driver has no mem_info files";
  add_first({Tier::slow,
             metric("memory_total_bytes"),
             {.path = file("mem_info_vram_total"), .keep = &memory_total_},
             "mem_info_vram_total",
             nullptr,
             kReason},
            board);
  add_first({Tier::fast,
             metric("memory_used_bytes"),
             {.path = file("mem_info_vram_used"), .most = &memory_total_},
             "mem_info_vram_used",
             nullptr,
             kReason},
            board);
  add_first({Tier::slow,
             metric("memory_shared_total_bytes"),
             {.path = file("mem_info_gtt_total"), .keep = &shared_total_},
             "mem_info_gtt_total"},
            board);
  // Models live in VRAM, except on an APU, where it is a small part of the system's memory.
  add_first({unified() ? Tier::fast : Tier::normal,
             metric("memory_shared_used_bytes"),
             {.path = file("mem_info_gtt_used"), .most = &shared_total_},
             "mem_info_gtt_used"},
            board);
}

// Some drivers have a file that always fails.
bool AmdDevice::refused(const std::string& path) {
  if (!awake_at_open()) return false;
  base::KeptFile probe(path, files());
  double ignored = 0;
  const int error = probe.read_number(ignored);
  return error == EOPNOTSUPP || error == EINVAL || error == ENODATA;
}

void AmdDevice::add_busy(Board& board) {
  std::string path = file("gpu_busy_percent");
  if (refused(path) && at_open_.busy_ratio) path.clear();
  add_first({Tier::fast,
             metric("busy_ratio"),
             {.path = path, .scale = 0.01},
             "gpu_busy_percent",
             &GpuMetrics::busy_ratio,
             "the driver has no gpu_busy_percent"},
            board);
  add_first({Tier::fast,
             metric("memory_busy_ratio"),
             {.path = file("mem_busy_percent"), .scale = 0.01},
             "mem_busy_percent",
             &GpuMetrics::memory_busy_ratio},
            board);
}

void AmdDevice::add_power(Board& board) {
  const bool average = exists(hwmon("power1_average"));
  const std::string_view name = average ? "power1_average" : "power1_input";
  add_first({Tier::fast,
             metric("power_watts"),
             {.path = hwmon(name), .scale = 1e-6, .keep = &watts_},
             name,
             &GpuMetrics::power_watts,
             "the driver has no power file"},
            board);
  if (average) {
    add_first({Tier::fast,
               metric("power_instant_watts"),
               {.path = hwmon("power1_input"), .scale = 1e-6},
               "power1_input"},
              board);
  }
  add_first({Tier::slow,
             metric("power_limit_watts"),
             {.path = hwmon("power1_cap"), .scale = 1e-6, .form = Form::limit},
             "power1_cap"},
            board);
}

void AmdDevice::add_temperature(const Metric& row, const std::string& sensor, Value value,
                                const char* reason, Board& board) {
  const std::string path = sensor.empty() ? "" : hwmon(sensor + "_input");
  add_first({Tier::normal,
             row,
             {.path = path, .scale = 1e-3, .form = Form::temperature},
             sensor + "_input",
             value,
             reason},
            board);
}

void AmdDevice::add_temperatures(Board& board) {
  std::string edge = labelled("temp", "edge");
  const std::string hotspot = labelled("temp", "junction");
  if (edge.empty() && hotspot.empty() && exists(hwmon("temp1_input"))) edge = "temp1";
  const char* const reason = hotspot.empty() ? "the driver has no temperature file"
                                             : "it has no sensor at the edge; see the hot spot";
  add_temperature(metric("temperature_celsius"), edge, &GpuMetrics::temperature_celsius, reason,
                  board);
  add_temperature(metric("temperature_hotspot_celsius"), hotspot,
                  &GpuMetrics::temperature_hotspot_celsius, nullptr, board);
  add_temperature(metric("temperature_memory_celsius"), labelled("temp", "mem"),
                  &GpuMetrics::temperature_memory_celsius, nullptr, board);
  if (!edge.empty()) {
    add_first({Tier::slow,
               metric("temperature_limit_celsius"),
               {.path = hwmon(edge + "_crit"), .scale = 1e-3, .form = Form::limit},
               edge + "_crit"},
              board);
  }
  add_fan(board);
}

void AmdDevice::add_fan(Board& board) {
  const bool turns = exists(hwmon("fan1_input")) && exists(hwmon("fan1_max"));
  const std::string_view name = turns ? "fan1_input" : "pwm1";
  const std::string_view most = turns ? "fan1_max" : "pwm1_max";
  if (!exists(hwmon(most))) return;
  add_first(
      {Tier::normal, metric("fan_ratio"), {.path = hwmon(name), .divisor_path = hwmon(most)}, name},
      board);
}

void AmdDevice::add_clocks(Board& board) {
  const auto clock = [&](const Metric& row, const char* label, std::string_view rows, Value value,
                         const char* reason) {
    const std::string sensor = labelled("freq", label);
    if (!sensor.empty() && exists(hwmon(sensor + "_input"))) {
      add(Tier::normal, row, {.path = hwmon(sensor + "_input"), .scale = 1e-6}, sensor + "_input",
          board);
    } else {
      add_first(
          {Tier::normal, row, {.path = file(rows), .form = Form::starred_mhz}, rows, value, reason},
          board);
    }
  };
  clock(metric("clock_core_mhz"), "sclk", "pp_dpm_sclk", &GpuMetrics::clock_core_mhz,
        "the driver has no clock file");
  clock(metric("clock_memory_mhz"), "mclk", "pp_dpm_mclk", &GpuMetrics::clock_memory_mhz, nullptr);
  add_first({Tier::slow,
             metric("clock_core_max_mhz"),
             {.path = file("pp_dpm_sclk"), .form = Form::highest_mhz},
             "pp_dpm_sclk"},
            board);
}

void AmdDevice::add_blob_series(Board& board) {
  if (!has_blob_) {
    constexpr const char* kReason = "the driver has no gpu_metrics file";
    add_absent(Tier::normal, metric("throttle_reasons"), SampleStatus::absent, kReason, board);
    if (options().gpu_power) {
      add_absent(Tier::fast, metric("energy_joules"), SampleStatus::absent, kReason, board);
    }
    return;
  }
  throttle_series_ =
      board.add_series(entity(), metric("throttle_reasons"), Tier::normal, "gpu_metrics");
  if (options().gpu_power) {
    energy_series_ = board.add_series(entity(), metric("energy_joules"), Tier::fast,
                                      "gpu_metrics energy_accumulator");
    energy_ = EnergyMeter(energy_series_);
  } else {
    blob_energy_ = Has::no;
  }
  const auto link = [&](const Metric& row, Value value) {
    add_first({Tier::slow, row, {}, "", value}, board);
  };
  link(metric("link_receive_bytes"), &GpuMetrics::xgmi_receive_bytes);
  link(metric("link_send_bytes"), &GpuMetrics::xgmi_send_bytes);
}

bool AmdDevice::blob_wanted(Tier tier) const noexcept {
  if (!has_blob_) return false;
  if (tier == Tier::normal) return true;
  if (tier == Tier::fast && blob_energy_ != Has::no) return true;
  for (const FromBlob& row : from_blob_) {
    if (row.tier == tier) return true;
  }
  return false;
}

int AmdDevice::read_blob(GpuMetrics& metrics) noexcept {
  char buffer[kGpuMetricsBytes];
  std::size_t size = 0;
  if (const int error = blob_.read_bytes(buffer, size); error != 0) return error;
  return decode_gpu_metrics({buffer, size}, metrics) ? 0 : EBADMSG;
}

int AmdDevice::sample_more(Tier tier, std::int64_t now_ns, Board& board) noexcept {
  if (!blob_wanted(tier) || !patience_.may_read(now_ns)) return 0;
  GpuMetrics metrics;
  const int error = read_blob(metrics);
  patience_.note(error, now_ns, kNoSeries, board);
  if (error == EBADMSG) {
    set_blob_failure(tier, {SampleStatus::error, "gpu_metrics is not what its header says"}, board);
  } else if (error != 0) {
    set_blob_failure(tier, failure_of(error), board);
  } else if (!metrics.known) {
    constexpr const char* kReason = "this version of gpu_metrics is not known";
    set_blob_failure(tier, {SampleStatus::not_supported, kReason}, board);
    if (tier == Tier::fast) blob_energy_ = Has::no;
  } else {
    set_from_blob(tier, metrics, now_ns, board);
  }
  return error;
}

void AmdDevice::set_blob_failure(Tier tier, Failure failure, Board& board) noexcept {
  if (failure.status == SampleStatus::ok) return;  // only busy
  for (const FromBlob& row : from_blob_) {
    if (row.tier == tier) board.set(row.series, failure.status, failure.reason);
  }
  if (tier == Tier::normal) board.set(throttle_series_, failure.status, failure.reason);
  if (tier == Tier::fast || blob_energy_ == Has::no) {
    board.set(energy_series_, failure.status, failure.reason);
  }
}

void AmdDevice::set_from_blob(Tier tier, const GpuMetrics& metrics, std::int64_t now_ns,
                              Board& board) noexcept {
  constexpr const char* kReason = "this version of gpu_metrics does not have it";
  for (const FromBlob& row : from_blob_) {
    if (row.tier != tier) continue;
    if (const std::optional<double> value = metrics.*row.value) {
      board.set(row.series, *value);
    } else {
      board.set(row.series, SampleStatus::not_supported, kReason);
    }
  }
  if (tier == Tier::fast && blob_energy_ != Has::no) set_energy(metrics, now_ns, board);
  if (tier != Tier::normal) return;
  // What set_energy said once is gone after a sleep.
  if (blob_energy_ == Has::no && options().gpu_power) set_energy(metrics, now_ns, board);
  if (metrics.throttle_reasons) {
    board.set(throttle_series_, static_cast<double>(*metrics.throttle_reasons));
  } else {
    board.set(throttle_series_, SampleStatus::not_supported, kReason);
  }
}

void AmdDevice::set_energy(const GpuMetrics& metrics, std::int64_t now_ns, Board& board) noexcept {
  const bool has_counter = metrics.energy_joules.has_value();
  blob_energy_ = has_counter ? Has::yes : Has::no;
  if (has_counter) {
    const double watts = watts_ > 0 ? watts_ : metrics.power_watts.value_or(0);
    energy_.note(*metrics.energy_joules, watts, now_ns, board);
  } else {
    board.set(energy_series_, SampleStatus::not_supported,
              "before gpu_metrics 1.4 there is no counter of a known unit");
  }
}

}  // namespace

std::unique_ptr<GpuDevice> make_amd_device(Card card, const ProbeOptions& options,
                                           base::Files& files) {
  const bool apu = is_apu(card, files);
  return std::make_unique<AmdDevice>(std::move(card), apu, options, files);
}

}  // namespace genscope::probe::drm
