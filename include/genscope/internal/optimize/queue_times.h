// How long requests waited in a queue, by who they were: a histogram for each class, tenant or
// shape. admission.h and batch.h keep them and print them for Prometheus.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace genscope::optimize {

// Counts of seconds in fixed buckets. A bucket holds what is at most its bound and above the one
// before; the last has no bound.
struct QueueHistogram {
  static constexpr std::array<double, 15> kBounds = {
      0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};
  std::array<std::uint64_t, kBounds.size() + 1> counts = {};
  std::uint64_t count = 0;
  double sum_seconds = 0;

  void add(double seconds) noexcept;
  // Within its bucket by a straight line, as Prometheus' histogram_quantile; beyond the last bound,
  // that bound. None: nothing was counted.
  std::optional<double> quantile(double share) const noexcept;
};

// Of the requests with these labels that began to run.
struct QueueTimes {
  using Labels = std::vector<std::pair<std::string, std::string>>;  // name, value
  Labels labels = {};
  QueueHistogram waited = {};
};

// Prometheus' text format 0.0.4, of a histogram METRIC with the label `name` before the others.
// Nothing for no rows.
std::string prometheus_histogram(std::string_view metric, std::string_view help,
                                 std::string_view name, const std::vector<QueueTimes>& rows);

}  // namespace genscope::optimize
