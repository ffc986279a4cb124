// What the logs of a monitor hold, taken together, and the public figures made of it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <genscope/compat/performance_monitor.h>

#include "compat/operations/log.h"

namespace genscope::compat::training {

inline double seconds(std::int64_t ns) noexcept { return static_cast<double>(ns) / 1e9; }
inline double seconds(std::optional<double> ns) noexcept { return ns.value_or(0) / 1e9; }

// Bytes as MB of 1024 * 1024, as training monitors print them.
template <class Bytes>
std::optional<double> megabytes(const std::optional<Bytes>& bytes) noexcept {
  if (!bytes) return std::nullopt;
  return static_cast<double>(*bytes) / (1024 * 1024);
}

struct Measured {
  struct Single {
    std::string operation;
    Call call;
  };
  std::vector<Single> singles;  // in the order in which they ended
  std::map<std::string, OperationSums, std::less<>> operations;

  double total_seconds() const noexcept;  // self times add up without counting anything twice
  bool has_aggregates() const noexcept;
};

Measured measure(const std::vector<std::shared_ptr<OperationLog>>& logs);

OperationMetrics metrics_of(const std::string& operation, const Call& call);
std::vector<OperationMetrics> metrics_of(const Measured& measured);
std::vector<OperationStatistics> statistics_of(const Measured& measured);

}  // namespace genscope::compat::training
