// EpochStatistics as JSON.
#include <genscope/compat/epoch_monitor.h>

#include "compat/json_object.h"

namespace genscope {
namespace {

using compat::training::JsonWriter;

template <class Items, class Write>
std::string list(const Items& items, const Write& write) {
  std::string out = "[";
  for (const auto& item : items) {
    if (out.size() > 1) out += ',';
    out += write(item);
  }
  return out + "]";
}

std::string outlier(const SlowBatch& slow) {
  return JsonWriter()
      .count("epoch", slow.epoch)
      .count("batch", slow.batch)
      .number("seconds", slow.seconds)
      .number("ratio", slow.ratio)
      .done();
}

std::string epoch(const EpochFigures& f) {
  return JsonWriter()
      .count("epoch", f.epoch)
      .number("seconds", f.seconds)
      .count("num_batches", f.num_batches)
      .number("batch_seconds", f.batch_seconds)
      .number("avg_batch_time", f.avg_batch_time)
      .number("min_batch_time", f.min_batch_time)
      .number("max_batch_time", f.max_batch_time)
      .number("p50_batch_time", f.p50_batch_time)
      .number("data_loading_share", f.data_loading_share)
      .number("samples_per_second", f.samples_per_second)
      .number("first_loss", f.first_loss)
      .number("last_loss", f.last_loss)
      .number("min_loss", f.min_loss)
      .number("gpu_peak_mb", f.gpu_peak_mb)
      .done();
}

}  // namespace

std::string EpochStatistics::to_json() const {
  if (num_batches == 0) return "{}";
  return JsonWriter()
      .number("total_epoch_time", total_epoch_time)
      .number("avg_epoch_time", avg_epoch_time)
      .number("total_batch_time", total_batch_time)
      .number("avg_batch_time", avg_batch_time)
      .number("min_batch_time", min_batch_time)
      .number("max_batch_time", max_batch_time)
      .count("num_batches", num_batches)
      .count("num_epochs", num_epochs)
      .count("warmup_batches", warmup_batches)
      .number("warmup_time", warmup_time)
      .count("steady_batches", steady_batches)
      .number("steady_avg_batch_time", steady_avg_batch_time)
      .number("steady_min_batch_time", steady_min_batch_time)
      .number("steady_max_batch_time", steady_max_batch_time)
      .number("p50_batch_time", p50_batch_time)
      .number("p90_batch_time", p90_batch_time)
      .number("p95_batch_time", p95_batch_time)
      .number("p99_batch_time", p99_batch_time)
      .number("variance_ratio", variance_ratio)
      .flag("high_variance", high_variance)
      .number("data_loading_time", data_loading_time)
      .number("data_loading_share", data_loading_share)
      .flag("slow_data_loading", slow_data_loading)
      .number("samples_per_second", samples_per_second)
      .count("unfinished_batches", unfinished_batches)
      .count("losses_not_finite", losses_not_finite)
      .number("first_loss", first_loss)
      .number("last_loss", last_loss)
      .number("min_loss", min_loss)
      .raw("outliers", list(outliers, outlier))
      .raw("epochs", list(epochs, epoch))
      .done();
}

}  // namespace genscope
