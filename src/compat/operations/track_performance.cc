#include <genscope/compat/performance_monitor.h>
#include <genscope/internal/no_memory.h>

#include <new>

#include "compat/operations/summary.h"
#include "compat/print.h"

namespace genscope {

// A monitor for a single operation; the metrics are kept once it has ended.
struct TrackedOperation::Impl {
  Impl(std::string_view operation, TrackOptions given)
      : options(std::move(given)),
        monitor({.device = options.device, .memory = options.memory, .clock = options.clock}),
        running(monitor.track(operation)) {}

  const TrackOptions options;
  PerformanceMonitor monitor;
  Operation running;
  std::optional<OperationMetrics> metrics;
};

TrackedOperation::TrackedOperation(std::string_view operation, TrackOptions options)
    : impl_(std::make_unique<Impl>(operation, std::move(options))) {}
TrackedOperation::TrackedOperation(TrackedOperation&&) noexcept = default;
TrackedOperation::~TrackedOperation() { end(); }

std::optional<OperationMetrics> TrackedOperation::end() noexcept {
  if (impl_ == nullptr) return std::nullopt;
  if (impl_->metrics) return impl_->metrics;
  impl_->running.end();
  try {
    const std::vector<OperationMetrics> metrics = impl_->monitor.get_metrics();
    if (metrics.empty()) return std::nullopt;  // there was no memory to track it
    impl_->metrics = metrics.front();
    if (impl_->options.print_result) {
      compat::training::print(impl_->options.out, compat::training::one_shot(*impl_->metrics));
    }
    return impl_->metrics;
  } catch (const std::bad_alloc&) {
    internal::count_lost(0, 1);
    return std::nullopt;
  }
}

TrackedOperation track_performance(std::string_view operation, TrackOptions options) {
  return TrackedOperation(operation, std::move(options));
}

}  // namespace genscope
