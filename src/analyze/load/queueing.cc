// A queue by Lindley's recursion: each request starts when it has arrived and the first server is
// free; a heap of the servers' free times makes that O(log servers) a request.
#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>

#include "analyze/load/queueing.h"
#include "analyze/statistics/order.h"

namespace genscope::stats {

std::vector<double> poisson_schedule(std::span<const double> uniforms, double rate) {
  std::vector<double> arrivals;
  if (!(rate > 0) || !std::isfinite(rate)) return arrivals;
  arrivals.reserve(uniforms.size());
  double now = 0;
  for (const double u : uniforms) {
    if (!(u >= 0 && u < 1)) return {};
    now -= std::log1p(-u) / rate;
    arrivals.push_back(now);
  }
  return arrivals;
}

std::optional<LoadResult> load_result(std::span<const double> arrivals,
                                      std::span<const double> starts,
                                      std::span<const double> finishes,
                                      std::optional<double> slo_latency) {
  const std::size_t n = arrivals.size();
  if (n == 0 || starts.size() != n || finishes.size() != n) return std::nullopt;
  if (!all_finite(arrivals) || !all_finite(starts) || !all_finite(finishes)) return std::nullopt;
  LoadResult result;
  result.start.assign(starts.begin(), starts.end());
  result.finish.assign(finishes.begin(), finishes.end());
  double within = 0;
  for (std::size_t i = 0; i < n; ++i) {
    result.wait.push_back(starts[i] - arrivals[i]);
    result.latency.push_back(finishes[i] - arrivals[i]);
    if (slo_latency && result.latency.back() <= *slo_latency) ++within;
  }
  result.makespan = *std::max_element(finishes.begin(), finishes.end()) -
                    *std::min_element(arrivals.begin(), arrivals.end());
  const auto count = static_cast<double>(n);
  if (slo_latency) result.slo_attainment = within / count;
  if (result.makespan > 0) {
    result.throughput = count / result.makespan;
    if (slo_latency) result.goodput = within / result.makespan;
  }
  return result;
}

std::optional<LoadResult> fcfs_queue(std::span<const double> arrivals,
                                     std::span<const double> service, std::size_t servers,
                                     std::optional<double> slo_latency) {
  if (servers == 0 || arrivals.size() != service.size() || !all_finite(arrivals) ||
      !all_finite(service) || !std::is_sorted(arrivals.begin(), arrivals.end()) ||
      std::any_of(service.begin(), service.end(), [](double s) { return s < 0; })) {
    return std::nullopt;
  }
  std::priority_queue<double, std::vector<double>, std::greater<>> busy;  // until when
  std::vector<double> starts, finishes;
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    double start = arrivals[i];
    if (busy.size() == servers) {
      start = std::max(start, busy.top());
      busy.pop();
    }
    starts.push_back(start);
    finishes.push_back(start + service[i]);
    busy.push(finishes.back());
  }
  return load_result(arrivals, starts, finishes, slo_latency);
}

std::optional<QueueTheory> queue_theory(double rate, double service_mean, std::size_t servers) {
  if (!(rate >= 0) || !(service_mean > 0) || !std::isfinite(rate * service_mean) || servers == 0) {
    return std::nullopt;
  }
  QueueTheory theory;
  const double load = rate * service_mean;
  theory.rho = load;
  const auto c = static_cast<double>(servers);
  if (load >= c) return theory;
  // Erlang's B by recursion, then C from it: no factorials.
  double blocked = 1;
  for (std::size_t k = 1; k <= servers; ++k) {
    blocked = load * blocked / (static_cast<double>(k) + load * blocked);
  }
  theory.prob_wait = c * blocked / (c - load * (1 - blocked));
  theory.mean_wait = *theory.prob_wait * service_mean / (c - load);
  if (servers == 1) theory.fixed_mean_wait = *theory.mean_wait / 2;
  return theory;
}

}  // namespace genscope::stats
