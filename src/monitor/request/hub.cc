#include "monitor/request/hub.h"

#include <algorithm>
#include <new>

#include <genscope/internal/no_memory.h>

#include "trace/sample_names.h"

namespace genscope::monitor {
namespace {

constexpr const char* kOtherErrors = "other";

}  // namespace

RequestHub::RequestHub(RequestMonitorOptions given)
    : options(std::move(given)),
      ticks(options.clock),
      made_(ticks.now()),
      window_(options.window),
      next_publish_(made_) {}

std::unique_ptr<RequestState> RequestHub::begin(std::string_view route, bool waits) {
  auto state = std::make_unique<RequestState>();
  state->record.route = route;
  state->waiting = waits;
  {
    const std::lock_guard lock(mutex_);
    state->record.id = ++begun_;
    in_flight_peak_ = std::max(in_flight_peak_, ++in_flight_);
    if (waits) waiting_++;
  }
  state->span = genscope::begin(SpanKind::request, route, {}, {{"index", state->record.id}});
  if (waits) state->queue = genscope::begin(SpanKind::stage, "queue", {state->span, {}});
  state->begin = ticks.now();
  return state;
}

void RequestHub::started(RequestState& state) noexcept {
  if (!state.waiting) return;
  state.waiting = false;
  state.record.queue_seconds = ticks.seconds(ticks.now() - state.begin);
  genscope::end(state.queue);
  const std::lock_guard lock(mutex_);
  waiting_--;
}

void RequestHub::count_error(const std::string& error_class) {
  const auto known = errors_.find(error_class);
  if (known != errors_.end()) {
    known->second++;
  } else if (errors_.size() < options.error_classes) {
    errors_.emplace(error_class, 1);
  } else {
    errors_[kOtherErrors]++;
  }
}

bool RequestHub::due(std::int64_t now) noexcept {
  if (!(options.publish_seconds > 0) || now < next_publish_) return false;
  next_publish_ = now + static_cast<std::int64_t>(ticks.ticks(options.publish_seconds));
  return true;
}

RequestRecord RequestHub::end(std::unique_ptr<RequestState> state) noexcept {
  const std::int64_t now = ticks.now();
  RequestRecord record = std::move(state->record);
  record.total_seconds = ticks.seconds(now - state->begin);
  const bool failed = !record.error_class.empty();
  if (state->waiting) genscope::end_failed(state->queue);  // it never got its turn
  if (failed) {
    state->span.arg("error", std::string_view(record.error_class));
    genscope::end_failed(state->span);
  } else {
    genscope::end(state->span);
  }
  bool publish_now = false;
  {
    const std::lock_guard lock(mutex_);
    finished_++;
    in_flight_--;
    if (state->waiting) waiting_--;
    if (failed) failed_++;
    if (!record.client_error) {
      judged_++;
      if (!failed && record.total_seconds <= options.slo_seconds) in_time_++;
    }
    rates_.add(static_cast<std::int64_t>(age(now)));
    keep(record);
    publish_now = due(now);
  }
  if (publish_now && recorder_stats().active) publish();
  return record;
}

void RequestHub::keep(const RequestRecord& record) noexcept {
  try {
    if (!record.error_class.empty()) count_error(record.error_class);
    window_.push(record);
  } catch (const std::bad_alloc&) {
    internal::count_lost(0, 1);
  }
}

std::vector<RequestRecord> RequestHub::recent() const {
  const std::lock_guard lock(mutex_);
  return window_.items();
}

std::optional<double> RequestHub::mean_seconds() const {
  double sum = 0;
  std::uint64_t count = 0;
  const std::lock_guard lock(mutex_);
  window_.each([&](const RequestRecord& record) {
    if (!record.error_class.empty()) return;
    sum += record.total_seconds;
    count++;
  });
  return count == 0 ? std::nullopt : std::optional(sum / static_cast<double>(count));
}

void RequestHub::publish() const noexcept {
  try {
    event("genscope.entity", {{"id", std::string_view(options.name)},
                              {"kind", genscope::name(EntityKind::other)},
                              {"name", std::string_view(options.name)}});
    for (const auto& [metric, value] : metric_values(stats())) {
      counter(trace::sample_name(options.name, metric), value);
    }
  } catch (const std::bad_alloc&) {
    internal::count_lost(0, 1);
  }
}

}  // namespace genscope::monitor
