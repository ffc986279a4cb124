#include "record/device/timer.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/may_throw.h"

namespace genscope {
namespace {

using record::device::Code;
using record::device::Pair;
using record::device::Stream;
using namespace record::device;  // NOLINT: the driver's codes

std::atomic<std::uint32_t> g_forks{0};  // of which this process is the child

void count_forks() {
  static const int once = pthread_atfork(nullptr, nullptr, [] { g_forks.fetch_add(1); });
  static_cast<void>(once);
}

bool is_capture(Code code) { return code >= kFirstCapture && code <= kLastCapture; }
Stream stream_of(std::uint64_t value) { return reinterpret_cast<Stream>(value); }

}  // namespace

DeviceTimer::Impl::Impl(const DeviceTimerOptions& options)
    : options_([&] {
        DeviceTimerOptions filled = options;
        if (filled.now_ns == nullptr) filled.now_ns = base::monotonic_ns;
        return filled;
      }()) {
  count_forks();
  forks_ = g_forks.load();
}

bool DeviceTimer::Impl::forked() const noexcept { return g_forks.load() != forks_; }

std::string DeviceTimer::Impl::run() {
  try {
    thread_ = std::thread([this] {
      try {
        if (base::may_throw()) return loop();
      } catch (...) {
      }
      off_.store(true);  // no memory
      done_.notify_all();
    });
  } catch (const std::system_error& failure) {
    return std::string("cannot start its thread: ") + failure.what();
  }
  off_.store(false, std::memory_order_release);
  return {};
}

// --- the callers' side

DeviceTimer::Impl::Context& DeviceTimer::Impl::context_of(Place place) {
  std::unique_ptr<Context>& context = contexts_[place];
  if (!context) context = std::make_unique<Context>(place, driver_, options_.now_ns);
  return *context;
}

// A new one is made without the lock: the place in the pool is taken first.
Event DeviceTimer::Impl::take(Context& context) {
  {
    const std::lock_guard lock(mutex_);
    if (!context.events.free.empty()) {
      const Event event = context.events.free.back();
      context.events.free.pop_back();
      return event;
    }
    if (context.events.made >= options_.max_events) return nullptr;
    ++context.events.made;
  }
  Event event = nullptr;
  const Code code = driver_.event_create(&event, 0);
  if (code == kSuccess) return event;
  turn_off("making an event", code);
  return nullptr;
}

void DeviceTimer::Impl::give_back(Context& context, Event event, Count count) {
  const std::lock_guard lock(mutex_);
  if (event != nullptr) context.events.free.push_back(event);
  ++(stats_.*count);
}

bool DeviceTimer::Impl::record(Context& context, Event event, std::uint64_t stream) {
  const Code code = driver_.event_record(event, stream_of(stream));
  if (code == kSuccess) return true;
  if (is_capture(code)) {
    give_back(context, event, &DeviceTimerStats::capturing);
  } else if (code == kInvalidHandle || code == kInvalidContext) {
    give_back(context, event, &DeviceTimerStats::refused);
  } else {
    turn_off("recording an event", code);
  }
  return false;
}

void DeviceTimer::Impl::begin(std::uint64_t span, std::uint64_t stream) {
  const Place place = driver_.place();
  Context* context = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (place == 0) {
      ++stats_.no_context;
      return;
    }
    context = &context_of(place);
  }
  if (driver_.capturing(stream_of(stream))) {
    return give_back(*context, nullptr, &DeviceTimerStats::capturing);
  }
  const Event event = take(*context);
  if (event == nullptr) return give_back(*context, nullptr, &DeviceTimerStats::no_event);
  if (!record(*context, event, stream)) return;
  const std::lock_guard lock(mutex_);
  open_[span] = {context, stream, event};
}

