// Gradient of latency, after Netflix's Gradient2: limit * clamp(tolerance * long / short, 0.5, 1) +
// room, smoothed. Times are for a unit of cost, so that a mix of small and large requests does not
// look like congestion.
//
// If the long-run time followed slowdowns, congestion would become the new normal and the limit
// would drift up. So it follows improvements only. A device that really became
// slower shows by a look: after 100 congested windows the limit goes to its least for two, the
// first to let the others end, and the second says what a request takes undisturbed. That costs at
// most 2 % of the windows.
#include <algorithm>
#include <cmath>

#include <genscope/optimize/admission.h>

#include "optimize/flow/counters.h"
#include "optimize/flow/limit.h"

namespace genscope::optimize {
namespace {

constexpr int kWindowsBeforeLook = 100;

}  // namespace

AdaptiveLimit::AdaptiveLimit(LimitOptions options) noexcept : options_(options) {
  options_.least = std::max(1.0, options_.least);
  options_.most = std::max(options_.least, options_.most);
  options_.window = std::max<std::size_t>(1, options_.window);
  limit_ = std::clamp(options_.start, options_.least, options_.most);
}

void AdaptiveLimit::finished(double seconds_per_cost, std::size_t running) noexcept {
  if (!(seconds_per_cost > 0)) return;
  sum_ += seconds_per_cost;
  most_running_ = std::max(most_running_, running);
  if (++samples_ < options_.window) return;
  const double short_run = sum_ / static_cast<double>(samples_);
  const bool used = static_cast<double>(most_running_) > limit_ / 2;
  sum_ = 0;
  samples_ = most_running_ = 0;
  if (looking_ > 0) {
    if (--looking_ > 0) return;
    long_ = short_run;
    limit_ = std::max(options_.least, before_look_);
    return;
  }
  if (!(long_ > 0)) long_ = short_run;
  if (short_run <= options_.tolerance * long_) {
    long_ += 0.1 * (std::min(short_run, long_) - long_);
    congested_ = 0;
  } else if (++congested_ >= kWindowsBeforeLook) {
    congested_ = 0;
    looking_ = 2;
    before_look_ = limit_;
    limit_ = options_.least;
    return;
  }
  const double gradient = std::clamp(options_.tolerance * long_ / short_run, 0.5, 1.0);
  const double wanted = limit_ * gradient + options_.room;
  if (used || wanted < limit_) {
    limit_ =
        std::clamp(limit_ + options_.smoothing * (wanted - limit_), options_.least, options_.most);
  }
}

void AdaptiveLimit::overloaded() noexcept { limit_ = std::max(options_.least, limit_ * 0.9); }

// --- replicas

std::optional<std::size_t> desired_replicas(double arriving, double capacity) noexcept {
  if (!(arriving >= 0) || !(capacity > 0)) return std::nullopt;
  const double wanted = std::ceil(arriving / capacity - 1e-9);
  return static_cast<std::size_t>(std::clamp(wanted, 1.0, 1e9));
}

ReplicaAdvisor::ReplicaAdvisor(ReplicaOptions options) noexcept
    : options_(options), now_(std::max<std::size_t>(1, options.least)) {
  options_.least = now_;
  options_.most = std::max(options_.least, options_.most);
}

std::size_t ReplicaAdvisor::update(double arriving, double capacity, std::int64_t now_ns) noexcept {
  const std::optional<std::size_t> raw = desired_replicas(arriving, capacity);
  if (!raw) return now_;
  const std::size_t wanted = std::clamp(*raw, options_.least, options_.most);
  if (wanted >= now_) {
    now_ = wanted;
    below_since_ns_.reset();
    return now_;
  }
  // With some room, so that a load at the edge does not go to and fro.
  const auto roomy = desired_replicas(arriving, capacity * options_.down_ratio);
  const std::size_t fewer = std::clamp(*roomy, options_.least, options_.most);
  if (fewer >= now_) {
    below_since_ns_.reset();
    return now_;
  }
  if (!below_since_ns_) {
    below_since_ns_ = now_ns;
    most_since_ = fewer;
  }
  most_since_ = std::max(most_since_, fewer);
  if (now_ns - *below_since_ns_ >= seconds_to_ns(options_.down_after_seconds)) {
    now_ = most_since_;
    below_since_ns_.reset();
  }
  return now_;
}

}  // namespace genscope::optimize
