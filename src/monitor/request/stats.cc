// The figures of the last requests, worked out when someone asks.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "analyze/statistics/statistics.h"
#include "monitor/request/hub.h"

namespace genscope {
namespace {

LatencyFigures latency_figures(const std::vector<double>& seconds) {
  LatencyFigures figures;
  figures.count = seconds.size();
  const stats::Description described = stats::describe(seconds);
  figures.mean = described.mean;
  figures.min = described.min;
  figures.max = described.max;
  figures.p50 = described.median;
  figures.p90 = stats::quantile(seconds, 0.90);
  figures.p95 = stats::quantile(seconds, 0.95);
  figures.p99 = stats::quantile(seconds, 0.99);
  return figures;
}

std::optional<double> share(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

// Columns of the window.
void fill_window(const std::vector<RequestRecord>& window, RequestStats& stats) {
  std::vector<double> total, queue, first_byte, generation;
  double generating = 0, with_generation = 0;
  std::uint64_t judged = 0, in_time = 0;
  for (const RequestRecord& record : window) {
    const bool failed = !record.error_class.empty();
    if (!failed) total.push_back(record.total_seconds);
    if (record.queue_seconds) queue.push_back(*record.queue_seconds);
    if (record.first_byte_seconds) first_byte.push_back(*record.first_byte_seconds);
    if (record.generation_seconds) {
      generation.push_back(*record.generation_seconds);
      generating += *record.generation_seconds;
      with_generation += record.total_seconds;
    }
    if (record.client_error) continue;
    judged++;
    if (!failed && record.total_seconds <= stats.slo_seconds) in_time++;
  }
  stats.window = window.size();
  stats.total = latency_figures(total);
  stats.queue_wait = latency_figures(queue);
  stats.first_byte = latency_figures(first_byte);
  stats.generation = latency_figures(generation);
  if (with_generation > 0) stats.generation_share = generating / with_generation;
  stats.slo_share = share(in_time, judged);
}

using Json = nlohmann::ordered_json;

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json figures_json(const LatencyFigures& f) {
  return {{"count", f.count},      {"mean", or_null(f.mean)}, {"min", or_null(f.min)},
          {"p50", or_null(f.p50)}, {"p90", or_null(f.p90)},   {"p95", or_null(f.p95)},
          {"p99", or_null(f.p99)}, {"max", or_null(f.max)}};
}

}  // namespace

namespace monitor {

RequestStats RequestHub::stats() const {
  RequestStats stats;
  stats.slo_seconds = options.slo_seconds;
  std::vector<RequestRecord> window;
  {
    const std::lock_guard lock(mutex_);
    const double now = age(ticks.now());
    stats.begun = begun_;
    stats.finished = finished_;
    stats.failed = failed_;
    stats.in_flight = in_flight_;
    stats.in_flight_peak = in_flight_peak_;
    stats.waiting = waiting_;
    stats.errors.assign(errors_.begin(), errors_.end());
    stats.per_second_1m = rates_.per_second(now, 60);
    stats.per_second_5m = rates_.per_second(now, 300);
    stats.per_second_15m = rates_.per_second(now, 900);
    stats.slo_share_lifetime = share(in_time_, judged_);
    window = window_.items();
  }
  fill_window(window, stats);
  return stats;
}

std::vector<std::pair<std::string_view, double>> metric_values(const RequestStats& s) {
  std::vector<std::pair<std::string_view, double>> rows = {
      {"requests_finished", static_cast<double>(s.finished)},
      {"requests_failed", static_cast<double>(s.failed)},
      {"requests_in_flight", static_cast<double>(s.in_flight)},
      {"requests_waiting", static_cast<double>(s.waiting)}};
  const auto add = [&](std::string_view metric, const std::optional<double>& value) {
    if (value) rows.emplace_back(metric, *value);
  };
  add("requests_1m_per_second", s.per_second_1m);
  add("requests_5m_per_second", s.per_second_5m);
  add("requests_15m_per_second", s.per_second_15m);
  add("request_p50_seconds", s.total.p50);
  add("request_p95_seconds", s.total.p95);
  add("request_p99_seconds", s.total.p99);
  add("request_queue_p95_seconds", s.queue_wait.p95);
  add("request_first_byte_p95_seconds", s.first_byte.p95);
  add("request_slo_ratio", s.slo_share);
  return rows;
}

}  // namespace monitor

std::string to_json(const RequestStats& s) {
  Json errors = Json::object();
  for (const auto& [error_class, count] : s.errors) errors[error_class] = count;
  const Json j = {{"begun", s.begun},
                  {"finished", s.finished},
                  {"failed", s.failed},
                  {"in_flight", s.in_flight},
                  {"in_flight_peak", s.in_flight_peak},
                  {"waiting", s.waiting},
                  {"window", s.window},
                  {"total_seconds", figures_json(s.total)},
                  {"queue_seconds", figures_json(s.queue_wait)},
                  {"first_byte_seconds", figures_json(s.first_byte)},
                  {"generation_seconds", figures_json(s.generation)},
                  {"generation_share", or_null(s.generation_share)},
                  {"errors", errors},
                  {"per_second_1m", or_null(s.per_second_1m)},
                  {"per_second_5m", or_null(s.per_second_5m)},
                  {"per_second_15m", or_null(s.per_second_15m)},
                  {"slo_seconds", s.slo_seconds},
                  {"slo_share", or_null(s.slo_share)},
                  {"slo_share_lifetime", or_null(s.slo_share_lifetime)}};
  return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace genscope
