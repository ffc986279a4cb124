// Channel<T>: a bounded queue between tasks. A full one holds its senders back.
//
//   Channel<Image> images(8);
//   co_await images.send(std::move(image));                 // false: it was closed
//   while (auto image = co_await images.receive()) {...}    // none: closed and empty
//
// Any number of senders and receivers, first come first served. Both throw Cancelled when their
// context is stopped while they wait; deadlines are not looked at here (with_timeout).
#pragma once

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include <genscope/internal/optimize/async/context.h>
#include <genscope/internal/optimize/async/executor.h>
#include <genscope/internal/optimize/async/task.h>

namespace genscope::optimize {

template <class T>
class Channel {
  struct Waiter;

 public:
  explicit Channel(std::size_t capacity) : capacity_(capacity == 0 ? 1 : capacity) {}
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  class Send;
  class Receive;
  Send send(T value) { return Send(*this, std::move(value)); }
  Receive receive() noexcept { return Receive(*this); }

  // Who waits to send gets false; receivers get what is left, then nothing.
  void close() {
    Waiter* woken = nullptr;
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      for (List* const list : {&senders_, &receivers_}) {
        while (Waiter* const waiter = list->first) {
          list->remove(*waiter);
          waiter->next = woken;
          woken = waiter;
        }
      }
    }
    while (woken != nullptr) {
      Waiter* const next = woken->next;
      woken->wake();
      woken = next;
    }
  }
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return items_.size();
  }

 private:
  struct Waiter : internal::StopHook {
    explicit Waiter(Channel& at) noexcept : channel(&at) {}
    void wake() noexcept {
      if (gate.fetch_sub(1, std::memory_order_acq_rel) == 1) resume.go_on();
    }
    Channel* channel;
    internal::ContextState* context = nullptr;
    internal::Resume resume;
    std::optional<T> value;
    Waiter *next = nullptr, *before = nullptr;
    bool queued = false, hooked = false, stopped = false, passed = false, sends = false;
    std::atomic<int> gate{2};  // who decides, and suspend(): the later resumes
  };
  struct List {
    void push(Waiter& waiter) noexcept {
      waiter.next = nullptr;
      waiter.before = last;
      (last != nullptr ? last->next : first) = &waiter;
      last = &waiter;
      waiter.queued = true;
    }
    void remove(Waiter& waiter) noexcept {
      (waiter.before != nullptr ? waiter.before->next : first) = waiter.next;
      (waiter.next != nullptr ? waiter.next->before : last) = waiter.before;
      waiter.queued = false;
    }
    Waiter *first = nullptr, *last = nullptr;
  };

  // After the waiter is on a list: true if it stays suspended.
  bool wait(Waiter& waiter) noexcept {
    waiter.call = [](internal::StopHook& hook) noexcept {
      auto& self = static_cast<Waiter&>(hook);
      self.channel->stop(self);
    };
    waiter.hooked = waiter.context->hook(waiter);
    if (!waiter.hooked) stop(waiter);
    return waiter.gate.fetch_sub(1, std::memory_order_acq_rel) != 1;
  }
  void stop(Waiter& waiter) noexcept {
    {
      const std::lock_guard lock(mutex_);
      if (!waiter.queued) return;
      (waiter.sends ? senders_ : receivers_).remove(waiter);
      waiter.stopped = true;
    }
    waiter.wake();
  }
  static void settle(Waiter& waiter) {
    if (waiter.hooked) waiter.context->unhook(waiter);
    if (waiter.stopped) throw Cancelled();
  }

  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::deque<T> items_;
  List senders_, receivers_;
  bool closed_ = false;
};

template <class T>
class Channel<T>::Send : private Waiter {
 public:
  Send(Channel& at, T given) : Waiter(at) {
    this->value.emplace(std::move(given));
    this->sends = true;
  }
  Send(Send&&) = delete;
  bool await_ready() const noexcept { return false; }
  template <class P>
  bool await_suspend(std::coroutine_handle<P> coroutine) {
    Channel& to = *this->channel;
    Waiter* receiver = nullptr;
    {
      const std::lock_guard lock(to.mutex_);
      if (to.closed_) return false;
      receiver = to.receivers_.first;
      if (receiver != nullptr) {
        to.receivers_.remove(*receiver);
        receiver->value = std::move(this->value);
      } else if (to.items_.size() < to.capacity_) {
        to.items_.push_back(std::move(*this->value));
        this->passed = true;
        return false;
      } else {
        this->context = coroutine.promise().context;
        this->resume.suspend(coroutine);
        to.senders_.push(*this);
      }
    }
    if (receiver == nullptr) return to.wait(*this);
    this->passed = true;
    receiver->wake();
    return false;
  }
  bool await_resume() {
    settle(*this);
    return this->passed;
  }
};

template <class T>
class Channel<T>::Receive : private Waiter {
 public:
  explicit Receive(Channel& at) noexcept : Waiter(at) {}
  Receive(Receive&&) = delete;
  bool await_ready() const noexcept { return false; }
  template <class P>
  bool await_suspend(std::coroutine_handle<P> coroutine) {
    Channel& to = *this->channel;
    Waiter* sender = nullptr;
    {
      const std::lock_guard lock(to.mutex_);
      if (!to.items_.empty()) {
        this->value.emplace(std::move(to.items_.front()));
        to.items_.pop_front();
        sender = to.senders_.first;
        if (sender == nullptr) return false;
        to.senders_.remove(*sender);
        to.items_.push_back(std::move(*sender->value));
        sender->passed = true;
      } else if (to.closed_) {
        return false;
      } else {
        this->context = coroutine.promise().context;
        this->resume.suspend(coroutine);
        to.receivers_.push(*this);
      }
    }
    if (sender == nullptr) return to.wait(*this);
    sender->wake();
    return false;
  }
  std::optional<T> await_resume() {
    settle(*this);
    return std::move(this->value);
  }
};

}  // namespace genscope::optimize
