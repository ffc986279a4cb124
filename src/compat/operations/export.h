// The measurements of a PerformanceMonitor for other programs.
#pragma once

#include <string>

#include "compat/operations/metrics.h"

namespace genscope::compat::training {

std::string csv_of(const Measured& measured);
std::string json_of(const Measured& measured, const std::string& gpu_reason);

}  // namespace genscope::compat::training
