// One atomic word decides a timeout: the body's end and the timer both try to move it from
// `pending`, and who succeeds resumes the caller. If that is the timer, it first makes the body a
// task of the caller's scope (`adopting`), while the caller, still suspended, keeps that scope from
// ending; a body that ends just then waits for it.
//
// The block is held three times: by the caller's awaiter, by the timer while it is armed, and by
// the body until it has ended.
#include <genscope/internal/optimize/async/timeout.h>

#include <algorithm>
#include <thread>

namespace genscope::optimize::internal {

TimeoutState::TimeoutState(PromiseBase& of_caller, std::int64_t due_ns) noexcept
    : ContextState(of_caller.context) {
  deadline_ns = std::min(deadline_ns, due_ns);
  record.name = of_caller.record->name;
  record.context = this;
  record.scope = of_caller.record->scope;
}

void TimeoutState::start(PromiseBase& body, std::coroutine_handle<> awaiting) noexcept {
  body.context = this;
  body.record = &record;
  body.completion = this;
  resume.suspend(awaiting);
  refs.store(3, std::memory_order_relaxed);
  fire = [](Timer& timer) noexcept {
    auto& self = static_cast<TimeoutState&>(timer);
    int expected = pending;
    if (self.fate.compare_exchange_strong(expected, adopting, std::memory_order_acq_rel)) {
      adopt(self.record, *self.record.scope);
      self.fate.store(late, std::memory_order_release);
      self.request_stop();
      self.resume.go_on();
    }
    self.drop();
  };
  timers->arm(*this, deadline_ns);
}

std::coroutine_handle<> TimeoutState::finished() noexcept {
  int expected = pending;
  if (!fate.compare_exchange_strong(expected, done, std::memory_order_acq_rel)) {
    while (fate.load(std::memory_order_acquire) == adopting) std::this_thread::yield();
    bury_later(*this);
    return std::noop_coroutine();
  }
  const std::coroutine_handle<> awaiting = resume.coroutine;
  // The caller still holds it, so this is not the end of it.
  refs.fetch_sub(timers->cancel(*this) ? 2 : 1, std::memory_order_release);
  return awaiting;
}

void TimeoutState::bury() noexcept {
  free_body();
  leave(record);
  drop();
}

// The timer and the hook race to decide; the decider and wait() pass a gate, and who passes it last
// resumes, so that nothing is undone that wait() is still setting up. Who is resumed undoes both.
bool Sleep::wait() noexcept {
  Timers& timers = *context_->timers;
  std::int64_t due = timers.now_ns();
  due = length_.count() < kNever - due ? due + length_.count() : kNever - 1;
  if (context_->deadline_ns < due) {
    due = context_->deadline_ns;
    past_deadline_ = true;
  }
  fire = [](Timer& timer) noexcept {
    auto& self = static_cast<Sleep&>(timer);
    const bool last = self.decide();
    self.fired_.store(true, std::memory_order_release);  // unless `last`, it may be gone now
    if (last) self.resume_.go_on();
  };
  StopHook::call = [](StopHook& hook) noexcept {
    auto& self = static_cast<Sleep&>(hook);
    if (!self.decided_.load(std::memory_order_acquire)) self.stopped_ = true;
    if (self.decide()) self.resume_.go_on();
  };
  hooked_ = context_->hook(*this);
  if (!hooked_) {
    stopped_ = true;
    return false;
  }
  armed_ = true;
  timers.arm(*this, due);
  return gate_.fetch_sub(1, std::memory_order_acq_rel) != 1;
}

bool Sleep::decide() noexcept {
  return !decided_.exchange(true, std::memory_order_acq_rel) &&
         gate_.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

void Sleep::await_resume() {
  if (hooked_) context_->unhook(*this);
  if (armed_ && !context_->timers->cancel(*this)) {
    while (!fired_.load(std::memory_order_acquire)) std::this_thread::yield();
  }
  if (stopped_) throw Cancelled();
  if (past_deadline_) throw Timeout();
}

}  // namespace genscope::optimize::internal
