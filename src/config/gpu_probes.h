// The probes that settings about GPUs switch on. Their table in src/probe/registry.cc says the
// same, or does not compile.
#pragma once

#include <array>
#include <string_view>

namespace genscope::config {

inline constexpr std::array<std::string_view, 3> kGpuProbes = {"nvml", "amdgpu", "intel"};

}  // namespace genscope::config
