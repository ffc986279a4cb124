// A step's span whose time stamps are the monitor's own too: one read of the counter serves both,
// so that a monitored step costs little more than a recorded one. The same words as Step of
// record.h writes, by the rules of internal/hot.h; what is not the fast path goes through its slow
// functions. Only for Ticks::shared_with_recorder().
#pragma once

#include <cstdint>

#include <genscope/record.h>

namespace genscope::monitor {

// Begins a scoped step of this thread. `id` is 0 if it is not recorded. The tick of its begin.
[[gnu::always_inline]] inline std::int64_t begin_recorded_step(std::uint64_t index,
                                                               std::uint64_t& id) noexcept {
  using namespace internal;
  id = 0;
  if (g_mode.load(std::memory_order_relaxed) == 0) return static_cast<std::int64_t>(fast_ticks());
  Lane& lane = t_lane;
  const std::uint32_t site = step_site.id.load(std::memory_order_relaxed);
  const StaticArg<std::uint64_t> arg{index_key, index};
  const std::uint64_t first = take(lane);
  const std::uint64_t now = fast_ticks();
  const std::uint64_t tick = now - lane.base;
  if (site == 0 || index_key.id.load(std::memory_order_relaxed) == 0 || no_room(lane, first, 4) ||
      (tick >> kFieldShift) != 0) [[unlikely]] {
    give_back(lane, first);
    const Arg slow(arg);
    id = begin_slow(step_site, &slow, 1);
    return static_cast<std::int64_t>(now);
  }
  lane.depth++;
  std::uint64_t* w = words_at(first);
  *w++ = make_word(Op::begin, site, tick);
  w = put_arg(w, arg);
  publish(lane.chunk, address(w));
  id = lane.id_base + first / 8;
  give_back(lane, address(w));
  return static_cast<std::int64_t>(now);
}

// Ends it. The tick of its end.
[[gnu::always_inline]] inline std::int64_t end_recorded_step(std::uint64_t id) noexcept {
  using namespace internal;
  if (id == 0) return static_cast<std::int64_t>(fast_ticks());
  Lane& lane = t_lane;
  const std::uint64_t w = take(lane);
  const std::uint64_t now = fast_ticks();
  const std::uint64_t tick = now - lane.base;
  static_assert(kIdLaneShift == kFieldShift);
  if ((((id ^ lane.lane_bits) | tick) >> kFieldShift) != 0 ||
      w >= address(lane.limit.load(std::memory_order_relaxed))) [[unlikely]] {
    give_back(lane, w);
    end_slow(id);
    return static_cast<std::int64_t>(now);
  }
  lane.depth--;
  *words_at(w) = make_word(Op::end, 0, tick) | (id << (64 - 20)) >> 4;
  publish(lane.chunk, w + 8);
  give_back(lane, w + 8);
  return static_cast<std::int64_t>(now);
}

}  // namespace genscope::monitor
