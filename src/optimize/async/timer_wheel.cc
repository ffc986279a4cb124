// The wheel. A timer's level is that of the highest bit in which its tick differs from now, six
// bits to a level: so all timers of a level share the higher bits with now, and a slot's first tick
// is known without looking at its timers. The next slot of the lowest occupied level is the next
// thing to happen: on level 0 its timers are due, on a higher one they are sorted in again, at
// least one level lower. A timer so moves at most five times, and arming touches one list head.
#include <bit>

#include <genscope/internal/optimize/async/timers.h>

namespace genscope::optimize {
namespace {

constexpr int kBits = 6;
constexpr std::uint64_t kHorizon = std::uint64_t{1} << (kBits * TimerWheel::kLevels);  // 2 years

}  // namespace

void TimerWheel::push(Timer*& head, Timer& timer) noexcept {
  timer.next = head;
  if (head != nullptr) head->link = &timer.next;
  timer.link = &head;
  head = &timer;
}

void TimerWheel::insert(Timer& timer) noexcept {
  if (timer.tick <= now_) {
    timer.level = kLevels;
    push(overdue_, timer);
    return;
  }
  // Beyond the horizon: as far as there is a slot; it is sorted in again from there.
  const std::uint64_t tick =
      timer.tick - now_ < kHorizon / 2 ? timer.tick : now_ + kHorizon / 2 - 1;
  const std::uint64_t differs = (now_ ^ tick) | 1;
  int level = (63 - std::countl_zero(differs)) / kBits;
  if (level >= kLevels) level = kLevels - 1;
  const auto slot = static_cast<std::size_t>((tick >> (kBits * level)) % kSlots);
  timer.level = static_cast<std::uint8_t>(level);
  timer.slot = static_cast<std::uint8_t>(slot);
  const auto at = static_cast<std::size_t>(level);
  push(slots_[at][slot], timer);
  occupied_[at] |= std::uint64_t{1} << slot;
}

void TimerWheel::arm(Timer& timer, std::uint64_t tick) noexcept {
  timer.tick = tick;
  insert(timer);
  ++size_;
}

bool TimerWheel::cancel(Timer& timer) noexcept {
  if (timer.link == nullptr) return false;
  *timer.link = timer.next;
  if (timer.next != nullptr) timer.next->link = timer.link;
  timer.link = nullptr;
  if (timer.level < kLevels && slots_[timer.level][timer.slot] == nullptr) {
    occupied_[timer.level] &= ~(std::uint64_t{1} << timer.slot);
  }
  --size_;
  return true;
}

TimerWheel::Next TimerWheel::next_slot() const noexcept {
  for (int level = 0; level < kLevels; ++level) {
    const std::uint64_t occupied = occupied_[static_cast<std::size_t>(level)];
    if (occupied == 0) continue;
    const int shift = kBits * level;
    const int here = static_cast<int>((now_ >> shift) % kSlots);
    const int slot = (here + std::countr_zero(std::rotr(occupied, here))) % kSlots;
    const std::uint64_t round = std::uint64_t{kSlots} << shift;
    std::uint64_t tick = now_ / round * round + (static_cast<std::uint64_t>(slot) << shift);
    if (tick <= now_) tick += round;  // the top level goes round
    return {level, slot, tick};
  }
  return {};
}

std::uint64_t TimerWheel::next_tick() const noexcept {
  if (overdue_ != nullptr) return now_;
  const Next next = next_slot();
  return next.level < 0 ? std::numeric_limits<std::uint64_t>::max() : next.tick;
}

Timer* TimerWheel::advance(std::uint64_t tick) noexcept {
  while (overdue_ == nullptr) {
    const Next next = next_slot();
    if (next.level < 0 || next.tick > tick) {
      if (tick > now_) now_ = tick;
      return nullptr;
    }
    now_ = next.tick;
    const auto level = static_cast<std::size_t>(next.level);
    const auto slot = static_cast<std::size_t>(next.slot);
    Timer* timer = slots_[level][slot];
    slots_[level][slot] = nullptr;
    occupied_[level] &= ~(std::uint64_t{1} << slot);
    while (timer != nullptr) {
      Timer* const following = timer->next;
      insert(*timer);
      timer = following;
    }
  }
  // Last armed is first in a list: turned round, they fire in the order in which they were armed,
  // so far as they came by the same levels.
  Timer* due = nullptr;
  while (overdue_ != nullptr) {
    Timer* const timer = overdue_;
    overdue_ = timer->next;
    timer->next = due;
    timer->link = nullptr;
    due = timer;
    --size_;
  }
  return due;
}

}  // namespace genscope::optimize
