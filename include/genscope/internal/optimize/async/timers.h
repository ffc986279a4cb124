// Time: an injected clock, and timers on a hierarchical wheel.
//
// A Timers object fires what is due. With a clock of its own choice it has a thread that does so;
// with a VirtualClock nothing fires until the test says timers.advance(), on the test's thread.
//
//   VirtualClock clock;
//   Timers timers(clock);
//   timers.arm(timer, clock.now_ns() + 5'000'000);
//   clock.move_ns(5'000'000);
//   timers.advance();                    // fires it
//
// Arming and cancelling take constant time, whatever is armed; a timer fires at most one tick
// (1 ms) late, plus what the thread needs to wake, and never early.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

namespace genscope::optimize {

// Monotonic nanoseconds.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::int64_t now_ns() const noexcept = 0;
};

// CLOCK_MONOTONIC.
Clock& system_clock() noexcept;

// A clock that a test moves.
class VirtualClock : public Clock {
 public:
  explicit VirtualClock(std::int64_t now_ns = 1'000'000'000) noexcept : now_(now_ns) {}
  std::int64_t now_ns() const noexcept override { return now_.load(std::memory_order_acquire); }
  void move_ns(std::int64_t by_ns) noexcept { now_.fetch_add(by_ns, std::memory_order_acq_rel); }

 private:
  std::atomic<std::int64_t> now_;
};

inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// One timer; a member of what it belongs to. `fire` runs once for each arm() that is not cancelled,
// on the thread that advances, without a lock held; it must not block.
struct Timer {
  using Fire = void (*)(Timer&) noexcept;
  Fire fire = nullptr;

  // The wheel's own.
  Timer* next = nullptr;
  Timer** link = nullptr;  // what points at this timer; null: not armed
  std::uint64_t tick = 0;
  std::uint8_t level = 0, slot = 0;
};

// The wheel alone: no clock, no lock, no thread. Six levels of 64 slots; level L holds what is due
// in less than 64^(L+1) ticks, and moves down when its slot's time has come.
//
// Invariants: 1. a timer on level 0 is in the slot of its tick; 2. bit s of occupied[L] is set if
// and only if slot s of level L holds a timer; 3. no timer on the wheel is due before now().
class TimerWheel {
 public:
  static constexpr int kLevels = 6, kSlots = 64;

  explicit TimerWheel(std::uint64_t now = 0) noexcept : now_(now) {}
  std::uint64_t now() const noexcept { return now_; }
  std::size_t size() const noexcept { return size_; }

  // Due at `tick`, or at the next advance() if that has passed.
  void arm(Timer& timer, std::uint64_t tick) noexcept;
  // Whether it was armed.
  bool cancel(Timer& timer) noexcept;
  // Moves to `tick` at most and takes the timers that became due, as a list by `next`; null: none
  // is due, and now() is `tick`. Call it until it gives null.
  Timer* advance(std::uint64_t tick) noexcept;
  // A tick before which nothing fires: of the next timer, or of the slot it is in.
  std::uint64_t next_tick() const noexcept;

 private:
  struct Next {
    int level = -1, slot = 0;
    std::uint64_t tick = 0;
  };
  Next next_slot() const noexcept;
  void insert(Timer& timer) noexcept;
  void push(Timer*& head, Timer& timer) noexcept;

  std::uint64_t now_;
  std::size_t size_ = 0;
  std::array<std::uint64_t, kLevels> occupied_{};
  std::array<std::array<Timer*, kSlots>, kLevels> slots_{};
  Timer* overdue_ = nullptr;
};

class Timers {
 public:
  static constexpr std::int64_t kTickNs = 1'000'000;

  // On the system's clock, with a thread that starts with the first timer.
  Timers();
  // On a clock that somebody else moves: call advance().
  explicit Timers(const Clock& clock);
  ~Timers();  // what is armed does not fire
  Timers(const Timers&) = delete;
  Timers& operator=(const Timers&) = delete;

  // Those of the process, on the system's clock. Never destroyed.
  static Timers& shared() noexcept;

  const Clock& clock() const noexcept;
  std::int64_t now_ns() const noexcept;

  void arm(Timer& timer, std::int64_t due_ns) noexcept;
  // True: it was armed and does not fire. False: it was not, or it has fired, or is about to: then
  // the timer must stay until `fire` was called.
  bool cancel(Timer& timer) noexcept;
  // Fires what is due now.
  void advance() noexcept;
  std::size_t armed() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace genscope::optimize
