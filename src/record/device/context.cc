#include "record/device/context.h"

#include <sched.h>

#include <utility>

namespace genscope::record::device {

Code elapsed_ns(const Driver& driver, Event a, Event b, double& ns) {
  float milliseconds = 0;
  Code code = driver.event_elapsed(&milliseconds, a, b);
  ns = static_cast<double>(milliseconds) * 1e6;
  if (code == kSuccess) return code;
  code = driver.event_elapsed(&milliseconds, b, a);  // a driver that knows no negative times
  ns = -static_cast<double>(milliseconds) * 1e6;
  return code;
}

Code Anchors::prepare() {
  constexpr unsigned kNonBlocking = 1;  // the default stream does not wait for it
  if (stream_ == nullptr) {
    if (const Code code = driver_.stream_create(&stream_, kNonBlocking)) return code;
  }
  for (Event* const event : {&best_, &trial_}) {
    if (*event != nullptr) continue;
    if (const Code code = driver_.event_create(event, 0)) return code;
  }
  return kSuccess;
}

Code Anchors::measure(Event event, std::int64_t& middle_ns, std::int64_t& width_ns) const {
  constexpr std::int64_t kPatienceNs = 1'000'000;
  constexpr int kLooks = 10'000;
  const std::int64_t before = now_ns_();
  Code code = driver_.event_record(event, stream_);
  if (code != kSuccess) return code;
  std::int64_t after = before;
  for (int look = 0; look < kLooks && after - before <= kPatienceNs; ++look) {
    code = driver_.event_query(event);
    after = now_ns_();
    if (code != kNotReady) break;
    sched_yield();
  }
  middle_ns = before + (after - before) / 2;
  width_ns = after - before;
  return code;
}

Code Anchors::add() {
  if (const Code code = prepare()) return code;
  constexpr int kTries = 3;
  std::int64_t best_ns = 0, best_width = -1;
  for (int i = 0; i < kTries; ++i) {
    std::int64_t middle = 0, width = 0;
    const Code code = measure(trial_, middle, width);
    if (code == kNotReady) break;  // the event is still in the stream
    if (code != kSuccess) return code;
    if (best_width >= 0 && width >= best_width) continue;
    best_width = width;
    best_ns = middle;
    std::swap(best_, trial_);
  }
  if (best_width < 0) return kNotReady;
  double since = 0;
  if (last_ != nullptr) {
    if (const Code code = elapsed_ns(driver_, last_, best_, since)) return code;
  }
  map_.add(best_ns, map_.last_device_ns() + static_cast<std::int64_t>(since));
  std::swap(last_, best_);
  taken_ns_ = best_ns;
  width_ns_ = best_width;
  return kSuccess;
}

std::int64_t Anchors::host_ns(Event event) const {
  double after = 0;
  if (last_ == nullptr || elapsed_ns(driver_, last_, event, after) != kSuccess) return -1;
  return map_.host_ns(after);
}

void Anchors::destroy() noexcept {
  for (Event* const event : {&last_, &best_, &trial_}) {
    if (*event != nullptr) driver_.event_destroy(*event);
    *event = nullptr;
  }
  if (stream_ != nullptr) driver_.stream_destroy(stream_);
  stream_ = nullptr;
}

}  // namespace genscope::record::device
