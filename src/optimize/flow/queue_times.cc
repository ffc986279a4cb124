#include <algorithm>

#include <fmt/format.h>

#include <genscope/internal/optimize/queue_times.h>

#include "base/text.h"
#include "optimize/flow/queue_book.h"

namespace genscope::optimize {

void QueueHistogram::add(double seconds) noexcept {
  const double waited = seconds > 0 ? seconds : 0;  // clocks of two threads may differ a little
  const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), waited);
  ++counts[static_cast<std::size_t>(bound - kBounds.begin())];
  ++count;
  sum_seconds += waited;
}

std::optional<double> QueueHistogram::quantile(double share) const noexcept {
  if (count == 0) return std::nullopt;
  const double rank = std::clamp(share, 0.0, 1.0) * static_cast<double>(count);
  double below = 0;
  for (std::size_t i = 0; i < kBounds.size(); ++i) {
    const double here = static_cast<double>(counts[i]);
    if (here > 0 && below + here >= rank) {
      const double from = i == 0 ? 0 : kBounds[i - 1];
      return from + (kBounds[i] - from) * (rank - below) / here;
    }
    below += here;
  }
  return kBounds.back();
}

QueueHistogram& QueueBook::row(std::string_view first, std::string_view second) {
  std::pair<std::string, std::string> key(first, second);
  if (const auto found = by_value_.find(key); found != by_value_.end())
    return found->second->waited;
  if (rows_.size() >= kMostRows) {
    (names_.size() > 1 ? key.second : key.first) = "other";
    if (const auto found = by_value_.find(key); found != by_value_.end())
      return found->second->waited;
  }
  QueueTimes& made = rows_.emplace_back();
  if (!key.first.empty()) made.labels.emplace_back(names_[0], key.first);
  if (!key.second.empty()) made.labels.emplace_back(names_[1], key.second);
  by_value_.emplace(std::move(key), &made);
  return made.waited;
}

std::vector<QueueTimes> QueueBook::rows() const { return {rows_.begin(), rows_.end()}; }

std::string prometheus_histogram(std::string_view metric, std::string_view help,
                                 std::string_view name, const std::vector<QueueTimes>& rows) {
  if (rows.empty()) return {};
  std::string out = fmt::format("# HELP {0} {1}\n# TYPE {0} histogram\n", metric, help);
  for (const QueueTimes& row : rows) {
    std::string labels = fmt::format("name=\"{}\"", base::prometheus_label(name));
    for (const auto& [label, value] : row.labels)
      labels += fmt::format(",{}=\"{}\"", label, base::prometheus_label(value));
    std::uint64_t upto = 0;
    for (std::size_t i = 0; i < QueueHistogram::kBounds.size(); ++i) {
      upto += row.waited.counts[i];
      out += fmt::format("{}_bucket{{{},le=\"{}\"}} {}\n", metric, labels,
                         QueueHistogram::kBounds[i], upto);
    }
    out += fmt::format("{}_bucket{{{},le=\"+Inf\"}} {}\n", metric, labels, row.waited.count);
    out += fmt::format("{}_sum{{{}}} {}\n", metric, labels, row.waited.sum_seconds);
    out += fmt::format("{}_count{{{}}} {}\n", metric, labels, row.waited.count);
  }
  return out;
}

}  // namespace genscope::optimize
