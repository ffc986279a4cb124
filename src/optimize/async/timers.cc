// The wheel with a clock, a lock and a thread.
//
// The thread is woken for a new timer only if that is due before the thread would wake anyway, and
// never for a cancelled one: a timeout that is armed and cancelled a million times a second wakes
// it once per timeout's length.
#include <condition_variable>
#include <mutex>
#include <thread>

#include <genscope/internal/optimize/async/timers.h>

#include "base/clock.h"

namespace genscope::optimize {
namespace {

class SystemClock : public Clock {
 public:
  std::int64_t now_ns() const noexcept override { return base::monotonic_ns(); }
};

}  // namespace

Clock& system_clock() noexcept {
  static SystemClock clock;
  return clock;
}

struct Timers::State {
  explicit State(const Clock& with, bool threaded) : clock(with), has_thread(threaded) {
    wheel = TimerWheel(tick_at(clock.now_ns()));
  }

  static std::uint64_t tick_at(std::int64_t ns) noexcept {
    return ns <= 0 ? 0 : static_cast<std::uint64_t>(ns / kTickNs);
  }
  static std::uint64_t tick_after(std::int64_t ns) noexcept {  // never early
    return tick_at(ns) + (ns > 0 && ns % kTickNs != 0 ? 1 : 0);
  }

  void fire_due(std::unique_lock<std::mutex>& lock) noexcept {
    const std::uint64_t tick = tick_at(clock.now_ns());
    while (Timer* due = wheel.advance(tick)) {
      lock.unlock();
      while (due != nullptr) {
        Timer* const next = due->next;  // `fire` may free it
        due->fire(*due);
        due = next;
      }
      lock.lock();
    }
  }

  void loop() noexcept {
    std::unique_lock lock(mutex);
    while (!stopping) {
      fire_due(lock);
      if (stopping) break;
      wakes_at = wheel.next_tick();
      if (wakes_at == std::numeric_limits<std::uint64_t>::max()) {
        wake.wait(lock);
      } else {
        const std::int64_t ns = static_cast<std::int64_t>(wakes_at) * kTickNs;
        wake.wait_until(lock, std::chrono::steady_clock::time_point(std::chrono::nanoseconds(ns)));
      }
    }
  }

  const Clock& clock;
  const bool has_thread;
  std::mutex mutex;
  std::condition_variable wake;
  TimerWheel wheel;
  std::uint64_t wakes_at = 0;  // the thread's; 0: it looks by itself before it sleeps
  bool stopping = false;
  std::thread thread;
};

Timers::Timers() : state_(std::make_unique<State>(system_clock(), true)) {}
Timers::Timers(const Clock& clock) : state_(std::make_unique<State>(clock, false)) {}

Timers::~Timers() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    state_->wake.notify_all();
  }
  if (state_->thread.joinable()) state_->thread.join();
}

Timers& Timers::shared() noexcept {
  static Timers* const timers = new Timers;
  return *timers;
}

const Clock& Timers::clock() const noexcept { return state_->clock; }
std::int64_t Timers::now_ns() const noexcept { return state_->clock.now_ns(); }

void Timers::arm(Timer& timer, std::int64_t due_ns) noexcept {
  State& state = *state_;
  const std::uint64_t tick = State::tick_after(due_ns);
  bool earlier = false;
  {
    const std::lock_guard lock(state.mutex);
    state.wheel.arm(timer, tick);
    if (state.has_thread) {
      if (!state.thread.joinable()) state.thread = std::thread([&state] { state.loop(); });
      earlier = tick < state.wakes_at;
      if (earlier) state.wakes_at = tick;
    }
  }
  if (earlier) state.wake.notify_one();
}

bool Timers::cancel(Timer& timer) noexcept {
  const std::lock_guard lock(state_->mutex);
  return state_->wheel.cancel(timer);
}

void Timers::advance() noexcept {
  std::unique_lock lock(state_->mutex);
  state_->fire_due(lock);
}

std::size_t Timers::armed() const noexcept {
  const std::lock_guard lock(state_->mutex);
  return state_->wheel.size();
}

}  // namespace genscope::optimize
