#include "analyze/compare/judge.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <genscope/statistics.h>

namespace genscope {

std::string_view name(Change change) noexcept {
  switch (change) {
    case Change::faster:
      return "faster";
    case Change::slower:
      return "slower";
    case Change::same:
      return "same";
    case Change::inconclusive:
      break;
    case Change::appeared:
      return "appeared";
    case Change::vanished:
      return "vanished";
  }
  return "inconclusive";
}

namespace analysis {

std::optional<Ratio> ratio_of(const Sample& before, const Sample& after) {
  constexpr double kRounding = 1e-9;
  if (std::min(before.logs.size(), after.logs.size()) < kLeastSpans) return std::nullopt;
  const std::optional<stats::Shift> shift = stats::shift(before.logs, after.logs, kConfidence);
  if (!shift || shift->confidence < kConfidence - kRounding) return std::nullopt;
  return Ratio{std::exp(shift->low), std::exp(shift->high)};
}

Change judge(const std::optional<Ratio>& ratio, double noise_floor) noexcept {
  if (!ratio) return Change::inconclusive;
  const double least = 1 - noise_floor, most = 1 + noise_floor;
  if (ratio->high < least) return Change::faster;
  if (ratio->low > most) return Change::slower;
  return ratio->low >= least && ratio->high <= most ? Change::same : Change::inconclusive;
}

void relate(ChangeRow& row) noexcept {
  if (!row.before || !row.after || !(*row.before > 0) || !(*row.after > 0)) return;
  row.percent = (*row.after - *row.before) / *row.before * 100;
  row.factor = *row.before / *row.after;
}

ChangeRow span_row(std::string name, std::string kind, const Sample& before, const Sample& after,
                   double noise_floor) {
  ChangeRow row;
  row.name = std::move(name);
  row.kind = std::move(kind);
  row.unit = "ns";
  row.before_count = before.count;
  row.after_count = after.count;
  if (before.count > 0) row.before = before.median_ns;
  if (after.count > 0) row.after = after.median_ns;
  relate(row);
  if (!before.present()) {
    row.change = Change::appeared;
  } else if (!after.present()) {
    row.change = Change::vanished;
  } else if (const std::optional<Ratio> ratio = ratio_of(before, after)) {
    row.factor_low = 1 / ratio->high;
    row.factor_high = 1 / ratio->low;
    row.change = judge(ratio, noise_floor);
  }
  return row;
}

}  // namespace analysis
}  // namespace genscope
