#include <fmt/format.h>

#include <exception>
#include <new>

#include <genscope/internal/no_memory.h>
#include <genscope/monitor.h>
#include <genscope/trace.h>

#include "base/text.h"
#include "monitor/request/hub.h"

namespace genscope {

ServedRequest::ServedRequest() noexcept = default;
ServedRequest::ServedRequest(std::shared_ptr<monitor::RequestHub> hub,
                             std::unique_ptr<monitor::RequestState> state) noexcept
    : hub_(std::move(hub)), state_(std::move(state)), exceptions_(std::uncaught_exceptions()) {}
ServedRequest::ServedRequest(ServedRequest&& other) noexcept = default;

ServedRequest& ServedRequest::operator=(ServedRequest&& other) noexcept {
  if (this == &other) return *this;
  if (running()) fail("abandoned");
  hub_ = std::move(other.hub_);
  state_ = std::move(other.state_);
  exceptions_ = other.exceptions_;
  return *this;
}

ServedRequest::~ServedRequest() {
  if (running()) fail(std::uncaught_exceptions() > exceptions_ ? "exception" : "abandoned");
}

void ServedRequest::started() noexcept {
  if (state_ != nullptr) hub_->started(*state_);
}

void ServedRequest::waited(double seconds) noexcept {
  if (state_ == nullptr || !(seconds >= 0)) return;
  state_->record.queue_seconds = seconds;
  state_->span.arg("queue_seconds", seconds);
}

void ServedRequest::first_byte() noexcept {
  if (state_ == nullptr || state_->record.first_byte_seconds) return;
  state_->record.first_byte_seconds = hub_->ticks.seconds(hub_->ticks.now() - state_->begin);
  event(state_->span, "first_byte");
}

GenerationSettings ServedRequest::generation(GenerationSettings settings) const {
  settings.under = span_id();
  settings.request_id = id();
  return settings;
}

void ServedRequest::join(const GenerationMetrics& metrics) noexcept {
  if (state_ == nullptr) return;
  RequestRecord& record = state_->record;
  record.generation_id = metrics.id;
  record.generation_seconds = metrics.total_generation_time;
  record.generation_score = metrics.performance_score;
  state_->span.arg("generation", metrics.id);
}

RequestRecord ServedRequest::finish(int http_status) {
  std::string error;
  if (http_status >= 500) {
    error = "5xx";
  } else if (http_status >= 400) {
    error = "4xx";
  }
  return end(http_status, std::move(error));
}

RequestRecord ServedRequest::fail(std::string_view error_class) {
  std::string error = "error";
  try {
    if (!error_class.empty()) error = error_class;
  } catch (const std::bad_alloc&) {
    internal::count_lost(0, 1);
  }
  return end(std::nullopt, std::move(error));
}

RequestRecord ServedRequest::end(std::optional<int> http_status, std::string error_class) {
  if (state_ == nullptr) return {};
  state_->record.http_status = http_status;
  state_->record.client_error = error_class == "4xx";
  state_->record.error_class = std::move(error_class);
  const std::shared_ptr<monitor::RequestHub> hub = std::move(hub_);
  return hub->end(std::move(state_));
}

std::uint64_t ServedRequest::id() const noexcept {
  return state_ != nullptr ? state_->record.id : 0;
}
std::uint64_t ServedRequest::span_id() const noexcept {
  return state_ != nullptr ? state_->span.id() : 0;
}

double ServedRequest::elapsed_seconds() const noexcept {
  return state_ != nullptr ? hub_->ticks.seconds(hub_->ticks.now() - state_->begin) : 0;
}

RequestMonitor::RequestMonitor(RequestMonitorOptions options)
    : hub_(std::make_shared<monitor::RequestHub>(std::move(options))) {}
RequestMonitor::~RequestMonitor() = default;
RequestMonitor::RequestMonitor(const RequestMonitor&) = default;
RequestMonitor& RequestMonitor::operator=(const RequestMonitor&) = default;

ServedRequest RequestMonitor::begin(std::string_view route) { return open(route, false); }
ServedRequest RequestMonitor::enqueue(std::string_view route) { return open(route, true); }

ServedRequest RequestMonitor::open(std::string_view route, bool waits) {
  try {
    return ServedRequest(hub_, hub_->begin(route, waits));
  } catch (const std::bad_alloc&) {
    internal::count_lost(1, 0);
    return {};
  }
}

RequestStats RequestMonitor::stats() const { return hub_->stats(); }
std::vector<RequestRecord> RequestMonitor::recent() const { return hub_->recent(); }

std::string RequestMonitor::prometheus_text() const {
  const RequestStats stats = hub_->stats();
  const std::string who = base::prometheus_label(hub_->options.name);
  std::string out;
  for (const auto& [id, value] : monitor::metric_values(stats)) {
    const Metric* const metric = find_metric(id);
    if (metric == nullptr) continue;
    const bool grows = metric->kind == MetricKind::counter;
    const std::string family = fmt::format("genscope_{}{}", id, grows ? "_total" : "");
    out +=
        fmt::format("# HELP {} {}\n# TYPE {} {}\n{}{{entity=\"{}\"}} {}\n", family,
                    metric->description, family, grows ? "counter" : "gauge", family, who, value);
  }
  if (stats.errors.empty()) return out;
  out +=
      "# HELP genscope_request_errors_total Requests that failed, by class\n"
      "# TYPE genscope_request_errors_total counter\n";
  for (const auto& [error_class, count] : stats.errors) {
    out += fmt::format("genscope_request_errors_total{{entity=\"{}\",class=\"{}\"}} {}\n", who,
                       base::prometheus_label(error_class), count);
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> RequestMonitor::response_headers(
    const ServedRequest& request) const {
  std::vector<std::pair<std::string, std::string>> headers = {
      {"X-Request-Time", fmt::format("{:.3f}", request.elapsed_seconds())}};
  if (const auto mean = hub_->mean_seconds()) {
    headers.emplace_back("X-Avg-Request-Time", fmt::format("{:.3f}", *mean));
  }
  return headers;
}

}  // namespace genscope
