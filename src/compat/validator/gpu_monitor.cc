#include "bench/validate/gpu_watch.h"
#include "genscope/compat/validator.h"

namespace genscope::compat {

struct GPUMonitor::Impl {
  explicit Impl(double interval) : watch(bench::make_gpu_probes(), interval) {}
  bench::GpuWatch watch;
};

GPUMonitor::GPUMonitor(double sampling_interval) : interval_(sampling_interval) {}
GPUMonitor::~GPUMonitor() = default;

Status GPUMonitor::start_monitoring() {
  impl_ = std::make_unique<Impl>(interval_);
  absent_.clear();
  return impl_->watch.start();
}

std::map<std::string, double> GPUMonitor::stop_monitoring() {
  if (impl_ == nullptr) return {};
  const bench::GpuWatched watched = impl_->watch.stop();
  impl_.reset();
  absent_ = watched.absent;
  std::map<std::string, double> figures;
  if (watched.gpus.empty()) return figures;
  const auto put = [&](const char* what, const char* unit, const bench::GpuFigure& figure,
                       double scale) {
    const std::string name = std::string("_") + what + "_" + unit;
    if (figure.mean) figures["avg" + name] = *figure.mean * scale;
    if (figure.max) figures["peak" + name] = *figure.max * scale;
    if (figure.min) figures["min" + name] = *figure.min * scale;
  };
  const bench::WatchedGpu& gpu = watched.gpus.front();
  put("gpu_utilization", "percent", gpu.busy_ratio, 100);
  put("memory_usage", "gb", gpu.memory_used_bytes, 1e-9);
  if (const auto share = gpu.memory_efficiency()) figures["memory_efficiency"] = *share * 100;
  figures["sample_count"] =
      static_cast<double>(std::max(gpu.busy_ratio.count, gpu.memory_used_bytes.count));
  figures["monitoring_duration"] = watched.seconds;
  return figures;
}

}  // namespace genscope::compat
