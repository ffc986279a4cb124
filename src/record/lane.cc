// The slow half of recording: everything but a scoped begin and end that fit into the chunk at hand
// (internal/hot.h has those).
//
// A chunk always keeps room for the ends of the spans that are open on it (room() adds the depth),
// so an end can be written where its begin was, and only what begins is ever dropped: a trace has
// no span whose end was lost for want of space. Ticks are 40 bits from a base; a gap of more than
// that puts a rebase record before the next word.
//
// take() marks the lane as in use and give_back() ends that: a signal handler that records while
// its thread was recording finds the mark, drops, and counts. A close or a failure on another
// thread clears the limits; who sets limits looks again afterwards, so that a lane is never left
// open on a session that has gone.
#include "record/lane.h"

#include <algorithm>

#include "record/control.h"
#include "record/recorder.h"
#include "record/skip.h"

namespace genscope::internal {

constinit thread_local Lane t_lane __attribute__((tls_model("initial-exec")));

}  // namespace genscope::internal

namespace genscope::record {

using internal::address;
using internal::make_word;
using internal::Op;

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

// Spans that were ended by another thread leave `depth` too high; this bounds the harm.
constexpr std::uint32_t kMaxReservedEnds = internal::kChunkWords / 4;
constexpr std::uint64_t kMaxCount = internal::kLowMask;

// Tells the stream what was dropped since the last chunk.
void put_losses(Lane& lane) noexcept {
  LaneState& state = *lane.state;
  trace::LaneSlot& slot = *state.slot;
  const std::uint64_t first = slot.lost_first_tick.load(kRelaxed);
  const std::uint64_t last = slot.lost_last_tick.load(kRelaxed);
  const auto put = [&](std::atomic<std::uint64_t>& counter, std::uint32_t field) {
    const std::uint64_t n = counter.load(kRelaxed);
    if (n == 0) return;
    std::uint64_t* const w = state.write;
    w[0] = make_word(Op::lost, field, std::min(n, kMaxCount));
    w[1] = first;
    w[2] = last;
    state.write = w + 3;
    internal::publish(lane.chunk, address(state.write));
    counter.store(0, kRelaxed);
  };
  put(slot.dropped_spans, 0);
  put(slot.dropped_records, 1);
}

}  // namespace

bool next_chunk(Recorder& recorder, Lane& lane, std::uint64_t tick) noexcept {
  LaneState& state = *lane.state;
  if (state.seq > internal::kMaxChunkSeq) return false;
  ChunkHeader* const chunk = recorder.take_chunk();
  if (chunk == nullptr) return false;
  ChunkHeader* const full = lane.chunk;
  open_chunk(chunk, lane.number(), state.seq, tick);
  std::uint64_t* const words = words_of(chunk);
  lane.chunk = chunk;
  state.write = words;
  lane.base = tick;
  lane.id_base = internal::make_id(lane.number(), state.seq, 0) - address(words) / 8;
  state.seq++;
  if (lane.depth > kMaxReservedEnds) lane.depth = kMaxReservedEnds / 2;
  if (full != nullptr) recorder.hand_over(full);
  put_losses(lane);
  state.limit.store(words + internal::kChunkWords);
  if (recorder.use_cpu_ticks()) lane.limit.store(words + internal::kChunkWords);
  // A close() or a failure that came meanwhile has cleared the limits before we set them.
  if (Control::instance().current() != &recorder || recorder.stopped()) {
    lane.limit.store(nullptr);
    state.limit.store(nullptr);
    return false;
  }
  return true;
}

LaneWriter::LaneWriter(What what) noexcept
    : lane_(internal::t_lane), what_(what), taken_(internal::take(lane_)) {
  Control& control = Control::instance();
  if (Control::stranger()) return;
  if (taken_ >= internal::kTaken || lane_.busy != 0) {
    control.count_lost(what == span ? 1 : 0, what == span ? 0 : 1);
    return;
  }
  if (static_cast<std::int32_t>(lane_.depth) < 0) lane_.depth = 0;
  Recorder* recorder = control.current();
  const bool attached =
      recorder != nullptr && lane_.state != nullptr && lane_.state->recorder == recorder;
  if (attached) {
    lane_.state->write = internal::words_at(taken_);
  } else {
    if (!control.attach(lane_)) return;
    recorder = control.current();
    if (recorder == nullptr || lane_.state->recorder != recorder) return;
  }
  recorder_ = recorder;
}

