// The out-of-line half of record.h.

#include <algorithm>
#include <array>
#include <cstring>

#include "base/clock.h"
#include "base/may_throw.h"
#include "base/text.h"
#include "genscope/internal/no_memory.h"
#include "genscope/record.h"
#include "record/control.h"
#include "record/lane.h"
#include "record/skip.h"

namespace genscope {
namespace {

using internal::ArgType;
using internal::g_mode;
using internal::make_word;
using internal::Op;
using record::Control;
using record::LaneWriter;

bool off() noexcept { return g_mode.load(std::memory_order_relaxed) == record::kOff; }

// Arguments with their keys looked up and their size known, ready to be written in one go.
class ArgPlan {
 public:
  static constexpr std::size_t kMaxArgs = 32;
  static constexpr std::size_t kMaxWords = 2048;

  void add(LaneWriter& writer, const Arg& arg) noexcept {
    const std::uint32_t key = arg.key_site() != nullptr ? writer.intern(*arg.key_site())
                                                        : writer.intern(SpanKind::none, arg.key());
    add(key, arg);
  }
  void add(std::uint32_t key, const Arg& arg) noexcept {
    const std::size_t n = size_of(arg);
    if (key == 0 || count_ == kMaxArgs || words_ + n > kMaxWords) {
      Control::instance().count_lost(0, 1);
      return;
    }
    args_[count_] = &arg;
    keys_[count_++] = key;
    words_ += n;
  }
  std::size_t words() const noexcept { return words_; }

  void write(std::uint64_t* w) const noexcept {
    for (std::size_t i = 0; i < count_; ++i) w = write(w, keys_[i], *args_[i]);
  }

 private:
  static bool small(const Arg& arg) noexcept {
    const bool integer = arg.type() == ArgType::int64 || arg.type() == ArgType::uint64;
    return integer && (arg.bits() >> internal::kFieldShift) == 0;
  }
  static std::size_t size_of(const Arg& arg) noexcept {
    if (arg.type() == ArgType::text) {
      return 1 + (base::cut_utf8(arg.text(), kMaxTextBytes).size() + 7) / 8;
    }
    return small(arg) ? 1 : 2;
  }
  static std::uint64_t* write(std::uint64_t* w, std::uint32_t key, const Arg& arg) noexcept {
    if (small(arg)) {
      *w++ = make_word(Op::arg, key, arg.bits());
      return w;
    }
    const auto type = std::uint64_t{static_cast<std::uint8_t>(arg.type())} << 32;
    if (arg.type() != ArgType::text) {
      *w++ = make_word(Op::wide_arg, key, type | 8);
      *w++ = arg.bits();
      return w;
    }
    const std::string_view text = base::cut_utf8(arg.text(), kMaxTextBytes);
    const std::size_t words = (text.size() + 7) / 8;
    *w = make_word(Op::wide_arg, key, type | text.size());
    if (words > 0) {
      w[words] = 0;
      std::memcpy(w + 1, text.data(), text.size());
    }
    return w + 1 + words;
  }