void DeviceTimer::Impl::end(std::uint64_t span, std::uint64_t stream) {
  Open open;
  {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(span);
    if (found == open_.end()) return;
    open = found->second;
    open_.erase(found);
  }
  Context& context = *open.context;
  const auto drop = [&](Count count) { give_back(context, open.event, count); };
  const Place place = driver_.place();
  if (place == 0) return drop(&DeviceTimerStats::no_context);
  if (place != context.place || stream != open.stream) return drop(&DeviceTimerStats::moved);
  if (driver_.capturing(stream_of(stream))) return drop(&DeviceTimerStats::capturing);
  const Event event = take(context);
  if (event == nullptr) return drop(&DeviceTimerStats::no_event);
  if (!record(context, event, stream)) {
    const std::lock_guard lock(mutex_);
    context.events.free.push_back(open.event);
    return;
  }
  bool sleeping = false;
  {
    const std::lock_guard lock(mutex_);
    context.arrived.push_back({span, stream, open.event, event});
    sleeping = !std::exchange(arrived_, true);
  }
  if (sleeping) wake_.notify_all();
}

void DeviceTimer::Impl::turn_off(const char* what, Code code) {
  const std::string reason = std::string(what) + " failed: " + driver_.text(code);
  {
    const std::lock_guard lock(mutex_);
    if (off_.exchange(true)) return;
    stats_.off = reason;
  }
  event("instrument", {{"target", "device_time"}, {"status", "failed"}, {"reason", reason}});
  wake_.notify_all();
  done_.notify_all();
}

void DeviceTimer::Impl::settle(std::int64_t patience_ns) {
  std::unique_lock lock(mutex_);
  const std::uint64_t wanted = ++asked_;
  wake_.notify_all();
  done_.wait_for(lock, std::chrono::nanoseconds(patience_ns),
                 [&] { return passes_ >= wanted || off_.load() || stopping_; });
}

void DeviceTimer::Impl::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  off_.store(true, std::memory_order_release);
}

DeviceTimerStats DeviceTimer::Impl::stats() const {
  const std::lock_guard lock(mutex_);
  DeviceTimerStats stats = stats_;
  stats.pending = open_.size();
  for (const auto& [place, context] : contexts_) {
    stats.pending += context->arrived.size() + context->waiting.size();
  }
  if (stopping_ || !stats_.off.empty()) stats.left += std::exchange(stats.pending, 0);
  return stats;
}

// --- the thread

void DeviceTimer::Impl::loop() {
  name_thread("genscope device time");
  driver_.relax_capture();
  std::unique_lock lock(mutex_);
  bool waiting = false;
  while (!stopping_) {
    const auto wanted = [&] { return stopping_ || asked_ > passes_; };
    if (waiting) {
      wake_.wait_for(lock, std::chrono::nanoseconds(options_.poll_ns), wanted);
    } else {
      wake_.wait(lock, [&] { return wanted() || arrived_; });
    }
    if (stopping_) break;
    const std::uint64_t asked = asked_;
    lock.unlock();
    pass(false);
    lock.lock();
    passes_ = asked;
    waiting = false;
    for (const auto& [place, context] : contexts_) waiting |= !context->waiting.empty();
    waiting &= !off_.load();
    done_.notify_all();
  }
  lock.unlock();
  pass(true);
  finish();
}

void DeviceTimer::Impl::pass(bool last) {
  std::vector<Context*> contexts;
  {
    const std::lock_guard lock(mutex_);
    arrived_ = false;
    for (const auto& [place, context] : contexts_) {
      for (const Pair& pair : context->arrived) context->waiting.push_back(pair);
      context->arrived.clear();
      if (!context->waiting.empty()) contexts.push_back(context.get());
    }
  }
  for (Context* const context : contexts) {
    if (off_.load() || forked()) return;
    if (const Code code = driver_.enter(context->place)) {
      return turn_off("going back to the context", code);
    }
    if (!anchor(*context, last) || !resolve(*context)) return;
  }
}

bool DeviceTimer::Impl::anchor(Context& context, bool last) {
  const std::int64_t taken = context.anchors.taken_ns();
  if (taken != 0 && !last && options_.now_ns() - taken < options_.anchor_ns) return true;
  const Code code = context.anchors.add();
  if (code != kSuccess && code != kNotReady && !is_capture(code)) {
    turn_off("comparing the clocks", code);
    return false;
  }
  if (taken == 0 && code == kSuccess) tell_anchor(context);
  return true;
}

void DeviceTimer::Impl::tell_anchor(const Context& context) const {
  event("device_clock", {{"api", driver_.name()},
                         {"driver_version", driver_.version()},
                         {"anchor_width_ns", context.anchors.width_ns()}});
}

