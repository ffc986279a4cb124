// What spans on threads do, told by their names: wait for a GPU, log a metric.
#pragma once

#include <string_view>

#include <genscope/trace.h>

namespace genscope::analysis {

// Calls of the drivers that return when the GPU is done.
bool waits_for_gpu(std::string_view call) noexcept;

// Writes a loss or a metric somewhere: a stage that is called so ("logging", "log_metrics"), or a
// Python frame as profilers name it, "wandb/sdk/wandb_run.py(1733): log".
bool is_logging(std::string_view name, SpanKind kind) noexcept;

// A Python frame that evaluates or saves. Frames that log may call it, and what it waits for is not
// for the sake of the log.
bool is_apart_from_logging(std::string_view name) noexcept;

}  // namespace genscope::analysis
