// One GPU: whether it may be read now, and its sensors.
//
// Invariants:
//  1. Each tick reads power/runtime_status first. Unless that says active or unsupported, or is not
//     there at all, no other file of the device is touched: a read would wake it.
//  2. Once lost, the device is not touched again; the probe makes a new one after a rescan.
//  3. Every series has a status at every time: what never has a value is told again after a sleep.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_reader.h"
#include "genscope/probe.h"
#include "probe/drm/card.h"
#include "probe/drm/sensor.h"

namespace genscope::probe::drm {

class GpuDevice {
 public:
  enum class State : std::uint8_t { awake, asleep, lost };

  GpuDevice(Card card, bool unified, const ProbeOptions& options, base::Files& files);
  virtual ~GpuDevice() = default;
  GpuDevice(const GpuDevice&) = delete;
  GpuDevice& operator=(const GpuDevice&) = delete;

  // Adds the entity and its series. Allocates.
  void open(Board& board);
  // Reads what that tier reads.
  void sample(Tier tier, std::int64_t now_ns, Board& board) noexcept;
  // Whether it can be read, or sleeps: asked of a device that comes back.
  bool answers() noexcept;
  void lose(std::int64_t now_ns, Board& board) noexcept;

  State state() const noexcept { return state_; }
  const Card& card() const noexcept { return card_; }
  bool unified() const noexcept { return unified_; }
  std::uint32_t entity() const noexcept { return entity_; }
  std::int64_t lost_ns() const noexcept { return lost_ns_; }
  void ask_again_from(std::int64_t now_ns) noexcept { lost_ns_ = now_ns; }

  // Of what the processes tell; kNoSeries where switched off. The probe sets them.
  struct ProcessSeries {
    std::uint32_t tree_memory = kNoSeries;
    std::uint32_t tree_busy = kNoSeries;
    std::uint32_t busy = kNoSeries;  // where the driver has no figure of its own
  };
  const ProcessSeries& process_series() const noexcept { return process_series_; }

 protected:
  virtual void add_sensors(Board& board) = 0;
  // What is more than a Sensor. 0, or an errno that may mean that the device has gone.
  virtual int sample_more(Tier tier, std::int64_t now_ns, Board& board) noexcept = 0;
  virtual void on_wake() noexcept {}

  // A series fed by a file, if that is there. False, and no series, if not. `source` is what people
  // read; "device/gpu_busy_percent".
  bool add(Tier tier, const Metric& metric, Sensor::Spec spec, std::string_view source,
           Board& board);
  // A series that has no value on this device, and why.
  void add_absent(Tier tier, const Metric& metric, SampleStatus status, const char* reason,
                  Board& board);
  void add_link_sensors(const std::string& folder, Board& board);

  const ProbeOptions& options() const noexcept { return options_; }
  base::Files& files() const noexcept { return files_; }
  bool awake_at_open() const noexcept { return state_ == State::awake; }
  // A file of its hwmon folder; empty if it has no such folder.
  std::string hwmon(std::string_view name) const {
    return card_.hwmon.empty() ? "" : card_.hwmon + "/" + std::string(name);
  }
  // The sensor "temp" or "energy" with that label: "temp2"; empty if there is none.
  std::string labelled(std::string_view kind, std::string_view label) const;

  ProcessSeries process_series_;

 private:
  void add_process_series(Board& board);
  bool check_awake(Tier tier, std::int64_t now_ns, Board& board) noexcept;
  bool notice_loss(int error, std::int64_t now_ns, Board& board) noexcept;
  void hold(SampleStatus status, const char* reason, Tier tier, Board& board) noexcept;
  void wake(Board& board) noexcept;
  void note_duration(std::int64_t took_ns, std::int64_t now_ns, Board& board) noexcept;

  struct Absent {
    std::uint32_t series;
    SampleStatus status;
    const char* reason;
  };

  Card card_;
  bool unified_;
  const ProbeOptions& options_;
  base::Files& files_;
  std::string presence_;  // a file that is there as long as the device is
  base::KeptFile runtime_status_;
  std::uint32_t entity_ = 0;
  std::vector<Sensor> sensors_[kTiers];
  std::vector<Absent> absent_;
  State state_ = State::awake;
  bool held_ = false;  // all series say that it sleeps
  std::int64_t lost_ns_ = 0;
  int slow_ = 0;                     // ticks in a row that took too long
  std::int64_t quiet_until_ns_ = 0;  // 0: it is not in a pause
};

}  // namespace genscope::probe::drm
