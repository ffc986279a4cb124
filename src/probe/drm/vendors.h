// The devices of each vendor.
#pragma once

#include <memory>

#include "probe/drm/device.h"

namespace genscope::probe::drm {

// `options` and `files` outlive the device.
std::unique_ptr<GpuDevice> make_amd_device(Card card, const ProbeOptions& options,
                                           base::Files& files);
std::unique_ptr<GpuDevice> make_intel_device(Card card, const ProbeOptions& options,
                                             base::Files& files);

}  // namespace genscope::probe::drm
