#include <genscope/compat/performance_monitor.h>
#include <genscope/internal/no_memory.h>

#include <algorithm>
#include <exception>
#include <map>
#include <new>

#include "base/clock.h"
#include "base/file.h"
#include "compat/operations/export.h"
#include "compat/operations/metrics.h"
#include "compat/operations/summary.h"
#include "compat/operations/thread_logs.h"
#include "compat/print.h"

namespace genscope {

void Operation::end() noexcept {
  if (frame_ == 0) return;
  log_->end(std::exchange(frame_, 0), std::uncaught_exceptions() > exceptions_);
}

void Operation::fail() noexcept {
  if (frame_ == 0) return;
  log_->end(std::exchange(frame_, 0), true);
}

struct PerformanceMonitor::Impl {
  explicit Impl(PerformanceMonitorOptions given)
      : options(std::move(given)),
        context(std::make_shared<compat::training::LogContext>()),
        logs(context) {
    context->clock = options.clock != nullptr ? options.clock : base::monotonic_ns;
    context->max_records = options.max_records;
    if (!options.enabled || !options.read_memory) return;
    context->memory =
        options.memory != nullptr ? options.memory : default_memory_reader(options.device);
  }

  compat::training::Measured measured() const { return compat::training::measure(logs.all()); }

  const PerformanceMonitorOptions options;
  const std::shared_ptr<compat::training::LogContext> context;
  compat::training::ThreadLogs logs;
};

PerformanceMonitor::PerformanceMonitor(PerformanceMonitorOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}

PerformanceMonitor::PerformanceMonitor(bool enabled, int device)
    : PerformanceMonitor(PerformanceMonitorOptions{.enabled = enabled, .device = device}) {}

PerformanceMonitor::~PerformanceMonitor() = default;

Operation PerformanceMonitor::track(std::string_view operation, bool aggregate) {
  Operation op;
  if (!impl_->options.enabled) return op;
  try {
    op.log_ = impl_->logs.mine();
    op.exceptions_ = std::uncaught_exceptions();
    op.frame_ = op.log_->begin(operation, aggregate);
  } catch (const std::bad_alloc&) {
    internal::count_lost(1, 0);
  }
  return op;
}

double PerformanceMonitor::get_total_time() const { return impl_->measured().total_seconds(); }

std::optional<double> PerformanceMonitor::get_operation_time(std::string_view operation) const {
  const compat::training::Measured measured = impl_->measured();
  const auto found = measured.operations.find(operation);
  if (found == measured.operations.end()) return std::nullopt;
  return compat::training::seconds(found->second.total_ns);
}

std::vector<OperationMetrics> PerformanceMonitor::get_metrics() const {
  return compat::training::metrics_of(impl_->measured());
}

std::vector<OperationStatistics> PerformanceMonitor::get_statistics() const {
  return compat::training::statistics_of(impl_->measured());
}

void PerformanceMonitor::clear() {
  for (const auto& log : impl_->logs.all()) log->clear();
  impl_->context->records.store(0, std::memory_order_relaxed);
}

std::string PerformanceMonitor::gpu_reason() const {
  if (!impl_->options.enabled) return "the monitor is not enabled";
  if (!impl_->options.read_memory) return "the monitor reads no memory";
  const MemoryReader& memory = *impl_->context->memory;
  return memory.has_gpu() ? std::string() : memory.gpu_reason();
}

std::string PerformanceMonitor::summary(bool show_aggregate, SummaryStyle style) const {
  const compat::training::Measured measured = impl_->measured();
  if (style == SummaryStyle::document)
    return compat::training::document_summary(measured, show_aggregate);
  return compat::training::full_summary(measured, gpu_reason());
}

void PerformanceMonitor::print_summary(bool show_aggregate, SummaryStyle style) const {
  if (!impl_->options.enabled) return;
  compat::training::print(impl_->options.out, summary(show_aggregate, style));
}

std::string PerformanceMonitor::to_csv() const {
  return compat::training::csv_of(impl_->measured());
}

std::string PerformanceMonitor::to_json() const {
  return compat::training::json_of(impl_->measured(), gpu_reason());
}

Status PerformanceMonitor::export_csv(const std::string& path) const {
  return base::write_file(path, to_csv());
}

Status PerformanceMonitor::export_json(const std::string& path) const {
  return base::write_file(path, to_json());
}

}  // namespace genscope
