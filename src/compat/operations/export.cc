#include "compat/operations/export.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "compat/json_object.h"

namespace genscope::compat::training {
namespace {

std::string cell(std::optional<double> value) { return value ? fmt::format("{}", *value) : ""; }

std::string metrics_json(const OperationMetrics& m) {
  return JsonWriter()
      .text("operation", m.operation)
      .number("duration_seconds", m.duration_seconds)
      .number("self_seconds", m.self_seconds)
      .number("cpu_start_mb", m.cpu_start_mb)
      .number("cpu_end_mb", m.cpu_end_mb)
      .number("cpu_delta_mb", m.cpu_delta_mb)
      .number("gpu_start_mb", m.gpu_start_mb)
      .number("gpu_end_mb", m.gpu_end_mb)
      .number("gpu_delta_mb", m.gpu_delta_mb)
      .number("gpu_peak_mb", m.gpu_peak_mb)
      .count("call_count", m.call_count)
      .count("failed", m.failed)
      .flag("aggregate", m.aggregate)
      .done();
}

std::string statistics_json(const OperationStatistics& s) {
  return JsonWriter()
      .text("operation", s.operation)
      .count("count", s.count)
      .count("failed", s.failed)
      .flag("aggregate", s.aggregate)
      .number("total_seconds", s.total_seconds)
      .number("self_seconds", s.self_seconds)
      .number("share", s.share)
      .number("mean_seconds", s.mean_seconds)
      .number("min_seconds", s.min_seconds)
      .number("max_seconds", s.max_seconds)
      .number("p50_seconds", s.p50_seconds)
      .number("p90_seconds", s.p90_seconds)
      .number("p95_seconds", s.p95_seconds)
      .number("p99_seconds", s.p99_seconds)
      .number("cpu_delta_mb", s.cpu_delta_mb)
      .number("gpu_delta_mb", s.gpu_delta_mb)
      .number("gpu_peak_mb", s.gpu_peak_mb)
      .done();
}

template <class Items, class Write>
std::string list(const Items& items, const Write& write) {
  std::string out = "[";
  for (const auto& item : items) {
    if (out.size() > 1) out += ",\n  ";
    out += write(item);
  }
  return out + "]";
}

}  // namespace

std::string csv_of(const Measured& measured) {
  std::string out = "operation,time,cpu_mb,gpu_mb,gpu_peak_mb,self_time,call_count,failed\n";
  for (const OperationMetrics& m : metrics_of(measured)) {
    out += fmt::format("{},{},{},{},{},{},{},{}\n", base::csv_field(m.operation),
                       m.duration_seconds, cell(m.cpu_delta_mb), cell(m.gpu_delta_mb),
                       cell(m.gpu_peak_mb), m.self_seconds, m.call_count, m.failed);
  }
  return out;
}

std::string json_of(const Measured& measured, const std::string& gpu_reason) {
  JsonWriter absent;
  if (!gpu_reason.empty()) absent.text("gpu", gpu_reason);
  return JsonWriter()
             .text("schema", "genscope.operations/1")
             .number("total_seconds", measured.total_seconds())
             .raw("metrics", list(metrics_of(measured), metrics_json))
             .raw("statistics", list(statistics_of(measured), statistics_json))
             .raw("absent", absent.done())
             .done() +
         "\n";
}

}  // namespace genscope::compat::training
