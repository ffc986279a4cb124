// A ring of the last outcomes while closed; a handful of probes when half open.
//
// Each change of state begins a round. A pass carries the number of its round, and an outcome of an
// earlier round is ignored: a slow call from before the outage neither opens nor closes what came
// later. Probes that never report would keep it half open for ever, so after one open time in that
// state the round begins anew.
#include <algorithm>
#include <mutex>

#include <genscope/optimize/retry.h>

#include "optimize/flow/counters.h"

namespace genscope::optimize {

const char* name(BreakerState state) noexcept {
  return state == BreakerState::closed ? "closed"
         : state == BreakerState::open ? "open"
                                       : "half_open";
}

struct Breaker::State {
  explicit State(BreakerOptions given)
      : options(std::move(given)),
        shown(options.name, "state"),
        shown_refused(options.name, "refused") {
    options.window = std::max<std::size_t>(1, options.window);
    options.least_calls = std::clamp<std::size_t>(options.least_calls, 1, options.window);
    options.probes = std::max(1, options.probes);
    options.open_most_seconds = std::max(options.open_seconds, options.open_most_seconds);
    open_for_ns = seconds_to_ns(options.open_seconds);
    outcomes.reserve(options.window);
  }

  static constexpr unsigned char kFailed = 1, kSlow = 2;

  void begin(BreakerState next, std::int64_t now_ns) {
    state = next;
    ++round;
    since_ns = now_ns;
    outcomes.clear();
    at = failures = slow = 0;
    begun = 0;
    shown.set(static_cast<double>(state));
  }

  void count(unsigned char outcome, int by) {
    if ((outcome & kFailed) != 0) failures += static_cast<std::size_t>(by);
    if ((outcome & kSlow) != 0) slow += static_cast<std::size_t>(by);
  }

  void add(unsigned char outcome) {
    if (outcomes.size() < options.window) {
      outcomes.push_back(outcome);
    } else {
      count(outcomes[at], -1);
      outcomes[at] = outcome;
      at = (at + 1) % options.window;
    }
    count(outcome, 1);
  }

  bool bad() const {
    const double n = static_cast<double>(outcomes.size());
    return static_cast<double>(failures) >= options.failure_ratio * n ||
           (options.slow_seconds > 0 && static_cast<double>(slow) >= options.slow_ratio * n);
  }

  void open(std::int64_t now_ns, bool again) {
    const std::int64_t most = seconds_to_ns(options.open_most_seconds);
    open_for_ns = again ? std::min(most, later(open_for_ns, open_for_ns))
                        : seconds_to_ns(options.open_seconds);
    begin(BreakerState::open, now_ns);
  }

  BreakerState at_time(std::int64_t now_ns) const {
    const bool over = now_ns >= later(since_ns, open_for_ns);
    return state == BreakerState::open && over ? BreakerState::half_open : state;
  }

  BreakerOptions options;
  FlowCounter shown, shown_refused;
  mutable std::mutex mutex;
  BreakerState state = BreakerState::closed;
  std::uint64_t round = 1, refused = 0;
  std::int64_t since_ns = 0, open_for_ns = 0;
  std::vector<unsigned char> outcomes;
  std::size_t at = 0, failures = 0, slow = 0;
  int begun = 0;  // probes of this round
};

Breaker::Breaker(BreakerOptions options) : state_(std::make_unique<State>(std::move(options))) {}
Breaker::~Breaker() = default;

std::optional<Breaker::Pass> Breaker::ask(std::int64_t now_ns) {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  if (s.state == BreakerState::closed) return Pass{s.round};
  const bool over = now_ns >= later(s.since_ns, s.open_for_ns);
  const bool again =
      s.state == BreakerState::open || s.begun >= s.options.probes;  // or its probes are lost
  if (over && again) s.begin(BreakerState::half_open, now_ns);
  if (s.state == BreakerState::half_open && s.begun < s.options.probes) {
    ++s.begun;
    return Pass{s.round};
  }
  s.shown_refused.set(static_cast<double>(++s.refused));
  return std::nullopt;
}

void Breaker::tell(Pass pass, bool ok, double seconds, std::int64_t now_ns) {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  if (pass.round != s.round) return;
  const bool is_slow = s.options.slow_seconds > 0 && seconds >= s.options.slow_seconds;
  s.add(static_cast<unsigned char>((ok ? 0 : State::kFailed) | (is_slow ? State::kSlow : 0)));
  if (s.state == BreakerState::closed) {
    if (s.outcomes.size() >= s.options.least_calls && s.bad()) s.open(now_ns, false);
  } else if (s.outcomes.size() >= static_cast<std::size_t>(s.options.probes)) {
    if (s.bad()) {
      s.open(now_ns, true);
    } else {
      s.begin(BreakerState::closed, now_ns);
    }
  }
}

BreakerState Breaker::state(std::int64_t now_ns) const {
  const std::lock_guard lock(state_->mutex);
  return state_->at_time(now_ns);
}

double Breaker::retry_after_seconds(std::int64_t now_ns) const {
  const State& s = *state_;
  const std::lock_guard lock(s.mutex);
  if (s.state == BreakerState::closed) return 0;
  if (s.state == BreakerState::half_open && s.begun < s.options.probes) return 0;
  return std::max(0.0, ns_to_seconds(later(s.since_ns, s.open_for_ns) - now_ns));
}

std::uint64_t Breaker::refused() const {
  const std::lock_guard lock(state_->mutex);
  return state_->refused;
}

}  // namespace genscope::optimize
