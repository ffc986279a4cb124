// Load generation without a clock: when requests arrive, what a queue makes of them, and what
// theory says it should. Pure functions with the rules of analyze/statistics/statistics.h; times in
// seconds.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace genscope::stats {

// Arrival times of a Poisson process: t_i = t_(i-1) - ln(1 - u_i) / rate, for uniforms in [0, 1).
// Empty for another uniform or a rate that is not above 0.
std::vector<double> poisson_schedule(std::span<const double> uniforms, double rate);

// What became of requests. Latency counts from the scheduled arrival, never from the moment a slot
// became free: waiting is part of it (else a stalled server hides its own queue).
struct LoadResult {
  std::vector<double> start, finish, wait, latency;
  double makespan = 0;                   // from the first arrival to the last finish
  std::optional<double> throughput;      // requests / makespan; absent for makespan 0
  std::optional<double> slo_attainment;  // share with latency <= slo; with an slo
  std::optional<double> goodput;         // such requests / makespan
};
// First come, first served by `servers` alike; arrivals ascending. O(n log servers). Nothing if
// sizes differ, arrivals are not ascending, a service is below 0 or there is no server.
std::optional<LoadResult> fcfs_queue(std::span<const double> arrivals,
                                     std::span<const double> service, std::size_t servers,
                                     std::optional<double> slo_latency = std::nullopt);
// The same figures of requests that were really sent.
std::optional<LoadResult> load_result(std::span<const double> arrivals,
                                      std::span<const double> starts,
                                      std::span<const double> finishes,
                                      std::optional<double> slo_latency = std::nullopt);

// Long-run figures of queues with Poisson arrivals.
struct QueueTheory {
  double rho = 0;                              // arrivals * service: busy servers
  std::optional<double> prob_wait, mean_wait;  // exponential service (M/M/c); absent if overloaded
  std::optional<double> fixed_mean_wait;       // constant service, one server (M/D/1)
};
std::optional<QueueTheory> queue_theory(double rate, double service_mean, std::size_t servers = 1);

}  // namespace genscope::stats
