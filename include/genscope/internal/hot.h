// The inline half of the recorder: what runs in the user's thread for every span.
//
// Here only because record.h must inline it; nothing in this header is an API.
// The other half, everything that happens at most once per chunk, is src/record.
//
// Invariants:
//  1. Only the owning thread writes a Lane, except `limit`, which close() clears to send every
//     thread through the slow path. So the fast path needs no other test for "still open".
//  2. Words [data, tail) of a chunk never change; tail only grows until the chunk is recycled.
//  3. Between `write` and `limit` there is always room for the ends of the `depth` open sync
//     spans, so a begin that was recorded never loses its end to a full buffer.
//  4. The fast path takes no lock, allocates nothing and makes no system call.
//     For what it cannot do (no room, another clock, a name without a number, recording that is
//     off, a thread that has no lane yet) it writes nothing and calls its slow twin.
//  5. A signal handler may record. Whoever writes first takes the write position away, in one
//     instruction; a handler that interrupts it finds no room, and drops and counts.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include <genscope/internal/word.h>

namespace genscope {

// A static name. Lives for ever at its call site; gets its number on first use.
struct Site {
  const char* name;
  SpanKind kind = SpanKind::none;
  std::atomic<std::uint32_t> id{0};
};

class Arg;

namespace internal {

inline constexpr std::size_t kChunkBytes = 64 << 10;
inline constexpr std::size_t kChunkHeaderBytes = 64;
inline constexpr std::uint32_t kChunkWords =
    static_cast<std::uint32_t>((kChunkBytes - kChunkHeaderBytes) / 8);

enum class ChunkState : std::uint32_t { free = 0, open = 1, filled = 2 };

// The first 64 bytes of each chunk in the live file; the words follow. Addresses are the
// writer's: a reader of the file only uses their difference.
struct alignas(64) ChunkHeader {
  std::atomic<std::uint64_t> tail;   // address one past the last published word
  std::atomic<std::uint64_t> data;   // address of the first word
  std::atomic<std::uint64_t> base;   // absolute tick that the first words count from
  std::atomic<std::uint32_t> state;  // ChunkState
  std::atomic<std::uint32_t> lane;   // whose words these are
  std::atomic<std::uint32_t> seq;    // number of this chunk in its lane, from 0
  std::atomic<std::uint32_t> link;   // next chunk in the free or filled list
  std::atomic<std::uint32_t> cycle;  // how often this chunk was recycled: a reader's seqlock
  std::uint32_t last;                // set when the lane's thread has ended
  std::uint32_t reserved[4];
};
static_assert(sizeof(ChunkHeader) == kChunkHeaderBytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

struct LaneState;  // the cold part, src/record/lane.h

// One per thread. Exactly a cache line.
struct alignas(64) Lane {
  std::uint64_t write = 0;                     // address of the next word, or that + kTaken
  std::atomic<std::uint64_t*> limit{nullptr};  // null sends begin and end to the slow path
  ChunkHeader* chunk = nullptr;
  std::uint64_t base = 0;       // absolute tick that the next word counts from
  std::uint64_t id_base = 0;    // id of a word = id_base + its address / 8
  std::uint64_t lane_bits = 0;  // the lane's number, placed as in an id; 0: the thread has none
  std::uint32_t depth = 0;      // open sync spans
  std::uint32_t busy = 0;       // holds a lock of ours: a signal handler must not wait for it
  LaneState* state = nullptr;

  std::uint32_t number() const noexcept { return lane_of(lane_bits); }
};
static_assert(sizeof(Lane) == 64);

// initial-exec: one instruction to reach it, also from a shared library.
extern constinit thread_local Lane t_lane __attribute__((tls_model("initial-exec")));

// 0: off. Anything else: ask the lane.
//
// It has a page of its own, which the kernel hands out empty to a forked child: one that was made
// without fork()'s handlers (a bare system call) is off, and does not use its parent's buffers.
struct alignas(4096) Mode {
  std::atomic<std::uint32_t> value{0};
  std::atomic<std::uint32_t> made{0};  // this process set it

  [[gnu::always_inline]] std::uint32_t load(std::memory_order order) const noexcept {
    return value.load(order);
  }
};
extern Mode g_mode;

// Raw ticks. Only meaningful while the lane has a limit, which the OS-clock mode never gives out.
[[gnu::always_inline]] inline std::uint64_t fast_ticks() noexcept {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  std::uint64_t t;
  asm volatile("mrs %0, cntvct_el0" : "=r"(t));
  return t;
#else
  return 0;
#endif
}

inline constexpr bool kHasFastTicks =
#if defined(__x86_64__) || defined(__aarch64__)
    true;
#else
    false;
#endif

// A numeric argument whose key is a static Site: the cheapest form.
template <class T>
struct StaticArg {
  Site& key;
  T value;
};

std::uint64_t begin_slow(Site& site) noexcept;
std::uint64_t begin_slow(Site& site, const Arg* args, std::size_t count) noexcept;
void end_slow(std::uint64_t id) noexcept;
std::uint64_t begin_detached_slow(Site& site, std::uint64_t parent) noexcept;
void event_slow(Site& site) noexcept;
void counter_slow(Site& site, double value) noexcept;

[[gnu::always_inline]] inline std::uint64_t address(const std::uint64_t* p) noexcept {
  return reinterpret_cast<std::uint64_t>(p);
}

// Marks a write position as taken. Beyond every address, so that there is never room behind it.
inline constexpr std::uint64_t kTaken = std::uint64_t{1} << 62;

// Takes the write position. One instruction, so a signal comes before it or after it; unlocked,
// since no other thread writes a lane.
[[gnu::always_inline]] inline std::uint64_t take(Lane& lane) noexcept {
#if defined(__x86_64__)
  std::uint64_t w = kTaken;
  asm volatile("xaddq %0, %1" : "+r"(w), "+m"(lane.write) : : "cc", "memory");
  return w;
#else
  return __atomic_fetch_add(&lane.write, kTaken, __ATOMIC_RELAXED);
#endif
}

// Gives it back, moved behind what was written.
[[gnu::always_inline]] inline void give_back(Lane& lane, std::uint64_t w) noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  lane.write = w;
}

[[gnu::always_inline]] inline bool no_room(const Lane& lane, std::uint64_t w,
                                           std::size_t words) noexcept {
  return w + 8 * (words + lane.depth) > address(lane.limit.load(std::memory_order_relaxed));
}

[[gnu::always_inline]] inline std::uint64_t* words_at(std::uint64_t w) noexcept {
  return reinterpret_cast<std::uint64_t*>(w);
}

// Makes the words before `end` part of the trace.
[[gnu::always_inline]] inline void publish(ChunkHeader* chunk, std::uint64_t end) noexcept {
  chunk->tail.store(end, std::memory_order_release);
}

[[gnu::always_inline]] inline std::uint64_t begin(Site& site) noexcept {
  if (g_mode.load(std::memory_order_relaxed) == 0) return 0;
  Lane& lane = t_lane;
  const std::uint32_t id = site.id.load(std::memory_order_relaxed);
  const std::uint64_t w = take(lane);
  const std::uint64_t tick = fast_ticks() - lane.base;
  if (id == 0 || no_room(lane, w, 2) || (tick >> kFieldShift) != 0) [[unlikely]] {
    give_back(lane, w);
    return begin_slow(site);
  }
  lane.depth++;
  *words_at(w) = make_word(Op::begin, id, tick);
  publish(lane.chunk, w + 8);
  const std::uint64_t span = lane.id_base + w / 8;
  give_back(lane, w + 8);
  return span;
}

[[gnu::always_inline]] inline void end(std::uint64_t id) noexcept {
  if (id == 0) return;
  Lane& lane = t_lane;
  const std::uint64_t w = take(lane);
  const std::uint64_t tick = fast_ticks() - lane.base;
  // One test for two: the span is of another lane (or flagged), the tick is out of range.
  static_assert(kIdLaneShift == kFieldShift);
  if ((((id ^ lane.lane_bits) | tick) >> kFieldShift) != 0 ||
      w >= address(lane.limit.load(std::memory_order_relaxed))) [[unlikely]] {
    give_back(lane, w);
    return end_slow(id);
  }
  lane.depth--;
  *words_at(w) = make_word(Op::end, 0, tick) | (id << (64 - 20)) >> 4;
  publish(lane.chunk, w + 8);
  give_back(lane, w + 8);
}

// Records that leave the number of open sync spans as it is: `word`, with the tick put in, and its
// payload. `rare`: not so simple if anything of it is set above the low field. Returns the place of
// the word, or 0: nothing was written.
template <class... Payload>
[[gnu::always_inline]] inline std::uint64_t try_put(Lane& lane, std::uint64_t word,
                                                    std::uint64_t rare,
                                                    Payload... payload) noexcept {
  const std::uint64_t w = take(lane);
  const std::uint64_t tick = fast_ticks() - lane.base;
  if (((tick | rare) >> kFieldShift) != 0 || no_room(lane, w, 1 + sizeof...(payload)))
      [[unlikely]] {
    give_back(lane, w);
    return 0;
  }
  std::uint64_t* at = words_at(w);
  *at++ = word | tick;
  ((*at++ = payload), ...);
  publish(lane.chunk, address(at));
  const std::uint64_t id = lane.id_base + w / 8;
  give_back(lane, address(at));
  return id;
}

[[gnu::always_inline]] inline std::uint64_t begin_detached(Site& site,
                                                           std::uint64_t parent) noexcept {
  if (g_mode.load(std::memory_order_relaxed) == 0) return 0;
  if (const std::uint32_t id = site.id.load(std::memory_order_relaxed); id != 0) [[likely]] {
    const std::uint64_t span =
        try_put(t_lane, make_word(Op::async_begin, id, 0), 0, parent & kIdMask);
    if (span != 0) [[likely]]
      return span | kIdAsync;
  }
  return begin_detached_slow(site, parent);
}

// On the thread that began it. The slow twin has those of other threads, and failed ones.
[[gnu::always_inline]] inline void end_detached(std::uint64_t id) noexcept {
  if (g_mode.load(std::memory_order_relaxed) != 0) [[likely]] {
    Lane& lane = t_lane;
    // The span is of this lane and detached, and nothing else is flagged.
    const std::uint64_t rare = id ^ kIdAsync ^ lane.lane_bits;
    if (try_put(lane, make_word(Op::async_end, 0, 0), rare, id & kIdMask) != 0) [[likely]]
      return;
  }
  end_slow(id);
}

[[gnu::always_inline]] inline void event(Site& site) noexcept {
  if (g_mode.load(std::memory_order_relaxed) == 0) return;
  if (const std::uint32_t id = site.id.load(std::memory_order_relaxed); id != 0) [[likely]] {
    if (try_put(t_lane, make_word(Op::event, id, 0), 0) != 0) [[likely]]
      return;
  }
  event_slow(site);
}

[[gnu::always_inline]] inline void counter(Site& site, double value) noexcept {
  if (g_mode.load(std::memory_order_relaxed) == 0) return;
  if (const std::uint32_t id = site.id.load(std::memory_order_relaxed); id != 0) [[likely]] {
    if (try_put(t_lane, make_word(Op::counter, id, 0), 0,
                __builtin_bit_cast(std::uint64_t, value)) != 0) [[likely]]
      return;
  }
  counter_slow(site, value);
}

template <class T>
[[gnu::always_inline]] inline std::uint64_t* put_arg(std::uint64_t* w,
                                                     const StaticArg<T>& arg) noexcept {
  const std::uint32_t key = arg.key.id.load(std::memory_order_relaxed);
  if constexpr (std::is_floating_point_v<T>) {
    const double value = static_cast<double>(arg.value);
    *w++ = make_word(Op::wide_arg, key, std::uint64_t{2} << 32 | 8);
    __builtin_memcpy(w++, &value, 8);
  } else {
    const auto value = static_cast<std::uint64_t>(arg.value);
    if ((value >> kFieldShift) == 0) [[likely]] {
      *w++ = make_word(Op::arg, key, value);
    } else {
      *w++ = make_word(Op::wide_arg, key, std::uint64_t{std::is_unsigned_v<T>} << 32 | 8);
      *w++ = value;
    }
  }
  return w;
}

}  // namespace internal
}  // namespace genscope