LaneWriter::~LaneWriter() {
  internal::give_back(lane_, recorder_ != nullptr ? address(lane_.state->write) : taken_);
}

bool LaneWriter::room(std::size_t words) const noexcept {
  return address(lane_.state->write) + 8 * (words + lane_.depth) <=
         address(lane_.state->limit.load(kRelaxed));
}

std::uint64_t* LaneWriter::reserve(std::size_t words, std::size_t ends,
                                   std::uint64_t& tick) noexcept {
  const std::uint64_t now = recorder_->now();
  bool rebase = ((now - lane_.base) >> internal::kFieldShift) != 0;
  if (!room(words + ends + (rebase ? 2 : 0))) {
    if (!next_chunk(*recorder_, lane_, now) || !room(words + ends)) return nullptr;
    rebase = false;
  }
  std::uint64_t* w = lane_.state->write;
  lane_.state->write = w + words + (rebase ? 2 : 0);
  if (rebase) {
    *w++ = make_word(Op::rebase, 0, 0);
    *w++ = now;
    lane_.base = now;
  }
  tick = now - lane_.base;
  return w;
}

std::uint64_t* LaneWriter::reserve_end(std::uint64_t& tick) noexcept {
  const std::uint64_t now = recorder_->now();
  tick = now - lane_.base;
  if ((tick >> internal::kFieldShift) != 0) {
    if (room(2)) {
      std::uint64_t* const w = lane_.state->write;
      lane_.state->write = w + 2;
      w[0] = make_word(Op::rebase, 0, 0);
      w[1] = now;
      lane_.base = now;
      tick = 0;
    } else if (next_chunk(*recorder_, lane_, now)) {
      tick = 0;
    } else {
      tick = internal::kLowMask;  // no room for a new base: the latest that can be said
    }
  }
  std::uint64_t limit = address(lane_.state->limit.load(kRelaxed));
  // A trace that failed takes no more begins, but the ends of those that it has.
  if (limit == 0 && recorder_->stopped() && lane_.chunk != nullptr && lane_.depth > 0) {
    limit = address(words_of(lane_.chunk) + internal::kChunkWords);
  }
  if (limit == 0) return nullptr;
  if (address(lane_.state->write) + 8 > limit && !next_chunk(*recorder_, lane_, now))
    return nullptr;
  if (lane_.depth > 0) lane_.depth--;
  return lane_.state->write++;
}

std::uint32_t LaneWriter::intern(SpanKind kind, std::string_view name) noexcept {
  // The trace that is open now, not the one this operation started with: see Control::open_locked.
  const NameEntry* const entry =
      NameTable::instance().intern(kind, name, [this](const NameEntry& fresh) {
        if (skipped_ = skipped(fresh.kind(), fresh.text); skipped_) return false;
        Recorder* const open = Control::instance().current();
        return open != nullptr && open->put(trace::SiteMeta{fresh.id, fresh.kind(), fresh.text});
      });
  if (entry == nullptr) return 0;
  if (entry->id > internal::kMaxUserSite && skipped(kind, name)) {  // has its number from the start
    skipped_ = true;
    return 0;
  }
  return entry->id;
}

std::uint32_t LaneWriter::intern(Site& site) noexcept {
  std::uint32_t id = site.id.load(kRelaxed);
  if (id == 0) {
    id = intern(site.kind, site.name);
    site.id.store(id, kRelaxed);
  }
  return id;
}

void LaneWriter::drop() noexcept {
  if (skipped_) return;
  trace::LaneSlot& slot = *lane_.state->slot;
  const std::uint64_t now = recorder_->now();
  if (slot.dropped_spans.load(kRelaxed) + slot.dropped_records.load(kRelaxed) == 0) {
    slot.lost_first_tick.store(now, kRelaxed);
  }
  slot.lost_last_tick.store(now, kRelaxed);
  std::atomic<std::uint64_t>& counter = what_ == span ? slot.dropped_spans : slot.dropped_records;
  counter.store(counter.load(kRelaxed) + 1, kRelaxed);
  Control& control = Control::instance();
  control.count_lost(what_ == span ? 1 : 0, what_ == span ? 0 : 1, true);
  if (control.has_to_speak()) control.speak();
}

}  // namespace genscope::record