  std::array<const Arg*, kMaxArgs> args_;
  std::array<std::uint32_t, kMaxArgs> keys_;
  std::size_t count_ = 0;
  std::size_t words_ = 0;
};

// Writes `head` (one word and its payload, the tick still missing), then the arguments.
// Returns the place of the first word, or null.
std::uint64_t* put(LaneWriter& writer, std::initializer_list<std::uint64_t> head,
                   const ArgPlan& args, std::size_t ends = 0) noexcept {
  std::uint64_t tick = 0;
  std::uint64_t* const w = writer.reserve(head.size() + args.words(), ends, tick);
  if (w == nullptr) {
    writer.drop();
    return nullptr;
  }
  std::copy(head.begin(), head.end(), w);
  w[0] |= tick;
  args.write(w + head.size());
  return w;
}

std::uint64_t id_at(const LaneWriter& writer, const std::uint64_t* w) noexcept {
  return writer.lane().id_base + internal::address(w) / 8;
}

std::uint64_t begin_sync(LaneWriter& writer, std::uint32_t site, const Arg* args,
                         std::size_t count) noexcept {
  ArgPlan plan;
  for (std::size_t i = 0; i < count; ++i) plan.add(writer, args[i]);
  std::uint64_t* const w =
      site != 0 ? put(writer, {make_word(Op::begin, site, 0)}, plan, 1) : nullptr;
  if (w == nullptr) {
    if (site == 0) writer.drop();
    return 0;
  }
  writer.lane().depth++;
  writer.publish();
  return id_at(writer, w);
}

Handle put_detached(LaneWriter& writer, std::uint32_t site, const Under& under,
                    Args args) noexcept {
  if (site == 0) {
    writer.drop();
    return {};
  }
  ArgPlan plan;
  const Arg track("", under.track.id());
  if (under.track.id() != 0) plan.add(internal::kKeyTrack, track);
  for (const Arg& arg : args) plan.add(writer, arg);
  std::uint64_t* const w = put(
      writer, {make_word(Op::async_begin, site, 0), under.parent.id() & internal::kIdMask}, plan);
  if (w == nullptr) return {};
  writer.publish();
  return Handle(id_at(writer, w) | internal::kIdAsync);
}

void put_event(LaneWriter& writer, std::uint32_t site, std::uint64_t on, Args args) noexcept {
  if (site == 0) return writer.drop();
  ArgPlan plan;
  for (const Arg& arg : args) plan.add(writer, arg);
  const std::uint64_t* const w =
      on == 0 ? put(writer, {make_word(Op::event, site, 0)}, plan)
              : put(writer, {make_word(Op::event_on, site, 0), on & internal::kIdMask}, plan);
  if (w != nullptr) writer.publish();
}

void put_counter(LaneWriter& writer, std::uint32_t site, double value) noexcept {
  if (site == 0) return writer.drop();
  if (put(writer, {make_word(Op::counter, site, 0), __builtin_bit_cast(std::uint64_t, value)},
          {})) {
    writer.publish();
  }
}

// Spans of an earlier trace, or of the process that forked us, are not in this one.
bool foreign(const LaneWriter& writer, std::uint64_t id) noexcept {
  return internal::lane_of(id) < writer.recorder().first_lane();
}

}  // namespace

namespace internal {
namespace {

// What the inline paths of hot.h leave out although it is as simple: the OS clock, and what is not
// about a span of this very lane. Writes `word` with the tick in it, and its payload. Returns the
// word's id, or 0. `spare`: words that must be free besides; `open`: what it does to the number of
// open spans.
template <class... Payload>
std::uint64_t put_simple(Lane& lane, std::uint64_t word, std::size_t spare, std::uint32_t open,
                         Payload... payload) noexcept {
  const LaneState* const state = lane.state;
  if (state == nullptr || lane.busy != 0) return 0;
  const std::uint64_t w = take(lane);
  const std::uint64_t now =
      state->os_clock ? static_cast<std::uint64_t>(base::monotonic_ns()) : fast_ticks();
  const std::uint64_t tick = now - lane.base;
  const std::uint64_t limit = address(state->limit.load(std::memory_order_relaxed));
  const std::uint64_t end = w + 8 * (1 + sizeof...(payload));
  // An end needs no spare room: its own was kept free.
  const std::uint64_t kept = open == ~0u ? 0 : 8 * (spare + lane.depth);
  if ((tick >> kFieldShift) != 0 || end + kept > limit) {
    give_back(lane, w);
    return 0;
  }
  std::uint64_t* at = words_at(w);
  *at++ = word | tick;
  ((*at++ = payload), ...);
  publish(lane.chunk, end);
  lane.depth += open;
  const std::uint64_t id = lane.id_base + w / 8;
  give_back(lane, end);
  return id;
}

// The end of a detached span, on whatever thread. False: it takes a LaneWriter.
bool end_simple(Lane& lane, std::uint64_t id) noexcept {
  if ((id & kIdAsync) == 0 || off() || lane.state == nullptr) return false;
  const auto* const recorder = static_cast<const record::Recorder*>(lane.state->recorder);
  if (recorder == nullptr || lane_of(id) < recorder->first_lane()) return false;
  const std::uint64_t word = make_word(Op::async_end, (id & kIdFailed) != 0 ? 1 : 0, 0);
  return put_simple(lane, word, 0, 0, id & kIdMask) != 0;
}

}  // namespace

std::uint64_t begin_slow(Site& site) noexcept {
  Lane& lane = t_lane;
  const std::uint32_t site_id = site.id.load(std::memory_order_relaxed);
  if (site_id != 0) {
    const std::uint64_t word = make_word(Op::begin, site_id, 0);
    if (const std::uint64_t id = put_simple(lane, word, 1, 1)) return id;
  }
  return begin_slow(site, nullptr, 0);
}

std::uint64_t begin_slow(Site& site, const Arg* args, std::size_t count) noexcept {
  LaneWriter writer(LaneWriter::span);
  if (!writer.ready()) return 0;
  return begin_sync(writer, writer.intern(site), args, count);
}

void end_slow(std::uint64_t id) noexcept {
  Lane& lane = t_lane;
  if (((id ^ lane.lane_bits) >> kIdLaneShift) == 0 && lane.depth > 0 &&
      put_simple(lane, make_word(Op::end, tag_of(id), 0), 0, ~0u) != 0) {
    return;
  }
  if (end_simple(lane, id)) return;
  LaneWriter writer(LaneWriter::record);
  if (!writer.ready() || foreign(writer, id)) return;
  const bool failed = (id & kIdFailed) != 0;
  const bool own = (id & kIdAsync) == 0 && lane_of(id) == writer.lane().number();
  if (own) {
    std::uint64_t tick = 0;
    std::uint64_t* const w = writer.reserve_end(tick);
    if (w == nullptr) return writer.drop();
    *w = make_word(failed ? Op::end_failed : Op::end, tag_of(id), tick);
  } else if (put(writer, {make_word(Op::async_end, failed ? 1 : 0, 0), id & kIdMask}, {}) ==
             nullptr) {
    return;
  }
  writer.publish();
}

std::uint64_t begin_detached_slow(Site& site, std::uint64_t parent) noexcept {
  if (const std::uint32_t id = site.id.load(std::memory_order_relaxed); id != 0) {
    const std::uint64_t span =
        put_simple(t_lane, make_word(Op::async_begin, id, 0), 0, 0, parent & kIdMask);
    if (span != 0) return span | kIdAsync;
  }
  LaneWriter writer(LaneWriter::span);
  if (!writer.ready()) return 0;
  return put_detached(writer, writer.intern(site), {Handle(parent), {}}, {}).id();
}

void event_slow(Site& site) noexcept {
  const std::uint32_t id = site.id.load(std::memory_order_relaxed);
  if (id != 0 && put_simple(t_lane, make_word(Op::event, id, 0), 0, 0) != 0) return;
  LaneWriter writer(LaneWriter::record);
  if (writer.ready()) put_event(writer, writer.intern(site), 0, {});
}

void counter_slow(Site& site, double value) noexcept {
  const auto bits = __builtin_bit_cast(std::uint64_t, value);
  const std::uint32_t id = site.id.load(std::memory_order_relaxed);
  if (id != 0 && put_simple(t_lane, make_word(Op::counter, id, 0), 0, 0, bits) != 0) return;
  LaneWriter writer(LaneWriter::record);
  if (writer.ready()) put_counter(writer, writer.intern(site), value);
}

void begin_small() noexcept {
  if (!Control::stranger()) Control::instance().begin_small();
}

void end_trace() noexcept {
  if (!Control::stranger()) Control::instance().end_trace();
}

void count_lost(std::uint64_t spans, std::uint64_t records) noexcept {
  if (!off() && !Control::stranger()) Control::instance().count_lost(spans, records);
}

bool may_throw() noexcept { return base::may_throw(); }

}  // namespace internal

inline namespace on {

namespace {

// The number of a name that was used before, or 0: it is new, or perhaps to be left out.
std::uint32_t known(SpanKind kind, std::string_view name) noexcept {
  const record::NameEntry* const entry = record::NameTable::find(kind, name);
  if (entry == nullptr) return 0;
  if (entry->id <= internal::kMaxUserSite || !record::skipped(kind, name)) [[likely]]
    return entry->id;
  return 0;
}

// Out of line, so that the usual cases below need few registers.
[[gnu::noinline]] Handle begin_scoped_slow(SpanKind kind, std::string_view name,
                                           Args args) noexcept {
  LaneWriter writer(LaneWriter::span);
  if (!writer.ready()) return {};
  return Handle(begin_sync(writer, writer.intern(kind, name), args.begin(), args.size()));
}

[[gnu::noinline]] Handle begin_slow(SpanKind kind, std::string_view name, const Under& under,
                                    Args args) noexcept {
  LaneWriter writer(LaneWriter::span);
  if (!writer.ready()) return {};
  return put_detached(writer, writer.intern(kind, name), under, args);
}

[[gnu::noinline]] void event_slow(std::string_view name, std::uint64_t on, Args args) noexcept {
  LaneWriter writer(LaneWriter::record);
  if (writer.ready()) put_event(writer, writer.intern(SpanKind::none, name), on, args);
}

[[gnu::noinline]] void counter_slow(std::string_view name, double value) noexcept {
  LaneWriter writer(LaneWriter::record);
  if (writer.ready()) put_counter(writer, writer.intern(SpanKind::none, name), value);
}

}  // namespace

Handle begin_scoped(SpanKind kind, std::string_view name, Args args) noexcept {
  if (off()) return {};
  if (args.size() == 0) [[likely]] {
    Site site{nullptr, kind, {known(kind, name)}};
    if (site.id.load(std::memory_order_relaxed) != 0) [[likely]]
      return Handle(internal::begin(site));
  }
  return begin_scoped_slow(kind, name, args);
}

void Handle::arg(const Arg& arg) const noexcept {
  if (id_ == 0) return;
  LaneWriter writer(LaneWriter::record);
  if (!writer.ready() || foreign(writer, id_)) return;
  ArgPlan plan;
  plan.add(writer, arg);
  if (plan.words() == 0) return;
  if (put(writer, {make_word(Op::attach, 0, 0), id_ & internal::kIdMask}, plan)) {
    writer.publish();
  }
}

void Handle::device_time(std::int64_t duration_ns, std::int64_t begin_ns) const noexcept {
  if (id_ == 0) return;
  LaneWriter writer(LaneWriter::record);
  if (!writer.ready() || foreign(writer, id_)) return;
  ArgPlan plan;
  const Arg duration("", duration_ns), begin("", begin_ns);
  plan.add(internal::kKeyDeviceNs, duration);
  if (begin_ns >= 0) plan.add(internal::kKeyDeviceBegin, begin);
  if (put(writer, {make_word(Op::attach, 0, 0), id_ & internal::kIdMask}, plan)) {
    writer.publish();
  }
}

Track::Track(std::string_view name) noexcept {
  if (off()) return;
  LaneWriter writer(LaneWriter::record);
  if (writer.ready()) id_ = writer.intern(SpanKind::none, name);
}

Handle begin(SpanKind kind, std::string_view name, Under under, Args args) noexcept {
  if (off()) return {};
  if (args.size() == 0 && under.track.id() == 0) [[likely]] {
    Site site{nullptr, kind, {known(kind, name)}};
    if (site.id.load(std::memory_order_relaxed) != 0) [[likely]]
      return begin(site, under);
  }
  return begin_slow(kind, name, under, args);
}

Handle begin(Site& site, Under under, Args args) noexcept {
  if (off()) return {};
  LaneWriter writer(LaneWriter::span);
  if (!writer.ready()) return {};
  return put_detached(writer, writer.intern(site), under, args);
}

void end_failed(Handle span) noexcept {
  if (span) internal::end_slow(span.id() | internal::kIdFailed);
}

void event(std::string_view name, Args args) noexcept {
  if (off()) return;
  if (args.size() == 0) [[likely]] {
    Site site{nullptr, SpanKind::none, {known(SpanKind::none, name)}};
    if (site.id.load(std::memory_order_relaxed) != 0) [[likely]]
      return internal::event(site);
  }
  event_slow(name, 0, args);
}

void event(Site& site, Args args) noexcept {
  if (off()) return;
  LaneWriter writer(LaneWriter::record);
  if (writer.ready()) put_event(writer, writer.intern(site), 0, args);
}

void event(Handle span, std::string_view name, Args args) noexcept {
  if (!off()) event_slow(name, span.id(), args);
}

void counter(std::string_view name, double value) noexcept {
  if (off()) return;
  Site site{nullptr, SpanKind::none, {known(SpanKind::none, name)}};
  if (site.id.load(std::memory_order_relaxed) != 0) [[likely]]
    return internal::counter(site, value);
  counter_slow(name, value);
}

void name_thread(std::string_view name) noexcept {
  if (off()) return;
  LaneWriter writer(LaneWriter::record);
  if (writer.ready()) writer.recorder().put(trace::ThreadMeta{writer.lane().number(), 0, name});
}

void set_enabled(bool enabled) noexcept { Control::instance().set_enabled(enabled); }
bool enabled() noexcept { return Control::instance().enabled(); }

void flush() noexcept {
  if (Control::stranger()) return;
  if (record::Recorder* recorder = Control::instance().current()) recorder->flush();
}

RecorderStats recorder_stats() noexcept { return Control::instance().stats(); }

}  // namespace on
}  // namespace genscope
