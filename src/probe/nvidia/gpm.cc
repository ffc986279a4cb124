#include "probe/nvidia/gpm.h"

#include <utility>

namespace genscope::probe::nvml {

Return Gpm::open(const Api& api, DeviceHandle device, std::uint32_t gpu_instance) {
  close();
  if (api.gpm_support == nullptr || api.gpm_alloc == nullptr || api.gpm_free == nullptr ||
      api.gpm_metrics == nullptr) {
    return kFunctionNotFound;
  }
  const bool instance = gpu_instance != kAllOnes32;
  if (instance ? api.gpm_mig_sample == nullptr : api.gpm_sample == nullptr) {
    return kFunctionNotFound;
  }
  GpmSupport support{1, 0};
  Return code = api.gpm_support(device, &support);
  if (code == kSuccess && support.supported == 0) code = kNotSupported;
  if (code != kSuccess) return code;
  api_ = &api;
  device_ = device;
  gpu_instance_ = gpu_instance;
  for (GpmSample& sample : samples_) {
    code = api.gpm_alloc(&sample);
    if (code == kSuccess) continue;
    sample = nullptr;
    close();
    return code;
  }
  if (request_ == nullptr) request_ = std::make_unique<GpmMetricsGet>();
  sampled_ = false;
  return kSuccess;
}

void Gpm::close(bool initialized) noexcept {
  for (GpmSample& sample : samples_) {
    if (sample != nullptr && initialized) api_->gpm_free(sample);
    sample = nullptr;
  }
}

Return Gpm::fetch(std::int64_t now_ns) noexcept {
  if (samples_[1] == nullptr) return kNotSupported;
  if (sampled_ && now_ns - sampled_ns_ < kLeastNs) return kNotReady;
  const Return code = gpu_instance_ != kAllOnes32
                          ? api_->gpm_mig_sample(device_, gpu_instance_, samples_[1])
                          : api_->gpm_sample(device_, samples_[1]);
  if (code != kSuccess) return code;
  const bool first = !sampled_;
  sampled_ = true;
  sampled_ns_ = now_ns;
  std::swap(samples_[0], samples_[1]);  // [0] is the newest now, [1] the one before
  if (first) return kNoData;
  GpmMetricsGet& request = *request_;
  request.version = 1;
  request.count = static_cast<std::uint32_t>(kMetrics.size());
  request.first = samples_[1];
  request.second = samples_[0];
  for (std::size_t i = 0; i < kMetrics.size(); ++i) {
    request.metrics[i] = {kMetrics[i], kUnknown, 0, {}};
  }
  const Return got = api_->gpm_metrics(&request);
  for (std::size_t i = 0; i < kMetrics.size(); ++i) {
    answers_[i] = {request.metrics[i].code, request.metrics[i].value};
  }
  return got;
}

}  // namespace genscope::probe::nvml
