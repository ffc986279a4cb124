#include "compat/operations/metrics.h"

#include <algorithm>

#include "analyze/statistics/statistics.h"

namespace genscope::compat::training {
namespace {

OperationMetrics aggregate_metrics(const std::string& operation, const OperationSums& sums) {
  OperationMetrics m;
  m.operation = operation;
  m.duration_seconds = seconds(sums.aggregated_ns);
  m.self_seconds = seconds(sums.aggregated_self_ns);
  m.cpu_start_mb = megabytes(sums.cpu_ends.begin);
  m.cpu_end_mb = megabytes(sums.cpu_ends.end);
  m.cpu_delta_mb = megabytes(sums.aggregated_cpu.sum);
  m.gpu_start_mb = megabytes(sums.gpu_ends.begin);
  m.gpu_end_mb = megabytes(sums.gpu_ends.end);
  m.gpu_delta_mb = megabytes(sums.aggregated_gpu.sum);
  m.gpu_peak_mb = megabytes(sums.gpu_peak);
  m.call_count = sums.aggregated;
  m.failed = sums.aggregated_failed;
  m.aggregate = true;
  return m;
}

OperationStatistics statistics(const std::string& operation, const OperationSums& sums,
                               double total_seconds) {
  const stats::Histogram& durations = sums.durations_ns;
  OperationStatistics s;
  s.operation = operation;
  s.count = sums.count;
  s.failed = sums.failed;
  s.aggregate = sums.aggregated > 0;
  s.total_seconds = seconds(sums.total_ns);
  s.self_seconds = seconds(sums.self_ns);
  s.share = total_seconds > 0 ? s.self_seconds / total_seconds : 0;
  s.mean_seconds = seconds(durations.mean());
  s.min_seconds = seconds(durations.min());
  s.max_seconds = seconds(durations.max());
  s.p50_seconds = seconds(durations.quantile(0.50));
  s.p90_seconds = seconds(durations.quantile(0.90));
  s.p95_seconds = seconds(durations.quantile(0.95));
  s.p99_seconds = seconds(durations.quantile(0.99));
  s.cpu_delta_mb = megabytes(sums.cpu.sum);
  s.gpu_delta_mb = megabytes(sums.gpu.sum);
  s.gpu_peak_mb = megabytes(sums.gpu_peak);
  return s;
}

}  // namespace

double Measured::total_seconds() const noexcept {
  std::int64_t total_ns = 0;
  for (const auto& [operation, sums] : operations) total_ns += sums.self_ns;
  return seconds(total_ns);
}

bool Measured::has_aggregates() const noexcept {
  return std::any_of(operations.begin(), operations.end(),
                     [](const auto& entry) { return entry.second.aggregated > 0; });
}

Measured measure(const std::vector<std::shared_ptr<OperationLog>>& logs) {
  Measured measured;
  for (const auto& log : logs) {
    log->read(
        [&](const std::string& operation, const Call& call) {
          measured.singles.push_back({operation, call});
        },
        [&](const std::string& operation, const OperationSums& sums) {
          measured.operations[operation].merge(sums);
        });
  }
  std::stable_sort(measured.singles.begin(), measured.singles.end(),
                   [](const auto& a, const auto& b) { return a.call.end_ns < b.call.end_ns; });
  return measured;
}

OperationMetrics metrics_of(const std::string& operation, const Call& call) {
  OperationMetrics m;
  m.operation = operation;
  m.duration_seconds = seconds(call.duration_ns);
  m.self_seconds = seconds(call.self_ns);
  m.cpu_start_mb = megabytes(call.cpu.begin);
  m.cpu_end_mb = megabytes(call.cpu.end);
  m.cpu_delta_mb = megabytes(call.cpu.delta());
  m.gpu_start_mb = megabytes(call.gpu.begin);
  m.gpu_end_mb = megabytes(call.gpu.end);
  m.gpu_delta_mb = megabytes(call.gpu.delta());
  m.gpu_peak_mb = megabytes(call.gpu_peak);
  m.failed = call.failed ? 1 : 0;
  return m;
}

std::vector<OperationMetrics> metrics_of(const Measured& measured) {
  std::vector<OperationMetrics> all;
  for (const auto& single : measured.singles) {
    all.push_back(metrics_of(single.operation, single.call));
  }
  std::vector<std::pair<std::int64_t, OperationMetrics>> aggregates;
  for (const auto& [operation, sums] : measured.operations) {
    if (sums.aggregated == 0) continue;
    aggregates.emplace_back(sums.first_end_ns, aggregate_metrics(operation, sums));
  }
  std::stable_sort(aggregates.begin(), aggregates.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [first, metrics] : aggregates) all.push_back(std::move(metrics));
  return all;
}

std::vector<OperationStatistics> statistics_of(const Measured& measured) {
  const double total = measured.total_seconds();
  std::vector<OperationStatistics> all;
  for (const auto& [operation, sums] : measured.operations) {
    all.push_back(statistics(operation, sums, total));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.self_seconds > b.self_seconds; });
  return all;
}

}  // namespace genscope::compat::training
