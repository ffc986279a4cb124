#include "compat/epoch/book.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace genscope::compat::training {
namespace {

bool slower(const BatchTime& a, const BatchTime& b) { return a.duration_ns > b.duration_ns; }

}  // namespace

void Losses::add(double loss) noexcept {
  if (!std::isfinite(loss)) {
    not_finite++;
    return;
  }
  if (!first) first = loss;
  last = loss;
  least = std::min(least.value_or(loss), loss);
}

void Losses::merge(const Losses& later) noexcept {
  if (!first) first = later.first;
  if (later.last) last = later.last;
  if (later.least) least = std::min(least.value_or(*later.least), *later.least);
  not_finite += later.not_finite;
}

void BatchSums::merge(const BatchSums& later) noexcept {
  if (later.count > 0) {
    min_ns = count == 0 ? later.min_ns : std::min(min_ns, later.min_ns);
    max_ns = count == 0 ? later.max_ns : std::max(max_ns, later.max_ns);
  }
  count += later.count;
  total_ns += later.total_ns;
  wait_ns += later.wait_ns;
  samples += later.samples;
  losses.merge(later.losses);
}

void BatchSums::add(std::int64_t duration_ns) noexcept {
  min_ns = count == 0 ? duration_ns : std::min(min_ns, duration_ns);
  max_ns = count == 0 ? duration_ns : std::max(max_ns, duration_ns);
  total_ns += duration_ns;
  count++;
}

std::optional<double> BatchSums::mean_seconds() const noexcept {
  if (count == 0) return std::nullopt;
  return in_seconds(total_ns) / static_cast<double>(count);
}
std::optional<double> BatchSums::min_seconds() const noexcept {
  return count == 0 ? std::nullopt : std::optional(in_seconds(min_ns));
}
std::optional<double> BatchSums::max_seconds() const noexcept {
  return count == 0 ? std::nullopt : std::optional(in_seconds(max_ns));
}
std::optional<double> BatchSums::wait_share() const noexcept {
  if (count == 0 || total_ns + wait_ns <= 0) return std::nullopt;
  return static_cast<double>(wait_ns) / static_cast<double>(total_ns + wait_ns);
}
std::optional<double> BatchSums::samples_per_second() const noexcept {
  if (samples == 0 || total_ns + wait_ns <= 0) return std::nullopt;
  return static_cast<double>(samples) / in_seconds(total_ns + wait_ns);
}

void Stretch::merge(const Stretch& later) {
  steady_ns.merge(later.steady_ns);  // first: it needs memory
  all.merge(later.all);
  steady.merge(later.steady);
}

void SlowestBatches::add(const BatchTime& batch) {
  if (heap_.size() < EpochStatistics::kMaxOutliers) {
    heap_.reserve(EpochStatistics::kMaxOutliers);
    heap_.push_back(batch);
    std::push_heap(heap_.begin(), heap_.end(), slower);
    return;
  }
  if (batch.duration_ns <= heap_.front().duration_ns) return;
  std::pop_heap(heap_.begin(), heap_.end(), slower);
  heap_.back() = batch;
  std::push_heap(heap_.begin(), heap_.end(), slower);
}

std::vector<SlowBatch> SlowestBatches::above(double ratio, double median_ns) const {
  std::vector<SlowBatch> slow;
  if (!(median_ns > 0)) return slow;
  for (const BatchTime& b : heap_) {
    const double over = static_cast<double>(b.duration_ns) / median_ns;
    if (over > ratio) slow.push_back({b.epoch, b.batch, in_seconds(b.duration_ns), over});
  }
  std::sort(slow.begin(), slow.end(), [](const SlowBatch& a, const SlowBatch& b) {
    return std::tie(a.epoch, a.batch) < std::tie(b.epoch, b.batch);
  });
  return slow;
}

}  // namespace genscope::compat::training
