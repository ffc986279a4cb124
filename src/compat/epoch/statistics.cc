// What the books of an EpochPerformanceMonitor say.
#include "compat/epoch/book.h"

namespace genscope::compat::training {
namespace {

EpochFigures figures_of(std::uint64_t epoch, std::int64_t duration_ns, const Stretch& stretch,
                        std::optional<std::uint64_t> gpu_peak) {
  const BatchSums& batches = stretch.all;
  EpochFigures f;
  f.epoch = epoch;
  f.seconds = in_seconds(duration_ns);
  f.num_batches = batches.count;
  f.batch_seconds = in_seconds(batches.total_ns);
  f.avg_batch_time = batches.mean_seconds();
  f.min_batch_time = batches.min_seconds();
  f.max_batch_time = batches.max_seconds();
  f.p50_batch_time = in_seconds(stretch.steady_ns.quantile(0.5));
  f.data_loading_share = batches.wait_share();
  f.samples_per_second = batches.samples_per_second();
  f.first_loss = batches.losses.first;
  f.last_loss = batches.losses.last;
  f.min_loss = batches.losses.least;
  if (gpu_peak) f.gpu_peak_mb = static_cast<double>(*gpu_peak) / (1024 * 1024);
  return f;
}

void put_steady(const Stretch& b, EpochStatistics& s) {
  s.steady_batches = b.steady.count;
  s.steady_avg_batch_time = b.steady.mean_seconds();
  s.steady_min_batch_time = b.steady.min_seconds();
  s.steady_max_batch_time = b.steady.max_seconds();
  s.p50_batch_time = in_seconds(b.steady_ns.quantile(0.50));
  s.p90_batch_time = in_seconds(b.steady_ns.quantile(0.90));
  s.p95_batch_time = in_seconds(b.steady_ns.quantile(0.95));
  s.p99_batch_time = in_seconds(b.steady_ns.quantile(0.99));
  if (b.steady.count > 1 && b.steady.min_ns > 0) {
    s.variance_ratio = static_cast<double>(b.steady.max_ns) / static_cast<double>(b.steady.min_ns);
    s.high_variance = *s.variance_ratio > EpochStatistics::kVarianceRatio;
  }
  s.warmup_batches = b.all.count - b.steady.count;
  if (s.warmup_batches > 0) s.warmup_time = in_seconds(b.all.total_ns - b.steady.total_ns);
}

void put_all(const BatchSums& all, EpochStatistics& s) {
  s.total_batch_time = in_seconds(all.total_ns);
  s.avg_batch_time = all.mean_seconds();
  s.min_batch_time = all.min_seconds();
  s.max_batch_time = all.max_seconds();
  s.data_loading_time = in_seconds(all.wait_ns);
  s.data_loading_share = all.wait_share();
  s.slow_data_loading = s.data_loading_share.value_or(0) > EpochStatistics::kDataLoadingShare;
  s.samples_per_second = all.samples_per_second();
  s.losses_not_finite = all.losses.not_finite;
  s.first_loss = all.losses.first;
  s.last_loss = all.losses.last;
  s.min_loss = all.losses.least;
}

}  // namespace

std::uint64_t EpochBooks::begin_epoch() {
  past.merge(epoch);
  epoch = {};
  return epochs++;
}

void EpochBooks::add(const EndedBatch& ended, std::uint64_t warmup_batches) {
  const bool warm = past.all.count + epoch.all.count >= warmup_batches;
  epoch.all.add(ended.duration_ns);
  epoch.all.wait_ns += ended.wait_ns;
  epoch.all.samples += ended.samples;
  if (ended.loss) epoch.all.losses.add(*ended.loss);
  if (!warm) return;
  epoch.steady.add(ended.duration_ns);
  epoch.steady_ns.add(static_cast<double>(ended.duration_ns));
  slowest.add({epochs > 0 ? epochs - 1 : 0, ended.batch, ended.duration_ns});
}

void EpochBooks::end_epoch(std::int64_t duration_ns, std::optional<std::uint64_t> gpu_peak,
                           std::size_t max_epochs) {
  epochs_ended++;
  epochs_ns += duration_ns;
  rows.push_back(figures_of(epochs - 1, duration_ns, epoch, gpu_peak));
  while (rows.size() > max_epochs) rows.pop_front();
}

EpochStatistics EpochBooks::statistics() const {
  Stretch whole = past;
  whole.merge(epoch);
  EpochStatistics s;
  s.num_batches = whole.all.count;
  s.num_epochs = epochs_ended;
  if (epochs_ended > 0) {
    s.total_epoch_time = in_seconds(epochs_ns);
    s.avg_epoch_time = *s.total_epoch_time / static_cast<double>(epochs_ended);
  }
  s.unfinished_batches = unfinished;
  s.epochs.assign(rows.begin(), rows.end());
  if (whole.all.count == 0) return s;
  put_all(whole.all, s);
  put_steady(whole, s);
  s.outliers =
      slowest.above(EpochStatistics::kOutlierRatio, whole.steady_ns.quantile(0.5).value_or(0));
  return s;
}

}  // namespace genscope::compat::training