bool DeviceTimer::Impl::resolve(Context& context) {
  std::vector<std::uint64_t> busy;  // streams
  std::vector<Pair> left;
  bool fine = true;
  for (const Pair& pair : context.waiting) {
    const bool skip = !fine || std::find(busy.begin(), busy.end(), pair.stream) != busy.end();
    const Code code = skip ? kNotReady : driver_.event_query(pair.end);
    if (code == kNotReady || is_capture(code)) {
      if (!skip) busy.push_back(pair.stream);
      left.push_back(pair);
    } else if (code != kSuccess) {
      turn_off("asking for an event", code);
      left.push_back(pair);
      fine = false;
    } else {
      fine = publish(context, pair);
    }
  }
  const std::lock_guard lock(mutex_);
  context.waiting = std::move(left);
  return fine;
}

bool DeviceTimer::Impl::publish(Context& context, const Pair& pair) {
  double duration = 0;
  const Code code = elapsed_ns(driver_, pair.begin, pair.end, duration);
  if (code != kSuccess) {
    turn_off("reading an event", code);
    return false;
  }
  // From the end: it is near the last anchor, and the driver's times have but 24 bits.
  const std::int64_t end_ns = context.anchors.host_ns(pair.end);
  const std::int64_t begin_ns =
      end_ns < 0 ? -1 : end_ns - static_cast<std::int64_t>(duration * context.anchors.rate());
  Handle(pair.span).device_time(std::llround(duration), begin_ns);
  const std::lock_guard lock(mutex_);
  context.events.free.push_back(pair.begin);
  context.events.free.push_back(pair.end);
  ++stats_.resolved;
  return true;
}

// What is still in a stream is left to the driver.
void DeviceTimer::Impl::finish() {
  if (forked()) return;
  for (const auto& [place, context] : contexts_) {
    if (off_.load() || driver_.enter(place) != kSuccess) continue;
    context->anchors.destroy();
    std::vector<Event> events;
    {
      const std::lock_guard lock(mutex_);
      events.swap(context->events.free);
      context->events.made -= events.size();
    }
    for (const Event event : events) driver_.event_destroy(event);
  }
  const DeviceTimerStats all = stats();
  if (all.resolved + all.left + all.no_event + all.capturing + all.moved == 0) return;
  event("device_clock", {{"resolved", all.resolved}, {"left", all.left}});
  event("device_clock", {{"no_event", all.no_event},
                         {"capturing", all.capturing},
                         {"moved", all.moved},
                         {"refused", all.refused}});
}

// --- the face

DeviceTimer::DeviceTimer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

DeviceTimer::~DeviceTimer() {
  if (impl_->forked()) {
    static_cast<void>(impl_.release());  // its thread is the parent's, and so may be its lock
  } else {
    impl_->stop();
  }
}

Result<std::unique_ptr<DeviceTimer>> DeviceTimer::start(const DeviceTimerOptions& options) {
  auto impl = std::make_unique<Impl>(options);
  if (const std::string why = impl->load(); !why.empty()) return Error{ErrorCode::unsupported, why};
  if (const std::string why = impl->run(); !why.empty()) return Error{ErrorCode::io, why};
  return std::unique_ptr<DeviceTimer>(new DeviceTimer(std::move(impl)));
}

void DeviceTimer::begin(Handle span, std::uint64_t stream) noexcept {
  if (!span || !impl_->active()) return;
  try {
    impl_->begin(span.id(), stream);
  } catch (...) {
    // No memory: this span has no device time.
  }
}
void DeviceTimer::end(Handle span, std::uint64_t stream) noexcept {
  if (!span || !impl_->active()) return;
  try {
    impl_->end(span.id(), stream);
  } catch (...) {
    // As above.
  }
}
void DeviceTimer::settle(std::int64_t patience_ns) noexcept {
  if (impl_->active()) impl_->settle(patience_ns);
}
void DeviceTimer::stop() noexcept {
  if (!impl_->forked()) impl_->stop();
}
bool DeviceTimer::active() const noexcept { return impl_->active(); }
DeviceTimerStats DeviceTimer::stats() const {
  return impl_->forked() ? DeviceTimerStats{} : impl_->stats();
}

}  // namespace genscope
