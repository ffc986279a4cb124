// The summary of a PerformanceMonitor as text.
#pragma once

#include <string>

#include "compat/operations/metrics.h"

namespace genscope::compat::training {

// The tables of older training monitors. Calls one by one, aggregated operations as one row of
// their total; with `show_aggregate` their statistics follow, and if all are aggregated, only these
// are shown.
std::string document_summary(const Measured& measured, bool show_aggregate);

// Ours: a row per operation, most self time first.
std::string full_summary(const Measured& measured, const std::string& gpu_reason);

// Their lines for one operation.
std::string one_shot(const OperationMetrics& metrics);

}  // namespace genscope::compat::training
