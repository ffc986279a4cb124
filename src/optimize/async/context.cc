// Contexts form a tree by parent pointers. Asking a child walks up; telling goes down through
// hooks, which a child sets in its parent only once it has hooks itself.
//
// Locks: a child's before its parent's (hook() links upward while it holds its own); hooks are
// called with none held. A hook that is being called when its owner goes is waited for, except by
// the thread that calls it.
#include <genscope/internal/optimize/async/context.h>

#include <algorithm>

namespace genscope::optimize {

const char* name(WaitResult outcome) noexcept {
  switch (outcome) {
    case WaitResult::ok:
      return "ok";
    case WaitResult::cancelled:
      return "cancelled";
    case WaitResult::timeout:
      return "timeout";
    case WaitResult::rejected:
      return "rejected";
  }
  return "ok";
}

const char* Stopped::what() const noexcept {
  switch (why_) {
    case WaitResult::cancelled:
      return "cancelled: the work was asked to stop";
    case WaitResult::timeout:
      return "timeout: the deadline passed";
    case WaitResult::rejected:
      return "rejected: the queue is full, or the request is larger than the limit";
    case WaitResult::ok:
      break;
  }
  return "ok";
}

void throw_if_stopped(WaitResult outcome) {
  switch (outcome) {
    case WaitResult::ok:
      return;
    case WaitResult::cancelled:
      throw Cancelled();
    case WaitResult::timeout:
      throw Timeout();
    case WaitResult::rejected:
      throw Rejected();
  }
}

namespace internal {
namespace {

const std::string& no_tenant() {
  static const auto* const empty = new std::string;
  return *empty;
}

struct OwnTenant : ContextState {
  OwnTenant(ContextState* from, std::string given) : ContextState(from), own(std::move(given)) {
    tenant = &own;
    destroy = [](ContextState& state) noexcept { delete static_cast<OwnTenant*>(&state); };
  }
  std::string own;
};

ContextState* make_state(ContextState* parent, const ContextOptions& options) {
  ContextState* const state =
      options.tenant ? new OwnTenant(parent, *options.tenant) : new ContextState(parent);
  if (options.timers != nullptr) state->timers = options.timers;
  if (options.priority) {
    state->priority = std::clamp(*options.priority, kLowestPriority, kHighestPriority);
  }
  if (options.trace) state->trace = *options.trace;
  if (options.deadline_ns) state->deadline_ns = std::min(state->deadline_ns, *options.deadline_ns);
  if (options.timeout) {
    const std::int64_t now = state->timers->now_ns(), by = options.timeout->count();
    if (by < kNever - now) state->deadline_ns = std::min(state->deadline_ns, now + by);
  }
  return state;
}

}  // namespace

ContextState::ContextState(ContextState* from) noexcept
    : parent(from), destroy([](ContextState& state) noexcept { delete &state; }) {
  if (parent == nullptr) {
    timers = &Timers::shared();
    tenant = &no_tenant();
    return;
  }
  parent->keep();
  timers = parent->timers;
  priority = parent->priority;
  deadline_ns = parent->deadline_ns;
  trace = parent->trace;
  tenant = parent->tenant;
}

bool ContextState::try_keep() noexcept {
  std::uint32_t now = refs.load(std::memory_order_relaxed);
  while (now != 0) {
    if (refs.compare_exchange_weak(now, now + 1, std::memory_order_acquire)) return true;
  }
  return false;
}

void ContextState::end() noexcept {
  if (linked) parent->unhook(upward_);
  ContextState* const up = parent;
  destroy(*this);
  if (up != nullptr) up->drop();
}

bool ContextState::request_stop() noexcept {
  if (stopped.exchange(true, std::memory_order_acq_rel)) return false;
  std::unique_lock lock(mutex_);
  if (hooks_ == nullptr) return true;
  keep();  // a hook may drop the last reference
  runner_ = std::this_thread::get_id();
  while (hooks_ != nullptr) {
    StopHook* const hook = hooks_;
    hooks_ = hook->next;
    if (hooks_ != nullptr) hooks_->link = &hooks_;
    hook->link = nullptr;
    running_ = hook;
    lock.unlock();
    hook->call(*hook);
    lock.lock();
    running_ = nullptr;
    ran_.notify_all();
  }
  lock.unlock();
  drop();
  return true;
}

bool ContextState::hook(StopHook& hook) noexcept {
  const std::lock_guard lock(mutex_);
  if (parent != nullptr && !linked) {
    upward_.owner = this;
    upward_.call = [](StopHook& link) noexcept {
      ContextState* const owner = static_cast<Upward&>(link).owner;
      if (!owner->try_keep()) return;
      owner->request_stop();
      owner->drop();
    };
    linked = parent->hook(upward_);
    if (!linked) return false;
  }
  // Under the lock: either this sees the stop, or request_stop() sees the hook.
  if (stop_requested()) return false;
  hook.next = hooks_;
  if (hooks_ != nullptr) hooks_->link = &hook.next;
  hook.link = &hooks_;
  hooks_ = &hook;
  return true;
}

void ContextState::unhook(StopHook& hook) noexcept {
  std::unique_lock lock(mutex_);
  if (hook.link != nullptr) {
    *hook.link = hook.next;
    if (hook.next != nullptr) hook.next->link = hook.link;
    hook.link = nullptr;
    return;
  }
  if (running_ != &hook || runner_ == std::this_thread::get_id()) return;
  ran_.wait(lock, [&] { return running_ != &hook; });
}

}  // namespace internal

Context::Context() : state_(new internal::ContextState(nullptr)) {}

Context Context::root(const ContextOptions& options) {
  return Context(internal::make_state(nullptr, options));
}

Context Context::child(const ContextOptions& options) const {
  return Context(internal::make_state(state_, options));
}

std::int64_t Context::left_ns() const noexcept {
  return state_->deadline_ns == kNever ? kNever : state_->deadline_ns - state_->timers->now_ns();
}

WaitResult Context::check() const noexcept {
  if (state_->stop_requested()) return WaitResult::cancelled;
  return left_ns() <= 0 ? WaitResult::timeout : WaitResult::ok;
}

int Context::should_stop(void* raw) noexcept {
  const Context context = from_state(static_cast<internal::ContextState*>(raw));
  return context.check() == WaitResult::ok ? 0 : 1;
}

}  // namespace genscope::optimize
