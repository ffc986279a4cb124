// GPM: activity counters of Hopper and later, as the difference of two samples of the driver.
#pragma once

#include <array>
#include <memory>

#include "probe/nvidia/library.h"

namespace genscope::probe::nvml {

class Gpm {
 public:
  static constexpr std::int64_t kLeastNs = 100'000'000;  // between two samples
  static constexpr std::array<std::uint32_t, 4> kMetrics = {kGpmSmActive, kGpmOccupancy, kGpmTensor,
                                                            kGpmBandwidth};
  struct Answer {
    Return code = kNoData;
    double percent = 0;
  };

  Gpm() = default;
  ~Gpm() { close(); }
  Gpm(const Gpm&) = delete;
  Gpm& operator=(const Gpm&) = delete;

  // Whether `device` has it; for a MIG instance ask with the parent and the instance's number.
  Return open(const Api& api, DeviceHandle device, std::uint32_t gpu_instance = kAllOnes32);
  // Frees the samples. The library must still be initialized, or the call is left out.
  void close(bool initialized = true) noexcept;

  // Takes a sample; answers() are of the time since the one before. kNoData until there are two.
  Return fetch(std::int64_t now_ns) noexcept;
  const std::array<Answer, 4>& answers() const noexcept { return answers_; }

 private:
  const Api* api_ = nullptr;
  DeviceHandle device_ = nullptr;
  std::uint32_t gpu_instance_ = kAllOnes32;
  GpmSample samples_[2] = {};  // [0] is the newest, [1] the next to be overwritten
  bool sampled_ = false;       // [0] holds a sample, of sampled_ns_
  std::int64_t sampled_ns_ = 0;
  std::unique_ptr<GpmMetricsGet> request_;
  std::array<Answer, 4> answers_;
};

}  // namespace genscope::probe::nvml
